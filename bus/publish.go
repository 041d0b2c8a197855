package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
)

// Error codes of the server (errors.json of nats-server v2.15).
const (
	errWrongLastSequence = 10071
	errStoreFailed       = 10077 // also: a limit of a DiscardNew stream
	errNoStorage         = 10047
	errNoResources       = 10023 // the server's own limit
	errStreamNotMatch    = 10060
)

// PublishInbound stores a message in its chat's mailbox and wakes a worker.
// nil means stored; it blocks until then, or until ctx ends. control puts it
// on the side line for commands and presses, which has a limit of its own, so
// that /stop gets through to a chat whose mailbox is full.
//
// A repeated ID may be stored a second time (the server remembers ids for two
// minutes only); it is the holder of the mailbox that skips it.
func (b *Bus) PublishInbound(ctx context.Context, in chat.Inbound, control bool) error {
	if !b.room.take(int64(len(in.Text)) + headerRoom) {
		return fmt.Errorf("publish %s: %w", in.ID, ErrStoreFull)
	}
	sid := in.Addr.Session()
	lane := string(in.Origin)
	if control {
		lane = laneControl
	}
	if _, err := b.publishJSON(ctx, "in."+string(sid)+"."+lane, in.ID, in); err != nil {
		return err
	}
	b.wake(sid, control)
	return nil
}

// PublishOutbound queues a message for its channel. nil means stored.
func (b *Bus) PublishOutbound(ctx context.Context, out chat.Outbound) error {
	_, err := b.publishJSON(ctx, outSubject(out.Addr), out.ID, out)
	return err
}

func outSubject(a chat.Address) string {
	return "out." + encodeToken(a.Channel) + "." + string(a.Session())
}

func (b *Bus) publishJSON(ctx context.Context, subject, id string, v any) (uint64, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, fmt.Errorf("encode %s: %w", id, err)
	}
	msg := nats.NewMsg(subject)
	msg.Data = data
	msg.Header.Set(jetstream.MsgIDHeader, id)
	return b.publish(ctx, msg)
}

// publish sends msg until the stream acknowledges it, the stream refuses it
// for good, or ctx ends. A message with a Nats-Msg-Id is stored once however
// often it is sent.
func (b *Bus) publish(ctx context.Context, msg *nats.Msg) (uint64, error) {
	if len(msg.Data) > b.MaxMessage() {
		return 0, fmt.Errorf("publish to %s: %d bytes, at most %d: %w", msg.Subject, len(msg.Data), b.MaxMessage(), ErrTooLarge)
	}
	wait := 50 * time.Millisecond
	for attempt := 1; ; attempt++ {
		once, cancel := context.WithTimeout(ctx, requestTimeout)
		ack, err := b.js.PublishMsg(once, msg)
		cancel()
		if err == nil {
			return ack.Sequence, nil
		}
		if final := refusal(err); final != nil {
			return 0, fmt.Errorf("publish to %s: %w", msg.Subject, final)
		}
		if ctx.Err() != nil || b.nc.IsClosed() {
			return 0, fmt.Errorf("publish to %s: %w", msg.Subject, err)
		}
		b.log.Warn("publish is tried again", "subject", msg.Subject, "attempt", attempt, "err", err)
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("publish to %s: %w", msg.Subject, context.Cause(ctx))
		case <-time.After(wait):
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// refusal returns the reason when the server said no for good, nil when the
// same publish may succeed later.
func refusal(err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		if errors.Is(err, nats.ErrMaxPayload) {
			return ErrTooLarge
		}
		return nil
	}
	switch api.ErrorCode {
	case errWrongLastSequence:
		return fmt.Errorf("%w: %w", errConflict, err)
	case errNoStorage, errNoResources:
		return fmt.Errorf("%w: %w", ErrStoreFull, err)
	case errStoreFailed:
		if strings.Contains(api.Description, "per subject") {
			return fmt.Errorf("%w: %w", ErrMailboxFull, err)
		}
		return fmt.Errorf("%w: %w", ErrStoreFull, err)
	}
	if api.Code >= 400 && api.Code < 500 {
		return err
	}
	return nil
}

// errConflict: a publish with an expected sequence came too late.
var errConflict = errors.New("somebody else was faster")

// checkGrants finds a missing permission at the start: a denied publish
// answers nothing, a permitted one with an impossible expectation is refused
// at once.
func (b *Bus) checkGrants(ctx context.Context) error {
	for _, subject := range []string{"in.grants.check", "out.grants.check", "hist.grants", "dlq.grants"} {
		msg := nats.NewMsg(subject)
		once, cancel := context.WithTimeout(ctx, requestTimeout)
		_, err := b.js.PublishMsg(once, msg, jetstream.WithExpectStream("none"), jetstream.WithRetryAttempts(1))
		cancel()
		var api *jetstream.APIError
		if errors.As(err, &api) && api.ErrorCode == errStreamNotMatch {
			continue
		}
		return fmt.Errorf("the bus at %s does not let this program publish to %q: check the permissions of its user: %w", b.where(), subject, err)
	}
	return nil
}
