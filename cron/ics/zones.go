package ics

import (
	_ "embed"
	"strings"
	"sync"
	"time"

	"magpie/cron/when"
)

// windowsTable has the zones as Outlook and Exchange name them, a tab, and what
// they are called elsewhere.
//
//go:embed windows.txt
var windowsTable string

var windows = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(windowsTable) {
		name, zone, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all[name] = zone
	}
	return all
})

// known is the zone of a TZID: a name of the IANA database, also behind a
// prefix as in /citadel.org/20210210_1/Europe/London, or one of Windows.
func known(tzid string) (*time.Location, bool) {
	tzid = strings.Trim(strings.TrimSpace(tzid), `"`)
	if name, ok := windows()[tzid]; ok {
		tzid = name
	}
	for {
		if tzid == "" || strings.EqualFold(tzid, "Local") {
			return nil, false
		}
		if zone, err := time.LoadLocation(tzid); err == nil {
			return zone, true
		}
		var found bool
		if _, tzid, found = strings.Cut(strings.TrimPrefix(tzid, "/"), "/"); !found {
			return nil, false
		}
	}
}

// fixed is the zone of an offset such as +0800.
func fixed(offset string) (*time.Location, bool) {
	if len(offset) != 5 {
		return nil, false
	}
	zone, err := when.Zone("UTC" + offset[:3] + ":" + offset[3:])
	return zone, err == nil
}
