package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"magpie/bus"
	"magpie/channels/access"
	"magpie/channels/room"
	"magpie/chat"
)

// rooms is where the talk of groups is kept. It stands below the table of pairs:
// there the gateways of an older set of users of the bus may write too.
func (p *program) rooms() *room.Keeper {
	return room.New(room.Options{Table: p.bus.Table("pairs.room"), Answered: p.bus.Answered})
}

// ear is what a channel's gate tells of a group's talk.
type ear struct {
	bus  *bus.Bus
	room *room.Keeper
	log  *slog.Logger
}

// Hear implements access.Room. Talk is not worth holding up what comes behind
// it: without room in the store it is left out.
func (e ear) Hear(ctx context.Context, in chat.Inbound, outside bool, most int) error {
	err := bus.ErrStoreFull
	if !e.bus.Full() {
		err = e.room.Hear(ctx, in, outside, most)
	}
	if errors.Is(err, bus.ErrStoreFull) || errors.Is(err, bus.ErrTooLarge) {
		e.log.WarnContext(ctx, "talk of a group is not kept", "group", in.Addr.Chat, "trace", in.Trace, "err", err)
		return nil
	}
	return err
}

// talk gives what was said in a group to the message that addresses the bot.
type talk struct {
	room *room.Keeper
	gate *access.Gate
	log  *slog.Logger
}

// with stores in with the talk that it has to be told of. What makes it too
// large waits for a shorter one.
func (t *talk) with(ctx context.Context, in chat.Inbound, store func(context.Context, chat.Inbound) error) (err error) {
	if !t.gate.Reads() {
		return store(ctx, in)
	}
	if in.Room, err = t.room.Give(ctx, in); err != nil {
		return err
	}
	if len(in.Room) == 0 {
		return store(ctx, in)
	}
	if err := t.judge(ctx, in); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, room.StoreWithin)
	err = store(within, in)
	cancel()
	switch {
	case err == nil:
		t.given(ctx, in, true)
	case errors.Is(err, bus.ErrTooLarge):
		t.given(ctx, in, false)
		in.Room = nil
		return store(ctx, in)
	case errors.Is(err, bus.ErrMailboxFull):
		t.given(ctx, in, false)
	}
	return err
}

// given says what became of in. When that cannot be noted the talk is in's all
// the same: room finds out.
func (t *talk) given(ctx context.Context, in chat.Inbound, stored bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	if err := t.room.Given(ctx, in, stored); err != nil {
		t.log.WarnContext(ctx, "it is not noted that talk of a group was given", "session", in.Addr.Session(), "trace", in.Trace, "err", err)
	}
}

const noteWithin = 10 * time.Second

// judge marks as from outside whose sender is not let in any more.
func (t *talk) judge(ctx context.Context, in chat.Inbound) error {
	known := map[string]bool{}
	for i := range in.Room {
		o := &in.Room[i]
		if o.Outside {
			continue
		}
		inside, asked := known[o.From.ID]
		if !asked {
			var err error
			if inside, err = t.gate.LetIn(ctx, in.Addr, o.From); err != nil {
				return err
			}
			known[o.From.ID] = inside
		}
		o.Outside = !inside
	}
	return nil
}
