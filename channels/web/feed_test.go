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
	"magpie/chat"
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

// readers are tabs, with what each was sent.
type readers struct {
	mu     sync.Mutex
	texts  [][]string
	listed []int // events of the list of conversations
}

// open opens n tabs on conversations that are there.
func (r *readers) open(t *testing.T, w *Web, n, chats int) (leave func()) {
	r.texts, r.listed = make([][]string, n), make([]int, n)
	var leaves []func()
	for i := range n {
		_, leave := look(t, w, fmt.Sprintf("c%d", i%chats), func(kind string, m message) {
			r.mu.Lock()
			defer r.mu.Unlock()
			switch kind {
			case "message":
				r.texts[i] = append(r.texts[i], m.Text)
			case "chat":
				r.listed[i]++
			}
		})
		leaves = append(leaves, leave)
	}
	synctest.Wait()
	return func() {
		for _, leave := range leaves {
			leave()
		}
		synctest.Wait()
	}
}

// list checks how often each tab was told of a conversation.
func (r *readers) list(t *testing.T, want int) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, n := range r.listed {
		if n != want {
			t.Errorf("tab %d was told %d times of conversations, want %d", i, n, want)
		}
	}
}

// However many tabs are open, the store is watched once for them, each gets what
// is its own, and the list of conversations comes whole and then at most once in
// a second.
func TestTabsShareOneWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &watched{Table: &kv.Memory{}}
		w := quiet(t, table)
		const tabs, chats, more = 20, 5, 50
		for c := range chats {
			send(t, w, out(fmt.Sprintf("c%d", c), "before", fmt.Sprintf("before c%d", c)))
		}
		var r readers
		leave := r.open(t, w, tabs, chats)
		if n := table.watches(); n != 2 {
			t.Errorf("%d watches for %d tabs, want one of the messages and one of the list", n, tabs)
		}
		for n := range more {
			for c := range chats {
				send(t, w, out(fmt.Sprintf("c%d", c), fmt.Sprint(n), fmt.Sprintf("%d c%d", n, c)))
			}
		}
		r.list(t, chats) // before a second is over
		<-time.After(listEvery)
		r.list(t, 2*chats) // each once more
		for i := range tabs {
			own := fmt.Sprintf("c%d", i%chats)
			want := []string{"before " + own}
			for n := range more {
				want = append(want, fmt.Sprintf("%d %s", n, own))
			}
			if diff := cmp.Diff(want, r.texts[i]); diff != "" {
				t.Errorf("tab %d: %s", i, diff)
			}
		}
		leave()
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

// behind is a channel that a tab of another conversation keeps the watch of, with
// one message, as it was first.
func behind(t *testing.T) (w *Web, table *watched, ref chat.MessageRef, old kv.Entry, ended <-chan error) {
	t.Helper()
	table = &watched{Table: &kv.Memory{}}
	w = quiet(t, table)
	ended, leave := look(t, w, "other", func(string, message) {})
	t.Cleanup(leave)
	synctest.Wait()
	ref = send(t, w, out("main", "1", "first"))
	synctest.Wait()
	return w, table, ref, table.entry(t, ref), ended
}

func (w *watched) entry(t *testing.T, ref chat.MessageRef) kv.Entry {
	t.Helper()
	e, err := w.Get(t.Context(), messageKey(ref.Chat, ref.ID))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// lists answers a watch with what it is given and the mark.
func lists(fn func(kv.Entry) error, all ...kv.Entry) error {
	for _, e := range append(all, kv.Entry{}) {
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// A listing from a server that is behind is not shown: what was told before the
// tab came would never come again.
func TestListingThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, table, ref, old, _ := behind(t)
		if err := w.Edit(t.Context(), ref, out("main", "e", "changed")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		asked := 0
		table.spoil = func(_ string, watch func(func(kv.Entry) error) error, fn func(kv.Entry) error) error {
			if asked++; asked > 2 {
				return watch(fn)
			}
			return lists(fn, old)
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

// A listing that stays behind ends the watch for all: it may be of a store that
// is no more.
func TestListingThatStaysBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, table, _, old, other := behind(t)
		old.Revision--
		table.spoil = func(_ string, _ func(func(kv.Entry) error) error, fn func(kv.Entry) error) error {
			return lists(fn, old)
		}
		ended, away := look(t, w, "main", func(string, message) {})
		defer away()
		for _, err := range []error{<-ended, <-other} {
			if !errors.Is(err, errBehind) {
				t.Errorf("ended with %v, want %v", err, errBehind)
			}
		}
	})
}

// A listing may hold a message that is newer than a change of another one which
// it does not hold: the change is shown all the same.
func TestChangeDuringTheListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, table, ref, old, _ := behind(t)
		table.spoil = func(_ string, _ func(func(kv.Entry) error) error, fn func(kv.Entry) error) error {
			table.mu.Lock()
			table.spoil = nil
			table.mu.Unlock()
			if err := w.Edit(t.Context(), ref, out("main", "e", "changed")); err != nil {
				t.Error(err)
			}
			later := send(t, w, out("main", "2", "second"))
			return lists(fn, old, table.entry(t, later))
		}
		var texts []string
		_, away := look(t, w, "main", func(kind string, m message) {
			if kind == "message" {
				texts = append(texts, m.Text)
			}
		})
		defer away()
		synctest.Wait()
		if diff := cmp.Diff([]string{"first", "second", "changed"}, texts); diff != "" {
			t.Error(diff)
		}
	})
}
