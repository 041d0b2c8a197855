package cron

import (
	"context"
	"sync"
)

// queue holds keys to be looked at, each once, in the order in which they
// came. It has no limit: there are never more keys than jobs.
type queue struct {
	mu      sync.Mutex
	keys    []string
	waiting map[string]bool
	ready   chan struct{} // holds one token while there are keys
}

func newQueue() *queue {
	return &queue{waiting: map[string]bool{}, ready: make(chan struct{}, 1)}
}

func (q *queue) push(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[key] {
		return
	}
	q.waiting[key] = true
	q.keys = append(q.keys, key)
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// pop waits for a key; false when ctx ended.
func (q *queue) pop(ctx context.Context) (string, bool) {
	for {
		select {
		case <-ctx.Done():
			return "", false
		case <-q.ready:
		}
		if key, ok := q.take(); ok && ctx.Err() == nil {
			return key, true
		}
	}
}

func (q *queue) take() (string, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.keys) == 0 {
		return "", false
	}
	key := q.keys[0]
	q.keys = q.keys[1:]
	delete(q.waiting, key)
	if len(q.keys) > 0 {
		q.signal()
	}
	return key, true
}
