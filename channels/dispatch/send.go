package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"magpie/channels"
	"magpie/chat"
)

const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// try makes one call to the platform until it works or trying is useless. A
// TooLong or Rejected error comes back as the channel gave it, for the caller
// may know another way; final failures are *Undeliverable.
func (d *Dispatcher) try(ctx context.Context, of chat.Meta, timeout time.Duration, call func(context.Context) error) error {
	doubt := &doubt{d: d, id: of.ID}
	err := d.tries(ctx, of, doubt, func(ctx context.Context) error { return d.once(ctx, timeout, call) })
	if _, dead := errors.AsType[*Undeliverable](err); err == nil || dead || refused(err) {
		doubt.end(ctx)
	}
	return err
}

func (d *Dispatcher) tries(ctx context.Context, of chat.Meta, doubt *doubt, call func(context.Context) error) error {
	a := of.Addr
	end := time.Now().Add(d.opt.Patience)
	for pause := firstPause; ; {
		if err := d.gov.wait(ctx, a); err != nil {
			return err
		}
		began := time.Now()
		err := call(ctx)
		if err == nil {
			d.gov.worked()
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		wait := pause/2 + rand.N(pause/2+1)
		switch kind := channels.KindOf(err); kind {
		case channels.TooLong, channels.Rejected, channels.Unauthorized:
			return err
		case channels.RateLimited:
			d.opt.Count("rate_limited")
			d.gov.limited(a, err)
			if after, _ := channels.Limit(err); time.Now().Add(after).After(end) {
				return err // longer than it is worth holding the chat: later
			}
			continue
		case channels.Ambiguous:
			var again bool
			if wait, again = doubt.again(ctx, began, end, wait); !again {
				return &Undeliverable{err}
			}
			d.opt.Count("resend")
		default:
			if time.Now().Add(wait).After(end) {
				return &Undeliverable{err}
			}
			d.opt.Count("retry")
		}
		d.opt.Log.WarnContext(ctx, "send failed, trying again", "session", a.Session(), "trace", of.Trace, "wait", wait, "err", err)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		pause = min(pause*2, maxPause)
	}
}

// once bounds a call. A call that is cut off by its bound may have arrived.
func (d *Dispatcher) once(ctx context.Context, timeout time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := call(ctx)
	var classified *channels.Error
	if err != nil && ctx.Err() != nil && !errors.As(err, &classified) {
		return &channels.Error{Channel: d.ch.Name(), Op: "send", Kind: channels.Ambiguous, Err: err}
	}
	return err
}

// verdict turns what try hands back into the answer of Deliver.
func verdict(err error) error {
	switch channels.KindOf(err) {
	case channels.Rejected, channels.TooLong:
		return &Undeliverable{err}
	}
	return err
}

// send delivers one text that should fit.
func (d *Dispatcher) send(ctx context.Context, msg chat.Outbound) (ref chat.MessageRef, err error) {
	err = d.try(ctx, msg.Meta, callTimeout, func(ctx context.Context) error {
		ref, err = d.ch.Send(ctx, msg)
		return err
	})
	return ref, err
}

// partID is the id of the n-th step of a message, so that every step is
// idempotent on its own. The first has the message's id.
func partID(id string, n int) string {
	if n == 0 {
		return id
	}
	return fmt.Sprintf("%s#%d", id, n+1)
}
