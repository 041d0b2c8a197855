package qq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"magpie/internal/kv"
)

const (
	learntKey = "learnt"
	// forgetAfter is how long a refusal counts: the account may have been
	// granted meanwhile what it was refused.
	forgetAfter = 24 * time.Hour
)

// feature is something that the platform grants to some accounts.
type feature string

const (
	asMarkdown feature = "markdown" // native markdown
	asButtons  feature = "buttons"
	asStream   feature = "streams"
	asQuote    feature = "quotes" // a reply shows what it replies to
	asNotify   feature = "input notify"
	asParts    feature = "uploads in parts"
	onPresses  feature = "events of buttons"
	onMembers  feature = "events of members"
)

// learnt is what the platform has said about the account, kept over restarts,
// so that not every message asks again.
type learnt struct {
	table kv.Table
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	read  bool
	notes notes
}

// notes is how it is stored.
type notes struct {
	Refused map[feature]time.Time `json:"refused,omitempty"` // since when
	Home    string                `json:"home,omitempty"`    // the address that answers
}

// works reports whether a feature is worth a try.
func (l *learnt) works(f feature) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	at, refused := l.notes.Refused[f]
	return !refused || l.now().Sub(at) >= forgetAfter
}

// refused notes that the platform does not grant a feature.
func (l *learnt) refused(f feature, why error) {
	l.log.Info("qq does not grant this account a feature; it is tried again in a day", "feature", f, "err", why)
	l.change(func(n *notes) {
		if n.Refused == nil {
			n.Refused = map[feature]time.Time{}
		}
		n.Refused[f] = l.now().UTC()
	})
}

// home is the address that has answered last; "" when that is not known.
func (l *learnt) home() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	return l.notes.Home
}

func (l *learnt) moved(to string) { l.change(func(n *notes) { n.Home = to }) }

// load reads the table once. What cannot be read is learnt anew; l.mu is held.
func (l *learnt) load() {
	if l.read {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tablePatience)
	defer cancel()
	e, err := l.table.Get(ctx, learntKey)
	if err == nil {
		err = json.Unmarshal(e.Value, &l.notes)
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		l.log.Warn("what was learnt about the account cannot be read", "err", err)
	}
	l.read = true
}

// change is rare, so it waits for the table.
func (l *learnt) change(fn func(*notes)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.load()
	fn(&l.notes)
	ctx, cancel := context.WithTimeout(context.Background(), tablePatience)
	defer cancel()
	value, err := json.Marshal(l.notes)
	if err == nil {
		_, err = l.table.Update(ctx, learntKey, value, 0, 0)
	}
	if err != nil {
		l.log.Warn("what was learnt about the account is not stored", "err", fmt.Errorf("store: %w", err))
	}
}
