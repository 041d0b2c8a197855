package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/internal/kv"
)

// feed follows the conversations in the table, once for all tabs that are open:
// were each to do so, the store would send every change as often as there are
// tabs, and keep a consumer for each.
type feed struct {
	table kv.Table

	mu  sync.Mutex
	now *following // nil while no tab is open
}

// following lasts from the first tab to the last, or until the table ends it;
// the tabs that it has then end too, and come again.
type following struct {
	ctx   context.Context //nolint:containedctx // of no request: it is the following's own
	end   context.CancelCauseFunc
	ended sync.WaitGroup
	begun chan struct{} // closed when every change of a message comes

	// The rest belongs to feed.mu.
	tabs    map[*seat]struct{}
	newest  map[string]kv.Entry // the last change of each conversation's messages, without its value
	chats   map[string]listed
	changes uint64 // of the list
	whole   bool   // the list has come
}

// listed is the newest change of a conversation in the list, as tabs get it.
type listed struct {
	n    uint64 // the number of the change
	data []byte
}

// seat is the place of one tab. What comes for it waits there until the tab
// takes it.
type seat struct {
	*following
	chatID   string
	messages chan struct{} // readable when there is something to take
	list     chan struct{} // readable when there is something new to list

	waits []kv.Entry
	bytes int
	known uint64 // the change of the list that the tab has
}

// maxWaits is how many bytes of messages wait for a tab that takes none.
const maxWaits = 1 << 20

// A listing that is older than what was told before is asked for again, that
// often, after a pause.
const (
	listTries = 20
	listPause = 100 * time.Millisecond
)

var (
	errSlow   = errors.New("the tab takes too little")
	errBehind = errors.New("the list of messages stays older than what was told")
)

// join gives a tab a place; it calls leave.
func (f *feed) join(chatID string) (s *seat, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == nil || f.now.ctx.Err() != nil {
		f.now = f.follow()
	}
	s = &seat{following: f.now, chatID: chatID, messages: make(chan struct{}, 1), list: make(chan struct{}, 1)}
	s.tabs[s] = struct{}{}
	if s.whole {
		wake(s.list)
	}
	return s, func() { f.leave(s) }
}

func (f *feed) leave(s *seat) {
	f.mu.Lock()
	delete(s.tabs, s)
	last := len(s.tabs) == 0
	if last {
		s.end(nil)
		if f.now == s.following {
			f.now = nil
		}
	}
	f.mu.Unlock()
	if last {
		s.ended.Wait()
	}
}

func (f *feed) follow() *following {
	n := &following{
		begun: make(chan struct{}), tabs: map[*seat]struct{}{},
		newest: map[string]kv.Entry{}, chats: map[string]listed{},
	}
	n.ctx, n.end = context.WithCancelCause(context.Background())
	n.ended.Go(func() {
		n.end(kv.Follow(n.ctx, f.table, "m", func(e kv.Entry) error {
			f.message(n, e)
			return nil
		}))
	})
	n.ended.Go(func() {
		n.end(f.table.Watch(n.ctx, "c", func(e kv.Entry) error {
			f.listed(n, e)
			return nil
		}))
	})
	return n
}

// message puts a change where the tabs of its conversation find it.
func (f *feed) message(n *following, e kv.Entry) {
	if e.Key == "" {
		close(n.begun)
		return
	}
	chatID, _, _ := strings.Cut(strings.TrimPrefix(e.Key, "m."), ".")
	f.mu.Lock()
	defer f.mu.Unlock()
	if !e.Deleted {
		n.newest[chatID] = kv.Entry{Key: e.Key, Revision: e.Revision}
	} else if n.newest[chatID].Key == e.Key {
		delete(n.newest, chatID) // a listing shows nothing of it
	}
	for s := range n.tabs {
		if s.chatID == chatID && s.bytes <= maxWaits {
			s.waits = append(s.waits, e)
			s.bytes += len(e.Key) + len(e.Value)
			wake(s.messages)
		}
	}
}

// listed notes a change of the list.
func (f *feed) listed(n *following, e kv.Entry) {
	var a about
	switch {
	case e.Key == "":
	case e.Deleted:
		a = about{ID: strings.TrimPrefix(e.Key, "c."), Gone: true}
	case json.Unmarshal(e.Value, &a) != nil:
		return
	}
	data, err := json.Marshal(a)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Key == "" {
		n.whole = true
	} else {
		n.changes++
		n.chats[e.Key] = listed{n.changes, data}
	}
	if n.whole {
		for s := range n.tabs {
			wake(s.list)
		}
	}
}

// take returns the changes of messages that came for a tab.
func (f *feed) take(s *seat) ([]kv.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.bytes > maxWaits {
		return nil, errSlow
	}
	all := s.waits
	s.waits, s.bytes = nil, 0
	return all, nil
}

// changed returns what a tab does not know of the list yet, oldest change first.
func (f *feed) changed(s *seat) (events [][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var news []listed
	for _, c := range s.chats {
		if c.n > s.known {
			news = append(news, c)
		}
	}
	slices.SortFunc(news, func(a, b listed) int { return cmp.Compare(a.n, b.n) })
	for _, c := range news {
		events = append(events, c.data)
	}
	s.known = s.changes
	return events
}

// stored returns the messages of a tab's conversation as they are now, oldest
// change first: at least all that was told before the tab came.
func (f *feed) stored(ctx context.Context, s *seat) ([]kv.Entry, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, context.Cause(s.ctx)
	case <-s.begun:
	}
	for range listTries {
		f.mu.Lock()
		newest := s.newest[s.chatID]
		f.mu.Unlock()
		all, err := kv.List(ctx, f.table, "m."+s.chatID)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(e kv.Entry) bool { return e.Key == newest.Key && e.Revision < newest.Revision }) {
			slices.SortFunc(all, func(a, b kv.Entry) int { return cmp.Compare(a.Revision, b.Revision) })
			return all, nil
		}
		// It came from a server that is behind.
		select {
		case <-ctx.Done():
		case <-time.After(listPause):
		}
	}
	s.end(errBehind) // or the watch is of a store that is no more
	return nil, errBehind
}
