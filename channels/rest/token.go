package rest

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Token keeps the access token of one instance. The first four fields are
// filled in before the first use.
type Token struct {
	// Fetch gets a token and how long it lives.
	Fetch func(context.Context) (value string, life time.Duration, err error)
	// Margin is how long before its end a token is no longer used.
	Margin time.Duration
	// Stale tells errors after which a new token may help.
	Stale func(error) bool
	// Sign puts a token into a request.
	Sign func(req *http.Request, token string)
	// Now is the clock; nil: the machine's.
	Now func() time.Time

	mu    sync.Mutex
	value string
	until time.Time
	asked *fetch // nil while nobody asks
}

// fetch is one call for a token, whose outcome all who need one share.
type fetch struct {
	done  chan struct{}
	value string
	err   error
	given bool // up by the one who asked: the others ask for themselves
}

// Get returns a token that should be good. One asks for it, the others wait for
// what it gets.
func (t *Token) Get(ctx context.Context) (string, error) {
	for {
		t.mu.Lock()
		if t.value != "" && t.now().Before(t.until) {
			defer t.mu.Unlock()
			return t.value, nil
		}
		f := t.asked
		if f == nil {
			f = &fetch{done: make(chan struct{})}
			t.asked = f
			t.mu.Unlock()
			t.ask(ctx, f)
			return f.value, f.err
		}
		t.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		if !f.given {
			return f.value, f.err
		}
	}
}

func (t *Token) ask(ctx context.Context, f *fetch) {
	began := t.now()
	value, life, err := t.Fetch(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	f.value, f.err, f.given = value, err, err != nil && ctx.Err() != nil
	if err == nil {
		t.value, t.until = value, began.Add(life-min(t.Margin, life/2))
	}
	t.asked = nil
	close(f.done)
}

// Evict forgets a token that the platform refused, unless it was replaced
// meanwhile.
func (t *Token) Evict(refused string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == refused {
		t.until = time.Time{}
	}
}

// Current is the last token, good or not; "" when there was none.
func (t *Token) Current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.value
}

func (t *Token) now() time.Time {
	if t.Now != nil {
		return t.Now()
	}
	return time.Now()
}
