package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/tasks"
	"magpie/chat"
	"magpie/internal/kv/kvtest"
	"magpie/subagent"
	"magpie/tools"
)

func id() string { return tasks.ID(scop.CallID) }

// The report is one inbound message of the chat and thread of origin, with the
// rights of who asked.
func TestReport(t *testing.T) {
	w := newWorld(t)
	p := w.start(nil, nil)
	sc := scop
	sc.FromJob = true
	res, err := p.tasks.Spawn(t.Context(), sc, "dig *here*\n深", "", false)
	if err != nil || !strings.Contains(res.Text, id()) || !strings.Contains(res.Text, "(dig here 深)") || res.Untrusted {
		t.Fatalf("%+v, %v", res, err)
	}
	if err := p.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := w.one()
	got.At = time.Time{}
	want := chat.Inbound{
		Meta: chat.Meta{V: 1, ID: "sub:" + id(), Trace: "tr", Addr: room}, Origin: chat.FromSystem,
		From: chat.Sender{ID: "7", Name: "dig here 深", Lang: "en", Job: true}, Text: "found it",
		Sources: []chat.Source{}, // it is known that there are none
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(w.inbox) != 0 || len(w.records) != 1 {
		t.Errorf("%d messages left, %d records", len(w.inbox), len(w.records))
	}
}

// What a task asks and does, it does for the chat and the person of origin.
func TestScopeOfATask(t *testing.T) {
	w := newWorld(t)
	var questions []model.Question
	var scopes []tools.Scope
	w.model = func(_ context.Context, q model.Question) (llm.Reply, error) {
		questions = append(questions, q)
		if len(questions) == 1 {
			return calls("read_file")
		}
		return says("done")
	}
	w.tool = func(_ context.Context, sc tools.Scope, _ string) tools.Result {
		scopes = append(scopes, sc)
		return tools.Result{OK: true, Text: "x"}
	}
	sc := scop
	sc.Sources = []chat.Source{{Kind: chat.SourcePage, Name: "https://a.example/"}}
	sc.FromJob, sc.Direct, sc.Sender.Job = true, true, true
	p := w.start(nil, nil)
	if _, err := p.tasks.Spawn(t.Context(), sc, "dig", "", false); err != nil {
		t.Fatal(err)
	}
	if err := p.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		if q.Session != room.Session() || q.Payer != "telegram:7" || q.Prefer != "big" || q.OnText != nil {
			t.Errorf("asked %+v", q)
		}
	}
	if names := questions[0].Request.Tools; len(names) != 2 || questions[0].Request.Messages[0].Text != "dig" {
		t.Errorf("asked with %+v", questions[0].Request)
	}
	got := scopes[0]
	if got.Addr != room || got.Sender != sc.Sender || got.Depth != 1 || !got.Tainted() || !got.FromJob || !got.Direct || got.Lang != "en" {
		t.Errorf("scope %+v", got)
	}
	if got.Place().Channel != chat.SystemChannel || got.CallID == scop.CallID {
		t.Errorf("events go to %v, call %q", got.Place(), got.CallID)
	}
}

// The same call leads to the same task, whatever has become of it.
func TestTheSameCallIsTheSameTask(t *testing.T) {
	w := newWorld(t)
	p := w.start(nil, nil)
	p.mustSpawn("dig")
	p.mustSpawn("dig")
	if w.inbox[0].ID != w.inbox[1].ID || w.inbox[0].Addr != w.inbox[1].Addr {
		t.Fatalf("two tasks: %+v", w.inbox)
	}
	if err := p.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.one()
	p.mustSpawn("dig")
	if len(w.inbox) != 0 {
		t.Errorf("a task that has ended was put into a mailbox again: %+v", w.inbox)
	}
	other := scop
	other.CallID = "s:1:0.1"
	if _, err := p.tasks.Spawn(t.Context(), other, "dig", "", false); err != nil || len(w.inbox) != 1 || w.inbox[0].ID == "task:"+id() {
		t.Errorf("another call: %v, %+v", err, w.inbox)
	}
}

