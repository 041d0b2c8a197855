package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"magpie/bus"
	"magpie/chat"
)

// LettersInput is the input of the operations on dead letters.
type LettersInput struct {
	Numbers []uint64 `json:"numbers,omitempty"` // which; dlq.list takes none
	All     bool     `json:"all,omitempty"`     // all that there are when it begins
}

// Letter is a dead letter: a message that was given up.
type Letter struct {
	Number  uint64          `json:"number"`
	At      time.Time       `json:"at"`
	Way     string          `json:"way"` // "in" or "out"
	Reason  string          `json:"reason"`
	ID      string          `json:"id,omitempty"`
	Trace   string          `json:"trace,omitempty"`
	Chat    string          `json:"chat,omitempty"`    // chat.Address as text
	From    string          `json:"from,omitempty"`    // who wrote it
	Message json.RawMessage `json:"message,omitempty"` // the whole of it; only from dlq.show
}

// LetterDone is what became of one letter.
type LetterDone struct {
	Number uint64 `json:"number"`
	Err    string `json:"error,omitempty"`
}

// maxLetters bounds a list: more than that is a table for programs.
const maxLetters = 10_000

func letterOf(d bus.DeadLetter, whole bool) (Letter, error) {
	l := Letter{Number: d.Seq, At: d.At, Way: "in", Reason: d.Reason}
	var message any
	switch {
	case d.In != nil:
		l.describe(d.In.Meta)
		l.From, message = d.In.From.ID, d.In
		if d.In.From.Name != "" {
			l.From = d.In.From.Name + " (" + d.In.From.ID + ")"
		}
	case d.Out != nil:
		l.describe(d.Out.Meta)
		l.Way, message = "out", d.Out
	default:
		l.Way, message = "damaged", string(d.Raw)
	}
	if !whole {
		return l, nil
	}
	var err error
	l.Message, err = json.Marshal(message)
	return l, err
}

func (l *Letter) describe(m chat.Meta) { l.ID, l.Trace, l.Chat = m.ID, m.Trace, m.Addr.String() }

func listLetters(ctx context.Context, s state, _ json.RawMessage) (any, error) {
	dead, err := s.bus.Dead(ctx, 0, maxLetters)
	if err != nil {
		return nil, err
	}
	all := make([]Letter, 0, len(dead))
	for _, d := range dead {
		l, err := letterOf(d, false)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func showLetter(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	in, err := input[LettersInput](raw)
	if err != nil {
		return nil, err
	}
	if len(in.Numbers) != 1 {
		return nil, errors.New("want the number of one dead letter")
	}
	d, err := s.bus.Letter(ctx, in.Numbers[0])
	if err != nil {
		return nil, noLetter(err)
	}
	return letterOf(d, true)
}

func noLetter(err error) error {
	if errors.Is(err, bus.ErrNoLetter) {
		return fmt.Errorf("%w; bot dlq list shows those that there are", err)
	}
	return err
}

func dropLetter(ctx context.Context, s state, number uint64) error {
	return s.bus.DropDead(ctx, number)
}

// resubmitLetter refuses what would only wait: a channel that is not there
// delivers nothing.
func resubmitLetter(ctx context.Context, s state, number uint64) error {
	d, err := s.bus.Letter(ctx, number)
	if err != nil {
		return err
	}
	if d.Out != nil && !delivers(s.cfg, d.Out.Addr.Channel) {
		return fmt.Errorf("dead letter %d: no channel %q is enabled; enable it, or drop the letter", number, d.Out.Addr.Channel)
	}
	return s.bus.Resubmit(ctx, number)
}

// eachLetter makes an operation of something that is done to letters. One that
// fails does not stop the others.
func eachLetter(do func(ctx context.Context, s state, number uint64) error) op {
	return func(ctx context.Context, s state, raw json.RawMessage) (any, error) {
		in, err := input[LettersInput](raw)
		if err != nil {
			return nil, err
		}
		if in.All {
			dead, err := s.bus.Dead(ctx, 0, maxLetters)
			if err != nil {
				return nil, err
			}
			for _, d := range dead {
				in.Numbers = append(in.Numbers, d.Seq)
			}
		}
		done := make([]LetterDone, 0, len(in.Numbers))
		for _, n := range in.Numbers {
			d := LetterDone{Number: n}
			if err := do(ctx, s, n); err != nil {
				d.Err = noLetter(err).Error()
			}
			done = append(done, d)
		}
		return done, nil
	}
}
