package telegram

import (
	"context"
	"time"

	"magpie/channels"
	"magpie/chat"
)

const (
	ackBuffer   = 64
	ackPatience = 10 * time.Second
)

// ack puts the emoji of the configuration on a message that is meant for the
// bot. It is a courtesy: whoever waits too long for it gets none.
func (n *intake) ack(in *chat.Inbound) {
	if n.t.cfg.AckReaction == "" || in.MessageID == "" || in.Edited || !in.Direct && !in.Mentioned {
		return
	}
	select {
	case n.acks <- chat.MessageRef{Channel: n.t.name, Chat: in.Addr.Chat, ID: in.MessageID}:
	default:
	}
}

// react puts the emojis on, until ctx ends or Telegram does not know the emoji.
func (n *intake) react(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case ref := <-n.acks:
			call, cancel := context.WithTimeout(ctx, ackPatience)
			err := n.t.React(call, ref, n.t.cfg.AckReaction)
			cancel()
			switch {
			case err == nil || ctx.Err() != nil:
			case said(err, "REACTION_INVALID"):
				n.t.deps.Log.Warn("ack_reaction is none of Telegram's reactions and is left out", "emoji", n.t.cfg.AckReaction)
				return
			case channels.KindOf(err) == channels.RateLimited:
				after, _ := channels.Limit(err)
				channels.NewBackoff(time.Second, time.Second).PauseAtLeast(ctx, after)
			default:
				n.t.deps.Log.Debug("no emoji was put on a message", "err", err)
			}
		}
	}
}