func TestSpawnRefuses(t *testing.T) {
	w := newWorld(t)
	p := w.start(nil, nil)
	deep, bare := scop, scop
	deep.Depth, bare.CallID = 1, ""
	for name, k := range map[string]struct {
		sc   tools.Scope
		task string
		want string
	}{
		"a task":            {deep, "dig", "cannot start others"},
		"nothing to do":     {scop, " \n", "task is empty"},
		"a call without id": {bare, "dig", "id of its call"},
	} {
		if _, err := p.tasks.Spawn(t.Context(), k.sc, k.task, "", false); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range 40 {
		sc := scop
		sc.CallID = fmt.Sprint("c", i)
		_, err := p.tasks.Spawn(t.Context(), sc, "dig", "", false)
		if (err == nil) != (i < 32) {
			t.Fatalf("task %d: %v", i, err)
		}
	}
	if len(w.inbox) != 32 {
		t.Errorf("%d tasks", len(w.inbox))
	}
}

// Every step may be the last of a process, twice in a row, and the report is
// there once.
func TestCrashAnywhere(t *testing.T) {
	script := func(w *world) {
		w.model = func(_ context.Context, q model.Question) (llm.Reply, error) {
			if len(q.Request.Messages) == 1 {
				return calls("read_file")
			}
			return says(fmt.Sprintf("found after %d messages", len(q.Request.Messages)))
		}
	}
	run := func(w *world, f *kvtest.Fate) error {
		p := w.start(f, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		_, err := p.tasks.Spawn(ctx, scop, "dig", "", false)
		for err == nil && len(w.inbox) > 0 {
			err = p.work(ctx)
		}
		w.again = true
		if f.Dead() {
			return kvtest.ErrKilled
		}
		return err
	}
	steps := kvtest.Dies(0, false)
	whole := newWorld(t)
	script(whole)
	if err := run(whole, steps); err != nil || steps.Steps() < 10 {
		t.Fatalf("%d steps, %v", steps.Steps(), err)
	}
	for first := 1; first <= steps.Steps(); first++ {
		for second := 0; second <= steps.Steps(); second += 3 {
			for _, after := range []bool{false, true} {
				w := newWorld(t)
				script(w)
				if err := run(w, kvtest.Dies(first, after)); !errors.Is(err, kvtest.ErrKilled) {
					t.Fatalf("step %d: %v", first, err)
				}
				if second > 0 {
					_ = run(w, kvtest.Dies(second, !after))
				}
				if err := run(w, kvtest.Dies(0, false)); err != nil {
					t.Fatalf("steps %d, %d, after %v: %v", first, second, after, err)
				}
				if got := w.one(); got.ID != "sub:"+id() || !strings.HasPrefix(got.Text, "found after") || len(w.inbox) != 0 {
					t.Fatalf("steps %d, %d, after %v: %+v, %d records, %d left", first, second, after, got, len(w.records), len(w.inbox))
				}
			}
		}
	}
}

// A task that was stopped says nothing, whether it had begun or not.
func TestStop(t *testing.T) {
	for _, begun := range []bool{false, true} {
		t.Run(fmt.Sprint("begun ", begun), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				p := w.start(nil, nil)
				asked := false
				w.model = func(ctx context.Context, _ model.Question) (llm.Reply, error) {
					asked = true
					<-ctx.Done()
					return llm.Reply{}, context.Cause(ctx)
				}
				p.mustSpawn("dig")
				done := make(chan error, 1)
				if begun {
					go func() { done <- p.work(t.Context()) }()
					synctest.Wait()
				}
				began := time.Now()
				stopped, err := p.board.StopAll(t.Context(), room)
				if err != nil || len(stopped) != 1 || stopped[0].Label != "dig" {
					t.Fatalf("%+v, %v", stopped, err)
				}
				if !begun {
					done <- p.work(t.Context())
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("it went on for %s", took)
				}
				if len(w.said()) != 0 || len(w.records) != 1 || len(w.inbox) != 0 || asked != begun {
					t.Errorf("said %+v, %d records, %d left, asked %v", w.said(), len(w.records), len(w.inbox), asked)
				}
			})
		})
	}
}

