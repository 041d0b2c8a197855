package console

import (
	"sync"
	"time"
)

const (
	tryWindow   = time.Minute
	triesEach   = 10   // wrong tokens of one sender in a window
	triesAll    = 200  // of all senders together
	triesMemory = 1024 // senders remembered
)

// tries bounds the guessing of tokens: wrong ones are counted per sender, and
// together in case the senders are many.
type tries struct {
	now   func() time.Time
	mu    sync.Mutex
	since time.Time
	all   int
	by    map[string]int
}

func newTries(now func() time.Time) *tries {
	return &tries{now: now, by: map[string]int{}}
}

// allowed reports whether a sender may present a token now. Who is logged in
// by cookie is not asked.
func (t *tries) allowed(from string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); now.Sub(t.since) >= tryWindow {
		t.since, t.all = now, 0
		clear(t.by)
	}
	return t.by[from] < triesEach && t.all < triesAll
}

func (t *tries) failed(from string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all++
	if _, known := t.by[from]; known || len(t.by) < triesMemory {
		t.by[from]++
	}
}
