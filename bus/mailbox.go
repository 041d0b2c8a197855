package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
)

// Mailbox is everything waiting in one chat, for the worker that holds it. Its
// methods may be used by several goroutines of the owner, until the owner
// returns.
type Mailbox struct {
	b    *Bus
	sid  chat.SessionKey
	hold holding

	bell    chan struct{} // something may be new in the stream
	arrived chan struct{}
	control chan chat.Delivery

	mu       sync.Mutex
	standing standing
	read     reading
	answered map[string]bool // ids answered during this hold
}

// holding is how the chat came to be held.
type holding struct {
	slot     *slot
	stop     context.Context // of the worker: take nothing new
	orphaned bool            // an earlier holder died
	begun    time.Time
}

// standing is where the chat stands by its last record.
type standing struct {
	cursor uint64       // last input that is answered
	last   uint64       // sequence of the last record in HIST
	record *chat.Record // the last record while its tail may be unfinished
}

// reading is what was read from the stream.
type reading struct {
	more     bool            // the stream may hold what was not read
	next     uint64          // read from this sequence on
	queue    []chat.Delivery // read, not taken
	controls []chat.Delivery // read, for control when it has room again
}

// controlAhead is how many commands stand ready for the owner at once.
const controlAhead = 4

func newMailbox(b *Bus, sid chat.SessionKey) *Mailbox {
	return &Mailbox{
		b: b, sid: sid, read: reading{next: 1, more: true},
		bell:     make(chan struct{}, 1),
		arrived:  make(chan struct{}, 1),
		control:  make(chan chat.Delivery, controlAhead),
		answered: map[string]bool{},
	}
}

// Session is the chat's key.
func (m *Mailbox) Session() chat.SessionKey { return m.sid }

// Arrived signals, with a capacity of one, that Take may have something new.
func (m *Mailbox) Arrived() <-chan struct{} { return m.arrived }

// Control hands out commands and presses. Each must be given to Done.
func (m *Mailbox) Control() <-chan chat.Delivery { return m.control }

// Take returns the chat's oldest message that was not taken, false when there
// is none now or the worker is to stop. Messages whose id was answered before
// are skipped. It blocks while no turn slot is free.
func (m *Mailbox) Take(ctx context.Context) (chat.Delivery, bool, error) {
	for {
		if m.hold.stop.Err() != nil {
			return chat.Delivery{}, false, nil
		}
		d, ok, err := m.pop(ctx)
		if err != nil || !ok {
			return chat.Delivery{}, false, err
		}
		again, err := m.isAnswered(ctx, d.ID)
		if err != nil {
			m.putBack(d)
			return chat.Delivery{}, false, err
		}
		if again {
			if err := m.remove(ctx, []chat.Input{{Seq: d.Seq, ID: d.ID}}); err != nil {
				return chat.Delivery{}, false, err
			}
			continue
		}
		if err := m.hold.slot.take(ctx); err != nil {
			m.putBack(d)
			return chat.Delivery{}, false, err
		}
		return d, true, nil
	}
}

// Park gives the turn slot back while the owner waits for a person. unpark
// waits for a free one; the owner must call it before it works on.
func (m *Mailbox) Park() (unpark func(ctx context.Context) error) {
	m.hold.slot.park()
	return m.hold.slot.unpark
}

func (m *Mailbox) pop(ctx context.Context) (chat.Delivery, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fill(ctx); err != nil {
		return chat.Delivery{}, false, err
	}
	if len(m.read.queue) == 0 {
		return chat.Delivery{}, false, nil
	}
	d := m.read.queue[0]
	m.read.queue = m.read.queue[1:]
	return d, true, nil
}

func (m *Mailbox) putBack(d chat.Delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read.queue = append([]chat.Delivery{d}, m.read.queue...)
}

func (m *Mailbox) isAnswered(ctx context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known(ctx, id)
}

// known is isAnswered while m.mu is held.
func (m *Mailbox) known(ctx context.Context, id string) (bool, error) {
	if m.answered[id] {
		return true, nil
	}
	_, found, err := m.b.chats.seen.find(ctx, string(m.sid), id)
	return found, err
}

// Done says that a command or press was dealt with.
func (m *Mailbox) Done(ctx context.Context, d chat.Delivery) error {
	if err := m.remember(ctx, chat.Record{Inputs: []chat.Input{{Seq: d.Seq, ID: d.ID}}}); err != nil {
		return err
	}
	if err := m.b.delete(ctx, m.b.streams.in, d.Seq); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered[d.ID] = true
	m.feed()
	return nil
}

