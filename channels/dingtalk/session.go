package dingtalk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"magpie/internal/kv"
)

const (
	// sessionMargin is how long before its end a webhook is no longer used.
	sessionMargin = time.Minute
	// storeStep: a webhook whose end has moved less than this is not stored
	// again; the end moves with every message.
	storeStep = 10 * time.Minute
	// mostHeard is how many senders of a group are remembered.
	mostHeard = 32
	// mostSessions is how many chats are held in memory; the table has all.
	mostSessions = 4096
	// tablePatience bounds one access to the adapter's table.
	tablePatience = 10 * time.Second

	sessionPrefix = "session."
)

// session is what the messages of a chat say about how to answer there.
type session struct {
	URL   string    `json:"url,omitempty"` // holds a secret
	Until time.Time `json:"until,omitzero"`
	// Heard are the last messages of a group with their senders, so that an
	// answer can mention whom it answers.
	Heard []heard `json:"heard,omitempty"`
	// Slowed is until when the webhook takes nothing.
	Slowed time.Time `json:"slowed,omitzero"`

	stored time.Time // Until as it stands in the table
	url    string    // URL as it stands in the table
	whole  bool      // what stands in the table is in it
}

// good reports whether the webhook can be used.
func (n session) good(now time.Time) bool {
	return n.URL != "" && now.Add(sessionMargin).Before(n.Until)
}

// join adds what stands in the table: an earlier process has left it, or one
// that takes the messages while this one answers them.
func (n *session) join(old session) {
	n.whole, n.stored, n.url = true, old.Until, old.URL
	if old.Slowed.After(n.Slowed) {
		n.Slowed = old.Slowed
	}
	earlier := old.Heard
	if old.Until.After(n.Until) {
		n.URL, n.Until = old.URL, old.Until
		n.Heard, earlier = earlier, n.Heard
	}
	n.hear(earlier)
}

// hear adds earlier messages, as far as they are not known.
func (n *session) hear(earlier []heard) {
	for _, h := range earlier {
		if !slices.ContainsFunc(n.Heard, func(x heard) bool { return x.ID == h.ID }) && len(n.Heard) < mostHeard {
			n.Heard = append(slices.Clip(n.Heard), h)
		}
	}
}

type heard struct {
	ID    string `json:"id"`
	Staff string `json:"staff"`
	Name  string `json:"name,omitempty"`
}

// sessions knows the session webhooks of all chats, in memory and in the
// table.
type sessions struct {
	table   kv.Table
	now     func() time.Time
	trusted func(string) bool

	mu    sync.Mutex
	known map[string]session
}

// hold notes what a message said.
func (s *sessions) hold(chat string, n session) {
	if !s.trusted(n.URL) {
		n.URL, n.Until = "", time.Time{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= mostSessions {
		clear(s.known)
	}
	old := s.known[chat]
	n.stored, n.url, n.Slowed, n.whole = old.stored, old.url, old.Slowed, old.whole
	n.hear(old.Heard)
	if n.URL == "" {
		n.URL, n.Until = old.URL, old.Until
	}
	s.known[chat] = n
}

// store writes a chat's session to the table, when it has changed enough.
func (s *sessions) store(ctx context.Context, chat string) error {
	s.mu.Lock()
	n := s.known[chat]
	s.mu.Unlock()
	if !n.whole {
		var err error
		if n, err = s.load(ctx, chat); err != nil {
			return err
		}
	}
	if n.URL == "" || (n.URL == n.url && n.Until.Sub(n.stored) < storeStep) {
		return nil
	}
	life := n.Until.Sub(s.now())
	if life < time.Second {
		return nil
	}
	if err := s.write(ctx, chat, n, life); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, ok := s.known[chat]; ok {
		now.stored, now.url = n.Until, n.URL
		s.known[chat] = now
	}
	return nil
}

func (s *sessions) write(ctx context.Context, chat string, n session, life time.Duration) error {
	value, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode the session of %q: %w", chat, err)
	}
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if _, err := s.table.Update(ctx, sessionPrefix+chat, value, 0, life); err != nil {
		return fmt.Errorf("store the session of %q: %w", chat, err)
	}
	return nil
}

// slow notes until when a chat's webhook takes nothing.
func (s *sessions) slow(ctx context.Context, chat string, until time.Time) error {
	s.mu.Lock()
	n := s.known[chat]
	n.Slowed = until.UTC()
	s.known[chat] = n
	s.mu.Unlock()
	return s.write(ctx, chat, n, max(n.Until.Sub(s.now()), until.Sub(s.now()), time.Second))
}

// get returns a chat's session; ok is false when it has no webhook that is
// still good.
func (s *sessions) get(ctx context.Context, chat string) (n session, ok bool, err error) {
	s.mu.Lock()
	n = s.known[chat]
	s.mu.Unlock()
	if !n.whole || !n.good(s.now()) {
		var stands session
		if stands, err = s.load(ctx, chat); err == nil {
			n = stands
		}
	}
	return n, n.good(s.now()), err
}

// load reads a chat's session from the table into what is known of it.
func (s *sessions) load(ctx context.Context, chat string) (n session, err error) {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	e, err := s.table.Get(ctx, sessionPrefix+chat)
	switch {
	case errors.Is(err, kv.ErrNotFound):
	case err != nil:
		return n, fmt.Errorf("read the session of %q: %w", chat, err)
	default:
		if json.Unmarshal(e.Value, &n) != nil || !s.trusted(n.URL) {
			n = session{}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	newer := s.known[chat]
	newer.join(n)
	if len(s.known) >= mostSessions {
		clear(s.known)
	}
	s.known[chat] = newer
	return newer, nil
}

// drop forgets a webhook that DingTalk does not know any more, unless it was
// replaced meanwhile.
func (s *sessions) drop(ctx context.Context, chat, url string) error {
	s.mu.Lock()
	n := s.known[chat]
	if n.URL != url {
		s.mu.Unlock()
		return nil
	}
	n.URL, n.url, n.Until, n.stored = "", "", time.Time{}, time.Time{}
	s.known[chat] = n
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if err := s.table.Delete(ctx, sessionPrefix+chat); err != nil {
		return fmt.Errorf("forget the session of %q: %w", chat, err)
	}
	return nil
}

// sender is who wrote a message of a group, "" when that is not known.
func (n session) sender(messageID string) string {
	if messageID == "" {
		return ""
	}
	return n.asker(messageID).Staff
}

// asker is who wrote a message of a group; "" is the last one.
func (n session) asker(messageID string) (who heard) {
	for _, h := range n.Heard {
		if h.ID == messageID || messageID == "" {
			return h
		}
	}
	return who
}
