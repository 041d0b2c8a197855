package tools

import (
	"container/list"
	"context"
	"encoding/json"
	"sync"
)

// Stamper is a Tool that reads something whose state can be told cheaply.
type Stamper interface {
	// Stamp returns a text that changes with what the call would read, and
	// false when that cannot be told now. Results with equal stamps are
	// interchangeable within a turn.
	Stamp(ctx context.Context, sc Scope, args json.RawMessage) (string, bool)
}

// The cache is small: it saves repetition within turns, it is no store.
const (
	cacheEntries = 128
	cacheBytes   = 4 << 20
)

type cacheKey struct{ turn, tool, args string }

type cached struct {
	key   cacheKey
	stamp string
	res   Result
}

// cache holds results of reading calls, the latest used first.
type cache struct {
	mu    sync.Mutex
	order list.List // of *cached
	items map[cacheKey]*list.Element
	bytes int
}

func (c *cache) get(key cacheKey, stamp string) (Result, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.items[key]
	if el == nil || el.Value.(*cached).stamp != stamp {
		return Result{}, false
	}
	c.order.MoveToFront(el)
	return el.Value.(*cached).res, true
}

func (c *cache) put(item *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil {
		c.items = map[cacheKey]*list.Element{}
	}
	c.drop(c.items[item.key])
	c.items[item.key] = c.order.PushFront(item)
	c.bytes += item.size()
	for c.order.Len() > cacheEntries || c.bytes > cacheBytes {
		c.drop(c.order.Back())
	}
}

// forget drops what a turn has read.
func (c *cache) forget(turn string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, el := range c.items {
		if key.turn == turn {
			c.drop(el)
		}
	}
}

func (c *cache) drop(el *list.Element) {
	if el == nil {
		return
	}
	item := c.order.Remove(el).(*cached)
	delete(c.items, item.key)
	c.bytes -= item.size()
}

func (i *cached) size() int { return len(i.key.args) + len(i.stamp) + len(i.res.Text) }

// reuse answers a repeated read of one turn from the cache as long as its
// stamp is the same; a call that may change something clears the turn's.
func (e *Executor) reuse(next handler) handler {
	return func(ctx context.Context, c *call) (Result, error) {
		spec := c.entry.spec
		if spec.Effect != Reads || spec.Category == MCP {
			defer e.cache.forget(c.scope.Turn) // after it, too: a read may run beside it
			return next(ctx, c)
		}
		s, ok := as[Stamper](c.entry.tool)
		if !ok || c.scope.Turn == "" {
			return next(ctx, c)
		}
		key := cacheKey{c.scope.Turn, c.name, string(c.args)}
		stamp, ok := s.Stamp(ctx, c.scope, c.args)
		if !ok {
			return next(ctx, c)
		}
		if res, hit := e.cache.get(key, stamp); hit {
			return res, nil
		}
		res, err := next(ctx, c)
		if err == nil {
			// The same stamp before and after: the result belongs to it.
			if again, ok := s.Stamp(ctx, c.scope, c.args); ok && again == stamp {
				e.cache.put(&cached{key: key, stamp: stamp, res: res})
			}
		}
		return res, err
	}
}
