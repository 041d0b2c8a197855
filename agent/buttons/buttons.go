// Package buttons remembers the buttons that the bot has sent: who may press
// them, for how long, and what a press does. A press counts exactly once, over
// restarts, redelivery and several processes. The package sends nothing and
// starts no goroutine: Press returns an Outcome for the caller to send.
package buttons

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// Spec says what a group of buttons, sent together, is for.
type Spec struct {
	Addr chat.Address
	// Senders are the ids of those who may press; empty = anyone in the chat.
	Senders []string
	// Expires is how long they can be pressed; 0 = 24 h.
	Expires time.Duration
	// Once: one press of one button uses up the whole group.
	Once bool
	// Action is the name of what a press does.
	Action string
	// Lang is the language of the labels, and so of what a press leads to; "" =
	// that of the chat.
	Lang string
}

// Choice is one button: what it shows and what its action is told.
type Choice struct {
	Label   string `json:"label"`
	Payload string `json:"payload,omitempty"`
}

// Pressed is a press that counts, as an action sees it.
type Pressed struct {
	// ID is the same when a press is handled again after a crash. An action
	// must do nothing a second time for the same ID.
	ID     string
	In     chat.Inbound // the press itself
	Choice Choice
	Lang   string // "en" or "zh"
	// Say puts a message into the press's chat as if its sender had written
	// it; one with an ID said before is said once.
	Say func(ctx context.Context, in chat.Inbound) error
}

// Result is what an action has to tell.
type Result struct {
	Notice string // short, plain, for the one who pressed
	Text   string // CommonMark for the chat; "" = no message
	// Rows are buttons under Text: with the same action, for those who may press
	// the present ones.
	Rows    [][]Choice
	Sources []chat.Source // of the text from outside that Text may hold
}

// Action does what a button is for. On an error the press does not count and
// can be made again.
type Action func(ctx context.Context, p Pressed) (Result, error)

// Options are the optional parts of a Registry.
type Options struct {
	// Actions by name, beside the built-in "say": the label is spoken as the
	// person who pressed.
	Actions map[string]Action
	Now     func() time.Time // nil = time.Now
}

// Registry makes buttons and handles their presses. Safe for concurrent use.
type Registry struct {
	table   kv.Table
	actions map[string]Action
	now     func() time.Time
}

const (
	defaultExpires = 24 * time.Hour
	// maxChoices keeps a group within what platforms show and Data can number.
	maxChoices = 100
	prefix     = "b:"
)

// New returns a Registry on table.
func New(table kv.Table, opts *Options) *Registry {
	if opts == nil {
		opts = &Options{}
	}
	r := &Registry{table: table, now: opts.Now, actions: map[string]Action{SayAction: say}}
	if r.now == nil {
		r.now = time.Now
	}
	for name, action := range opts.Actions {
		r.actions[name] = action
	}
	return r
}

// group is what the table holds of buttons that were sent together.
type group struct {
	Spec
	Until   time.Time
	Choices []Choice
	// Presses are those that counted, the oldest first and at most
	// rememberPresses.
	Presses []press `json:",omitempty"`
}

type press struct {
	ID     string
	Choice int
	Done   bool
	Notice string `json:",omitempty"`
	Text   string `json:",omitempty"`
	// Buttons stand under Text.
	Buttons [][]chat.Button `json:",omitempty"`
	Sources []chat.Source   `json:",omitempty"`
}

// rememberPresses bounds how many presses of buttons that are not Once are
// known again when they are redelivered.
const rememberPresses = 16

// Make remembers a group of buttons and returns them, in the order of choices,
// ready to be sent. Their Data cannot be guessed and is at most 64 bytes.
func (r *Registry) Make(ctx context.Context, spec Spec, choices []Choice) ([]chat.Button, error) {
	if r.actions[spec.Action] == nil {
		return nil, fmt.Errorf("make buttons: unknown action %q", spec.Action)
	}
	if len(choices) == 0 || len(choices) > maxChoices {
		return nil, fmt.Errorf("make buttons: want 1 to %d, got %d", maxChoices, len(choices))
	}
	if spec.Expires <= 0 {
		spec.Expires = defaultExpires
	}
	id := rand.Text() // 26 characters, 128 bits or more
	value, err := json.Marshal(group{Spec: spec, Until: r.now().Add(spec.Expires), Choices: choices})
	if err != nil {
		return nil, fmt.Errorf("make buttons: %w", err)
	}
	if _, err := r.table.Create(ctx, id, value, lifetime(spec.Expires)); err != nil {
		return nil, fmt.Errorf("make buttons: %w", err)
	}
	made := make([]chat.Button, len(choices))
	for i, c := range choices {
		made[i] = chat.Button{Label: c.Label, Data: fmt.Sprintf("%s%s:%d", prefix, id, i)}
	}
	return made, nil
}

// MakeRows is Make for buttons in rows.
func (r *Registry) MakeRows(ctx context.Context, spec Spec, rows [][]Choice) ([][]chat.Button, error) {
	made, err := r.Make(ctx, spec, slices.Concat(rows...))
	if err != nil {
		return nil, err
	}
	var out [][]chat.Button
	for _, row := range rows {
		if len(row) > 0 {
			out, made = append(out, made[:len(row):len(row)]), made[len(row):]
		}
	}
	return out, nil
}

// lifetime is how long an entry stays: a second longer than its buttons,
// because tables count in seconds.
func lifetime(expires time.Duration) time.Duration { return expires + time.Second }

// load reads a group; nil when there is none.
func (r *Registry) load(ctx context.Context, id string) (*group, uint64, error) {
	e, err := r.table.Get(ctx, id)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("load buttons %q: %w", id, err)
	}
	var g group
	if err := json.Unmarshal(e.Value, &g); err != nil {
		return nil, 0, fmt.Errorf("decode buttons %q: %w", id, err)
	}
	return &g, e.Revision, nil
}

// change lets fn change a group at its present revision, again from the start
// when somebody else was faster.
func (r *Registry) change(ctx context.Context, id string, fn func(g *group) error) error {
	for {
		g, revision, err := r.load(ctx, id)
		if err != nil {
			return err
		}
		if g == nil || !r.now().Before(g.Until) {
			return errExpired
		}
		if err := fn(g); err != nil {
			return err
		}
		value, err := json.Marshal(g)
		if err != nil {
			return fmt.Errorf("store buttons %q: %w", id, err)
		}
		_, err = r.table.Update(ctx, id, value, revision, lifetime(g.Until.Sub(r.now())))
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
	}
}
