package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
)

// Found is something in the store that holds an id. One of the pointers is
// set.
type Found struct {
	Stored  time.Time
	In      *chat.Delivery // waits in its mailbox, or is being answered
	Record  *chat.Record   // of a turn
	Out     *chat.Outbound // queued
	Receipt *chat.Receipt
	Dead    *DeadLetter
}

// recently is how far back histories and receipts are searched first.
const recently = 24 * time.Hour

// Find looks for an id (a trace, or the id of a message of either way) in
// everything that is kept. It reads all of it when it has to: that is for
// people, not for programs. Nothing found is no error.
func (b *Bus) Find(ctx context.Context, id string) ([]Found, error) {
	quoted, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	f := &finder{id: id, quoted: quoted}
	for _, s := range []struct {
		stream  jetstream.Stream
		subject string
		take    func(data []byte, seq uint64) (Found, error)
	}{
		{b.streams.in, "in.>", takeIn}, {b.streams.out, "out.>", takeOut}, {b.streams.dead, "dlq.>", takeDead},
	} {
		if err := f.walk(ctx, s.stream, s.subject, s.take); err != nil {
			return nil, err
		}
	}
	for _, since := range []time.Time{time.Now().Add(-recently), {}} {
		before := len(f.found)
		err := errors.Join(
			b.each(ctx, b.streams.hist, jetstream.ConsumerConfig{FilterSubject: historyOf(id)}, since, f.look(takeRecord)),
			b.each(ctx, b.streams.ids, jetstream.ConsumerConfig{FilterSubject: receiptsOf(id)}, since, f.look(takeReceipt)),
		)
		if err != nil {
			return nil, fmt.Errorf("look for %q: %w", id, err)
		}
		if len(f.found) > before {
			break
		}
	}
	return f.found, nil
}

// historyOf narrows the search when the id names its chat, as those of
// outbound messages do.
func historyOf(id string) string {
	if sid := sessionIn(id); sid != "" {
		return "hist." + sid
	}
	return "hist.>"
}

// receiptsOf does the same for receipts.
func receiptsOf(id string) string {
	if sid := sessionIn(id); sid != "" {
		return rootReceipt + sid
	}
	return rootReceipt + ">"
}

// sessionIn is the key of the chat that the id of an outbound message names.
func sessionIn(id string) string {
	parts := strings.SplitN(id, ":", 3)
	if len(parts) == 3 && parts[0] == "out" && isSession(parts[1]) {
		return parts[1]
	}
	return ""
}

