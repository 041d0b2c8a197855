package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
	"magpie/internal/kv"
)

// AppendOnly stores a record as Commit does and stops there, as a crash would.
func (m *Mailbox) AppendOnly(ctx context.Context, r chat.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	cursor := m.standing.cursor
	for _, in := range r.Inputs {
		cursor = max(cursor, in.Seq)
	}
	_, err := m.append(ctx, entry{Record: r, Cursor: cursor})
	return err
}

// ResubmitHalf resubmits a dead letter and stops before it is removed, as a
// crash would.
func (b *Bus) ResubmitHalf(ctx context.Context, seq uint64) error {
	d, err := b.letter(ctx, seq)
	if err != nil {
		return err
	}
	return b.sendAgain(ctx, d, seq)
}

// PublishRaw stores bytes in a chat's mailbox that are no message.
func (b *Bus) PublishRaw(ctx context.Context, sid chat.SessionKey, data []byte) error {
	_, err := b.js.Publish(ctx, "in."+string(sid)+".person", data)
	if err == nil {
		b.wake(sid, laneOther)
	}
	return err
}

// SpoilReceipts stores what is no receipt beside that of id.
func (b *Bus) SpoilReceipts(ctx context.Context, id string) error {
	_, err := b.js.Publish(ctx, rootReceipt+placeOf(id), []byte("{"))
	return err
}

// SetSchema writes another schema version.
func (b *Bus) SetSchema(ctx context.Context, v string) error {
	meta, err := b.js.KeyValue(ctx, "meta")
	if err == nil {
		_, err = meta.Put(ctx, "schema", []byte(v))
	}
	return err
}

// Waiting counts the messages in all mailboxes, or in the outbound queue.
func (b *Bus) Waiting(ctx context.Context, outbound bool) (int, error) {
	s := b.streams.in
	if outbound {
		s = b.streams.out
	}
	info, err := s.Info(ctx)
	if err != nil {
		return 0, err
	}
	return int(info.State.Msgs), nil
}

// Dump lists what all streams hold.
func (b *Bus) Dump(ctx context.Context) (map[string][]string, error) {
	all := map[string][]string{}
	for _, name := range b.everyStream() {
		if name == "KV_lease" {
			continue
		}
		s, err := b.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for seq := uint64(1); ; seq++ {
			m, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(">"))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				break
			}
			if err != nil {
				return nil, err
			}
			seq = m.Sequence
			all[name] = append(all[name], fmt.Sprintf("%d %v %s %v %q", m.Sequence, m.Time.UnixNano(), m.Subject, m.Header, m.Data))
		}
	}
	return all, nil
}

// PauseAndDie holds all writes and forgets about it.
func (b *Bus) PauseAndDie(ctx context.Context, hold time.Duration) error {
	_, err := b.order(ctx, pauseOrder{ID: "dead", Hold: hold})
	return err
}

// Patient has a bus wait longer for the answers of other processes, which a
// busy machine may keep from answering in time.
func Patient(o Options) Options {
	o.answers = 10 * time.Second
	return o
}

// Resume ends that pause.
func (b *Bus) Resume(context.Context) error {
	b.gate.open("dead")
	return nil
}

// Steps is how many migrations the program has.
func Steps() int { return len(migrations()) }

// Acquire takes a lease; the context ends when it is lost.
func (b *Bus) Acquire(ctx context.Context, key string) (*Lease, context.Context, error) {
	l, held, err := b.acquire(ctx, key)
	return &Lease{l}, held, err
}

// Lease is a lease for tests.
type Lease struct{ l *lease }

// Release gives it back.
func (l *Lease) Release() { l.l.release() }

// Until is when the lease ends if it is not renewed.
func (l *Lease) Until() int64 { return l.l.until.Load() }

// Ghost writes the lease as a renewal does whose acknowledgement does not come
// back, or as another holder.
func (l *Lease) Ghost(ctx context.Context, own bool) error {
	ghost := &lease{b: l.l.b, subject: l.l.subject, holder: l.l.holder}
	if !own {
		ghost.holder = "somebody else"
	}
	_, err := ghost.put(ctx, l.l.rev)
	return err
}

// LeaveBehind writes the lease of a key and forgets about it, as the request of
// this process does whose acknowledgement got lost, or as that of another.
func (b *Bus) LeaveBehind(ctx context.Context, key string, own bool) error {
	l := &lease{b: b, subject: "$KV.lease." + key, holder: "another.1"}
	if own {
		l.holder = b.process + ".1"
	}
	_, err := l.put(ctx, 0)
	return err
}

// ErrHeld: somebody else has the lease.
var ErrHeld = errHeld

// FirstWatchUnanswered lets the first request of a watch of the table get no
// answer.
func FirstWatchUnanswered(t kv.Table) {
	k := &t.(*table).kv
	k.KeyValue = &unanswered{KeyValue: k.KeyValue}
}

type unanswered struct {
	jetstream.KeyValue
	asked bool
}

func (u *unanswered) WatchFiltered(ctx context.Context, keys []string, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	if !u.asked {
		u.asked = true
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return u.KeyValue.WatchFiltered(ctx, keys, opts...)
}

// Resets reports whether a server of that version can have a consumer begin
// anew.
func Resets(version string) bool { return atLeast(version, resetMinor) }

// Unmark takes the mark off all streams, as if an earlier version had made them.
func (b *Bus) Unmark(ctx context.Context) error {
	for _, cfg := range b.layout() {
		s, err := b.js.Stream(ctx, cfg.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		have := s.CachedInfo().Config
		have.Metadata, have.Description = nil, ""
		if _, err := b.js.UpdateStream(ctx, have); err != nil {
			return err
		}
	}
	return nil
}

// Unmarked names the streams without the mark, and how many have it.
func (b *Bus) Unmarked(ctx context.Context) (names []string, marked int, err error) {
	for _, cfg := range b.layout() {
		switch s, err := b.js.Stream(ctx, cfg.Name); {
		case errors.Is(err, jetstream.ErrStreamNotFound):
		case err != nil:
			return nil, 0, err
		case isMarked(s.CachedInfo().Config):
			marked++
		default:
			names = append(names, cfg.Name)
		}
	}
	return names, marked, nil
}
