package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/prompt"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/internal/kv/kvtest"
	"magpie/tools"
)

// mortalBox is a mailbox of a process with a fate.
type mortalBox struct {
	*mailbox
	f *kvtest.Fate
}

func (m mortalBox) Commit(ctx context.Context, r chat.Record) error {
	return m.f.Around(func() error { return m.mailbox.Commit(ctx, r) })
}

// planned calls the tools of the plan for the turn's first message, round by
// round, and answers then.
func planned(plans map[string][][]string) func(int, model.Question) (llm.Reply, error) {
	return func(_ int, q model.Question) (llm.Reply, error) {
		var first string
		rounds := 0
		for _, m := range q.Request.Messages {
			switch {
			case m.Role == llm.Assistant && len(m.Calls) > 0:
				rounds++
			case m.Role == llm.Assistant:
				first, rounds = "", 0
			case m.Role == llm.User && first == "":
				first = m.Text
			}
		}
		if plan := plans[first]; rounds < len(plan) {
			return calls(plan[rounds]...)
		}
		return says("answer to " + first)
	}
}

// Crash anywhere, as often as you like: every message is committed exactly
// once, and what a tool does to the world is done at most once.
func TestCrashAnywhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		plans := map[string][][]string{}
		for i := range rapid.IntRange(1, 4).Draw(rt, "messages") {
			text := fmt.Sprint("m", i)
			plans[text] = rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"read", "act", "read2"}), 1, 3), 0, 3).Draw(rt, "plan")
			w.put(chat.Inbound{From: rapid.SampledFrom([]chat.Sender{ann, bob}).Draw(rt, "from"), Text: text, Direct: true})
		}
		mode := rapid.SampledFrom([]agent.Busy{agent.Steer, agent.Queue, agent.Collect}).Draw(rt, "mode")
		acted := map[string]int{}
		deaths := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *kvtest.Fate {
			return kvtest.Dies(rapid.IntRange(1, 25).Draw(t, "step"), rapid.Bool().Draw(t, "after"))
		}), 0, 6).Draw(rt, "deaths")
		for life := 0; ; life++ {
			f := kvtest.Dies(0, false)
			if life < len(deaths) {
				f = deaths[life]
			}
			err := live(w, f, plans, &agent.Options{Busy: mode, Attempts: 100}, acted)
			if err == nil {
				break
			}
			if !errors.Is(err, kvtest.ErrKilled) {
				rt.Fatalf("life %d ended with %v", life, err)
			}
			w.crash()
			if rapid.Bool().Draw(rt, "not marked") {
				w.crashed = 0 // the same process tries again: nothing says Again
			}
		}
		checkOutcome(rt, w, len(plans), acted)
	})
}

// live is one process with a fate.
func live(w *world, f *kvtest.Fate, plans map[string][][]string, opt *agent.Options, acted map[string]int) error {
	reply := planned(plans)
	b := w.bot(func(ctx context.Context, n int, q model.Question) (r llm.Reply, err error) {
		err = f.Around(func() error { r, err = reply(n, q); return err })
		return r, err
	}, nil)
	b.tool("read", ok("content")).tool("read2", ok("more"))
	b.tool("act", func(_ context.Context, sc tools.Scope, _ string) tools.Result {
		if err := f.Around(func() error { acted[sc.CallID]++; return nil }); err != nil {
			return tools.Result{Text: err.Error()}
		}
		return tools.Result{OK: true, Text: "acted"}
	})
	b.ports.Turn = kvtest.Mortal{Table: w.turn, Fate: f}
	b.with(opt)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	err := b.Own(ctx, addr.Session(), mortalBox{w.hold(), f})
	if f.Dead() {
		return kvtest.ErrKilled
	}
	return err
}

func checkOutcome(t *rapid.T, w *world, messages int, acted map[string]int) {
	var ids []string
	for _, in := range w.answered() {
		ids = append(ids, in...)
	}
	var want []string
	for i := range messages {
		want = append(want, fmt.Sprint("in:", i+1))
	}
	if !slices.Equal(ids, want) {
		t.Fatalf("committed %q, want %q", ids, want)
	}
	outs := map[string]bool{}
	for _, r := range w.records {
		for _, o := range r.Out {
			if outs[o.ID] {
				t.Fatalf("outbound id %s twice", o.ID)
			}
			outs[o.ID] = true
		}
	}
	for call, n := range acted {
		if n > 1 {
			t.Fatalf("call %s has acted %d times", call, n)
		}
	}
	if err := illegal(w.past()); err != nil {
		t.Fatalf("history: %v", err)
	}
	for _, text := range w.sent() {
		if !strings.HasPrefix(text, "answer to m") {
			t.Fatalf("sent %q", text)
		}
	}
	if len(w.wrong) > 0 {
		t.Fatalf("violations: %q", w.wrong)
	}
}