// isSession reports whether s looks like a chat.SessionKey.
func isSession(s string) bool {
	return len(s) == 20 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

type finder struct {
	id     string
	quoted []byte // as JSON writes it
	found  []Found
}

// look takes what holds the id.
func (f *finder) look(take func(data []byte, seq uint64) (Found, error)) func(jetstream.Msg) error {
	return func(msg jetstream.Msg) error {
		if !bytes.Contains(msg.Data(), f.quoted) {
			return nil
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		return f.add(msg.Data(), meta.Sequence.Stream, meta.Timestamp, take)
	}
}

func (f *finder) add(data []byte, seq uint64, stored time.Time, take func(data []byte, seq uint64) (Found, error)) error {
	found, err := take(data, seq)
	if err != nil {
		return fmt.Errorf("entry %d: %w", seq, err)
	}
	if !slices.Contains(found.ids(), f.id) {
		return nil // somebody wrote it
	}
	found.Stored = stored
	f.found = append(f.found, found)
	return nil
}

// ids are the ids that it has.
func (f Found) ids() []string {
	switch {
	case f.In != nil:
		return []string{f.In.ID, f.In.Trace}
	case f.Out != nil:
		return []string{f.Out.ID, f.Out.Trace, f.Out.Turn}
	case f.Receipt != nil:
		return []string{f.Receipt.ID, f.Receipt.Trace}
	case f.Dead != nil && f.Dead.In != nil:
		return []string{f.Dead.In.ID, f.Dead.In.Trace}
	case f.Dead != nil && f.Dead.Out != nil:
		return []string{f.Dead.Out.ID, f.Dead.Out.Trace, f.Dead.Out.Turn}
	case f.Record != nil:
		all := []string{f.Record.Turn, f.Record.Trace}
		for _, in := range f.Record.Inputs {
			all = append(all, in.ID, in.Trace)
		}
		for _, out := range f.Record.Out {
			all = append(all, out.ID, out.Trace)
		}
		return all
	}
	return nil
}

// walk reads a stream message by message: for streams that are short, and for
// a queue, which lets nobody else consume it.
func (f *finder) walk(ctx context.Context, s jetstream.Stream, subject string, take func(data []byte, seq uint64) (Found, error)) error {
	for next := uint64(1); ; {
		msg, err := s.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", subject, err)
		}
		next = msg.Sequence + 1
		if !bytes.Contains(msg.Data, f.quoted) {
			continue
		}
		if err := f.add(msg.Data, msg.Sequence, msg.Time, take); err != nil {
			return err
		}
	}
}

func takeIn(data []byte, seq uint64) (Found, error) {
	d := &chat.Delivery{Seq: seq}
	return Found{In: d}, json.Unmarshal(data, &d.Inbound)
}

func takeOut(data []byte, _ uint64) (Found, error) {
	out := &chat.Outbound{}
	return Found{Out: out}, json.Unmarshal(data, out)
}

func takeDead(data []byte, seq uint64) (Found, error) {
	d := &DeadLetter{}
	err := json.Unmarshal(data, d)
	d.Seq = seq
	return Found{Dead: d}, err
}

func takeRecord(data []byte, _ uint64) (Found, error) {
	e := &entry{}
	return Found{Record: &e.Record}, json.Unmarshal(data, e)
}

func takeReceipt(data []byte, _ uint64) (Found, error) {
	r := &chat.Receipt{}
	return Found{Receipt: r}, json.Unmarshal(data, r)
}

// fetchMost and fetchWait bound one fetch of each, fetchAgain is between two
// that nobody hears.
const fetchMost, fetchWait, fetchAgain = 512, 5 * time.Second, 50 * time.Millisecond

// each calls fn for every message of a stream that cfg selects and that was
// stored since then (zero: ever), in order.
func (b *Bus) each(ctx context.Context, s jetstream.Stream, cfg jetstream.ConsumerConfig, since time.Time, fn func(jetstream.Msg) error) error {
	cfg.AckPolicy, cfg.MemoryStorage, cfg.InactiveThreshold, cfg.Replicas = jetstream.AckNonePolicy, true, time.Minute, 1
	if !since.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &since
	}
	c, err := s.CreateConsumer(ctx, cfg)
	if err != nil {
		return fmt.Errorf("read stream: %w", err)
	}
	name := c.CachedInfo().Name
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		_ = s.DeleteConsumer(ctx, name) // else it goes by itself
	}()
	led := time.Now().Add(fetchWait) // a consumer that was just made in a cluster may not be heard yet
	for left := int(c.CachedInfo().NumPending); left > 0; {
		batch, err := c.Fetch(min(left, fetchMost), jetstream.FetchMaxWait(fetchWait))
		if err != nil {
			return fmt.Errorf("read stream: %w", err)
		}
		got := 0
		for msg := range batch.Messages() {
			got++
			if err := fn(msg); err != nil {
				return err
			}
		}
		switch {
		case got == 0 && errors.Is(batch.Error(), nats.ErrNoResponders) && time.Now().Before(led) && ctx.Err() == nil:
			time.Sleep(fetchAgain)
			continue
		case batch.Error() != nil:
			return fmt.Errorf("read stream: %w", batch.Error())
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case got == 0:
			return nil // removed meanwhile
		}
		left -= got
	}
	return nil
}
