package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/internal/kv"
)

// watched is a table that counts who watches it, and whose watches can be made
// to go wrong.
type watched struct {
	kv.Table
	mu    sync.Mutex
	now   int
	spoil func(prefix string, watch func(fn func(kv.Entry) error) error, fn func(kv.Entry) error) error
}

func (w *watched) Watch(ctx context.Context, prefix string, fn func(kv.Entry) error) error {
	w.mu.Lock()
	w.now++
	spoil := w.spoil
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.now--
		w.mu.Unlock()
	}()
	watch := func(fn func(kv.Entry) error) error { return w.Table.Watch(ctx, prefix, fn) }
	if spoil != nil {
		return spoil(prefix, watch, fn)
	}
	return watch(fn)
}

func (w *watched) watches() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// quiet is a channel whose clock stands still between events.
func quiet(t *testing.T, table kv.Table) *Web {
	t.Helper()
	ch, err := New("web", nil, channels.Deps{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	return ch.(*Web)
}

// look reads a conversation in a goroutine, each event handed to fn.
func look(t *testing.T, w *Web, chatID string, fn func(kind string, m message)) (err <-chan error, leave func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	rw := &streamWriter{header: map[string][]string{}, cancel: cancel, fn: func(e event) bool {
		var m message
		if e.kind == "message" || e.kind == "chat" {
			_ = json.Unmarshal(e.data, &m)
		}
		fn(e.kind, m)
		return true
	}}
	go func() { ended <- w.stream(ctx, &tab{rw: rw, rc: http.NewResponseController(rw), md: w.md}, chatID) }()
	return ended, cancel
}

// However many tabs are open, the store is watched once for them, each gets what
// is its own, and the list of conversations comes whole and then at most once in
// a second.
func TestTabsShareOneWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &watched{Table: &kv.Memory{}}
		w := quiet(t, table)
		const tabs, chats = 20, 5
		for c := range chats {
			send(t, w, out(fmt.Sprintf("c%d", c), "before", fmt.Sprintf("before c%d", c)))
		}
		var mu sync.Mutex
		got, listed := make([][]string, tabs), make([]int, tabs)
		var leaves []func()
		for i := range tabs {
			_, leave := look(t, w, fmt.Sprintf("c%d", i%chats), func(kind string, m message) {
				mu.Lock()
				defer mu.Unlock()
				switch kind {
				case "message":
					got[i] = append(got[i], m.Text)
				case "chat":
					listed[i]++
				}
			})
			leaves = append(leaves, leave)
		}
		synctest.Wait()
		if n := table.watches(); n != 2 {
			t.Errorf("%d watches for %d tabs, want one of the messages and one of the list", n, tabs)
		}
		for n := range 50 {
			for c := range chats {
				send(t, w, out(fmt.Sprintf("c%d", c), fmt.Sprint(n), fmt.Sprintf("%d c%d", n, c)))
			}
		}
		synctest.Wait()
		mu.Lock()
		for i := range tabs {
			own := fmt.Sprintf("c%d", i%chats)
			want := []string{"before " + own}
			for n := range 50 {
				want = append(want, fmt.Sprintf("%d %s", n, own))
			}
			if diff := cmp.Diff(want, got[i]); diff != "" {
				t.Errorf("tab %d: %s", i, diff)
			}
			if listed[i] != chats {
				t.Errorf("tab %d was told %d times of conversations, want %d before a second is over", i, listed[i], chats)
			}
		}
		mu.Unlock()
		<-time.After(listEvery)
		synctest.Wait()
		mu.Lock()
		for i, n := range listed {
			if n != 2*chats {
				t.Errorf("tab %d was told %d times of conversations, want each once more", i, n-chats)
			}
		}
		mu.Unlock()
		for _, leave := range leaves {
			leave()
		}
		synctest.Wait()
		if n := table.watches(); n != 0 {
			t.Errorf("%d watches are left without a tab", n)
		}
	})
}

// When the store ends a watch, the streams end, so that the pages come again and
// miss nothing.
func TestStreamsEndWithTheWatch(t *testing.T) {
	for _, which := range []string{"m", "c"} {
		synctest.Test(t, func(t *testing.T) {
			broken, cut := errors.New("cut off"), make(chan struct{})
			table := &watched{Table: &kv.Memory{}}
			table.spoil = func(prefix string, watch func(func(kv.Entry) error) error, fn func(kv.Entry) error) error {
				if prefix != which {
					return watch(fn)
				}
				if err := fn(kv.Entry{}); err != nil {
					return err
				}
				<-cut
				return broken
			}
			w := quiet(t, table)
			var all []<-chan error
			for range 3 {
				err, leave := look(t, w, "main", func(string, message) {})
				defer leave()
				all = append(all, err)
			}
			synctest.Wait()
			close(cut)
			for _, ended := range all {
				if err := <-ended; !errors.Is(err, broken) {
					t.Errorf("ended with %v, want %v", err, broken)
				}
			}
			table.mu.Lock()
			table.spoil = nil
			table.mu.Unlock()
			texts := make(chan string, 9)
			_, leave := look(t, w, "main", func(kind string, m message) { texts <- strings.TrimSpace(kind + " " + m.Text) })
			defer leave()
			synctest.Wait()
			send(t, w, out("main", "1", "again"))
			for text := ""; text != "message again"; {
				text = <-texts
			}
		})
	}
}

// A tab that takes nothing is not waited for, and keeps nothing in memory but
// what is allowed.
func TestSlowTab(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := quiet(t, &kv.Memory{})
		s, leave := w.feed.join("main")
		defer leave()
		<-s.begun
		long := strings.Repeat("长", 20_000)
		for n := range 2 * maxWaits / len(long) {
			send(t, w, out("main", fmt.Sprint(n), long))
		}
		synctest.Wait()
		if s.bytes > maxWaits+2*len(long) {
			t.Errorf("%d bytes wait for the tab, want about %d at most", s.bytes, maxWaits)
		}
		if _, err := w.feed.take(s); !errors.Is(err, errSlow) {
			t.Errorf("got %v, want %v", err, errSlow)
		}
	})
}

// A listing from a server that is behind is not shown: what was told before the
// tab came would never come again.
func TestListingThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &watched{Table: &kv.Memory{}}
		w := quiet(t, table)
		_, leave := look(t, w, "other", func(string, message) {}) // keeps the watch
		defer leave()
		synctest.Wait()
		ref := send(t, w, out("main", "1", "first"))
		old, err := table.Get(t.Context(), messageKey("main", ref.ID))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Edit(t.Context(), ref, out("main", "e", "changed")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		asked := 0
		table.spoil = func(prefix string, watch func(func(kv.Entry) error) error, fn func(kv.Entry) error) error {
			if asked++; asked > 2 {
				return watch(fn)
			}
			if err := fn(old); err != nil {
				return err
			}
			return fn(kv.Entry{})
		}
		texts := make(chan string, 9)
		_, away := look(t, w, "main", func(kind string, m message) {
			if kind == "message" {
				texts <- m.Text
			}
		})
		defer away()
		if got := <-texts; got != "changed" || asked != 3 {
			t.Errorf("shown is %q after %d listings, want the change after 3", got, asked)
		}
	})
}
