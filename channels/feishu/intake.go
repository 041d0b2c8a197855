package feishu

import (
	"context"
	"errors"
	"strings"
	"time"

	"magpie/channels"
	"magpie/channels/lanes"
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
	store func(event) error // set by open
	chats lanes.Lanes
}

// open makes the intake work until ctx ends; wait then waits for it.
func (n *intake) open(ctx context.Context) {
	n.store = func(ev event) error { return n.give(ctx, ev) }
}

func (n *intake) wait() { n.chats.Wait() }

func newIntake(f *Feishu, sink channels.Sink) *intake {
	return &intake{f: f, sink: sink, chats: lanes.Lanes{Most: maxLine}}
}

// take puts an event into its chat's line. The channel gets nil when the event
// is stored or rightly passed over. It never blocks.
func (n *intake) take(ev event) <-chan error {
	done := make(chan error, 1)
	if ev.in == nil {
		n.skip(ev)
		done <- nil
		return done
	}
	n.f.deps.Status.Event()
	if !n.chats.Put(ev.in.Addr.Chat, func() { done <- n.store(ev) }) {
		done <- errLine
	}
	return done
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

// give completes an event and hands it to the sink.
func (n *intake) give(ctx context.Context, ev event) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	home, err := n.f.homeOf(ctx, &ev)
	if err != nil {
		return err
	}
	if home != ev.in.Addr.Chat { // its line is another
		ev.in.Addr.Chat, ev.person = home, false
		return await(ctx, n.take(ev))
	}
	if !n.f.complete(ctx, &ev) {
		return nil
	}
	n.f.signs.saw(ev.in) // before the sink: whoever takes it may show a sign at once
	for _, in := range append([]*chat.Inbound{ev.in}, ev.also...) {
		if err := n.insist(ctx, in); err != nil {
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

// insist hands one message to the sink until the sink takes it or ctx ends.
func (n *intake) insist(ctx context.Context, in *chat.Inbound) error {
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
