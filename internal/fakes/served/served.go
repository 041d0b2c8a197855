// Package served is what the fake platforms share about being used: how long
// they serve, how often calls were made and with what, answers in JSON, and
// news for tests that wait until a chat shows something. It knows no platform:
// which calls there are and what is refused is each fake's own.
//
// It starts no goroutine. Calls does not lock, the fakes do; News does.
package served

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Calls counts calls by name and keeps what the fake wants to show of them. The
// zero Calls is ready.
type Calls[C any] struct {
	counts map[string]int
	kept   map[string][]C
}

// Count notes that a call was made.
func (c *Calls[C]) Count(name string) {
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[name]++
}

// Keep keeps a call for Kept.
func (c *Calls[C]) Keep(name string, call C) {
	if c.kept == nil {
		c.kept = map[string][]C{}
	}
	c.kept[name] = append(c.kept[name], call)
}

// Made is how often a call was made.
func (c *Calls[C]) Made(name string) int { return c.counts[name] }

// Kept are the calls that were kept, oldest first.
func (c *Calls[C]) Kept(name string) []C { return append([]C(nil), c.kept[name]...) }

// Life is the time in which a fake serves; NewLife begins it.
type Life struct {
	done chan struct{}
	end  func()
}

// NewLife begins a Life.
func NewLife() Life {
	done := make(chan struct{})
	return Life{done, sync.OnceFunc(func() { close(done) })}
}

// End ends it; again, it does nothing.
func (l Life) End() { l.end() }

// Done is closed by End: whatever waits waits no longer.
func (l Life) Done() <-chan struct{} { return l.done }

// News wakes whoever waits for a change. The zero News is ready, and safe for
// concurrent use.
type News struct {
	mu   sync.Mutex
	next chan struct{} // nil: nobody waits
}

// Tell says that something has changed.
func (n *News) Tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// Next is closed by the next Tell.
func (n *News) Next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

// Wait waits until chat shows what ok accepts, and returns what it shows then;
// the error says what it showed at the end of ctx. shown looks, and is called
// again after each Tell of n.
func Wait[K comparable, M any](ctx context.Context, n *News, chat K, shown func(K) []M, ok func([]M) bool) ([]M, error) {
	for {
		changed := n.Next() // before the look, so that no change falls between
		all := shown(chat)
		if ok(all) {
			return all, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return all, fmt.Errorf("chat %v shows %+v: %w", chat, all, context.Cause(ctx))
		}
	}
}

// Whole serves with h and reads what h leaves of the body of a request. The
// front of a real platform does so; net/http breaks the connection under a
// large rest half a second after the answer, and a slow client would see that
// rather than why it was refused.
func Whole(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := r.Body // h may put a limit on it
		h.ServeHTTP(w, r)
		_, _ = io.Copy(io.Discard, body) // the client may be gone
	})
}

// JSON answers with body, which is application/json unless the header says so
// otherwise already.
func JSON(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may be gone
}
