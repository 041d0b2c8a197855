package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
	"magpie/internal/kv/kvtest"
	"magpie/tools"
)

// What the person has written reaches the tools: the words of this turn, those
// that joined it too, and nothing that others have written.
func TestWhatAPersonHasSaid(t *testing.T) {
	mine := chat.Quote{ID: "77", Text: "OK, at 9", Mine: true}
	for name, k := range map[string]struct {
		in   chat.Inbound
		want tools.Heard
	}{
		"a message":          {chat.Inbound{From: ann, Text: "at 9 please"}, tools.Heard{Said: "at 9 please"}},
		"a reply to the bot": {chat.Inbound{From: ann, Text: "at 9", ReplyTo: &mine}, tools.Heard{Said: "at 9", Reply: "77"}},
		"a reply to others":  {chat.Inbound{From: ann, Text: "at 9", ReplyTo: &chat.Quote{ID: "78", Text: "no"}}, tools.Heard{Said: "at 9", Sources: from(chat.SourceOthers, "")}},
		"a voice": {
			chat.Inbound{From: ann, Attachments: []chat.Attachment{{Kind: chat.Voice, Text: "at nine", Ref: "x"}}},
			tools.Heard{Said: "at nine", Files: []chat.Attachment{{Kind: chat.Voice, Text: "at nine", Ref: "x"}}},
		},
		"a forwarded file": {
			chat.Inbound{From: ann, Text: "my plans", Forwarded: true, Attachments: []chat.Attachment{{Kind: chat.File, Name: "a.ics", Ref: "x"}}},
			tools.Heard{Files: []chat.Attachment{{Kind: chat.File, Name: "a.ics", Ref: "x"}}, Sources: from(chat.SourceOthers, "Ann")},
		},
		"forwarded": {chat.Inbound{From: ann, Text: "see you at 9", Forwarded: true}, tools.Heard{Sources: from(chat.SourceOthers, "Ann")}},
		"a job":     {chat.Inbound{From: ann, Text: "at 9", Origin: chat.FromCron}, tools.Heard{}},
		"a report":  {chat.Inbound{From: chat.Sender{Name: "task"}, Text: "at 9", Origin: chat.FromSystem}, tools.Heard{Sources: from(chat.SourceTask, "task")}},
		"of a job":  {chat.Inbound{From: chat.Sender{ID: "7", Job: true}, Text: "at 9"}, tools.Heard{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.bot(once("act"), nil).tool("act", ok("did"))
			w.put(k.in)
			b.run()
			got := b.tools.calls[0].Heard
			for i := range got.Sources {
				got.Sources[i].At = time.Time{}
			}
			got.Guard, got.Leaks = nil, nil
			wantEqual(t, "heard", k.want, got)
		})
	}
	w := newWorld(t)
	var b *bot
	b = w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
		if n < 3 {
			return calls("act")
		}
		return says("done")
	}, &agent.Options{Busy: agent.Steer}).tool("act", func(_ context.Context, sc tools.Scope, _ string) tools.Result {
		if len(b.tools.calls) == 1 {
			w.say("no, at 10")
		}
		return tools.Result{OK: true, Text: "did"}
	})
	w.say("at 9")
	b.run()
	wantEqual(t, "second call", "at 9\nno, at 10", b.tools.calls[1].Said)
	w.say("thanks")
	b.run()
}

func from(kind chat.SourceKind, name string) []chat.Source {
	return []chat.Source{{Kind: kind, Name: name}}
}

// once calls the tools in a first reply and answers in the next.
func once(names ...string) func(context.Context, int, model.Question) (llm.Reply, error) {
	return func(_ context.Context, _ int, q model.Question) (llm.Reply, error) {
		if q.Request.Messages[len(q.Request.Messages)-1].Role != llm.Tool {
			return calls(names...)
		}
		return says("done")
	}
}

func offering(labels ...string) func(context.Context, tools.Scope, string) tools.Result {
	var rows [][]tools.Button
	for _, l := range labels {
		rows = append(rows, []tools.Button{{Label: l, Press: "p" + l}})
	}
	return func(context.Context, tools.Scope, string) tools.Result {
		return tools.Result{OK: true, Text: "did", Buttons: tools.Buttons{Action: "reminder", Rows: rows}}
	}
}

// buttons is a Kit that makes buttons of what tools offer.
func (b *bot) offers(made *int, err error) *bot {
	b.Update(agent.Kit{Model: b.model, Tools: b.tools, Buttons: func(_ context.Context, sc tools.Scope, o tools.Buttons) ([][]chat.Button, error) {
		*made++
		var rows [][]chat.Button
		for _, row := range o.Rows {
			rows = append(rows, []chat.Button{{Label: row[0].Label, Data: fmt.Sprint(o.Action, ":", row[0].Press, ":", sc.Sender.ID)}})
		}
		return rows, err
	}})
	return b
}

