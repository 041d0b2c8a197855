package agent

import (
	"context"
	"strings"

	"magpie/agent/llm"
	"magpie/chat"
	"magpie/tools"
)

// heard is what the turn has been told so far, as tools read it.
func (t *turn) heard() tools.Heard {
	h := tools.Heard{Sources: t.loop.sources}
	var lines []string
	for _, d := range fold(t.inputs) {
		if d.Origin != chat.FromPerson || d.From.Job {
			continue
		}
		if q := d.ReplyTo; q != nil && q.Mine {
			h.Reply = q.ID
		}
		h.Files = append(h.Files, d.Attachments...)
		if d.Forwarded { // others have written it
			continue
		}
		h.Named = append(h.Named, d.Named...)
		lines = append(lines, d.Text)
		for _, a := range d.Attachments {
			if spoken(a) {
				lines = append(lines, a.Text)
			}
		}
	}
	h.Said = strings.TrimSpace(strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD"))
	return h
}

// offer puts under the answer what tools have offered to press. The answer
// counts more than they do.
func (t *turn) offer(ctx context.Context) {
	made := t.env.kit.Buttons
	if made == nil || len(t.loop.buttons.Rows) == 0 || len(t.out) == 0 || t.first().Origin != chat.FromPerson {
		return
	}
	rows, err := made(ctx, t.env.scope, t.loop.buttons)
	if err != nil {
		t.h.a.opt.Log.Warn("an answer goes without its buttons", "session", t.h.key, "trace", t.first().Trace, "err", err)
		return
	}
	t.out[len(t.out)-1].Buttons = rows
}

// replied ends the turn if what the person has said was the answer to a
// question that the model does not know of, or needs no model. A turn that has begun with the model
// goes on with it.
func (t *turn) replied(ctx context.Context) bool {
	ask := t.env.kit.Reply
	if ask == nil || t.first().Origin != chat.FromPerson || len(t.loop.past.replies) > 0 {
		return false
	}
	sc := t.env.scope
	sc.Heard, sc.CallID = t.heard(), t.id+":reply"
	if sc.Said == "" && len(sc.Files) == 0 {
		return false
	}
	res, mine, err := ask(ctx, sc)
	if err != nil {
		t.h.a.opt.Log.Warn("what may be the answer to a question goes to the model", "session", t.h.key, "trace", t.first().Trace, "err", err)
		return false
	}
	if mine {
		t.loop.buttons = res.Buttons
		t.learn(res.Sources)
		t.answer(llm.Reply{Message: llm.Message{Role: llm.Assistant, Text: res.Text}})
		t.offer(ctx)
	}
	return mine
}
