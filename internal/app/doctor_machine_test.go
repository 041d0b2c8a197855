package app

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRoomOfTheDisk(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for _, c := range []struct {
		name       string
		disk       disk
		used, most uint64
		says, todo string // todo "" = well
	}{
		{"well", disk{5 * gib, 10 * gib, 1e6, 1e6}, gib, 0, "5.0 GiB of 10.0 GiB are free, the store has 1.0 GiB", ""},
		{"a bound that fits", disk{5 * gib, 10 * gib, 1e6, 1e6}, gib, 6 * gib, "free", ""},
		{"no files are counted", disk{5 * gib, 10 * gib, 0, 0}, 0, 0, "free", ""},
		{"nearly full", disk{leastDisk - 1, 10 * gib, 1e6, 1e6}, 0, 0, "255 MiB of 10.0 GiB", "free disk space"},
		{"no more files", disk{5 * gib, 10 * gib, 7, 1e6}, 0, 0, "only 7 more files", "remove files"},
		{"too large a bound", disk{5 * gib, 10 * gib, 1e6, 1e6}, gib, 6*gib + 1, "bus.max_store", "smaller"},
	} {
		text, err := c.disk.judge(c.used, c.most)
		todo := ""
		if wise := (*advised)(nil); errors.As(err, &wise) {
			text, todo = err.Error(), wise.Advice()
		}
		if !strings.Contains(text, c.says) || !strings.Contains(todo, c.todo) || (err == nil) != (c.todo == "") {
			t.Errorf("%s: %s, %s", c.name, text, todo)
		}
	}
}

// TestClocks: the difference to a server's date counts, not what the call
// takes.
func TestClocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		off  time.Duration // of the server
		says string
		bad  bool
	}{
		{0, "agrees with that of 127.0.0.1", false},
		{20 * time.Second, "agrees", false},
		{5 * time.Minute, "behind that of 127.0.0.1", true},
		{-5 * time.Minute, "ahead of that of 127.0.0.1", true},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(c.off).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusNotFound)
		}))
		t.Cleanup(srv.Close)
		clocks := &clocks{}
		if text, err := clocks.examine(); !errors.As(err, new(*unseen)) {
			t.Errorf("nobody was asked: %s, %v", text, err)
		}
		resp, err := clocks.client("").Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		text, err := clocks.examine()
		if err != nil {
			text = err.Error()
		}
		if (err != nil) != c.bad || !strings.Contains(text, c.says) {
			t.Errorf("a server off by %v: %s", c.off, text)
		}
	}
}
