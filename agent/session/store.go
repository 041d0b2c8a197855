package session

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"magpie/chat"
	"magpie/internal/kv"
)

// History reads a chat's records with Seq > after, in order.
type History func(ctx context.Context, key chat.SessionKey, after uint64) ([]chat.Stored, error)

// Options of NewStore; nil and zero fields mean the defaults.
type Options struct {
	Sessions int // how many idle sessions are kept ready; 256
	Bytes    int // about how much memory they may take together; 16 MB
}

// Store loads sessions and keeps those used last, so that the next turn of a
// chat need not read its history again. Safe for concurrent use.
type Store struct {
	history History
	table   kv.Table
	opt     Options

	mu    sync.Mutex
	ready map[chat.SessionKey]*list.Element // of *Session
	order *list.List                        // front: used last
	bytes int
}

// NewStore returns a Store over the durable histories and the table that holds
// the summaries.
func NewStore(history History, table kv.Table, opt *Options) *Store {
	st := &Store{history: history, table: table, ready: map[chat.SessionKey]*list.Element{}, order: list.New()}
	if opt != nil {
		st.opt = *opt
	}
	if st.opt.Sessions <= 0 {
		st.opt.Sessions = 256
	}
	if st.opt.Bytes <= 0 {
		st.opt.Bytes = 16 << 20
	}
	return st
}

// Load returns the chat's session for the caller alone, as the durable history
// has it now. Who is done with it gives it back by Keep, or lets it go when
// something went wrong; the next Load then reads everything anew.
func (st *Store) Load(ctx context.Context, key chat.SessionKey) (*Session, error) {
	if s := st.take(key); s != nil {
		news, err := st.history(ctx, key, s.last)
		if err != nil {
			return nil, fmt.Errorf("read history of %s: %w", key, err)
		}
		if s.confirm(news) {
			return s, nil
		}
		// Another process has had this chat in between.
	}
	return st.read(ctx, key)
}

// Keep gives a session back. Its content must be what was committed.
func (st *Store) Keep(s *Session) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.drop(st.ready[s.key])
	st.ready[s.key] = st.order.PushFront(s)
	st.bytes += s.weight()
	for st.order.Len() > 1 && (st.order.Len() > st.opt.Sessions || st.bytes > st.opt.Bytes) {
		st.drop(st.order.Back())
	}
}

func (st *Store) take(key chat.SessionKey) *Session {
	st.mu.Lock()
	defer st.mu.Unlock()
	e := st.ready[key]
	if e == nil {
		return nil
	}
	st.drop(e)
	return e.Value.(*Session)
}

// drop forgets an idle session; st.mu is held.
func (st *Store) drop(e *list.Element) {
	if e == nil {
		return
	}
	s := st.order.Remove(e).(*Session)
	st.bytes -= s.weight()
	delete(st.ready, s.key)
}

// point says where the shown part of a history begins.
type point struct {
	V       int    `json:"v"`
	After   uint64 `json:"after"`             // Seq of the last record before it
	Summary string `json:"summary,omitempty"` // of what stands before it
	// Sources are of the text from outside that was summarised; nil: an older
	// version has not kept them.
	Sources []chat.Source `json:"sources,omitzero"`
}

func pointKey(key chat.SessionKey) string { return "summary." + string(key) }

// read builds the session from the durable state.
func (st *Store) read(ctx context.Context, key chat.SessionKey) (*Session, error) {
	var p point
	e, err := st.table.Get(ctx, pointKey(key))
	switch {
	case errors.Is(err, kv.ErrNotFound):
	case err != nil:
		return nil, fmt.Errorf("read summary of %s: %w", key, err)
	default:
		if err := json.Unmarshal(e.Value, &p); err != nil {
			return nil, fmt.Errorf("decode summary of %s: %w", key, err)
		}
	}
	records, err := st.history(ctx, key, p.After)
	if err != nil {
		return nil, fmt.Errorf("read history of %s: %w", key, err)
	}
	if p.Summary != "" && p.Sources == nil {
		p.Sources = []chat.Source{{Kind: chat.SourceUnknown}}
	}
	s := &Session{key: key, summary: p.Summary, before: p.Sources, last: p.After}
	for _, r := range records {
		s.restore(r)
	}
	return s, nil
}

// save moves the point forward. Another process may have moved it further
// already; then that stands.
func (st *Store) save(ctx context.Context, key chat.SessionKey, p point) error {
	p.V = version
	err := kv.Modify(ctx, st.table, pointKey(key), 0, func(old []byte) ([]byte, error) {
		var was point
		if len(old) > 0 && json.Unmarshal(old, &was) == nil && was.After >= p.After {
			return old, nil
		}
		return json.Marshal(p)
	})
	if err != nil {
		return fmt.Errorf("save summary of %s: %w", key, err)
	}
	return nil
}
