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
	// An external server says this often that a request for messages stands.
	pullBeat = 500 * time.Millisecond
	// Whether such a request stands is looked at this often, and the queue is
	// consumed anew when none did so many times: an election takes less.
	lookEvery, looksMissed = 2 * time.Second, 4
	// anewAfter is the pause before a queue is consumed anew.
	anewAfter = 100 * time.Millisecond
	// resetMinor is the server, 2.14, from which on a consumer can begin anew.
	resetMinor = 14
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
		for {
			err := b.drain(ctx, held, channel, h)
			if !errors.Is(err, errAnew) {
				return err
			}
			b.log.Warn("the queue is consumed anew", "channel", channel, "err", err)
			select {
			case <-ctx.Done():
			case <-held.Done():
			case <-time.After(anewAfter):
			}
		}
	}, nil)
}

// consumer makes the consumer of a queue, or has the one that there is begin
// anew: exactly the unacknowledged messages come again, in order. It is not
// made anew itself where that can be avoided, since a new one of a replicated
// stream has no leader before an election while a server is down.
func (b *Bus) consumer(ctx context.Context, channel string) (c jetstream.Consumer, err error) {
	name := "out-" + hashToken(channel)
	cfg := jetstream.ConsumerConfig{
		Name: name, Durable: name, FilterSubject: "out." + encodeToken(channel) + ".>",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1, MaxAckPending: maxHeld,
		MemoryStorage: b.opts.Replicas == 1,
	}
	err = b.ask(ctx, func(ctx context.Context) (err error) {
		c, err = b.streams.out.Consumer(ctx, name)
		return err
	})
	if err == nil && begins(c.CachedInfo().Config, cfg) && atLeast(b.nc.ConnectedServerVersion(), resetMinor) {
		err = b.ask(ctx, func(ctx context.Context) error {
			_, err := b.streams.out.ResetConsumerToSequence(ctx, name, 1)
			return err
		})
		if err == nil {
			return c, nil
		}
	}
	if err == nil || !errors.Is(err, jetstream.ErrConsumerNotFound) {
		err = b.ask(ctx, func(ctx context.Context) error { return b.streams.out.DeleteConsumer(ctx, name) })
	}
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, fmt.Errorf("remove old consumer: %w", err)
	}
	err = b.ask(ctx, func(ctx context.Context) (err error) {
		c, err = b.streams.out.CreateConsumer(ctx, cfg)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create consumer: %w", err)
	}
	return c, nil
}

// begins compares what consumer sets; the server fills in the rest.
func begins(have, want jetstream.ConsumerConfig) bool {
	return have.FilterSubject == want.FilterSubject && have.AckPolicy == want.AckPolicy && have.AckWait == want.AckWait &&
		have.MaxDeliver == want.MaxDeliver && have.MaxAckPending == want.MaxAckPending &&
		have.DeliverPolicy == want.DeliverPolicy && have.MemoryStorage == want.MemoryStorage
}

// drain consumes the queue while the lease is held; errAnew when it has to be
// called again.
func (b *Bus) drain(stop, ctx context.Context, channel string, h Handler[chat.Outbound]) error {
	c, err := b.consumer(ctx, channel)
	if err != nil {
		return err
	}
	stop, end := context.WithCancel(stop)
	defer end()
	d := &drainer{b: b, stop: stop, ctx: ctx, h: h, queues: map[string][]jetstream.Msg{}, held: map[uint64]jetstream.Msg{}, gap: make(chan struct{}, 1)}
	opts := []jetstream.PullConsumeOpt{
		jetstream.PullMaxMessages(maxHeld / 4),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			b.log.Warn("the queue does not come, it is asked for again", "channel", channel, "err", err)
		}),
	}
	if b.srv == nil {
		// A leader that dies takes the standing request with it, without a word:
		// that is noticed after two missing heartbeats.
		// One of a holder that was paused is over before its lease is, so that
		// nothing goes there that is for the next holder.
		opts = append(opts, jetstream.PullExpiry(b.opts.Lease/2), jetstream.PullHeartbeat(pullBeat))
	}
	consuming, err := c.Consume(d.receive, opts...)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	err = d.prolong(c, consuming.Closed())
	end()
	consuming.Stop()
	<-consuming.Closed()
	d.wg.Wait()
	return err
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
	last   uint64                     // highest number of a delivery that came
	gap    chan struct{}              // signalled when a delivery is missing
}

func (d *drainer) over() bool { return d.stop.Err() != nil || d.ctx.Err() != nil || overdue(d.ctx) }

// receive sorts a message to its chat.
func (d *drainer) receive(msg jetstream.Msg) {
	meta, err := msg.Metadata()
	if err != nil || d.over() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if meta.Sequence.Consumer > d.last+1 {
		// What a dying server sent last got lost. It must not be overtaken.
		signal(d.gap)
		return
	}
	d.last = max(d.last, meta.Sequence.Consumer)
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
		d.b.chats.tried.Add(1)
		d.b.log.Warn("outbound is tried again", "subject", msg.Subject(), "trace", traceOf(msg.Data()), "pause", pause, "err", err)
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
// the lease ends; an error when the queue does not come any more and has to be
// consumed anew.
func (d *drainer) prolong(c jetstream.Consumer, closed <-chan struct{}) error {
	tick := time.NewTicker(ackWait / 3)
	defer tick.Stop()
	var look <-chan time.Time // embedded, nothing comes in between
	if d.b.srv == nil {
		looks := time.NewTicker(lookEvery)
		defer looks.Stop()
		look = looks.C
	}
	var watch watch
	for {
		select {
		case <-d.stop.Done():
			return nil
		case <-d.ctx.Done():
			return nil
		case <-closed:
			return errEnded
		case <-d.gap:
			return errMissing
		case <-look:
			if err := d.look(c, &watch); err != nil {
				return err
			}
		case <-tick.C:
			d.mu.Lock()
			for _, msg := range d.held {
				_ = msg.InProgress()
			}
			d.mu.Unlock()
		}
	}
}

// errAnew: the queue is to be consumed anew, so that all that is not
// acknowledged comes again, in order.
var (
	errAnew    = errors.New("the queue is to be consumed anew")
	errMissing = fmt.Errorf("%w: a delivery got lost on its way", errAnew)
	errUnasked = fmt.Errorf("%w: the server knows of nobody who wants it", errAnew)
	errEnded   = fmt.Errorf("%w: the server has ended its consumer", errAnew)
)

// watch is what the looks at the server have found.
type watch struct {
	unasked int    // looks in a row without a request of ours
	next    uint64 // the delivery that was missing at the look before; 0 = none
}

// look compares what the server has of the queue's consumer with what came. A
// delivery that was lost with a server would come again after ackWait only, and
// behind later ones.
func (d *drainer) look(c jetstream.Consumer, w *watch) error {
	ctx, cancel := context.WithTimeout(d.ctx, lookEvery)
	defer cancel()
	info, err := c.Info(ctx)
	if err != nil || info.NumWaiting == 0 && info.NumAckPending < maxHeld {
		if w.unasked++; w.unasked == looksMissed {
			return errUnasked
		}
		return nil
	}
	w.unasked = 0
	d.mu.Lock()
	last := d.last
	d.mu.Unlock()
	switch {
	case info.Delivered.Consumer <= last:
		w.next = 0
	case w.next == last+1:
		return errMissing
	default:
		w.next = last + 1
	}
	return nil
}
