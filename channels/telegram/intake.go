package telegram

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"magpie/channels"
	"magpie/channels/lanes"
	"magpie/chat"
)

// tablePatience bounds one access to the adapter's table.
const tablePatience = 10 * time.Second

// intake takes events in and hands them to the sink, one after the other in a
// chat. Parts of an album, which come as messages of their own, are put into
// the table first (that is what acknowledges them) and go to the sink together
// when no more come (album.go); so a kill at any time loses none of them.
type intake struct {
	t     *Telegram
	sink  channels.Sink
	chats lanes.Lanes
	acks  chan chat.MessageRef // messages to put an emoji on

	mu     sync.Mutex
	albums map[string]waiting // by chat
	seen   bool               // albums has all that stood in the table, and is told of changes
	wake   chan struct{}
}

func newIntake(t *Telegram, sink channels.Sink) *intake {
	return &intake{
		t: t, sink: sink, acks: make(chan chat.MessageRef, ackBuffer),
		albums: map[string]waiting{}, wake: make(chan struct{}, 1),
	}
}

// take handles one event; nil means that it is stored or rightly passed over.
func (n *intake) take(ctx context.Context, ev event) error {
	if ev.moved[0] != 0 {
		n.t.deps.Log.Info("a group has a new id: give it where the configuration names the old one", "old", ev.moved[0], "new", ev.moved[1])
		if err := n.t.moved.note(ctx, strconv.FormatInt(ev.moved[0], 10), ev.moved[1]); err != nil {
			return fmt.Errorf("note that a group moved: %w", err)
		}
	}
	if ev.in == nil {
		n.skip(ev)
		return nil
	}
	n.t.deps.Status.Event()
	return n.chats.Do(ev.in.Addr.Chat, func() error { return n.store(ctx, ev) })
}

// store hands an event to the sink. The chat's lane is held.
func (n *intake) store(ctx context.Context, ev event) error {
	if ev.album != "" {
		return n.join(ctx, ev)
	}
	if n.mayWait(ev.in.Addr.Chat) {
		if err := n.flush(ctx, ev.in.Addr.Chat); err != nil {
			return err
		}
	}
	if err := n.sink(ctx, *ev.in); err != nil {
		return err
	}
	n.ack(ev.in)
	for _, in := range ev.also {
		if err := n.sink(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

func (n *intake) skip(ev event) {
	switch {
	case ev.bad:
		n.t.skipped.Add(1)
		n.t.deps.Log.Warn("update skipped", "update", ev.id, "why", ev.skip)
	case strings.HasPrefix(ev.skip, "membership"), strings.HasPrefix(ev.skip, "business"):
		n.t.deps.Log.Info(ev.skip, "update", ev.id)
	default:
		n.t.deps.Log.Debug("update passed over", "update", ev.id, "why", ev.skip)
	}
}
