package agent

import (
	"context"
	"fmt"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// Step is one line of a turn's journal, for those who follow a message.
type Step struct {
	At    time.Time
	Kind  string   // attempt, failed, handed, reply, intent or done
	Tools []string // reply: what it calls
	Call  string   // intent, done: which call of the turn, "<reply>.<place>" from 0.0
	OK    bool     // done: the call has succeeded
}

// Journal reads what the turn whose first message has this place has written
// down, in order; nothing when it has written nothing, a day has passed, or a
// later turn of the chat has a journal.
func Journal(ctx context.Context, turns kv.Table, key chat.SessionKey, seq uint64) ([]Step, error) {
	entries, err := newJournal(turns, key, seq, nil).read(ctx)
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, e := range entries {
		s := Step{At: e.At, Kind: e.Kind, Call: e.Call, OK: e.Result != nil && e.Result.OK}
		if e.Reply != nil {
			for _, c := range e.Reply.Message.Calls {
				s.Tools = append(s.Tools, c.Name)
			}
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// ForgetJournals removes the journals of all turns of a chat; nobody may hold
// the chat meanwhile.
func ForgetJournals(ctx context.Context, turns kv.Table, key chat.SessionKey) error {
	entries, err := kv.List(ctx, turns, string(key))
	if err != nil {
		return fmt.Errorf("list journals of %s: %w", key, err)
	}
	for _, e := range entries {
		if err := turns.Delete(ctx, e.Key); err != nil {
			return fmt.Errorf("forget journal %s: %w", e.Key, err)
		}
	}
	return nil
}