// The time of a task is what it has run, over all its holders; what lies
// between them does not count.
func TestOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model = func(ctx context.Context, _ model.Question) (llm.Reply, error) {
			<-ctx.Done()
			return llm.Reply{}, context.Cause(ctx)
		}
		p := w.start(nil, &subagent.Options{Timeout: 20 * time.Minute})
		p.mustSpawn("dig")
		ctx, leave := context.WithTimeout(t.Context(), 15*time.Minute)
		if err := p.work(ctx); !errors.Is(err, context.DeadlineExceeded) || len(w.records) != 0 {
			t.Fatalf("handed over: %v, %d records", err, len(w.records))
		}
		leave()
		elapse(3 * time.Hour)
		began := time.Now()
		if err := w.start(nil, &subagent.Options{Timeout: 20 * time.Minute}).work(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 5*time.Minute {
			t.Errorf("the second holder had %s, want 5m", took)
		}
		if got := w.one().Text; !strings.Contains(got, "did not end within 20m0s") {
			t.Errorf("reported %q", got)
		}
	})
}

// elapse lets the time of a bubble pass.
func elapse(d time.Duration) { <-time.After(d) }

type noticed struct{}

func (noticed) Error() string        { return "over" }
func (noticed) Notice(string) string { return "the budget is used up" }

// However a task ends, it says so.
func TestFailures(t *testing.T) {
	refuse := func(err error) func(context.Context, model.Question) (llm.Reply, error) {
		return func(context.Context, model.Question) (llm.Reply, error) { return llm.Reply{}, err }
	}
	for name, k := range map[string]struct {
		model func(context.Context, model.Question) (llm.Reply, error)
		want  string
	}{
		"no model":  {refuse(errors.New("down")), "The task failed: no model could be reached."},
		"no budget": {refuse(noticed{}), "The task failed: the budget is used up"},
		"too long":  {refuse(&llm.Error{Kind: llm.TooLong}), "The task failed: it became too long for the model."},
		"empty":     {func(context.Context, model.Question) (llm.Reply, error) { return says(" \n") }, "The task failed: it ended without a report."},
		"a panic":   {func(context.Context, model.Question) (llm.Reply, error) { panic("bug") }, "The task failed: it ended without a report."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model = k.model
			p := w.start(nil, nil)
			p.mustSpawn("dig")
			if err := p.work(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.one().Text; got != k.want {
				t.Errorf("reported %q, want %q", got, k.want)
			}
		})
	}
}

// A task that ends its process each time is given up, and says so.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model = func(_ context.Context, q model.Question) (llm.Reply, error) {
			return calls("read_file")
		}
		w.start(nil, nil).mustSpawn("dig")
		for life := 0; len(w.records) == 0; life++ {
			f := kvtest.Dies(0, false)
			w.tool = func(context.Context, tools.Scope, string) tools.Result {
				f.Kill()
				return tools.Result{}
			}
			if life > 10 {
				t.Fatal("it is never given up")
			}
			_ = w.start(f, nil).work(t.Context())
			w.again = true
			elapse(20 * time.Second)
		}
		if got := w.one(); !strings.Contains(got.Text, "tried several times") {
			t.Errorf("reported %q", got.Text)
		}
	})
}

// A report that would not fit is cut in the middle.
func TestLongReport(t *testing.T) {
	for name, text := range map[string]string{
		"escapes": "A" + strings.Repeat("<\x01\"", 200_000) + "Z",
		"Chinese": "A" + strings.Repeat("喜", 300_000) + "Z",
		"broken":  "A\xff\xfeZ",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model = func(context.Context, model.Question) (llm.Reply, error) { return says(text) }
			p := w.start(nil, nil)
			p.mustSpawn("dig")
			if err := p.work(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := w.one().Text
			size := 0
			for _, r := range w.records {
				for _, item := range r.Items {
					size += len(item)
				}
			}
			if !strings.HasPrefix(got, "A") || !strings.HasSuffix(got, "Z") || !utf8.ValidString(got) || len(got) > 250_000 || size > 750<<10 {
				t.Errorf("the report is %d bytes and begins with %.20q, the items have %d", len(got), got, size)
			}
		})
	}
}

// A message that is no task is put aside and does no harm.
func TestNoTask(t *testing.T) {
	w := newWorld(t)
	p := w.start(nil, nil)
	if err := p.publish(t.Context(), chat.Inbound{Meta: chat.Meta{ID: "x", Addr: chat.Address{Channel: "system", Chat: "x"}}, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if err := p.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(w.records) != 1 || w.records[0].Dead == "" || len(w.inbox) != 0 {
		t.Errorf("records %+v, %d left", w.records, len(w.inbox))
	}
}
