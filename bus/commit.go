package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
)

// entry is a record as it stands in HIST.
type entry struct {
	chat.Record
	// Cursor is the highest inbound sequence answered by this or any earlier
	// record of the chat.
	Cursor uint64 `json:"cursor"`
}

// Commit stores what a turn leaves behind in one durable step and then does
// what follows from it: outbounds are queued, inbound ids remembered, answered
// messages removed. A crash in between is made good by the next holder from
// the record. ErrLost means that another worker has taken over and nothing was
// stored; ErrTooLarge likewise, for a smaller record to be tried.
func (m *Mailbox) Commit(ctx context.Context, r chat.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return fmt.Errorf("commit %s: %w", r.Turn, context.Cause(ctx))
	}
	if r.V == 0 {
		r.V = chat.Version
	}
	e := entry{Record: r, Cursor: m.standing.cursor}
	for _, in := range r.Inputs {
		e.Cursor = max(e.Cursor, in.Seq)
	}
	seq, err := m.append(ctx, e)
	if err != nil {
		return fmt.Errorf("commit %s: %w", r.Turn, err)
	}
	m.standing = standing{last: seq, cursor: e.Cursor, record: &e.Record}
	for _, in := range r.Inputs {
		m.answered[in.ID] = true
	}
	if err := m.settle(ctx, e.Record); err != nil {
		// The record stands; who reads the mailbox next meets an answered
		// message and finishes the rest.
		m.b.log.Warn("record stored, its tail is not finished", "session", m.sid, "err", err)
		m.read.next, m.read.more = 1, true
	}
	return nil
}

// append writes to HIST if nobody else has since this holder looked.
func (m *Mailbox) append(ctx context.Context, e entry) (uint64, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	msg := nats.NewMsg("hist." + string(m.sid))
	msg.Data = data
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, fmt.Sprint(m.standing.last))
	seq, err := m.b.publish(ctx, msg)
	if !errors.Is(err, errConflict) {
		return seq, err
	}
	// Our own append whose acknowledgement was lost looks the same.
	last, getErr := m.b.latest(ctx, m.b.streams.hist, msg.Subject)
	if getErr == nil && last.Sequence > m.standing.last && string(last.Data) == string(data) {
		return last.Sequence, nil
	}
	return 0, fmt.Errorf("%w: %w", ErrLost, err)
}

// settle does what follows from a stored record; doing it twice is harmless.
func (m *Mailbox) settle(ctx context.Context, r chat.Record) error {
	if r.Dead != "" {
		if err := m.buryInputs(ctx, r); err != nil {
			return err
		}
	}
	if err := m.remember(ctx, r); err != nil {
		return err
	}
	return m.removeLocked(ctx, r.Inputs)
}

// remember stores the ids of answered messages, queues outbounds and puts what
// is said to other chats into their mailboxes, all at once: they do not depend
// on each other, and messages published on one connection are stored in order.
func (m *Mailbox) remember(ctx context.Context, r chat.Record) error {
	msgs := make([]*nats.Msg, 0, 1+len(r.Out)+len(r.Say))
	if len(r.Inputs) > 0 {
		msg, err := m.seen(r.Inputs)
		if err != nil {
			return err
		}
		msgs = append(msgs, msg)
	}
	for _, out := range r.Out {
		msg, err := encode(outSubject(out.Addr), out.ID, out)
		if err != nil {
			return err
		}
		msgs = append(msgs, msg)
	}
	for _, in := range r.Say {
		msg, err := encode(inSubject(in.Addr, string(in.Origin)), in.ID, in)
		if err != nil {
			return err
		}
		msgs = append(msgs, msg)
	}
	if err := m.b.publishAll(ctx, msgs); err != nil {
		return err
	}
	for _, in := range r.Say {
		m.b.wake(in.Addr.Session(), string(in.Origin))
	}
	return nil
}

// seen is the entry that notes messages as answered.
func (m *Mailbox) seen(inputs []chat.Input) (*nats.Msg, error) {
	ids := make([]string, len(inputs))
	for i, in := range inputs {
		ids[i] = in.ID
	}
	data, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(rootSeen + string(m.sid))
	msg.Data = data
	return msg, nil
}

