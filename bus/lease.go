package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"
)

// errHeld: somebody else holds the lease.
var errHeld = errors.New("lease is held by somebody else")

// errUndecided: another write of the lease is on its way.
var errUndecided = errors.New("another write of the lease is not decided yet")

const (
	// leaseMargin is the part of a lease that is kept as safety: work stops this
	// long before the server may give the lease to somebody else.
	leaseMargin = 8 // an eighth
	// leaseRenewals is how often a lease is renewed in its time. The more often,
	// the longer nobody may lead the bucket before leases are lost: an election
	// takes 4 to 9 s.
	leaseRenewals = 9
	// leaseAnswer is the part of a lease after which a renewal without an answer
	// is made again.
	leaseAnswer = 5
	// acquireWait is when an external server that does not answer is asked for a
	// lease again.
	acquireWait = 2 * time.Second
)

// holderHeader names who wrote a lease: the process and which of its leases.
const holderHeader = "Magpie-Holder"

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

	holder   string       // tells its writes from those of others
	until    atomic.Int64 // when work has to have stopped, counted from the start of the bus
	stop     context.CancelFunc
	finished chan struct{}
	once     sync.Once
}

// acquire takes the lease on key, or fails with errHeld. The returned context
// ends at a safe distance before the lease does; it is derived from ctx.
func (b *Bus) acquire(ctx context.Context, key string) (*lease, context.Context, error) {
	l := &lease{b: b, subject: "$KV.lease." + key, holder: b.process + "." + ulid.Make().String(), finished: make(chan struct{})}
	b.leases.Store(l.holder, l)
	sent, err := l.take(ctx)
	if err != nil {
		b.leases.Delete(l.holder)
		return nil, nil, err
	}
	l.extend(sent)
	held, cancel := context.WithCancelCause(context.WithValue(ctx, leaseOf{}, l))
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.renew(renewing, cancel)
	return l, held, nil
}

// take writes the lease if it is free, and says when it asked.
func (l *lease) take(ctx context.Context) (sent time.Time, err error) {
	if l.b.srv == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, acquireWait)
		defer cancel()
	}
	sent = time.Now()
	l.rev, err = l.put(ctx, 0)
	switch {
	case errors.Is(err, errConflict):
		sent = time.Now()
		l.rev, err = l.inherit(ctx)
	case errors.Is(err, errUndecided):
		err = errHeld
	}
	return sent, err
}

// extend notes that the lease was written by a request that was sent then.
func (l *lease) extend(sent time.Time) {
	life := l.b.opts.Lease
	l.until.Store(int64(sent.Sub(l.b.started) + life - life/leaseMargin))
}

// left is how long work may go on.
func (l *lease) left() time.Duration {
	return time.Duration(l.until.Load()) - time.Since(l.b.started)
}

// leaseOf is the key of a lease in the context of its holder.
type leaseOf struct{}

// overdue reports whether the lease that ctx stands for is over by the clock. A
// process that was paused may run its other goroutines before the one that
// ends ctx.
func overdue(ctx context.Context) bool {
	l, ok := ctx.Value(leaseOf{}).(*lease)
	return ok && l.left() <= 0
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
	msg.Header.Set(holderHeader, l.holder)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ack, err := l.b.js.PublishMsg(ctx, msg,
		jetstream.WithExpectLastSequencePerSubject(rev), jetstream.WithMsgTTL(l.b.opts.Lease))
	if err != nil {
		var api *jetstream.APIError
		if final := refusal(err); final != nil {
			err = final
		} else if errors.As(err, &api) && api.ErrorCode == errInProcess {
			err = errUndecided
		}
		return 0, fmt.Errorf("lease %s: %w", l.subject, err)
	}
	return ack.Sequence, nil
}

// inherit takes over a lease whose time ran out: the server left a marker. One
// that this process has left behind, because its acknowledgement or its end
// died with a leader, need not be waited for either: nobody works under it.
func (l *lease) inherit(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	last, err := l.b.streams.lease.stream.GetLastMsgForSubject(ctx, l.subject)
	if err != nil || last.Header.Get(jetstream.MarkerReasonHeader) == "" && !l.b.leftBehind(last.Header.Get(holderHeader)) {
		return 0, errHeld // given back this moment, or held
	}
	l.orphaned = true
	rev, err := l.put(ctx, last.Sequence)
	if errors.Is(err, errConflict) {
		return 0, errHeld
	}
	return rev, err
}

// leftBehind reports whether a lease is one of this process that nobody here
// holds any more.
func (b *Bus) leftBehind(holder string) bool {
	_, held := b.leases.Load(holder)
	return !held && strings.HasPrefix(holder, b.process+".")
}

// renew keeps the lease until stop, and ends the holder's context when it
// cannot be kept.
func (l *lease) renew(ctx context.Context, lost context.CancelCauseFunc) {
	defer close(l.finished)
	defer lost(context.Canceled)
	life := l.b.opts.Lease
	deadline := time.NewTimer(l.left())
	defer deadline.Stop()
	next := time.NewTimer(life / leaseRenewals)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-deadline.C:
			lost(ErrLost)
			return
		case <-next.C:
		}
		// After a pause of the whole process both timers have fired.
		if l.left() <= 0 {
			lost(ErrLost)
			return
		}
		sent := time.Now()
		once, cancel := context.WithTimeout(ctx, life/leaseAnswer)
		rev, err := l.put(once, l.rev)
		if errors.Is(err, errConflict) {
			err = l.adopt(once, err)
		}
		cancel()
		switch {
		case err == nil:
			l.rev = rev
			l.extend(sent)
			deadline.Reset(l.left())
			next.Reset(life / leaseRenewals)
		case errors.Is(err, errConflict):
			lost(ErrLost)
			return
		default: // nobody leads the bucket just now
			next.Reset(life / 20)
		}
	}
}

// adopt looks whether the write that stands in the way is one of our own, whose
// acknowledgement was lost. Then the lease is renewed from there; the error is
// conflict when it is somebody else's.
func (l *lease) adopt(ctx context.Context, conflict error) error {
	last, err := l.b.streams.lease.stream.GetLastMsgForSubject(ctx, l.subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return conflict
	case err != nil:
		return err
	case last.Header.Get(holderHeader) != l.holder:
		return conflict
	}
	l.rev = last.Sequence
	return errUndecided
}

// release gives the lease back at once, leaving no marker, and only if it is
// still ours.
func (l *lease) release() {
	l.once.Do(func() {
		l.stop()
		<-l.finished
		defer l.b.leases.Delete(l.holder)
		req := `{"filter":"` + l.subject + `","seq":` + strconv.FormatUint(l.rev+1, 10) + `}`
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		err := l.b.ask(ctx, func(ctx context.Context) error {
			_, err := l.b.nc.RequestWithContext(ctx, "$JS.API.STREAM.PURGE.KV_lease", []byte(req))
			return err
		})
		if err != nil {
			l.b.log.Warn("lease not given back, it runs out by itself", "lease", l.subject, "err", err)
		}
	})
}
