package config

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// hostZone is the zone of this machine under its IANA name where the machine
// tells it: time.Local is named "Local", which says nothing to a person.
func hostZone() *time.Location {
	for _, name := range hostZoneNames() {
		if name == "" || name == "Local" {
			continue
		}
		zone, err := time.LoadLocation(name)
		if err == nil && sameNow(zone, time.Local) {
			return zone
		}
	}
	return time.Local
}

// hostZoneNames are the places where systems write the name down.
func hostZoneNames() []string {
	names := []string{strings.TrimPrefix(os.Getenv("TZ"), ":")}
	if text, err := os.ReadFile("/etc/timezone"); err == nil {
		names = append(names, strings.TrimSpace(string(text)))
	}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			names = append(names, name)
		}
	}
	return append(names, "UTC")
}

// sameNow guards against a name that is out of step with the clock.
func sameNow(a, b *time.Location) bool {
	now := time.Now()
	_, x := now.In(a).Zone()
	_, y := now.In(b).Zone()
	return x == y
}
