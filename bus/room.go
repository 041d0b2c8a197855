package bus

import (
	"context"
	"sync"
	"syscall"
	"time"
)

// Room kept free in the store: above the upper mark new messages are refused,
// so that turns under way can still be committed; below the lower one they
// are taken again.
const (
	roomUpper = 0.90
	roomLower = 0.85
	// minFree is how much of the disk itself must stay free, in bytes.
	minFree = 64 << 20
	// roomEvery is how often the store is measured; in between, what is
	// published is added up.
	roomEvery = time.Second
)

// room knows how much the store may still take.
type room struct {
	mu      sync.Mutex
	used    int64
	limit   int64 // 0 = none known
	full    bool
	noSpace bool // on the disk itself
}

// take reserves room for new messages, false when there is none.
func (r *room) take(bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used += bytes
	r.judge()
	return !r.full
}

func (r *room) isFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

// Full reports whether new messages are refused, since the store has no room.
func (b *Bus) Full() bool { return b.room.isFull() }

// measured notes the truth; it reports whether the judgement changed.
func (r *room) measured(used, limit int64, noSpace bool) (full, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.full
	r.used, r.limit, r.noSpace = used, limit, noSpace
	r.judge()
	return r.full, r.full != was
}

// judge sets full; r.mu is held.
func (r *room) judge() {
	mark := roomUpper
	if r.full {
		mark = roomLower
	}
	r.full = r.noSpace || r.limit > 0 && float64(r.used) >= mark*float64(r.limit)
}

// watchRoom measures the store until the bus is closed.
func (b *Bus) watchRoom() {
	tick := time.NewTicker(roomEvery)
	defer tick.Stop()
	for {
		used, limit := b.storeUse()
		if full, changed := b.room.measured(used, limit, b.diskFull()); changed {
			b.log.Warn("message store", "full", full, "bytes", used, "limit", limit)
		}
		select {
		case <-b.closing:
			return
		case <-tick.C:
		}
	}
}

func (b *Bus) storeUse() (used, limit int64) {
	if b.srv != nil {
		v, err := b.srv.Jsz(nil)
		if err != nil {
			return 0, 0
		}
		return int64(v.Store), v.Config.MaxStore
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	info, err := b.js.AccountInfo(ctx)
	if err != nil {
		return 0, 0
	}
	return int64(info.Store), info.Limits.MaxStore
}

func (b *Bus) diskFull() bool {
	if b.srv == nil {
		return false
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(b.opts.Dir, &st); err != nil {
		return false
	}
	return st.Bavail*uint64(st.Bsize) < minFree
}
