package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
)

// Session is a chat that the store knows of.
type Session struct {
	Key     chat.SessionKey
	Addr    chat.Address // zero: neither a record nor a message says it
	Records int          // in its history
	Last    time.Time    // of its last record, or message
	Waiting int          // messages in its mailbox, commands included
}

// Sessions lists all chats that have a history or something waiting, in no
// particular order.
func (b *Bus) Sessions(ctx context.Context) ([]Session, error) {
	hist, err := b.streams.hist.Info(ctx, jetstream.WithSubjectFilter("hist.>"))
	if err != nil {
		return nil, fmt.Errorf("list histories: %w", err)
	}
	all := map[chat.SessionKey]*Session{}
	last := jetstream.ConsumerConfig{FilterSubject: "hist.>", DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy}
	err = b.each(ctx, b.streams.hist, last, time.Time{}, func(msg jetstream.Msg) error {
		s := sessionOf(msg)
		s.Records = int(hist.State.Subjects[msg.Subject()])
		all[s.Key] = s
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = b.walkIn(ctx, func(sid chat.SessionKey, in chat.Inbound, stored time.Time) {
		s := all[sid]
		if s == nil {
			s = &Session{Key: sid}
			all[sid] = s
		}
		if s.Addr == (chat.Address{}) {
			s.Addr = in.Addr
		}
		if stored.After(s.Last) {
			s.Last = stored
		}
		s.Waiting++
	})
	list := make([]Session, 0, len(all))
	for _, s := range all {
		list = append(list, *s)
	}
	return list, err
}

// First returns the oldest record of a chat's history; ok is false when there is
// none, or one that cannot be read.
func (b *Bus) First(ctx context.Context, sid chat.SessionKey) (r chat.Record, ok bool, err error) {
	msg, err := b.message(ctx, b.streams.hist, 1, jetstream.WithGetMsgSubject("hist."+string(sid)))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("read history of %s: %w", sid, err)
	}
	var e entry
	ok = json.Unmarshal(msg.Data, &e) == nil
	return e.Record, ok, nil
}

// sessionOf reads what the last record of a chat says of it.
func sessionOf(msg jetstream.Msg) *Session {
	var r struct {
		Addr chat.Address
		At   time.Time
		Out  []struct{ Addr chat.Address }
	}
	_ = json.Unmarshal(msg.Data(), &r) // a damaged record says nothing
	s := &Session{Key: chat.SessionKey(msg.Subject()[len("hist."):]), Addr: r.Addr, Last: r.At}
	if s.Addr == (chat.Address{}) && len(r.Out) > 0 { // written before records had it
		s.Addr = r.Out[0].Addr
	}
	return s
}

// walkIn calls fn for everything that waits.
func (b *Bus) walkIn(ctx context.Context, fn func(sid chat.SessionKey, in chat.Inbound, stored time.Time)) error {
	for next := uint64(1); ; {
		msg, err := b.streams.in.GetMsg(ctx, next, jetstream.WithGetMsgSubject("in.>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read mailboxes: %w", err)
		}
		next = msg.Sequence + 1
		var in chat.Inbound
		_ = json.Unmarshal(msg.Data, &in) // who holds the chat buries what is no message
		if sid, _, ok := parseIn(msg.Subject); ok {
			fn(sid, in, msg.Time)
		}
	}
}

// ErrBusy: the chat is being worked on.
var ErrBusy = errors.New("the chat is being worked on")

// Alone gives a chat's mailbox to fn while nobody else works on the chat, in
// this process or another. It waits for a turn that runs, for at most wait, then
// returns ErrBusy.
func (b *Bus) Alone(ctx context.Context, sid chat.SessionKey, wait time.Duration, fn func(ctx context.Context, mb *Mailbox) error) error {
	l, held, err := b.acquireWithin(ctx, sid, wait)
	if err != nil {
		return err
	}
	defer func() {
		l.release()
		b.wake(sid, laneOther) // what came meanwhile was refused to the workers
	}()
	b.chats.recall(sid) // it will not stand there any more
	mb := newMailbox(b, sid)
	if err := mb.begin(held, true); err != nil { // ends what a crash left of the last turn
		return err
	}
	return fn(held, mb)
}

// Forget removes the chat's history but for the last record, for good.
func (m *Mailbox) Forget(ctx context.Context) error {
	leave, err := m.b.gate.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	err = m.b.streams.hist.Purge(ctx, jetstream.WithPurgeSubject("hist."+string(m.sid)), jetstream.WithPurgeKeep(1))
	if err != nil {
		return fmt.Errorf("clear history of %s: %w", m.sid, err)
	}
	return nil
}

// acquireWithin takes the lease on a chat as soon as nobody holds it.
func (b *Bus) acquireWithin(ctx context.Context, sid chat.SessionKey, wait time.Duration) (*lease, context.Context, error) {
	end := time.NewTimer(wait)
	defer end.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		l, held, err := b.acquire(ctx, string(sid))
		if !errors.Is(err, errHeld) {
			return l, held, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-end.C:
			return nil, nil, ErrBusy
		case <-again.C:
		}
	}
}