// The buttons that a turn's last call with some has offered stand under its
// answer, and only there.
func TestOfferedButtons(t *testing.T) {
	cancel, undo := []chat.Button{{Label: "Cancel", Data: "reminder:pCancel:7"}}, []chat.Button{{Label: "Undo", Data: "reminder:pUndo:7"}}
	for name, k := range map[string]struct {
		calls []string
		in    chat.Inbound
		err   error
		want  [][]chat.Button
	}{
		"one call":           {calls: []string{"add"}, want: [][]chat.Button{cancel}},
		"the last":           {calls: []string{"add", "change"}, want: [][]chat.Button{cancel, undo}},
		"one without behind": {calls: []string{"add", "read"}, want: [][]chat.Button{cancel}},
		"none":               {calls: []string{"read"}},
		"a job":              {calls: []string{"add"}, in: chat.Inbound{Origin: chat.FromCron}},
		"they cannot be":     {calls: []string{"add"}, err: errors.New("no table")},
	} {
		t.Run(name, func(t *testing.T) {
			w, made := newWorld(t), 0
			b := w.bot(once(k.calls...), nil).offers(&made, k.err)
			b.tool("add", offering("Cancel")).tool("change", offering("Cancel", "Undo")).tool("read", ok("content"))
			k.in.From, k.in.Text, k.in.Direct = ann, "go", true
			w.put(k.in)
			b.run()
			out := w.records[0].Out
			if len(out) != 1 || out[0].Text != "done" {
				t.Fatalf("sent %+v", out)
			}
			wantEqual(t, "buttons", k.want, out[0].Buttons)
		})
	}
}

// A turn that a crash ends after the call offers the same when it is repeated.
func TestOfferedButtonsAfterACrash(t *testing.T) {
	offered := 0
	for step := 1; step <= 8; step++ {
		w, made, acted := newWorld(t), 0, 0
		w.say("go")
		f := kvtest.Dies(step, true)
		for life := 0; ; life++ {
			b := w.bot(once("add"), nil)
			b.ports.Turn = kvtest.Mortal{Table: w.turn, Fate: f}
			b.with(&agent.Options{Attempts: 100}).offers(&made, nil)
			b.tool("add", func(ctx context.Context, sc tools.Scope, args string) tools.Result {
				acted++
				return offering("Cancel")(ctx, sc, args)
			})
			err := b.Own(t.Context(), addr.Session(), mortalBox{w.hold(), f})
			if err == nil {
				break
			}
			if !errors.Is(err, kvtest.ErrKilled) {
				t.Fatal(err)
			}
			w.crash()
			f = kvtest.Dies(0, false)
		}
		rec := w.records[0]
		known := len(w.past()) > 2 && w.past()[2].Text == "did"
		if got := len(rec.Out[0].Buttons); known != (got == 1) || acted > 1 {
			t.Errorf("step %d: %d rows of buttons, the tool ran %d times, its result is known: %v", step, got, acted, known)
		}
		offered += len(rec.Out[0].Buttons)
		if len(w.records) != 1 {
			t.Errorf("step %d: %d records", step, len(w.records))
		}
	}
	if offered < 5 {
		t.Errorf("only %d of 8 turns have offered", offered)
	}
}

// An answer to a question that was put outside of the conversation needs no
// model, is a part of the conversation, and is the same over a crash.
func TestReplyToAQuestionFromOutside(t *testing.T) {
	w, made, asked := newWorld(t), 0, []string{}
	b := w.bot(echo, nil)
	reply := func(_ context.Context, sc tools.Scope) (tools.Result, bool, error) {
		asked = append(asked, sc.Said+" "+sc.CallID)
		if sc.Said == "broken" {
			return tools.Result{}, true, errors.New("no table")
		}
		return tools.Result{Text: "moved", Buttons: tools.Buttons{Action: "reminder", Rows: [][]tools.Button{{{Label: "Undo", Press: "pUndo"}}}}}, sc.Said == "pm", nil
	}
	b.offers(&made, nil)
	kit := agent.Kit{Model: b.model, Tools: b.tools, Reply: reply, Buttons: func(context.Context, tools.Scope, tools.Buttons) ([][]chat.Button, error) {
		return [][]chat.Button{{{Label: "Undo"}}}, nil
	}}
	b.Update(kit)
	for _, said := range []string{"pm", "hello", "broken"} {
		w.say(said)
		b.run()
	}
	w.put(chat.Inbound{From: ann, Text: "pm", Direct: true, Origin: chat.FromCron})
	b.run()
	wantEqual(t, "sent", []string{"moved", "echo: hello", "echo: broken"}, w.sent()[:3])
	wantEqual(t, "asked", []string{"pm " + string(addr.Session()) + ":1:reply", "hello " + string(addr.Session()) + ":3:reply", "broken " + string(addr.Session()) + ":5:reply"}, asked)
	wantEqual(t, "the model's view", []string{"user: pm", "assistant: moved", "user: hello"}, lines(b.model.request(1).Messages))
	if out := w.records[0].Out[0]; len(out.Buttons) != 1 {
		t.Errorf("sent %+v", out)
	}
}
