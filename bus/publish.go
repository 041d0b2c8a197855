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
	errInProcess         = 10164 // clustered: another write of the same subject is not decided yet
	errStoreFailed       = 10077 // also: a limit of a DiscardNew stream
	errNoStorage         = 10047
	errNoResources       = 10023 // the server's own limit
	errStreamNotMatch    = 10060
	errNoPeers           = 10005 // clustered: too few servers for the replicas, or some that it has not heard of yet
	errSubjectsOverlap   = 10065
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
	lane := string(in.Origin)
	if control {
		lane = laneControl
	}
	if _, err := b.publishJSON(ctx, inSubject(in.Addr, lane), in.ID, in); err != nil {
		return err
	}
	b.wake(in.Addr.Session(), lane)
	return nil
}

func inSubject(a chat.Address, lane string) string { return "in." + string(a.Session()) + "." + lane }

// PublishOutbound queues a message for its channel. nil means stored.
func (b *Bus) PublishOutbound(ctx context.Context, out chat.Outbound) error {
	_, err := b.publishJSON(ctx, outSubject(out.Addr), out.ID, out)
	return err
}

func outSubject(a chat.Address) string {
	return "out." + encodeToken(a.Channel) + "." + string(a.Session())
}

func (b *Bus) publishJSON(ctx context.Context, subject, id string, v any) (uint64, error) {
	msg, err := encode(subject, id, v)
	if err != nil {
		return 0, err
	}
	return b.publish(ctx, msg)
}

// encode makes a message that is stored once for its id.
func encode(subject, id string, v any) (*nats.Msg, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", id, err)
	}
	msg := nats.NewMsg(subject)
	msg.Data = data
	msg.Header.Set(jetstream.MsgIDHeader, id)
	return msg, nil
}

// ackWithin is how long an acknowledgement is waited for before msg is sent
// again. One that was on its way when a server went or came back is lost; what
// does no harm when it comes twice need not wait as long as a slow disk may
// take.
func (b *Bus) ackWithin(msg *nats.Msg) time.Duration {
	bound := msg.Header.Get(jetstream.ExpectedLastSubjSeqHeader) != "" && !strings.HasPrefix(msg.Subject, "hist.")
	if b.srv != nil || bound {
		return requestTimeout
	}
	return publishAgain
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
		leave, err := b.gate.enter(ctx)
		if err != nil {
			return 0, fmt.Errorf("publish to %s: %w", msg.Subject, err)
		}
		once, cancel := context.WithTimeout(ctx, b.ackWithin(msg))
		ack, err := b.js.PublishMsg(once, msg)
		cancel()
		leave()
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
		wait = min(2*wait, askMost)
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
	if api.Code >= 400 && api.Code < 500 && api.ErrorCode != errInProcess {
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
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, stream := range b.opts.Role.Writes {
		subject := string(stream) + ".grants.check"
		err := b.patiently(ctx, func(context.Context) error { return b.granted(ctx, subject) })
		if err != nil {
			return fmt.Errorf("the bus at %s does not let this program publish to %q: check the permissions of its user: %w", b.where(), subject, err)
		}
	}
	return nil
}

// granted publishes what no stream takes. That nobody leads the stream may be
// different in a moment; no answer means no grant.
func (b *Bus) granted(ctx context.Context, subject string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := b.js.PublishMsg(ctx, nats.NewMsg(subject), jetstream.WithExpectStream("none"), jetstream.WithRetryAttempts(1))
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && api.ErrorCode == errStreamNotMatch:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it is not answered")
	case err == nil:
		return errors.New("it is taken by another stream")
	}
	return err
}