// feed makes commands ready as far as there is room; m.mu is held.
func (m *Mailbox) feed() {
	for len(m.read.controls) > 0 && len(m.control) < cap(m.control) {
		m.control <- m.read.controls[0]
		m.read.controls = m.read.controls[1:]
	}
}

// begin reads where the chat stands, unless that is known, and what is waiting.
func (m *Mailbox) begin(ctx context.Context, unknown bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if unknown {
		if err := m.readCursor(ctx); err != nil {
			return err
		}
	}
	return m.fill(ctx)
}

// settled is where the chat stands. The record is kept as long as its tail may
// be unfinished only.
func (m *Mailbox) settled() standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.standing
	if !m.read.more {
		s.record = nil
	}
	return s
}

func (m *Mailbox) readCursor(ctx context.Context) error {
	last, err := m.b.latest(ctx, m.b.streams.hist, "hist."+string(m.sid))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read last record: %w", err)
	}
	m.standing.last = last.Sequence
	var e entry
	if err := json.Unmarshal(last.Data, &e); err != nil {
		// The chat goes on without it: answered messages are known by their ids.
		m.b.log.Error("last record of the chat is damaged", "session", m.sid, "seq", last.Sequence, "err", err)
		return nil
	}
	m.standing.cursor, m.standing.record = e.Cursor, &e.Record
	return nil
}

// listen fills the mailbox whenever the bell rings, so that commands are seen
// while a turn runs.
func (m *Mailbox) listen(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.bell:
		}
		m.mu.Lock()
		err := m.fill(ctx)
		more := len(m.read.queue) > 0
		m.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			m.b.log.Warn("mailbox not read, the next wake-up tries again", "session", m.sid, "err", err)
		}
		if more {
			signal(m.arrived)
		}
	}
}

// ring says that the stream may hold something new.
func (m *Mailbox) ring() {
	m.mu.Lock()
	m.read.more = true
	m.mu.Unlock()
	signal(m.bell)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// fill reads all that is new in the stream; m.mu is held.
func (m *Mailbox) fill(ctx context.Context) error {
	for m.read.more {
		m.read.more = false
		if err := m.readAll(ctx); err != nil {
			m.read.more = true
			return err
		}
	}
	return nil
}

func (m *Mailbox) readAll(ctx context.Context) error {
	for {
		msg, err := m.b.message(ctx, m.b.streams.in, m.read.next, jetstream.WithGetMsgSubject("in."+string(m.sid)+".*"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read mailbox: %w", err)
		}
		_, lane, _ := parseIn(msg.Subject)
		if err := m.sort(ctx, msg, lane); err != nil {
			return err
		}
		m.read.next = msg.Sequence + 1
	}
}

// sort puts a message where it belongs: to the commands, to the queue, or, if
// it was answered already and only the removal is missing, away.
func (m *Mailbox) sort(ctx context.Context, msg *jetstream.RawStreamMsg, lane string) error {
	if lane != laneControl && msg.Sequence <= m.standing.cursor {
		return m.finishTail(ctx, msg)
	}
	d := chat.Delivery{Seq: msg.Sequence, Stored: msg.Time, Again: m.isAgain(msg.Time)}
	if d.Again {
		m.b.chats.again.Add(1)
	}
	if err := json.Unmarshal(msg.Data, &d.Inbound); err != nil {
		return m.b.bury(ctx, m.sid, msg, fmt.Sprintf("message is no valid JSON: %v", err))
	}
	if lane == laneControl {
		again, err := m.known(ctx, d.ID)
		if err != nil {
			return err
		}
		if again {
			return m.b.delete(ctx, m.b.streams.in, d.Seq)
		}
		m.read.controls = append(m.read.controls, d)
		m.feed()
	} else {
		m.read.queue = append(m.read.queue, d)
	}
	return nil
}

// isAgain: embedded, all that was stored before this process began may have
// been begun by the last one; with an external server, what a holder left
// behind whose lease ran out.
func (m *Mailbox) isAgain(stored time.Time) bool {
	if m.b.srv != nil {
		return stored.Before(m.b.started)
	}
	return m.hold.orphaned && stored.Before(m.hold.begun)
}

// waiting reports whether the stream holds something that this hold has not
// dealt with.
func (m *Mailbox) waiting(ctx context.Context) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.read.queue)+len(m.control)+len(m.read.controls) > 0 {
		return true
	}
	_, err := m.b.message(ctx, m.b.streams.in, m.read.next, jetstream.WithGetMsgSubject("in."+string(m.sid)+".*"))
	return err == nil
}

// parseIn reads session and lane out of a subject of the IN stream.
func parseIn(subject string) (chat.SessionKey, string, bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 3 || parts[0] != "in" {
		return "", "", false
	}
	return chat.SessionKey(parts[1]), parts[2], true
}
