package model

import (
	"sync"
	"time"

	"magpie/agent/llm"
)

const (
	// tolerated is how many questions in a row a model may fail before it is
	// avoided. A refused key is not tolerated at all.
	tolerated = 3
	// A model is avoided for cooling, doubled with each failed probe up to
	// maxCooling, so that a repaired one is found again within minutes.
	cooling    = 30 * time.Second
	maxCooling = 5 * time.Minute
)

// breaker remembers whether a model keeps failing. Closed: it is asked. Open:
// it is avoided until a time. Half open: one question probes it.
type breaker struct {
	mu      sync.Mutex
	fails   int           // in a row
	pause   time.Duration // of the latest opening
	until   time.Time     // zero: closed
	probing bool
	trouble llm.Kind
}

// ready says whether the model may be asked in its turn. When the time is over
// the first caller is the probe; it must call ok, failed or release.
func (b *breaker) ready(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return true
	}
	if b.probing || now.Before(b.until) {
		return false
	}
	b.probing = true
	return true
}

// ok closes the breaker.
func (b *breaker) ok() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails, b.pause, b.until, b.probing = 0, 0, time.Time{}, false
}

// release ends a probe that has proved nothing.
func (b *breaker) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}

// failed notes a question that the model did not answer for a reason of its
// own.
func (b *breaker) failed(now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
	b.fails++
	b.trouble = llm.KindOf(err)
	if b.fails < tolerated && b.trouble != llm.Unauthorized && retryAfter(err) <= maxWait {
		return
	}
	if !b.until.IsZero() && now.Before(b.until) {
		return // asked as a last resort while open: the time stands
	}
	b.pause = min(max(2*b.pause, cooling), maxCooling)
	b.until = now.Add(max(b.pause, min(retryAfter(err), maxCooling)))
}

// state returns the end of the open time (zero when closed) and its cause.
func (b *breaker) state() (time.Time, llm.Kind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.until, b.trouble
}
