package agent

import (
	"bytes"
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
	At     time.Time    `json:"at,omitzero"`  // when it was written
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
	Sources     []chat.Source     `json:"sources,omitempty"`
	Untrusted   bool              `json:"untrusted,omitempty"` // what older versions wrote in place of Sources
	Buttons     tools.Buttons     `json:"buttons,omitzero"`
}

const (
	// journalTTL: a turn older than that is no longer resumed.
	journalTTL = 24 * time.Hour
	// maxPiece keeps a value below the 512 KiB of a kv.Table.
	maxPiece = 400 << 10
)

// A value begins with a byte that says whether the entry goes on in the next
// key, then the turn's place in the chat and a space.
const (
	pieceMore = '+'
	pieceEnd  = '.'
)

// journal is the durable diary of one turn. A chat has one row of keys,
// <sid>.<n>, over which each turn writes anew: the diaries of earlier turns are
// of no use. Turns of a chat only go forward, so whoever meets a key of its own
// turn or of a later one was overtaken by another holder.
type journal struct {
	table kv.Table
	chat  chat.SessionKey
	turn  uint64 // the place of its first message
	now   func() time.Time

	mu   sync.Mutex
	n    int
	revs map[int]uint64 // of keys that earlier turns have left, as far as known
}

func newJournal(table kv.Table, key chat.SessionKey, seq uint64, now func() time.Time) *journal {
	return &journal{table: table, chat: key, turn: seq, now: now, revs: map[int]uint64{}}
}

func (j *journal) key(n int) string { return fmt.Sprintf("%s.%d", j.chat, n) }

// add writes an entry. It does not end with ctx: what has happened must be
// written down even when the turn was just cancelled.
func (j *journal) add(ctx context.Context, e entry) error {
	e.At = j.now()
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
		if err := j.put(ctx, fmt.Appendf(nil, "%c%d %s", mark, j.turn, data[:size])); err != nil {
			return fmt.Errorf("journal %s of turn %d: %w", j.key(j.n), j.turn, err)
		}
		j.n++
		if data = data[size:]; len(data) == 0 {
			return nil
		}
	}
}

// put writes the next key, which is free or of an earlier turn.
func (j *journal) put(ctx context.Context, value []byte) error {
	key := j.key(j.n)
	for {
		var err error
		if rev := j.revs[j.n]; rev > 0 {
			_, err = j.table.Update(ctx, key, value, rev, journalTTL)
		} else {
			_, err = j.table.Create(ctx, key, value, journalTTL)
		}
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
		there, getErr := j.table.Get(ctx, key)
		switch {
		case errors.Is(getErr, kv.ErrNotFound): // its time was over just now
			delete(j.revs, j.n)
		case getErr != nil:
			return getErr
		case turnOf(there.Value) >= j.turn:
			return errors.Join(ErrLost, err)
		default:
			j.revs[j.n] = there.Revision
		}
	}
}

// turnOf is the turn that has written a value; 0 when it cannot be read.
func turnOf(value []byte) (turn uint64) {
	if len(value) > 0 {
		place, _, _ := bytes.Cut(value[1:], []byte{' '})
		turn, _ = strconv.ParseUint(string(place), 10, 64)
	}
	return turn
}

// read returns the entries in order and lets add go on behind them. An entry
// that was not written to its end is left out.
func (j *journal) read(ctx context.Context) ([]entry, error) {
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	// Most turns have no journal; one read says so.
	first, err := j.table.Get(ctx, j.key(0))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err == nil && turnOf(first.Value) != j.turn {
		j.left(0, first)
		return nil, nil
	}
	stored, err := kv.List(ctx, j.table, string(j.chat))
	if err != nil {
		return nil, fmt.Errorf("read journal of turn %d in %s: %w", j.turn, j.chat, err)
	}
	pieces := map[int][]byte{}
	order := make([]int, 0, len(stored))
	for _, e := range stored {
		n, err := strconv.Atoi(strings.TrimPrefix(e.Key, string(j.chat)+"."))
		switch {
		case err != nil:
		case turnOf(e.Value) == j.turn:
			pieces[n], order = e.Value, append(order, n)
		default:
			j.left(n, e)
		}
	}
	return j.decode(pieces, order), nil
}

// left remembers a key that an earlier turn has left.
func (j *journal) left(n int, e kv.Entry) {
	if turnOf(e.Value) < j.turn {
		j.revs[n] = e.Revision
	}
}

// decode puts the entries together.
func (j *journal) decode(pieces map[int][]byte, order []int) (all []entry) {
	slices.Sort(order)
	var whole []byte
	for i, n := range order {
		j.n = n + 1
		if i > 0 && order[i-1] != n-1 {
			whole = nil
		}
		_, text, _ := bytes.Cut(pieces[n], []byte{' '})
		whole = append(whole, text...)
		if pieces[n][0] == pieceMore {
			continue
		}
		var e entry
		if err := json.Unmarshal(whole, &e); err == nil {
			all = append(all, e)
		}
		whole = nil
	}
	return all
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
			if e.Result.Untrusted && len(e.Result.Sources) == 0 {
				e.Result.Sources = []chat.Source{{Kind: chat.SourceUnknown}}
			}
			p.done[e.Call] = *e.Result
		}
	}
	return p
}
