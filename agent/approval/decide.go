package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"magpie/agent/buttons"
	"magpie/chat"
	"magpie/internal/kv"
)

// Reasons why a decision does not count.
var (
	ErrUnknown = errors.New("no such question")
	ErrDecided = errors.New("the question was decided before")
	ErrForeign = errors.New("not for this person to decide")
)

// Decide takes the answer of a person to a question. ErrUnknown, ErrForeign
// and ErrDecided (with the request as it stands) say why it does not count;
// the same person saying the same thing again is no error.
func (d *Desk) Decide(ctx context.Context, channel string, by chat.Sender, id string, allow bool) (Request, error) {
	verdict := Denied
	if allow {
		verdict = Allowed
	}
	req, err := d.change(ctx, strings.ToUpper(strings.TrimSpace(id)), func(r *Request) error {
		switch {
		case !d.may(*r, channel, by.ID):
			return ErrForeign
		case r.Verdict == verdict && r.By == by.ID:
			return nil
		case r.Verdict != "", !d.opt.Now().Before(r.Until):
			return ErrDecided
		}
		r.Verdict, r.By = verdict, by.ID
		return nil
	})
	if errors.Is(err, kv.ErrNotFound) {
		return Request{}, ErrUnknown
	}
	return req, err
}

// may says whether that person may decide.
func (d *Desk) may(r Request, channel, sender string) bool {
	if sender == "" {
		return false
	}
	return channel == r.Addr.Channel && sender == r.Starter || slices.Contains(*d.admins.Load(), channel+":"+sender)
}

// Open lists the open questions of a chat, the oldest first.
func (d *Desk) Open(ctx context.Context, a chat.Address) ([]Request, error) {
	entries, err := kv.List(ctx, d.opt.Table, "")
	if err != nil {
		return nil, fmt.Errorf("list approvals: %w", err)
	}
	var open []Request
	for _, e := range entries {
		var r Request
		if json.Unmarshal(e.Value, &r) == nil && r.Verdict == "" && r.Addr == a && d.opt.Now().Before(r.Until) {
			open = append(open, r)
		}
	}
	sort.Slice(open, func(i, j int) bool {
		return cmp.Or(open[i].Until.Compare(open[j].Until), cmp.Compare(open[i].ID, open[j].ID)) < 0
	})
	return open, nil
}

// ActionName is the name of Action in the registry of buttons.
const ActionName = "approve"

// The payloads of the two buttons are the verdict and the id.
const (
	yes = "yes:"
	no  = "no:"
)

// Action is what a press of a question's button does. The registry has looked
// at who pressed already; Decide does again.
func (d *Desk) Action(ctx context.Context, p buttons.Pressed) (buttons.Result, error) {
	id, allow := strings.CutPrefix(p.Choice.Payload, yes)
	if !allow {
		id = strings.TrimPrefix(id, no)
	}
	_, err := d.Decide(ctx, p.In.Addr.Channel, p.In.From, id, allow)
	text, known := Outcome(err, allow, p.Lang)
	if !known {
		return buttons.Result{}, err
	}
	return buttons.Result{Notice: text}, nil
}
