package kv

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Table that forgets everything with the process. The zero value
// is ready.
type Memory struct {
	mu      sync.Mutex
	rev     uint64
	entries map[string]memoryEntry
	watches map[*memoryWatch]struct{}
}

type memoryEntry struct {
	Entry
	ends time.Time // zero: never
}

type memoryWatch struct {
	prefix string
	queue  []Entry
	wake   chan struct{}
}

var _ Table = (*Memory)(nil)

// Get implements Table.
func (m *Memory) Get(ctx context.Context, key string) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.live(key)
	if !ok {
		return Entry{}, ErrNotFound
	}
	return e, nil
}

func (m *Memory) live(key string) (Entry, bool) {
	e, ok := m.entries[key]
	if !ok || (!e.ends.IsZero() && !time.Now().Before(e.ends)) {
		return Entry{}, false
	}
	return e.Entry, true
}

// Create implements Table.
func (m *Memory) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.live(key); ok {
		return 0, ErrConflict
	}
	return m.put(key, value, ttl), nil
}

// Update implements Table.
func (m *Memory) Update(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.live(key); revision != 0 && (!ok || e.Revision != revision) {
		return 0, ErrConflict
	}
	return m.put(key, value, ttl), nil
}

func (m *Memory) put(key string, value []byte, ttl time.Duration) uint64 {
	m.rev++
	e := memoryEntry{Entry: Entry{Key: key, Value: slices.Clip(append([]byte{}, value...)), Revision: m.rev}} // whoever appends to it has a copy
	if ttl > 0 {
		e.ends = time.Now().Add(ttl)
	}
	if m.entries == nil {
		m.entries = map[string]memoryEntry{}
	}
	m.entries[key] = e
	m.tell(e.Entry)
	return m.rev
}

// Delete implements Table.
func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.live(key); ok {
		delete(m.entries, key)
		m.rev++
		m.tell(Entry{Key: key, Revision: m.rev, Deleted: true})
	}
	return nil
}

func (m *Memory) tell(e Entry) {
	for w := range m.watches {
		if under(e.Key, w.prefix) {
			w.queue = append(w.queue, e)
			select {
			case w.wake <- struct{}{}:
			default:
			}
		}
	}
}

func under(key, prefix string) bool {
	return prefix == "" || key == prefix || strings.HasPrefix(key, prefix+".")
}

// Watch implements Table.
func (m *Memory) Watch(ctx context.Context, prefix string, fn func(Entry) error) error {
	w := &memoryWatch{prefix: prefix, wake: make(chan struct{}, 1)}
	m.mu.Lock()
	for key := range m.entries {
		if e, ok := m.live(key); ok && under(key, prefix) {
			w.queue = append(w.queue, e)
		}
	}
	w.queue = append(w.queue, Entry{})
	if m.watches == nil {
		m.watches = map[*memoryWatch]struct{}{}
	}
	m.watches[w] = struct{}{}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.watches, w)
		m.mu.Unlock()
	}()
	for {
		m.mu.Lock()
		batch := w.queue
		w.queue = nil
		m.mu.Unlock()
		for _, e := range batch {
			if ctx.Err() != nil {
				return nil
			}
			if err := fn(e); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
		}
	}
}