// publishAll publishes in order without waiting for each, then waits for all;
// what fails is published again alone, with all the patience of publish.
func (b *Bus) publishAll(ctx context.Context, msgs []*nats.Msg) error {
	if len(msgs) == 1 {
		_, err := b.publish(ctx, msgs[0])
		return err
	}
	failed, err := b.publishAsync(ctx, msgs)
	if err != nil {
		return err
	}
	for _, msg := range failed {
		msg.Reply = ""
		if _, err := b.publish(ctx, msg); err != nil {
			return err
		}
	}
	return nil
}

// publishAsync publishes once and returns what was not acknowledged.
func (b *Bus) publishAsync(ctx context.Context, msgs []*nats.Msg) (failed []*nats.Msg, err error) {
	leave, err := b.gate.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	acks := make([]jetstream.PubAckFuture, len(msgs))
	for i, msg := range msgs {
		if ack, err := b.js.PublishMsgAsync(msg, jetstream.WithStallWait(requestTimeout)); err == nil {
			acks[i] = ack
		}
	}
	for i, ack := range acks {
		if ack == nil || !acknowledged(ctx, ack) {
			failed = append(failed, msgs[i])
		}
	}
	return failed, nil
}

func acknowledged(ctx context.Context, ack jetstream.PubAckFuture) bool {
	select {
	case <-ack.Ok():
		return true
	case <-ack.Err():
	case <-ctx.Done():
	}
	return false
}

// finishTail is called when a message that has been answered still stands in
// the mailbox: the crash came between the record and its tail. m.mu is held.
func (m *Mailbox) finishTail(ctx context.Context, msg *jetstream.RawStreamMsg) error {
	if m.standing.record != nil {
		if err := m.settle(ctx, *m.standing.record); err != nil {
			return err
		}
		m.standing.record = nil
	}
	return m.removeLocked(ctx, []chat.Input{{Seq: msg.Sequence}})
}

func (m *Mailbox) remove(ctx context.Context, inputs []chat.Input) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.removeLocked(ctx, inputs)
}

// delete removes a message; one that is gone already is no error.
func (b *Bus) delete(ctx context.Context, s jetstream.Stream, seq uint64) error {
	leave, err := b.gate.enter(ctx)
	if err != nil {
		return fmt.Errorf("remove message %d: %w", seq, err)
	}
	err = b.ask(ctx, func(ctx context.Context) error { return s.DeleteMsg(ctx, seq) })
	leave()
	if err == nil || errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return nil
	}
	return fmt.Errorf("remove message %d: %w", seq, err)
}

// removeLocked takes messages out of the mailbox.
func (m *Mailbox) removeLocked(ctx context.Context, inputs []chat.Input) error {
	for _, in := range inputs {
		if err := m.b.delete(ctx, m.b.streams.in, in.Seq); err != nil {
			return err
		}
	}
	return nil
}

// lastRecord is the sequence of the chat's last record as its holder knows it.
func (m *Mailbox) lastRecord() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.standing.last
}

// History returns the records of a chat that were stored after sequence after,
// in order; 0 returns all.
func (b *Bus) History(ctx context.Context, sid chat.SessionKey, after uint64) ([]chat.Stored, error) {
	if mb, here := b.chats.held.Load(sid); here && after > 0 && mb.(*Mailbox).lastRecord() <= after {
		return nil, nil // who holds the chat knows its last record
	}
	var all []chat.Stored
	for {
		msg, err := b.message(ctx, b.streams.hist, after+1, jetstream.WithGetMsgSubject("hist."+string(sid)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read history of %s: %w", sid, err)
		}
		after = msg.Sequence
		var e entry
		if err := json.Unmarshal(msg.Data, &e); err != nil {
			b.log.Error("record of the chat is damaged and left out", "session", sid, "seq", msg.Sequence, "err", err)
			continue
		}
		all = append(all, chat.Stored{Record: e.Record, Seq: msg.Sequence})
	}
}
