package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"magpie/agent/llm"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

// The kinds of journal entries.
const (
	kindAttempt = "attempt" // a holder begins a turn that another may have begun
	kindFailed  = "failed"  // that attempt ended with an error, not with a crash
	kindHanded  = "handed"  // that attempt was given back in order, it does not count
	kindReply   = "reply"   // the model's reply to a conversation with these inputs
	kindIntent  = "intent"  // a call that changes something is about to run
	kindDone    = "done"    // a call's result
)

// entry is one step of a turn.
type entry struct {
	Kind   string       `json:"k"`
	At     time.Time    `json:"at,omitzero"`  // attempt: when
	Inputs []uint64     `json:"in,omitempty"` // reply: the inputs that joined since the reply before
	Reply  *llm.Reply   `json:"reply,omitempty"`
	Call   string       `json:"call,omitempty"`
	Result *callOutcome `json:"result,omitempty"`
}

// callOutcome is what the rest of the turn needs of a tools.Result.
type callOutcome struct {
	OK          bool              `json:"ok,omitempty"`
	Text        string            `json:"text,omitempty"`
	Err         tools.ErrorKind   `json:"err,omitempty"`
	Attachments []chat.Attachment `json:"attachments,omitempty"`
	Answered    bool              `json:"answered,omitempty"`
}

const (
	// journalTTL: a turn older than that is no longer resumed.
	journalTTL = 24 * time.Hour
	// maxPiece keeps a value below the 512 KiB of a kv.Table.
	maxPiece = 400 << 10
)

// The first byte of a value says whether the entry goes on in the next key.
const (
	pieceMore = '+'
	pieceEnd  = '.'
)

// journal is the durable diary of one turn: keys <sid>.<seq>.<n>. A key that
// exists already was written by another holder, so the chat is lost.
type journal struct {
	table  kv.Table
	prefix string

	mu sync.Mutex
	n  int
}

func newJournal(table kv.Table, key chat.SessionKey, seq uint64) *journal {
	return &journal{table: table, prefix: fmt.Sprintf("%s.%d", key, seq)}
}

// add writes an entry. It does not end with ctx: what has happened must be
// written down even when the turn was just cancelled.
func (j *journal) add(ctx context.Context, e entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode journal entry: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWait)
	defer cancel()
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		mark, size := byte(pieceEnd), len(data)
		if size > maxPiece {
			mark, size = pieceMore, maxPiece
		}
		key := fmt.Sprintf("%s.%d", j.prefix, j.n)
		_, err := j.table.Create(ctx, key, append([]byte{mark}, data[:size]...), journalTTL)
		if errors.Is(err, kv.ErrConflict) {
			return fmt.Errorf("journal %s: %w", key, errors.Join(ErrLost, err))
		}
		if err != nil {
			return fmt.Errorf("journal %s: %w", key, err)
		}
		j.n++
		if data = data[size:]; len(data) == 0 {
			return nil
		}
	}
}

// read returns the entries in order and lets add go on behind them. An entry
// that was not written to its end is left out.
func (j *journal) read(ctx context.Context) ([]entry, error) {
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	// Most turns have no journal; one read says so.
	if _, err := j.table.Get(ctx, j.prefix+".0"); errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	stored, err := kv.List(ctx, j.table, j.prefix)
	if err != nil {
		return nil, fmt.Errorf("read journal %s: %w", j.prefix, err)
	}
	pieces := map[int][]byte{}
	order := make([]int, 0, len(stored))
	for _, e := range stored {
		n, err := strconv.Atoi(strings.TrimPrefix(e.Key, j.prefix+"."))
		if err != nil || len(e.Value) == 0 {
			continue
		}
		pieces[n], order = e.Value, append(order, n)
	}
	slices.Sort(order)
	var all []entry
	var whole []byte
	for i, n := range order {
		j.n = n + 1
		if i > 0 && order[i-1] != n-1 {
			whole = nil
		}
		whole = append(whole, pieces[n][1:]...)
		if pieces[n][0] == pieceMore {
			continue
		}
		var e entry
		if err := json.Unmarshal(whole, &e); err == nil {
			all = append(all, e)
		}
		whole = nil
	}
	return all, nil
}

// past is what a journal tells of the earlier attempts at a turn.
type past struct {
	attempts int       // that were begun and neither ended nor given back
	failed   int       // of them, that ended with an error
	since    time.Time // the first of them
	replies  []entry
	intents  map[string]bool
	done     map[string]callOutcome
}

func newPast(entries []entry) past {
	p := past{intents: map[string]bool{}, done: map[string]callOutcome{}}
	for _, e := range entries {
		switch {
		case e.Kind == kindAttempt:
			if p.attempts++; p.since.IsZero() {
				p.since = e.At
			}
		case e.Kind == kindFailed:
			p.failed++
		case e.Kind == kindHanded:
			p.attempts = max(0, p.attempts-1)
		case e.Kind == kindReply && e.Reply != nil:
			p.replies = append(p.replies, e)
		case e.Kind == kindIntent:
			p.intents[e.Call] = true
		case e.Kind == kindDone && e.Result != nil:
			p.done[e.Call] = *e.Result
		}
	}
	return p
}
