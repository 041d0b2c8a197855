package feishu

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"magpie/channels"
	"magpie/chat"
)

// maxLine is how many events of one chat may wait. What is beyond is not
// acknowledged, so the platform brings it again.
const maxLine = 500

var errLine = errors.New("too many events of this chat wait")

// intake hands events to the sink, one after the other in a chat. An event
// that the sink refuses keeps its place at the head of its chat's line until
// the sink takes it: the platform would bring it again behind later ones.
type intake struct {
	f     *Feishu
	sink  channels.Sink
	start func(work func(context.Context)) // runs work in a goroutine that wait waits for
	wg    sync.WaitGroup

	mu    sync.Mutex
	lines map[string][]*job // by chat; an entry has a goroutine
}

// job is an event on its way to the sink.
type job struct {
	event
	done chan error // gets one value
}

// open makes the intake work until ctx ends; wait then waits for it.
func (n *intake) open(ctx context.Context) {
	n.start = func(work func(context.Context)) { n.wg.Go(func() { work(ctx) }) }
}

func (n *intake) wait() { n.wg.Wait() }

func newIntake(f *Feishu, sink channels.Sink) *intake {
	return &intake{f: f, sink: sink, lines: map[string][]*job{}}
}

// take puts an event into its chat's line. The channel gets nil when the event
// is stored or rightly passed over. It never blocks.
func (n *intake) take(ev event) <-chan error {
	j := &job{event: ev, done: make(chan error, 1)}
	if ev.in == nil {
		n.skip(ev)
		j.done <- nil
		return j.done
	}
	n.f.deps.Status.Event()
	key := ev.in.Addr.Chat
	n.mu.Lock()
	defer n.mu.Unlock()
	line, running := n.lines[key]
	if len(line) >= maxLine {
		j.done <- errLine
		return j.done
	}
	n.lines[key] = append(line, j)
	if !running {
		n.start(func(ctx context.Context) { n.work(ctx, key) })
	}
	return j.done
}

func (n *intake) skip(ev event) {
	switch {
	case ev.bad:
		n.f.deps.Log.Warn("an event was passed over", "why", ev.skip)
	case strings.HasPrefix(ev.skip, "membership"):
		n.f.deps.Log.Info(ev.skip)
	default:
		n.f.deps.Log.Debug("an event was passed over", "why", ev.skip)
	}
}

// work empties a chat's line.
func (n *intake) work(ctx context.Context, key string) {
	for {
		n.mu.Lock()
		line := n.lines[key]
		if len(line) == 0 {
			delete(n.lines, key)
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		line[0].done <- n.store(ctx, line[0].event)
		n.mu.Lock()
		n.lines[key] = n.lines[key][1:]
		n.mu.Unlock()
	}
}

// store gives an event to the sink until the sink takes it or ctx ends.
func (n *intake) store(ctx context.Context, ev event) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if ev.person {
		if id := n.f.known.chatOf(ctx, n.f.deps.Table, ev.in.From.ID); id != "" { // its line is another
			ev.in.Addr.Chat, ev.person = id, false
			return await(ctx, n.take(ev))
		}
	}
	if !n.f.complete(ctx, &ev) {
		return nil
	}
	n.f.signs.saw(ev.in) // before the sink: whoever takes it may show a sign at once
	for _, in := range append([]*chat.Inbound{ev.in}, ev.also...) {
		if err := n.give(ctx, in); err != nil {
			return err
		}
		n.f.stored(ctx, in)
	}
	return nil
}

// await waits for what take promised.
func await(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (n *intake) give(ctx context.Context, in *chat.Inbound) error {
	wait := channels.NewBackoff(n.f.pace.store, 10*time.Second)
	for {
		err := n.sink(ctx, *in)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		n.f.deps.Log.Warn("an event was not stored and is tried again", "err", err)
		wait.Pause(ctx, nil)
		if ctx.Err() != nil {
			return err
		}
	}
}
