package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// toldFor is how long a stranger who was told something in a group is not told
// it there again.
const toldFor = 24 * time.Hour

// news takes what is no message: it never comes in. Who comes and goes, and what
// was taken back, is part of the talk of a group.
func (g *Gate) news(ctx context.Context, r *rules, in chat.Inbound) error {
	switch in.Happening {
	case chat.Added:
		return g.greet(ctx, r, in)
	case chat.Joined, chat.Left, chat.Recalled:
		return g.overhear(ctx, r, in)
	}
	return nil
}

// greet introduces the bot where it was added, once in each chat.
func (g *Gate) greet(ctx context.Context, r *rules, in chat.Inbound) error {
	if !in.Direct && !r.listens(in) {
		g.deps.Log.InfoContext(ctx, "added to a group where the bot does not listen: nothing is said there",
			"group", in.Addr.Chat, "by", in.From.ID, "todo", r.toListen(in))
		return nil
	}
	if in.Direct {
		allowed, err := g.allowed(ctx, r, in)
		switch {
		case err != nil:
			return fmt.Errorf("look up sender of %q: %w", in.ID, err)
		case !allowed && r.Pairing:
			return g.offer(ctx, r, in)
		case !allowed:
			g.deps.Log.InfoContext(ctx, "a stranger began a private chat", "sender", in.From.ID, "todo", toAllow(in))
			return nil
		}
	}
	key := "greeted." + in.Addr.Channel + "." + in.Addr.Chat
	return g.once(ctx, key, 0, func() error {
		out := chat.Outbound{Meta: answerMeta(in, "greet"), Text: greeting(r, in)}
		out.ID = "greet:" + in.Addr.Channel + ":" + in.Addr.Chat // whatever the event is called the second time
		if err := g.deps.Say(ctx, out); err != nil {
			return fmt.Errorf("greet %s: %w", in.Addr, err)
		}
		g.deps.Log.InfoContext(ctx, "added", "chat", in.Addr.Chat, "by", in.From.ID)
		return nil
	})
}

// toListen is the key that makes the bot listen in the group of in.
func (r *rules) toListen(in chat.Inbound) string {
	if r.Group == "off" {
		return fmt.Sprintf("channels.%s.group: mention", in.Addr.Channel)
	}
	return fmt.Sprintf("channels.%s.groups: [%q]", in.Addr.Channel, in.Addr.Chat)
}

// unheard tells the operator that somebody addresses the bot in a group where it
// does not listen, and by which key it would.
func (g *Gate) unheard(ctx context.Context, r *rules, in chat.Inbound) {
	if in.Mentioned && !r.listens(in) && g.mayTell("unheard "+in.Addr.Chat) {
		g.deps.Log.InfoContext(ctx, "addressed in a group where the bot does not listen: nothing is said there",
			"group", in.Addr.Chat, "sender", in.From.ID, "todo", r.toListen(in), "trace", in.Trace)
	}
}

// toAllow is the key that lets the sender of in in.
func toAllow(in chat.Inbound) string {
	return fmt.Sprintf("channels.%s.allow: [%q]", in.Addr.Channel, in.From.ID)
}

// refuse tells a stranger who addresses the bot in a group how to be let in,
// once a day, and the operator who that was.
func (g *Gate) refuse(ctx context.Context, r *rules, in chat.Inbound) error {
	if in.From.ID == "" || !g.mayTell("group "+in.From.ID) {
		return nil
	}
	key := "told." + in.Addr.Channel + "." + in.Addr.Chat + "." + in.From.ID
	err := g.once(ctx, key, toldFor, func() error {
		g.deps.Log.InfoContext(ctx, "a stranger addressed the bot in a group", "sender", in.From.ID, "name", in.From.Name,
			"group", in.Addr.Chat, "todo", toAllow(in),
			"or", fmt.Sprintf("channels.%s.groups: [{id: %q, members: true}]", in.Addr.Channel, in.Addr.Chat), "trace", in.Trace)
		return g.say(ctx, in, "stranger", refusal(r, in))
	})
	if err != nil { // it was not said: say it when the message comes again
		g.forgetTold("group " + in.From.ID)
	}
	return err
}

// once does something that strangers can cause, unless it was done before: key
// names it for life, 0 = for ever. What is too much at once is left out.
func (g *Gate) once(ctx context.Context, key string, life time.Duration, do func() error) error {
	_, err := g.deps.Pairs.table.Get(ctx, key)
	if !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	if !g.offers.Allow() {
		g.deps.Log.DebugContext(ctx, "too many strangers at once: nothing is said", "what", key)
		return nil
	}
	if err := do(); err != nil {
		return err
	}
	_, err = g.deps.Pairs.table.Update(ctx, key, []byte(time.Now().UTC().Format(time.RFC3339)), 0, life)
	return err
}

// refusal is what a stranger is told. Where a platform names people anew in each
// group, somebody who was let in privately is a stranger there.
func refusal(r *rules, in chat.Inbound) string {
	if r.Pairing {
		return inTongue(in.Language(),
			"I only answer people who were let in. Write to me privately: I give you a code with which whoever runs me lets you in. If I answer you there already, ask them to let this group in.",
			"我只回答已获准使用的人。请先私聊我领取配对码，由管理员确认后即可使用。如果私聊里我已经回答你，请管理员放行这个群。")
	}
	return inTongue(in.Language(), "I only answer people who were let in. Please ask whoever runs me.", "我只回答已获准使用的人。请联系运行我的管理员。")
}

// greeting is in the language of who added the bot; in both when that is not
// known.
func greeting(r *rules, in chat.Inbound) string {
	return inTongue(in.Language(), hello(r, in, false), hello(r, in, true))
}

func hello(r *rules, in chat.Inbound, zh bool) string {
	pick := func(en, cn string) string {
		if zh {
			return cn
		}
		return en
	}
	text := pick("Hello! Ask me anything, send me files, let me remind you of things; `/help` shows my commands.",
		"大家好！可以向我提问、发文件、让我设提醒；发送 `/帮助` 查看命令。")
	if in.Direct {
		return text + pick(" Just write to me.", "直接给我发消息即可。")
	}
	if r.Group == "open" {
		text += pick("\nHere I read and answer every message.", "\n在这里，每条消息我都会看并回复。")
	} else {
		text += pick("\nHere I answer when somebody mentions me (@) or replies to a message of mine.", "\n在这里，@我或回复我的消息，我就会回答。")
	}
	everybody := slices.Contains(r.Allow, "*") || slices.Contains(r.Members, in.Addr.Chat)
	if r.reads(in) && !(everybody && r.Group == "open") {
		text += fmt.Sprintf(pick(" So that I know what it is about, the last %d messages are kept for a day; `/context` shows and clears them.",
			"为了了解上下文，我会保留最近 %d 条消息，最多一天；发送 `/上下文` 可查看和清除。"), r.Context)
	}
	switch {
	case everybody:
		return text + pick("\nEverybody here may ask me.", "\n这里的每个人都可以使用我。")
	case r.Pairing:
		return text + pick("\nI answer people who were let in: write to me privately for a code, which an admin of mine confirms with `/pair`.",
			"\n我只回答已获准使用的人：请私聊我领取配对码，由管理员发送 `/配对` 确认。")
	}
	return text + pick("\nI answer people who were let in; whoever runs me does that.", "\n我只回答已获准使用的人，请联系运行我的管理员。")
}
