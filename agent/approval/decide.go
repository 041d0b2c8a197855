package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	// ErrOver: nobody needs an answer any more.
	ErrOver = fmt.Errorf("%w: it is over", ErrDecided)
)

// Decide takes the answer of a person to a question. ErrUnknown, ErrForeign,
// ErrOver and ErrDecided (with the request as it stands) say why it does not
// count; the same person saying the same thing again is no error.
func (d *Desk) Decide(ctx context.Context, channel string, by chat.Sender, id string, allow bool) (Request, error) {
	verdict := Denied
	if allow {
		verdict = Allowed
	}
	return d.decide(ctx, channel, by, id, End{Verdict: verdict})
}

// Always is Decide for a call that is allowed from now on.
func (d *Desk) Always(ctx context.Context, channel string, by chat.Sender, id string) (Request, error) {
	return d.decide(ctx, channel, by, id, End{Verdict: Allowed, Always: true})
}

func canonical(id string) string { return strings.ToUpper(strings.TrimSpace(id)) }

func (d *Desk) decide(ctx context.Context, channel string, by chat.Sender, id string, want End) (Request, error) {
	req, err := d.change(ctx, canonical(id), func(r *Request) error {
		switch {
		case !d.may(*r, channel, by.ID):
			return ErrForeign
		case r.Verdict == want.Verdict && r.By == by.ID:
			r.Always = r.Always || want.Always
			return nil
		case r.Verdict == Allowed, r.Verdict == Denied:
			return ErrDecided
		case r.Verdict != "", !d.opt.Now().Before(r.Until):
			return ErrOver
		}
		r.End = End{Verdict: want.Verdict, By: by.ID, Name: called(by), At: d.opt.Now(), Always: want.Always}
		return nil
	})
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return Request{}, ErrUnknown
	case err != nil:
		return req, err
	}
	if req.Always && want.Always {
		if err := d.stand(ctx, req, channel); err != nil {
			return req, err
		}
	}
	d.tell(ctx, req)
	return req, nil
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
	all, err := d.requests(ctx)
	if err != nil {
		return nil, err
	}
	open := slices.DeleteFunc(all, func(r Request) bool {
		return r.Verdict != "" || r.Addr != a || !d.opt.Now().Before(r.Until)
	})
	slices.SortFunc(open, func(a, b Request) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.ID, b.ID))
	})
	return open, nil
}

// ActionName is the name of Action in the registry of buttons.
const ActionName = "approve"

// The payloads of the buttons are what they do and the id.
const (
	yes    = "yes:"
	no     = "no:"
	always = "always:"
	all    = "all:"
)

// Action is what a press of a question's button does. The registry has looked
// at who pressed already; Decide does again.
func (d *Desk) Action(ctx context.Context, p buttons.Pressed) (buttons.Result, error) {
	what, id, _ := strings.Cut(p.Choice.Payload, ":")
	channel, by := p.In.Addr.Channel, p.In.From
	var err error
	switch what + ":" {
	case all:
		text, err := d.Whole(ctx, p.In.Addr, id, p.Lang)
		if errors.Is(err, ErrUnknown) {
			notice, _ := Outcome(err, false, p.Lang)
			return buttons.Result{Notice: notice}, nil
		}
		return buttons.Result{Text: text}, err
	case always:
		_, err = d.Always(ctx, channel, by, id)
	default:
		_, err = d.Decide(ctx, channel, by, id, what+":" == yes)
	}
	text, known := Outcome(err, what+":" != no, p.Lang)
	if !known {
		return buttons.Result{}, err
	}
	return buttons.Result{Notice: text}, nil
}
