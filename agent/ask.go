package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/session"
	"magpie/chat"
	"magpie/internal/links"
)

// fit is how far the conversation had to be made smaller for the model.
type fit struct {
	step      int // 0: whole; each further step halves the room, the last one leaves only this turn
	compacted bool
}

// mostSteps: after that many refusals as too long the model will not take it.
const mostSteps = 3

// lastHint stands under the system prompt of the last call of a turn.
const lastHint = "\n\nYou have used up the tool calls of this turn. Answer now with what you have, and say what is missing."

// reply gives the model's next reply: from the journal while the turn catches
// up with an earlier attempt, else from the model.
func (t *turn) reply(ctx context.Context, n int, last bool) (llm.Reply, error) {
	if rs := t.loop.past.replies; len(rs) > 0 {
		t.loop.past.replies = rs[1:]
		t.loop.noted = len(t.inputs)
		sess, err := t.h.session(ctx)
		if err == nil { // how much of it that attempt was shown is not known
			t.learn(sess.Sources(-1))
		}
		return *rs[0].Reply, err
	}
	reply, err := t.ask(ctx, last)
	if err != nil {
		return reply, err
	}
	if len(reply.Message.Calls) > 0 && !last {
		err = t.note(ctx, &reply)
	}
	return reply, err
}

// note writes a reply with calls into the journal, with ids that are unique in
// the conversation.
func (t *turn) note(ctx context.Context, reply *llm.Reply) error {
	sess, err := t.h.session(ctx)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, it := range t.said {
		for _, c := range it.Message.Calls {
			used[c.ID] = true
		}
	}
	for i := range reply.Message.Calls {
		c := &reply.Message.Calls[i]
		if c.ID == "" || used[c.ID] || sess.HasCall(c.ID) {
			c.ID = fmt.Sprintf("call_%d_%d_%d", t.first().Seq, t.loop.rounds, i)
		}
		used[c.ID] = true
	}
	seqs := make([]uint64, 0, len(t.inputs)-t.loop.noted)
	for _, in := range t.inputs[t.loop.noted:] {
		seqs = append(seqs, in.Seq)
	}
	t.loop.noted = len(t.inputs)
	return t.loop.journal.add(ctx, entry{Kind: kindReply, Inputs: seqs, Reply: reply})
}

// ask puts the conversation to the model, and less of it as long as the model
// says that it is too long.
func (t *turn) ask(ctx context.Context, last bool) (llm.Reply, error) {
	sess, err := t.h.session(ctx)
	if err != nil {
		return llm.Reply{}, err
	}
	if _, tokens := sess.Size(); tokens+t.tokens() > t.budget() && tokens > t.budget()/keepShare {
		t.compact(ctx, sess, t.budget()/keepShare)
	}
	for {
		reply, err := t.askOnce(ctx, sess, last)
		switch {
		case err == nil:
			return reply, nil
		case ctx.Err() != nil:
			return llm.Reply{}, context.Cause(ctx)
		case llm.KindOf(err) != llm.TooLong || t.loop.fit.step >= mostSteps:
			if t.outlast(ctx, err) {
				continue
			}
			if ctx.Err() != nil {
				return llm.Reply{}, context.Cause(ctx)
			}
			return llm.Reply{}, &errNoAnswer{err}
		}
		t.loop.fit.step++
		t.compact(ctx, sess, t.budget()/(2*keepShare))
	}
}

// keepShare: a compacted history keeps this part of the budget, so that the
// next compaction is some turns away.
const keepShare = 4

func (t *turn) askOnce(ctx context.Context, sess *session.Session, last bool) (llm.Reply, error) {
	req := llm.Request{
		System: t.env.system, Messages: t.conversation(ctx, sess), Session: string(t.h.key),
	}
	if last {
		req.System += lastHint
	} else {
		req.Tools = t.env.defs
	}
	t.loop.partial.reset()
	reply, err := t.env.kit.Model.Ask(ctx, model.Question{
		Session: t.h.key, Trace: t.first().Trace, Payer: t.payer(), Prefer: t.env.prefer, Request: req, OnText: t.onText,
	})
	if err == nil {
		t.loop.partial.reset()
		reply.Message.Role = llm.Assistant
		reply.Message.Text = strings.ToValidUTF8(reply.Message.Text, "\uFFFD")
	}
	return reply, err
}

// conversation is what the model is shown: as many of the newest turns as
// there is room for, and this turn, its longest texts cut when it alone is too
// long.
func (t *turn) conversation(ctx context.Context, sess *session.Session) []llm.Message {
	room := t.room() >> t.loop.fit.step
	mine := t.messages()
	fits := func(msgs []llm.Message) bool { return session.Size(msgs) <= room }
	left := room - session.Size(mine)
	if left < 0 {
		mine, _ = session.Squeeze(mine, fits)
	}
	if left < 0 || t.loop.fit.step == mostSteps {
		left = 0
	} else if _, tokens := sess.Size(); tokens <= left {
		left = -1
	}
	t.learn(sess.Sources(left))
	return t.show(ctx, append(sess.Messages(left), mine...))
}

func (t *turn) messages() []llm.Message {
	msgs := make([]llm.Message, len(t.said))
	for i := range t.said {
		msgs[i] = t.said[i].Message
	}
	return msgs
}

func (t *turn) tokens() int { return session.Size(t.messages()) }

// compact replaces the older turns by a summary, once a turn. When that fails
// the older turns are left out for now.
func (t *turn) compact(ctx context.Context, sess *session.Session, keep int) {
	if t.loop.fit.compacted {
		return
	}
	t.loop.fit.compacted = true
	t.event(chat.TurnProgress, words(t.env.scope.Lang).compacting())
	err := t.h.a.sessions.Compact(ctx, sess, keep, t.room()/2, func(ctx context.Context, req llm.Request) (llm.Reply, error) {
		req.Session = string(t.h.key)
		return t.env.kit.Model.Ask(ctx, model.Question{
			Session: t.h.key, Trace: t.first().Trace, Payer: t.payer(), Prefer: t.env.prefer, Request: req,
		})
	})
	if err == nil {
		err = t.writePrompt(ctx)
	}
	if err != nil && !errors.Is(err, session.ErrNothing) && ctx.Err() == nil {
		t.h.a.opt.Log.Warn("the history was not compacted", "session", t.h.key, "trace", t.first().Trace, "err", err)
	}
}

// partial is the reply while it is written.
type partial struct {
	mu   sync.Mutex
	text string
	told time.Time
}

func (p *partial) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.told = "", time.Time{}
}

func (p *partial) get() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text
}

// deltaPause is the shortest time between two events that show the reply while
// it is written; no platform shows edits faster.
const deltaPause = 100 * time.Millisecond

func (t *turn) onText(soFar string) {
	p, now := &t.loop.partial, t.h.a.opt.Now()
	p.mu.Lock()
	p.text = soFar
	tell := !blank(soFar) && now.Sub(p.told) >= deltaPause
	if tell {
		p.told = now
	}
	p.mu.Unlock()
	if !tell || t.loop.answered {
		return
	}
	ev := t.news(chat.TurnDelta, soFar)
	if ev.Sources = t.loop.sources; t.tainted() {
		ev.Text = t.guard(links.Finished(soFar))
	}
	if !blank(ev.Text) {
		t.h.a.ports.Event(ev)
	}
}

func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }) < 0
}
