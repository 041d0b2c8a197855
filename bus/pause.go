package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/oklog/ulid/v2"
)

const (
	// pauseSubject is where every process is asked to hold its writes, and, with
	// another level, where it answers: among the events, which all may read and
	// write where each kind of process has few rights.
	pauseSubject = "ev.pause"
	// pauseAnswers is how long answers of other processes are waited for.
	pauseAnswers = 500 * time.Millisecond
	// pauseSettle bounds the wait for writes under way.
	pauseSettle = 2 * requestTimeout
)

// ErrPaused: another backup is under way.
var ErrPaused = errors.New("another backup is under way")

// gate lets writes through, or holds them while a backup reads what must fit
// together. Leases go round it: they are not backed up.
type gate struct {
	mu    sync.Mutex
	by    string        // whose pause it is; "" = open
	shut  chan struct{} // closed when the gate opens; nil = open
	timer *time.Timer   // opens it when whoever shut it is gone
	under int           // writes under way
	idle  chan struct{} // closed when none is any more; nil = nobody waits for that
}

// enter waits until writing is allowed; leave must be called after the write.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	for {
		g.mu.Lock()
		shut := g.shut
		if shut == nil {
			g.under++
			g.mu.Unlock()
			return g.leave, nil
		}
		g.mu.Unlock()
		select {
		case <-shut:
		case <-ctx.Done():
			return nil, fmt.Errorf("writing is held for a backup: %w", context.Cause(ctx))
		}
	}
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.under--
	if g.under == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// close holds new writes, for at most hold, and waits for those under way.
func (g *gate) close(by string, hold time.Duration) error {
	g.mu.Lock()
	if g.shut != nil {
		g.mu.Unlock()
		return ErrPaused
	}
	g.by, g.shut = by, make(chan struct{})
	g.timer = time.AfterFunc(hold, func() { g.open(by) })
	idle := make(chan struct{})
	if g.idle = idle; g.under == 0 {
		close(idle)
		g.idle = nil
	}
	g.mu.Unlock()
	late := time.NewTimer(min(hold, pauseSettle))
	defer late.Stop()
	select {
	case <-idle:
		return nil
	case <-late.C:
		select {
		case <-idle: // it was this goroutine that was late
			return nil
		default:
		}
		g.open(by)
		return errors.New("writes under way do not end")
	}
}

// open ends the pause of by; any other is left alone.
func (g *gate) open(by string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil && g.by == by {
		g.timer.Stop()
		close(g.shut)
		g.by, g.shut = "", nil
	}
}

// pauseOrder is what a process that backs up asks of all, itself included.
type pauseOrder struct {
	ID   string        `json:"id"`
	Hold time.Duration `json:"hold"` // 0 = the pause is over; < 0 = only say that you are there
}

// pauseAnswer is what each says.
type pauseAnswer struct {
	Process string `json:"process"`
	Error   string `json:"error,omitempty"`
}

// onPause obeys orders until the bus is closed.
func (b *Bus) onPause() error {
	_, err := b.nc.Subscribe(pauseSubject, func(m *nats.Msg) {
		var order pauseOrder
		if err := json.Unmarshal(m.Data, &order); err != nil {
			return
		}
		if order.Hold == 0 {
			b.gate.open(order.ID)
			return
		}
		answer := pauseAnswer{Process: b.process}
		if order.Hold > 0 {
			if err := b.gate.close(order.ID, order.Hold); err != nil {
				answer.Error = err.Error()
			}
		}
		data, err := json.Marshal(answer)
		if err == nil {
			err = m.Respond(data)
		}
		if err != nil {
			b.log.Warn("pause not answered", "err", err)
		}
	})
	if err != nil {
		return fmt.Errorf("listen for pauses: %w", err)
	}
	return nil
}

// order sends an order to all processes and returns who answered besides this
// one. A process that does not answer within half a second is not known of.
func (b *Bus) order(ctx context.Context, order pauseOrder) (others int, err error) {
	data, err := json.Marshal(order)
	if err != nil {
		return 0, err
	}
	inbox := pauseSubject + "." + order.ID
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return 0, fmt.Errorf("ask the other processes: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := b.nc.PublishRequest(pauseSubject, inbox, data); err != nil {
		return 0, fmt.Errorf("ask the other processes: %w", err)
	}
	// This process answers too, so an answer is always awaited; the others
	// have half a second from then on.
	wait, cancel := context.WithTimeout(ctx, pauseSettle+requestTimeout)
	defer cancel()
	for heard := 0; ; heard++ {
		m, err := sub.NextMsgWithContext(wait)
		switch {
		case err != nil && heard > 0 && ctx.Err() == nil:
			return others, nil
		case err != nil:
			return others, fmt.Errorf("ask the other processes: %w", err)
		}
		var a pauseAnswer
		if err := json.Unmarshal(m.Data, &a); err != nil {
			return others, fmt.Errorf("answer of another process: %w", err)
		}
		if a.Error == ErrPaused.Error() {
			return others, ErrPaused
		}
		if a.Error != "" {
			return others, fmt.Errorf("process %s cannot hold its writes: %s", a.Process, a.Error)
		}
		if a.Process != b.process {
			others++
		}
		if b.srv != nil {
			return others, nil // embedded there is nobody else
		}
		if heard == 0 {
			cancel()
			wait, cancel = context.WithTimeout(ctx, b.opts.answers)
			defer cancel()
		}
	}
}

// others counts the other processes on this bus.
func (b *Bus) others(ctx context.Context) (int, error) {
	return b.order(ctx, pauseOrder{ID: ulid.Make().String(), Hold: -1})
}

// paused runs fn while all processes hold their writes, for at most hold. What
// fn has read is of one moment when it returns nil.
func (b *Bus) paused(ctx context.Context, hold time.Duration, fn func() error) (others int, err error) {
	id := ulid.Make().String()
	began := time.Now()
	defer func() {
		data, _ := json.Marshal(pauseOrder{ID: id}) // cannot fail
		_ = b.nc.Publish(pauseSubject, data)        // else the pauses end by themselves
	}()
	if others, err = b.order(ctx, pauseOrder{ID: id, Hold: hold}); err != nil {
		return others, err
	}
	if err := fn(); err != nil {
		return others, err
	}
	if time.Since(began) >= hold {
		return others, fmt.Errorf("reading what must fit together took longer than %v, for which writes are held: stop the bot and back up then", hold)
	}
	return others, nil
}
