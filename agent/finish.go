package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"magpie/agent/llm"
	"magpie/agent/session"
	"magpie/chat"
)

// The marks that the model reads in the history where a turn did not end with
// an answer.
const (
	markStopped = "[stopped by the person]"
	markNewer   = "[interrupted by the person's next message]"
	markFailed  = "[not answered: %s]"
)

// say adds a message to the conversation.
func (t *turn) say(m llm.Message) {
	t.said = append(t.said, session.Item{At: t.h.a.opt.Now(), Message: m})
}

// send adds a message to what the record sends.
func (t *turn) send(text string) {
	first, last := t.first(), &t.inputs[len(t.inputs)-1]
	out := chat.Outbound{Text: t.guard(text), Turn: t.id, Unasked: first.Origin != chat.FromPerson, Sources: t.loop.sources}
	if first.Origin == chat.FromCron {
		out.Slot = &chat.Slot{ID: first.ID, Err: t.loop.failed}
	}
	out.ID = fmt.Sprintf("out:%s:%d:%d", t.h.key, first.Seq, len(t.out))
	if !first.Direct && first.Origin == chat.FromPerson {
		out.ReplyTo = last.MessageID
	}
	t.h.address(&out, first.Inbound, first.Seq)
	t.out = append(t.out, out)
}

// answer ends the turn with the model's last reply.
func (t *turn) answer(reply llm.Reply) {
	w := words(t.env.scope.Lang)
	text := reply.Message.Text
	var note string
	switch {
	case reply.Stop == llm.StopLength && blank(text):
		note = w.noRoom()
	case reply.Stop == llm.StopLength:
		note = w.cutOff()
	case reply.Stop == llm.StopFilter:
		note = w.filtered()
	case blank(text) && !t.loop.answered && len(reply.Message.Calls) > 0:
		note = w.noEnd(t.env.kit.MaxIterations)
	case blank(text) && !t.loop.answered:
		note = w.empty()
	}
	if !blank(text) || note != "" {
		t.say(llm.Message{Role: llm.Assistant, Text: join(text, note)})
	}
	if t.loop.answered || t.silent(text) {
		text = "" // the person has the answer already
	}
	if text = join(text, note); text != "" {
		t.send(text)
	}
}

// outcome sees to it that a job learns of the end of its turn, also of one that
// has sent no answer.
func (t *turn) outcome() {
	if len(t.out) > 0 || t.first().Origin != chat.FromCron {
		return
	}
	t.send("")
	t.out[0].Slot.Quiet = true
}

func join(text, note string) string {
	switch {
	case blank(text):
		return note
	case note == "":
		return text
	default:
		return text + "\n\n" + note
	}
}

// noAnswer ends the turn honestly when no model could answer.
func (t *turn) noAnswer(err error) {
	t.h.a.count.failed.Add(1)
	t.h.a.opt.Log.Error("no model could answer", "session", t.h.key, "trace", t.first().Trace, "err", err)
	text := words(t.env.scope.Lang).noModel()
	var noticer interface{ Notice(lang string) string }
	if errors.As(err, &noticer) {
		text = noticer.Notice(t.env.scope.Lang)
	} else if llm.KindOf(err) == llm.TooLong {
		text = words(t.env.scope.Lang).tooLong()
	}
	if first := t.first(); first.Origin == chat.FromCron {
		t.loop.failed = "no model could answer"
		text = words(t.env.scope.Lang).jobFailed(first.Text) + "\n\n" + text
	}
	t.say(llm.Message{Role: llm.Assistant, Text: fmt.Sprintf(markFailed, text)})
	if first := t.first(); first.Origin == chat.FromSystem {
		// Nobody else will tell what the task has found.
		text += "\n\n" + words(t.env.scope.Lang).report(clean(first.From.Name)) + "\n\n" + session.Shorten(first.Text, maxQuote)
	}
	t.send(text)
}

// brokeDown ends the turn honestly after a panic.
func (t *turn) brokeDown(p *panicked) {
	t.h.a.count.panics.Add(1)
	t.h.a.opt.Log.Error("turn panicked", "session", t.h.key, "trace", t.first().Trace,
		"err", p, "stack", string(p.stack))
	text := words(t.lang()).brokeDown()
	t.loop.failed = "the turn broke down"
	if len(t.said) > 0 {
		t.say(llm.Message{Role: llm.Assistant, Text: fmt.Sprintf(markFailed, text)})
	}
	t.send(text)
}

// cutShort ends the turn where the person has cut it off: what was said so far
// is kept, and what came after the cut is left to the next turn.
func (t *turn) cutShort(run context.Context, cut *cutOff) {
	if cut.seq > 0 {
		t.split(run, cut.seq)
	}
	err := guarded(func() error {
		sess, err := t.h.session(run)
		if err == nil {
			t.greet(run, sess)
		}
		return err
	})
	if err != nil {
		t.h.a.opt.Log.Error("a stopped turn is kept without its messages", "session", t.h.key, "trace", t.first().Trace, "err", err)
	}
	mark := markNewer
	if cut.seq > 0 {
		mark = markStopped
	}
	sofar := t.loop.partial.get()
	t.loop.failed = "stopped by a person"
	t.say(llm.Message{Role: llm.Assistant, Text: join(sofar, mark)})
	switch {
	case !blank(sofar) && !t.loop.answered:
		t.send(sofar)
	case !cut.quiet:
		t.send(words(t.lang()).notBegun())
	}
}

