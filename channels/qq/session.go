package qq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"magpie/channels"
	"magpie/internal/kv"
)

const sessionKey = "session"

// session is what a connection needs to go on where the last one stopped.
type session struct {
	ID  string `json:"id"`
	Seq uint32 `json:"seq"` // every event up to it is stored
	Me  string `json:"me"`  // the bot's own id

	saved   mark
	savedAt time.Time
}

type mark struct {
	id  string
	seq uint32
}

func (q *QQ) loadSession(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	var s session
	e, err := q.deps.Table.Get(ctx, sessionKey)
	if errors.Is(err, kv.ErrNotFound) {
		return &s, nil
	}
	if err != nil {
		return nil, q.api.Fail("session", channels.Temporary, fmt.Errorf("read the session: %w", err))
	}
	if err := json.Unmarshal(e.Value, &s); err != nil {
		q.deps.Log.Error("the stored session cannot be read; a new one is made", "err", err)
		s = session{}
	}
	return &s, nil
}

// save stores the session if it has changed. What happens between the last
// save and a kill comes once more, with the same ids.
func (q *QQ) save(ctx context.Context, s *session) {
	now := mark{s.ID, s.Seq}
	if now == s.saved {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	data, err := json.Marshal(s)
	if err == nil {
		_, err = q.deps.Table.Update(ctx, sessionKey, data, 0, 0)
	}
	s.savedAt = q.deps.Now()
	if err != nil {
		q.deps.Log.Warn("the session is not stored; some events may come again after a restart", "err", err)
		return
	}
	s.saved = now
}

func (q *QQ) backoff() *channels.Backoff {
	return channels.NewBackoff(q.pace.retry, q.pace.retryMax)
}
