package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// askAgain is when a request to an external server is made again: one that
	// was on its way to a leader that died is never answered.
	askAgain = time.Second
	// publishAgain is the same for what is stored.
	publishAgain = 2 * time.Second
	// A machine that dies closes no connection: its silence is noticed after
	// three of these, instead of after minutes.
	pingEvery, pingsMissed = 3 * time.Second, 2
	// patience bounds the tries: the election of a new leader takes 4 to 9 s.
	patience = 15 * time.Second
	// The pause between two tries that were refused at once.
	askFirst, askMost = 100 * time.Millisecond, 500 * time.Millisecond
	// tellEvery is how often the log says what is waited for.
	tellEvery = 5 * time.Second
)

// ask makes a request that does no harm when it is made twice. On an external
// server it is made again while there is nobody who could answer it.
func (b *Bus) ask(ctx context.Context, do func(ctx context.Context) error) error {
	if b.srv != nil {
		return do(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return b.again(ctx, do, func(context.Context) error { return nil })
}

// patiently is ask with all the time that ctx has, unless it will never be.
func (b *Bus) patiently(ctx context.Context, do func(ctx context.Context) error) error {
	if b.srv != nil {
		return do(ctx)
	}
	return b.again(ctx, do, b.never)
}

func (b *Bus) again(ctx context.Context, do, never func(ctx context.Context) error) error {
	pause, began := askFirst, time.Now()
	var last string
	var told time.Time
	for {
		once, cancel := context.WithTimeout(ctx, askAgain)
		err := do(once)
		cancel()
		if err == nil || !notYet(err) || ctx.Err() != nil {
			return err
		}
		if final := never(ctx); final != nil {
			return final
		}
		if err.Error() != last || time.Since(told) >= tellEvery {
			last, told = err.Error(), time.Now()
			b.log.Warn("the bus is not ready, it is asked again", "err", worded(err), "waited", time.Since(began).Round(time.Second))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v: %w", time.Since(began).Round(time.Second), worded(err))
		case <-time.After(pause):
		}
		pause = min(2*pause, askMost)
	}
}

// worded says what it means that nobody answers.
func worded(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && api.ErrorCode == errNoPeers:
		return fmt.Errorf("too few NATS servers are there for bus.replicas: do all of them run and reach each other? (%w)", err)
	case errors.Is(err, errFollow):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("nobody answers: do more than half of the NATS servers run and reach each other? (%w)", err)
	}
	return err
}

// notYet: the same may succeed in a moment.
func notYet(err error) bool {
	for _, again := range []error{
		errFollow, errStarting, context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		jetstream.ErrNoStreamResponse, jetstream.ErrJetStreamNotEnabled,
		jetstream.ErrBucketNotFound,         // made by another process this moment, this server has not heard of it
		jetstream.ErrStreamNameAlreadyInUse, // made by another process this moment, with reads from replicas still
	} {
		if errors.Is(err, again) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.Code == 503 || api.ErrorCode == errNoPeers)
}

// message reads one message of a stream.
func (b *Bus) message(ctx context.Context, s jetstream.Stream, seq uint64, opts ...jetstream.GetMsgOpt) (msg *jetstream.RawStreamMsg, err error) {
	err = b.ask(ctx, func(ctx context.Context) (err error) {
		msg, err = s.GetMsg(ctx, seq, opts...)
		return err
	})
	return msg, err
}

// latest reads the last message of a subject.
func (b *Bus) latest(ctx context.Context, s jetstream.Stream, subject string) (msg *jetstream.RawStreamMsg, err error) {
	err = b.ask(ctx, func(ctx context.Context) (err error) {
		msg, err = s.GetLastMsgForSubject(ctx, subject)
		return err
	})
	return msg, err
}

// value reads an entry of a bucket.
func (b *Bus) value(ctx context.Context, k bucket, key string) (e jetstream.KeyValueEntry, err error) {
	err = b.ask(ctx, func(ctx context.Context) (err error) {
		e, err = k.Get(ctx, key)
		return err
	})
	return e, err
}