// split lets the turn end with the inputs up to seq: later ones that have
// joined go back, earlier ones that would have joined are taken in.
func (t *turn) split(run context.Context, seq uint64) {
	if err := t.h.pull(run); err != nil {
		t.h.a.opt.Log.Debug("no look for new messages", "session", t.h.key, "trace", t.first().Trace, "err", err)
	}
	mode := t.env.kit.Busy
	earlier := t.join(func(d *chat.Delivery) bool {
		return d.Seq < seq && t.samePerson(d) && (mode == Steer || mode == Interrupt)
	})
	if len(t.said) > 0 { // else greet will add them all
		for _, d := range fold(earlier) {
			t.said = append(t.said, t.item(run, d))
		}
	}
	n := len(t.inputs)
	for n > 1 && t.inputs[n-1].Seq > seq {
		n--
	}
	later := t.inputs[n:]
	t.inputs = t.inputs[:n:n]
	t.h.mu.Lock()
	t.h.pending = append(later[:len(later):len(later)], t.h.pending...)
	t.h.mu.Unlock()
	kept := t.said[:0]
	for _, it := range t.said {
		if len(it.Inputs) == 0 || it.Inputs[0].Seq <= seq {
			kept = append(kept, it)
		}
	}
	t.said = kept
}

// giveUp ends a turn that has failed too often, most likely because it ends
// the process: its message becomes a dead letter, and the chat is told.
func (t *turn) giveUp(run context.Context) error {
	t.h.a.count.dead.Add(1)
	t.h.a.opt.Log.Error("message given up", "session", t.h.key, "trace", t.first().Trace, "attempts", t.loop.past.attempts)
	t.said, t.out = nil, nil
	t.loop.failed = "given up after several attempts"
	t.send(words(t.lang()).givenUp())
	return t.commit(run, fmt.Sprintf("%d attempts at this turn did not end", t.loop.past.attempts))
}

// handOver leaves the turn to the next holder.
func (t *turn) handOver() {
	if !t.loop.counted {
		return
	}
	if err := t.loop.journal.add(context.Background(), entry{Kind: kindHanded}); err != nil {
		t.h.a.opt.Log.Warn("a hand-over was not noted", "session", t.h.key, "trace", t.first().Trace, "err", err)
	}
}

// lang is the language of the chat, also before the turn was prepared.
func (t *turn) lang() string {
	if t.env.scope.Lang != "" {
		return t.env.scope.Lang
	}
	return langOf(t.first())
}

// commit writes the turn's record.
func (t *turn) commit(run context.Context, dead string) error {
	r := chat.Record{
		V: chat.Version, Turn: t.id, Trace: t.first().Trace, Addr: t.first().Addr, Began: t.began, At: t.h.a.opt.Now(),
		Out: t.out, Dead: dead,
	}
	for _, in := range t.inputs {
		r.Inputs = append(r.Inputs, chat.Input{Seq: in.Seq, ID: in.ID, Trace: in.Trace, At: in.At, Stored: in.Stored})
	}
	if len(r.Out) > 0 {
		r.Out[len(r.Out)-1].Final = true
	}
	for i := range t.said {
		// Reasoning is wanted back only while its turn runs.
		t.said[i].Message.Thinking = nil
	}
	if n := len(t.said); n > 0 { // what the turn says may say again what it has read
		t.said[n-1].Sources = chat.JoinSources(t.said[n-1].Sources, t.loop.sources)
	}
	var err error
	if t.said, r.Items, err = pack(t.said); err != nil {
		return err
	}
	if err := t.h.commit(run, r, t.said); err != nil {
		return err
	}
	t.h.a.count.turns.Add(1)
	return nil
}

// maxRecord bounds the items of one record in bytes, so that it fits a message
// of the bus (1 MB) together with the answer.
const maxRecord = 700 << 10

// pack encodes items; when they are too large together their longest texts are
// cut.
func pack(items []session.Item) ([]session.Item, []json.RawMessage, error) {
	raw, size, err := encode(items)
	if err != nil || size <= maxRecord {
		return items, raw, err
	}
	msgs := make([]llm.Message, len(items))
	for i := range items {
		msgs[i] = items[i].Message
	}
	short := make([]session.Item, len(items))
	session.Squeeze(msgs, func(msgs []llm.Message) bool {
		for i := range items {
			short[i] = items[i]
			short[i].Message = msgs[i]
		}
		raw, size, err = encode(short)
		return err != nil || size <= maxRecord
	})
	return short, raw, err
}

func encode(items []session.Item) (raw []json.RawMessage, size int, err error) {
	for _, it := range items {
		data, err := session.Encode(it)
		if err != nil {
			return nil, 0, err
		}
		raw, size = append(raw, data), size+len(data)
	}
	return raw, size, nil
}
