package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
)

// Handler takes one message; nil acknowledges it. An error has the message
// handed over again after a pause, with the messages of the same chat waiting
// behind it; Drop(err) puts it to the dead letters instead.
type Handler[M any] func(ctx context.Context, m M) error

// Drop marks an error as final: the message goes to the dead letters.
func Drop(err error) error { return &dropped{err} }

type dropped struct{ err error }

func (d *dropped) Error() string { return d.err.Error() }
func (d *dropped) Unwrap() error { return d.err }

const (
	// ackWait is how long the server waits for an acknowledgement before it
	// delivers again; held messages are prolonged every third of it.
	ackWait = 60 * time.Second
	// maxHeld is how many messages of one channel are read ahead: enough that
	// a few slow chats do not stop the others.
	maxHeld = 2048
	// sendGrace is how long a send under way may go on after the stop, which as a
	// whole must not take ten seconds.
	sendGrace = 3 * time.Second
	// The pause between two tries of one message.
	pauseFirst, pauseMost = time.Second, time.Minute
)

// Dispatch delivers the queue of one channel instance: messages of one chat
// one after the other in order, chats side by side. Over all processes one at
// a time does it, the others wait for its lease; holding, if not nil, is told
// when this one begins and when it has ended. When ctx ends, nothing new is
// begun, and calls of h under way have a few seconds to end before their own
// context does: a send that is cut off may have arrived. It blocks until every
// call of h has returned.
func (b *Bus) Dispatch(ctx context.Context, channel string, h Handler[chat.Outbound], holding func(bool)) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(sendGrace, cancel) })()
	if holding == nil {
		holding = func(bool) {}
	}
	return b.hold(ctx, work, "out."+encodeToken(channel), func(held context.Context) error {
		holding(true)
		defer holding(false)
		return b.drain(ctx, held, channel, h)
	}, nil)
}

// drain consumes the queue while the lease is held. The consumer is made anew
// on every takeover: exactly the unacknowledged messages come again, in order.
func (b *Bus) drain(stop, ctx context.Context, channel string, h Handler[chat.Outbound]) error {
	token := encodeToken(channel)
	name := "out-" + hashToken(channel)
	if err := b.streams.out.DeleteConsumer(ctx, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("remove old consumer: %w", err)
	}
	c, err := b.streams.out.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Name: name, Durable: name, FilterSubject: "out." + token + ".>",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1, MaxAckPending: maxHeld,
		MemoryStorage: b.opts.Replicas == 1,
	})
	if err != nil {
		return fmt.Errorf("create consumer: %w", err)
	}
	d := &drainer{b: b, stop: stop, ctx: ctx, h: h, queues: map[string][]jetstream.Msg{}, held: map[uint64]jetstream.Msg{}}
	consuming, err := c.Consume(d.receive, jetstream.PullMaxMessages(maxHeld/4))
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	d.prolong()
	consuming.Stop()
	<-consuming.Closed()
	d.wg.Wait()
	return nil
}

// drainer keeps one queue for every chat that has messages on their way.
type drainer struct {
	b    *Bus
	stop context.Context // begin nothing new
	ctx  context.Context // for the calls of h: ends with the lease
	h    Handler[chat.Outbound]
	wg   sync.WaitGroup

	mu     sync.Mutex
	queues map[string][]jetstream.Msg // by subject; present while a goroutine works on it
	held   map[uint64]jetstream.Msg   // by stream sequence
}

func (d *drainer) over() bool { return d.stop.Err() != nil || d.ctx.Err() != nil }

// receive sorts a message to its chat.
func (d *drainer) receive(msg jetstream.Msg) {
	meta, err := msg.Metadata()
	if err != nil || d.over() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, here := d.held[meta.Sequence.Stream]; here {
		return
	}
	d.held[meta.Sequence.Stream] = msg
	queue, working := d.queues[msg.Subject()]
	d.queues[msg.Subject()] = append(queue, msg)
	if !working {
		d.wg.Go(func() { d.work(msg.Subject()) })
	}
}

// work delivers the queue of one chat until it is empty.
func (d *drainer) work(subject string) {
	for {
		d.mu.Lock()
		if len(d.queues[subject]) == 0 || d.over() {
			delete(d.queues, subject)
			d.mu.Unlock()
			return
		}
		msg := d.queues[subject][0]
		d.queues[subject] = d.queues[subject][1:]
		d.mu.Unlock()
		d.deliver(msg)
	}
}

// deliver hands one message over until it is taken or dropped.
func (d *drainer) deliver(msg jetstream.Msg) {
	pause := pauseFirst
	for {
		err := d.try(msg)
		var drop *dropped
		if errors.As(err, &drop) {
			err = d.b.buryOutbound(d.ctx, msg, drop.Error())
		}
		if err == nil {
			d.ack(msg)
			return
		}
		if d.over() {
			return
		}
		d.b.log.Warn("outbound is tried again", "subject", msg.Subject(), "pause", pause, "err", err)
		select {
		case <-d.stop.Done():
			return
		case <-d.ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, pauseMost)
	}
}

func (d *drainer) try(msg jetstream.Msg) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Drop(fmt.Errorf("delivery panicked: %v", p))
		}
	}()
	var out chat.Outbound
	if err := json.Unmarshal(msg.Data(), &out); err != nil {
		return Drop(fmt.Errorf("message is no valid JSON: %w", err))
	}
	return d.h(d.ctx, out)
}

func (d *drainer) ack(msg jetstream.Msg) {
	if err := msg.Ack(); err != nil {
		d.b.log.Warn("outbound not acknowledged, its receipt will tell", "err", err)
	}
	if meta, err := msg.Metadata(); err == nil {
		d.mu.Lock()
		delete(d.held, meta.Sequence.Stream)
		d.mu.Unlock()
	}
}

// prolong tells the server that the held messages are being worked on, until
// the lease ends.
func (d *drainer) prolong() {
	tick := time.NewTicker(ackWait / 3)
	defer tick.Stop()
	for {
		select {
		case <-d.stop.Done():
			return
		case <-d.ctx.Done():
			return
		case <-tick.C:
		}
		d.mu.Lock()
		for _, msg := range d.held {
			_ = msg.InProgress()
		}
		d.mu.Unlock()
	}
}
