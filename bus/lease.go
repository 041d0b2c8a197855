package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// errHeld: somebody else holds the lease.
var errHeld = errors.New("lease is held by somebody else")

// leaseMargin is the part of a lease that is kept as safety: work stops this
// long before the server may give the lease to somebody else.
const leaseMargin = 5 // a fifth

// lease is the sole right to work on one chat or channel for a while. Its
// bucket is in memory: embedded, it dies with the process, so a restart waits
// for nobody.
type lease struct {
	b       *Bus
	subject string
	rev     uint64
	// orphaned: an earlier holder let the lease run out instead of giving it
	// back, so it may have died in the middle of its work.
	orphaned bool

	stop     context.CancelFunc
	finished chan struct{}
	once     sync.Once
}

// acquire takes the lease on key, or fails with errHeld. The returned context
// ends at a safe distance before the lease does; it is derived from ctx.
func (b *Bus) acquire(ctx context.Context, key string) (*lease, context.Context, error) {
	l := &lease{b: b, subject: "$KV.lease." + key, finished: make(chan struct{})}
	sent := time.Now()
	rev, err := l.put(ctx, 0)
	if errors.Is(err, errConflict) {
		rev, err = l.inherit(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	l.rev = rev
	held, cancel := context.WithCancelCause(ctx)
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.renew(renewing, cancel, sent)
	return l, held, nil
}

// Hold runs fn while this process alone, of all that ask, holds the name; it
// waits for its turn, and runs fn again whenever fn has returned. The context
// of fn ends with ctx and before the lease does. elsewhere, if not nil, is told
// each time that somebody else turns out to hold the name. It blocks until ctx
// ends and fn has returned.
func (b *Bus) Hold(ctx context.Context, name string, fn func(ctx context.Context) error, elsewhere func()) error {
	return b.hold(ctx, ctx, "hold."+encodeToken(name), fn, elsewhere)
}

// hold is Hold with two contexts: stop ends the waiting, work is the parent of
// fn's.
func (b *Bus) hold(stop, work context.Context, key string, fn func(ctx context.Context) error, elsewhere func()) error {
	for stop.Err() == nil {
		l, held, err := b.acquire(work, key)
		if err == nil {
			err = fn(held)
			l.release()
		}
		switch {
		case errors.Is(err, errHeld):
			if elsewhere != nil {
				elsewhere()
			}
		case err != nil && stop.Err() == nil:
			b.log.Warn("lease is asked for again", "lease", key, "err", err)
		}
		select {
		case <-stop.Done():
		case <-time.After(b.opts.Lease / 10):
		}
	}
	return nil
}

// put writes the lease if its last revision is rev, with a new life time. A
// plain Update of the bucket would drop the life time.
func (l *lease) put(ctx context.Context, rev uint64) (uint64, error) {
	msg := nats.NewMsg(l.subject)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ack, err := l.b.js.PublishMsg(ctx, msg,
		jetstream.WithExpectLastSequencePerSubject(rev), jetstream.WithMsgTTL(l.b.opts.Lease))
	if err != nil {
		if final := refusal(err); final != nil {
			err = final
		}
		return 0, fmt.Errorf("lease %s: %w", l.subject, err)
	}
	return ack.Sequence, nil
}

// inherit takes over a lease whose time ran out: the server left a marker.
func (l *lease) inherit(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	last, err := l.b.streams.lease.stream.GetLastMsgForSubject(ctx, l.subject)
	if err != nil || last.Header.Get(jetstream.MarkerReasonHeader) == "" {
		return 0, errHeld // given back this moment, or held
	}
	l.orphaned = true
	rev, err := l.put(ctx, last.Sequence)
	if errors.Is(err, errConflict) {
		return 0, errHeld
	}
	return rev, err
}

// renew keeps the lease until stop, and ends the holder's context when it
// cannot be kept.
func (l *lease) renew(ctx context.Context, lost context.CancelCauseFunc, sent time.Time) {
	defer close(l.finished)
	defer lost(context.Canceled)
	life := l.b.opts.Lease
	until := sent.Add(life - life/leaseMargin)
	deadline := time.NewTimer(time.Until(until))
	defer deadline.Stop()
	tick := time.NewTicker(life / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-deadline.C:
			lost(ErrLost)
			return
		case <-tick.C:
		}
		// After a pause of the whole process both timers have fired.
		if time.Now().After(until) {
			lost(ErrLost)
			return
		}
		sent := time.Now()
		once, cancel := context.WithTimeout(ctx, life/leaseMargin)
		rev, err := l.put(once, l.rev)
		cancel()
		switch {
		case err == nil:
			l.rev = rev
			until = sent.Add(life - life/leaseMargin)
			deadline.Reset(time.Until(until))
		case errors.Is(err, errConflict):
			// An acknowledgement that was lost on its way looks the same; giving
			// up is right in both cases.
			lost(ErrLost)
			return
		}
	}
}

// release gives the lease back at once, leaving no marker, and only if it is
// still ours.
func (l *lease) release() {
	l.once.Do(func() {
		l.stop()
		<-l.finished
		req := `{"filter":"` + l.subject + `","seq":` + strconv.FormatUint(l.rev+1, 10) + `}`
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		if _, err := l.b.nc.RequestWithContext(ctx, "$JS.API.STREAM.PURGE.KV_lease", []byte(req)); err != nil {
			l.b.log.Warn("lease not given back, it runs out by itself", "lease", l.subject, "err", err)
		}
	})
}
