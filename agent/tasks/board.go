package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// Status is how far a task is.
type Status string

// The stages of a task.
const (
	Waiting Status = "waiting" // for a place among those that run
	Running Status = "running"
	Ended   Status = "ended"   // its report stands
	Stopped Status = "stopped" // by a person; it has no report
)

// Approval stands at the end of State.Doing while a person is asked.
const Approval = "approval"

// State is what the board says of a task; its Text is not kept there.
type State struct {
	Task
	Status Status        `json:"status"`
	Doing  string        `json:"doing,omitempty"`  // the tool that runs just now; "" = it thinks
	Calls  int           `json:"calls,omitempty"`  // tool calls so far
	Spent  time.Duration `json:"spent,omitempty"`  // time it has run, up to Noted
	Noted  time.Time     `json:"noted,omitzero"`   // when this holder wrote last
	Report string        `json:"report,omitempty"` // of an ended task
	Failed bool          `json:"failed,omitempty"` // it did not do what it was to
	// Read are the sources of the text from outside that the report may pass on;
	// nil: an older version has not kept them.
	Read []chat.Source `json:"read,omitzero"`
}

// Over says that nothing of the task runs any more or will.
func (s State) Over() bool { return s.Status == Ended || s.Status == Stopped }

const (
	// keepOpen is longer than anything waits in a mailbox.
	keepOpen = 7 * 24 * time.Hour
	// keepOver is as long as a turn that waits for the report may be repeated.
	keepOver = 24 * time.Hour
)

// errOver: the task has ended or was stopped.
var errOver = errors.New("the task is over")

// Board is the table of all tasks. Safe for concurrent use, also by processes
// that share the table.
type Board struct {
	table kv.Table
	now   func() time.Time
}

// NewBoard returns a Board over a table; now nil = time.Now.
func NewBoard(table kv.Table, now func() time.Time) *Board {
	if now == nil {
		now = time.Now
	}
	return &Board{table, now}
}

func key(t Task) string { return string(t.Origin.Session()) + "." + t.ID }

// Open notes a new task, or finds the one of that id.
func (b *Board) Open(ctx context.Context, t Task) (s State, isNew bool, err error) {
	s = decode(t, nil)
	value, err := json.Marshal(s)
	if err != nil {
		return s, false, fmt.Errorf("note task %s: %w", t.ID, err)
	}
	_, err = b.table.Create(ctx, key(t), value, keepOpen)
	if err == nil {
		return s, true, nil
	}
	if errors.Is(err, kv.ErrConflict) {
		var e kv.Entry
		if e, err = b.table.Get(ctx, key(t)); err == nil {
			return decode(t, e.Value), false, nil
		}
	}
	return s, false, fmt.Errorf("note task %s: %w", t.ID, err)
}

// decode reads an entry. One that is missing or damaged is a task about which
// nothing is known yet: what it is to do stands in its message.
func decode(t Task, value []byte) State {
	var s State
	if len(value) == 0 || json.Unmarshal(value, &s) != nil || s.ID != t.ID {
		s = State{Task: t, Status: Waiting}
		s.Text = ""
	}
	return s
}

// change lets fn change the state of a task that is not over, and returns the
// state as it stands then, and whether it was changed.
func (b *Board) change(ctx context.Context, t Task, keep time.Duration, fn func(s *State)) (s State, changed bool, err error) {
	err = kv.Modify(ctx, b.table, key(t), keep, func(old []byte) ([]byte, error) {
		s = decode(t, old)
		if s.Over() {
			return nil, errOver
		}
		fn(&s)
		return json.Marshal(s)
	})
	if err != nil && !errors.Is(err, errOver) {
		return s, false, fmt.Errorf("note task %s: %w", t.ID, err)
	}
	return s, err == nil, nil
}

// Begin notes that the caller works on the task from now on, unless it is
// over. The time since an earlier holder does not count as spent.
func (b *Board) Begin(ctx context.Context, t Task) (State, error) {
	s, _, err := b.change(ctx, t, keepOpen, func(s *State) {
		s.Status, s.Doing, s.Noted = Running, "", b.now()
	})
	return s, err
}

// Note tells what the task does; calls are added to those counted.
func (b *Board) Note(ctx context.Context, t Task, doing string, calls int) (State, error) {
	s, _, err := b.change(ctx, t, keepOpen, func(s *State) {
		s.Doing, s.Calls = doing, s.Calls+calls
		s.Spent, s.Noted = s.Spent+max(0, b.now().Sub(s.Noted)), b.now()
	})
	return s, err
}

// Report is what a task has come to.
type Report struct {
	Text   string
	Failed bool // it did not do what it was to
	// Sources are of the text from outside that the task has had before it.
	Sources []chat.Source
}

// Finish writes the report of a task that is not over. Whatever the task came
// to is decided by the state returned.
func (b *Board) Finish(ctx context.Context, t Task, r Report) (State, error) {
	s, _, err := b.change(ctx, t, keepOver, func(s *State) {
		s.Status, s.Doing, s.Report, s.Failed = Ended, "", r.Text, r.Failed
		s.Read = append([]chat.Source{}, r.Sources...) // not nil: it is known
	})
	return s, err
}

// Stop ends a task that is not over; false when it is.
func (b *Board) Stop(ctx context.Context, t Task) (stopped bool, err error) {
	_, stopped, err = b.change(ctx, t, keepOpen, func(s *State) { s.Status, s.Doing = Stopped, "" })
	return stopped, err
}

// List returns the tasks of a chat that are not over, the oldest first.
func (b *Board) List(ctx context.Context, origin chat.Address) ([]State, error) {
	entries, err := kv.List(ctx, b.table, string(origin.Session()))
	if err != nil {
		return nil, fmt.Errorf("list tasks of %s: %w", origin.Session(), err)
	}
	var open []State
	for _, e := range entries {
		var s State
		if json.Unmarshal(e.Value, &s) == nil && s.Origin == origin && !s.Over() {
			open = append(open, s)
		}
	}
	sort.Slice(open, func(i, j int) bool { return open[i].At.Before(open[j].At) })
	return open, nil
}

// StopAll ends the tasks of a chat and returns them.
func (b *Board) StopAll(ctx context.Context, origin chat.Address) ([]State, error) {
	open, err := b.List(ctx, origin)
	if err != nil {
		return nil, err
	}
	var stopped []State
	for _, s := range open {
		ok, err := b.Stop(ctx, s.Task)
		if err != nil {
			return stopped, err
		}
		if ok {
			stopped = append(stopped, s)
		}
	}
	return stopped, nil
}

// errReached ends the Watch of Await.
var errReached = errors.New("reached")

// Await returns the state of a task once it is over. It blocks until then, or
// until ctx ends.
func (b *Board) Await(ctx context.Context, t Task) (s State, err error) {
	err = b.table.Watch(ctx, key(t), func(e kv.Entry) error {
		if e.Key == "" || e.Deleted {
			return nil
		}
		if s = decode(t, e.Value); s.Over() {
			return errReached
		}
		return nil
	})
	switch {
	case errors.Is(err, errReached):
		return s, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil: // the connection was closed
		err = errors.New("the watch has ended")
	}
	return s, fmt.Errorf("wait for task %s: %w", t.ID, err)
}
