package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
)

// DeadLetter is a message that was given up, with the reason. Exactly one of
// In and Out is set, or neither when Raw is no message at all.
type DeadLetter struct {
	Seq    uint64         `json:"-"`
	At     time.Time      `json:"at"`
	Reason string         `json:"reason"`
	In     *chat.Inbound  `json:"in,omitempty"`
	Out    *chat.Outbound `json:"out,omitempty"`
	Raw    []byte         `json:"raw,omitempty"`
}

// ErrNoLetter: there is no dead letter with that number.
var ErrNoLetter = errors.New("no such dead letter")

// Dead lists the dead letters, oldest first, from sequence after on, at most
// limit.
func (b *Bus) Dead(ctx context.Context, after uint64, limit int) ([]DeadLetter, error) {
	var all []DeadLetter
	for len(all) < limit {
		msg, err := b.message(ctx, b.streams.dead, after+1, jetstream.WithGetMsgSubject("dlq.>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("list dead letters: %w", err)
		}
		after = msg.Sequence
		var d DeadLetter
		if err := json.Unmarshal(msg.Data, &d); err != nil {
			d = DeadLetter{At: msg.Time, Reason: "damaged: " + err.Error(), Raw: msg.Data}
		}
		d.Seq = msg.Sequence
		all = append(all, d)
	}
	return all, nil
}

// Resubmit sends a dead letter on its way again and removes it. Doing it twice,
// by two people or over a crash, is the same as once. An inbound message gets an
// id of its own that follows from the letter's number, since the first one
// counts as answered. An outbound one keeps its id: what of it the platform has
// already is not sent again.
func (b *Bus) Resubmit(ctx context.Context, seq uint64) error {
	d, err := b.letter(ctx, seq)
	if err != nil {
		return err
	}
	if err := b.sendAgain(ctx, d, seq); err != nil {
		return fmt.Errorf("resubmit dead letter %d: %w", seq, err)
	}
	return b.DropDead(ctx, seq)
}

func (b *Bus) sendAgain(ctx context.Context, d DeadLetter, seq uint64) (err error) {
	again := fmt.Sprintf(":again%d", seq)
	switch {
	case d.In != nil:
		d.In.ID += again
		err = b.PublishInbound(ctx, *d.In, false)
	case d.Out != nil:
		// The queue itself must not take it for a repeat.
		_, err = b.publishJSON(ctx, outSubject(d.Out.Addr), d.Out.ID+again, *d.Out)
	default:
		err = errors.New("it is damaged and can only be dropped")
	}
	return err
}

// DropDead removes a dead letter.
func (b *Bus) DropDead(ctx context.Context, seq uint64) error {
	if _, err := b.letter(ctx, seq); err != nil {
		return err
	}
	return b.delete(ctx, b.streams.dead, seq)
}

// Letter returns one dead letter, or an error that wraps ErrNoLetter.
func (b *Bus) Letter(ctx context.Context, seq uint64) (DeadLetter, error) { return b.letter(ctx, seq) }

func (b *Bus) letter(ctx context.Context, seq uint64) (d DeadLetter, err error) {
	msg, err := b.message(ctx, b.streams.dead, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return d, fmt.Errorf("dead letter %d: %w", seq, ErrNoLetter)
	}
	if err != nil {
		return d, fmt.Errorf("dead letter %d: %w", seq, err)
	}
	if err := json.Unmarshal(msg.Data, &d); err != nil {
		return DeadLetter{Raw: msg.Data, Reason: err.Error()}, nil
	}
	return d, nil
}

// putDead stores a dead letter once, however often it is tried.
func (b *Bus) putDead(ctx context.Context, subject, id string, d DeadLetter) error {
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode dead letter: %w", err)
	}
	msg := nats.NewMsg(subject)
	msg.Data = data
	msg.Header.Set(jetstream.MsgIDHeader, "dead:"+id)
	_, err = b.publish(ctx, msg)
	return err
}

// bury moves a message that cannot be read out of the mailbox.
func (b *Bus) bury(ctx context.Context, sid chat.SessionKey, msg *jetstream.RawStreamMsg, reason string) error {
	b.log.Error("inbound message is dead", "session", sid, "trace", traceOf(msg.Data), "reason", reason)
	d := DeadLetter{At: time.Now(), Reason: reason, Raw: msg.Data}
	if err := b.putDead(ctx, "dlq.in."+string(sid), fmt.Sprintf("in:%d", msg.Sequence), d); err != nil {
		return err
	}
	return b.delete(ctx, b.streams.in, msg.Sequence)
}

// buryInputs copies the inputs of a record that gives them up.
func (m *Mailbox) buryInputs(ctx context.Context, r chat.Record) error {
	for _, input := range r.Inputs {
		msg, err := m.b.message(ctx, m.b.streams.in, input.Seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // buried before a crash
		}
		if err != nil {
			return fmt.Errorf("read dead message: %w", err)
		}
		d := DeadLetter{At: r.At, Reason: r.Dead}
		var in chat.Inbound
		if err := json.Unmarshal(msg.Data, &in); err == nil {
			d.In = &in
		} else {
			d.Raw = msg.Data
		}
		if err := m.b.putDead(ctx, "dlq.in."+string(m.sid), input.ID, d); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bus) buryOutbound(ctx context.Context, msg jetstream.Msg, reason string) error {
	b.log.Error("outbound message is dead", "subject", msg.Subject(), "trace", traceOf(msg.Data()), "reason", reason)
	d := DeadLetter{At: time.Now(), Reason: reason}
	var out chat.Outbound
	if err := json.Unmarshal(msg.Data(), &out); err == nil {
		d.Out = &out
	} else {
		d.Raw = msg.Data()
	}
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	return b.putDead(ctx, "dlq."+msg.Subject(), fmt.Sprintf("out:%d", meta.Sequence.Stream), d)
}