// The journal is replayed: results are not fetched again, an acting call with
// unknown outcome is not repeated, and a message that had joined joins at the
// same place.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	plans := map[string][][]string{"go": {{"read"}, {"act", "act"}, {"read"}}}
	acted := map[string]int{}
	w.say("go")
	// Steps: ask, reply, done; ask, reply, intent, act.
	err := live(w, kvtest.Dies(7, true), plans, nil, acted)
	if !errors.Is(err, kvtest.ErrKilled) {
		t.Fatal(err)
	}
	w.say("and more")
	w.crash()
	w.say("not before the crash")
	b := w.bot(func(_ context.Context, n int, q model.Question) (llm.Reply, error) { return planned(plans)(n, q) }, nil)
	b.tool("read", ok("content")).tool("act", ok("acted"))
	b.run()
	wantEqual(t, "tools run by the second process", []string{"act", "read"}, b.tools.ran())
	wantEqual(t, "history", []string{
		"user: go", "assistant: →read", "tool: content", "assistant: →act→act",
		"tool: The program was restarted while this call ran. Whether it took effect is unknown: check before you repeat it, or tell the person.",
		"tool: acted", "user: and more", "user: not before the crash",
		"assistant: →read", "tool: content", "assistant: answer to go",
	}, lines(w.past()))
}

func TestGivenUpAfterThreeAttempts(t *testing.T) {
	synctest.Test(t, givenUpAfterThreeAttempts)
}

func givenUpAfterThreeAttempts(t *testing.T) {
	w := newWorld(t)
	w.say("poison")
	w.put(chat.Inbound{From: bob, Text: "m1", Direct: true})
	plans := map[string][][]string{}
	lives, ended := 0, 0
	for ; ; lives++ {
		// The model's answer kills the process, if it is asked about the poison.
		step := 1
		if len(w.records) > 0 {
			step = 0
		}
		if w.crashed > 0 && len(w.records) == 0 {
			step = 2 // the attempt is counted first
		}
		f := kvtest.Dies(step, false)
		err := live(w, f, plans, nil, map[string]int{})
		if len(w.records) == 0 {
			ended = lives + 1
		}
		if err == nil || lives > 10 {
			break
		}
		if lives == 5 { // three attempts are counted, but all within a moment
			pass(crashSpanPassed)
		}
		w.crash()
	}
	if ended != 6 {
		t.Errorf("given up in life %d, want 6, the first one after half a minute", ended)
	}
	if len(w.records) != 2 || w.records[0].Dead == "" || w.records[1].Dead != "" {
		t.Fatalf("after %d lives: %+v", lives, w.records)
	}
	got := w.sent()
	if !strings.HasPrefix(got[0], "I am sorry") || got[1] != "answer to m1" {
		t.Errorf("sent %q", got)
	}
}

// crashSpanPassed is longer than the time within which crashes alone do not
// count against a turn.
const crashSpanPassed = 31 * time.Second

// A turn that cannot even begin is not tried for ever.
func TestBrokenPromptIsGivenUp(t *testing.T) {
	w := newWorld(t)
	w.say("go")
	for n := 1; ; n++ {
		b := w.bot(echo, nil)
		b.ports.Prompt = brokenPrompt{}
		b.with(nil)
		err := b.Own(t.Context(), addr.Session(), w.hold())
		if err == nil {
			break
		}
		if !errors.Is(err, kvtest.ErrKilled) || n > 3 {
			t.Fatalf("attempt %d: %v", n, err)
		}
	}
	if got := w.sent(); len(got) != 1 || !strings.HasPrefix(got[0], "I am sorry") || w.records[0].Dead == "" {
		t.Errorf("sent %q", got)
	}
}

type brokenPrompt struct{}

func (brokenPrompt) Build(context.Context, prompt.Input) (string, error) { return "", kvtest.ErrKilled }

// A hand-over in order is no attempt.
func TestHandOverIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.say("go")
		for range 10 {
			b := w.bot(slow(func(int, model.Question) (llm.Reply, error) { return says("late") }), nil)
			ctx, cancel := context.WithCancel(t.Context())
			wait := b.start(ctx)
			pass(100 * time.Millisecond)
			cancel()
			if err := wait(); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			w.crash()
		}
		w.bot(echo, nil).run()
		wantEqual(t, "sent", []string{"echo: go"}, w.sent())
	})
}

// A reply too large for one entry of the table survives.
func TestJournalOfAHugeReply(t *testing.T) {
	w := newWorld(t)
	w.say("go")
	args := `{"content":"` + strings.Repeat("长", 400_000) + `"}`
	ctx, cancel := context.WithCancel(t.Context())
	b := w.bot(func(ctx context.Context, n int, _ model.Question) (llm.Reply, error) {
		if n > 1 {
			cancel()
			<-ctx.Done()
			return llm.Reply{}, ctx.Err()
		}
		r, err := calls("write")
		r.Message.Calls[0].Args = args
		return r, err
	}, nil).tool("write", func(_ context.Context, _ tools.Scope, got string) tools.Result {
		return tools.Result{OK: got == args, Text: "written"}
	})
	b.model.limits.Context = 1_000_000
	if err := b.Own(ctx, addr.Session(), w.hold()); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	entries, err := kv.List(t.Context(), w.turn, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if len(e.Value) > 512<<10 {
			t.Errorf("entry %s has %d bytes", e.Key, len(e.Value))
		}
	}
	w.crash()
	again := w.bot(func(_ context.Context, _ int, q model.Question) (llm.Reply, error) {
		return says(fmt.Sprint(q.Request.Messages[1].Calls[0].Args == args))
	}, nil).tool("write", ok("again"))
	again.model.limits.Context = 1_000_000
	again.run()
	wantEqual(t, "sent", []string{"true"}, w.sent())
	if n := len(again.tools.ran()); n != 0 {
		t.Errorf("the call was run again %d times", n)
	}
}
