package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"magpie/bus"
	"magpie/config"
	"magpie/internal/proxy"
)

const (
	// leastDisk and leastFiles are what a bot should find free: below 64 MiB
	// nothing new is taken in any more.
	leastDisk  = 256 << 20 // bytes
	leastFiles = 1000
	// mostSkew is how far the clock may be off: platforms refuse signatures and
	// tokens by time, the strictest after a minute.
	mostSkew = 30 * time.Second
)

// disk is how much room a file system has.
type disk struct {
	free, size   uint64 // bytes
	files, nodes uint64 // free and all; nodes 0 = it counts none
}

func diskOf(dir string) (d disk, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return d, err
	}
	block := uint64(st.Bsize)
	return disk{uint64(st.Bavail) * block, uint64(st.Blocks) * block, uint64(st.Ffree), uint64(st.Files)}, nil
}

// examineDisk looks at the room for the store.
func examineDisk(cfg *config.Config) (string, error) {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return "", err
	}
	d, err := diskOf(cfg.DataDir)
	if err != nil {
		return "", fmt.Errorf("look at the disk of %s: %w", cfg.DataDir, err)
	}
	used := uint64(0)
	_ = filepath.WalkDir(filepath.Join(cfg.DataDir, "bus"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // a file of a running bot may be gone by now
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			used += uint64(info.Size())
		}
		return nil
	})
	return d.judge(used, uint64(cfg.Bus.MaxStore))
}

// examineDamage tells of files that were damaged and put aside.
func examineDamage(cfg *config.Config) (string, error) {
	dir := filepath.Join(cfg.DataDir, "bus", bus.DamagedDir)
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(found) == 0 {
		return "none is damaged", nil
	}
	if err != nil {
		return "", err
	}
	names := make([]string, len(found))
	for i, e := range found {
		names[i] = e.Name()
	}
	return "", &advised{
		fmt.Errorf("files were damaged and are kept in %s: %s", dir, strings.Join(names, ", ")),
		"restore a backup if something is missing; look after the disk; then remove that folder",
	}
}

// judge says whether there is room for a store of that size in bytes, most 0
// for no bound of its own.
func (d disk) judge(used, most uint64) (string, error) {
	const todo = "free disk space, or put data_dir on a larger disk"
	text := fmt.Sprintf("%s of %s are free, the store has %s", bytesText(d.free), bytesText(d.size), bytesText(used))
	switch {
	case d.free < leastDisk:
		return "", &advised{errors.New(text), todo}
	case d.nodes > 0 && d.files < leastFiles:
		return "", &advised{fmt.Errorf("only %d more files can be made", d.files), "remove files that nobody needs, or put data_dir on another disk"}
	case most > used+d.free:
		return "", &advised{fmt.Errorf("%s, but it may grow to %s (bus.max_store)", text, bytesText(most)), "make bus.max_store smaller, or " + todo}
	}
	return text, nil
}

func bytesText(n uint64) string {
	const unit = 1024
	if n < unit*unit*unit {
		return fmt.Sprintf("%d MiB", n/unit/unit)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/unit/unit/unit)
}

// examineZone says by which zone times are meant.
func examineZone(cfg *config.Config) (string, error) {
	if _, err := time.LoadLocation("Asia/Shanghai"); err != nil {
		return "", &advised{errors.New("there is no data about time zones on this machine"), "install the package tzdata, or set ZONEINFO"}
	}
	zone, of := cfg.Location(), "timezone"
	if cfg.Timezone == "" {
		of = "of the machine; timezone names another one"
		if name := os.Getenv("TZ"); name != "" {
			if _, err := time.LoadLocation(name); err != nil {
				return "", &advised{fmt.Errorf("the variable TZ names %q, which is no zone, so that times are in UTC", name), "correct TZ, or set timezone"}
			}
		}
	}
	return fmt.Sprintf("%s (%s); it is %s", zone, of, time.Now().In(zone).Format("2006-01-02 15:04 -0700")), nil
}

// clocks compares the clock of this machine with those of the servers that are
// called through it.
type clocks struct {
	mu   sync.Mutex
	host string // that answered
	skew time.Duration
}

// client makes the calls of one channel or model by its proxy.
func (c *clocks) client(way string) *http.Client {
	return &http.Client{Transport: &ticking{proxy.Transport(way), c}}
}

// ticking looks at the date of every answer.
type ticking struct {
	http.RoundTripper
	clocks *clocks
}

// RoundTrip implements http.RoundTripper.
func (t *ticking) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := t.RoundTripper.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	if date, bad := http.ParseTime(resp.Header.Get("Date")); bad == nil {
		t.clocks.note(req.URL.Hostname(), began, date)
	}
	return resp, nil
}

// note keeps the largest difference; what the call itself took, and the second
// that the header is cut to, are no difference.
func (c *clocks) note(host string, began, date time.Time) {
	skew := time.Duration(0)
	switch now := time.Now(); {
	case date.After(now):
		skew = now.Sub(date)
	case date.Add(time.Second).Before(began):
		skew = began.Sub(date.Add(time.Second))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.host == "" || skew.Abs() > c.skew.Abs() {
		c.host, c.skew = host, skew
	}
}

// examine says what the calls have shown.
func (c *clocks) examine() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	way := "ahead of"
	if c.skew < 0 {
		way = "behind"
	}
	switch off := c.skew.Abs().Round(time.Second); {
	case c.host == "":
		return "", &unseen{"not compared: no server has answered that says what time it is"}
	case off > mostSkew:
		return "", &advised{
			fmt.Errorf("the clock of this machine is %s %s that of %s", off, way, c.host),
			"set the clock; timedatectl set-ntp true keeps it right",
		}
	}
	return "agrees with that of " + c.host, nil
}
