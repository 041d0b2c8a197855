package tools_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"magpie/chat"
	"magpie/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// with makes an executor of one tool called "t" that does fn.
func with(t *testing.T, o *tools.Options, spec tools.Spec, fn func(ctx context.Context, sc tools.Scope) (tools.Result, error)) *tools.Executor {
	t.Helper()
	spec.Name, spec.Description = "t", "Does what the test says."
	if spec.Category == "" {
		spec.Category = tools.System
	}
	if spec.Effect == "" {
		spec.Effect = tools.Reads
	}
	reg := &tools.Registry{}
	if err := reg.Register(tools.New(spec, func(ctx context.Context, sc tools.Scope, _ none) (tools.Result, error) { return fn(ctx, sc) })); err != nil {
		t.Fatal(err)
	}
	return tools.NewExecutor(reg, o)
}

// TOOL-7, TOOL-8: every outcome is a Result with a flag and a kind.
func TestResults(t *testing.T) {
	cause := errors.New("disk full")
	for _, c := range []struct {
		name string
		fn   func(context.Context, tools.Scope) (tools.Result, error)
		want tools.Result
	}{
		{"success", func(context.Context, tools.Scope) (tools.Result, error) {
			return tools.Result{Text: "Error: is only a word", Answered: true}, nil
		}, tools.Result{OK: true, Text: "Error: is only a word", Answered: true}},
		{"a tool cannot fake the flags", func(context.Context, tools.Scope) (tools.Result, error) {
			return tools.Result{Tool: "other", CallID: "x", Err: tools.Failed, Text: "x"}, nil
		}, tools.Result{OK: true, Text: "x"}},
		{
			"plain error", func(context.Context, tools.Scope) (tools.Result, error) { return tools.Result{OK: true}, cause },
			tools.Result{Err: tools.Failed, Text: "error (execution_failed): disk full"},
		},
		{"explained error", func(context.Context, tools.Scope) (tools.Result, error) {
			return tools.Result{}, fmt.Errorf("wrapped: %w", tools.Errorf(tools.NotFound, "no %q; want %q", "a", "b"))
		}, tools.Result{Err: tools.NotFound, Text: `error (not_found): no "a"; want "b"`}},
		{
			"panic", func(context.Context, tools.Scope) (tools.Result, error) { panic("secret detail") },
			tools.Result{Err: tools.Failed, Text: "error (execution_failed): t broke down: a mistake in the program, not in the arguments. Go on without it."},
		},
		{
			"invalid UTF-8", func(context.Context, tools.Scope) (tools.Result, error) { return tools.Result{Text: "a\xffb"}, nil },
			tools.Result{OK: true, Text: "a\uFFFDb"},
		},
	} {
		res := run(t, with(t, nil, tools.Spec{}, c.fn), "t", "")
		if res.Started.IsZero() || res.Duration < 0 {
			t.Errorf("%s: started %v, took %v", c.name, res.Started, res.Duration)
		}
		c.want.Tool, c.want.CallID = "t", "call-1"
		if d := cmp.Diff(c.want, res, cmpopts.IgnoreFields(tools.Result{}, "Started", "Duration")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// TOOL-8: an unknown name is answered with the nearest ones.
func TestUnknownTool(t *testing.T) {
	reg := &tools.Registry{}
	e := tools.NewExecutor(reg, &tools.Options{Enabled: []string{"*", "-read_secret"}})
	if res := run(t, e, "x", ""); res.Err != tools.NotFound || !strings.Contains(res.Text, "answer without tools") {
		t.Errorf("no tools: %s", res.Text)
	}
	if err := reg.RegisterAll(simple("read_file", tools.File), simple("list_dir", tools.File), simple("read_secret", tools.File)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"readFile": `did you mean "read_file"?`, "raed_file": `did you mean "read_file"?`, "file": `did you mean "read_file"?`,
		"list": `did you mean "list_dir"?`, "weather": "there are: list_dir, read_file", "": "there are: list_dir, read_file",
		"读文件": "there are", strings.Repeat("x", 1<<20): "there are", "read_secret": "there is no tool",
	} {
		res := run(t, e, name, "{}")
		if res.OK || res.Err != tools.NotFound || !strings.Contains(res.Text, want) || len(res.Text) > 400 {
			t.Errorf("%.20q: want %q in %s", name, want, res.Text)
		}
	}
}

func TestEnabledAndOffered(t *testing.T) {
	reg := &tools.Registry{}
	if err := reg.RegisterAll(also("a", "other"), simple("b1", tools.File), simple("b2", tools.Network)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		enabled []string
		want    []string
	}{
		{[]string{"*", "-other"}, []string{"b1", "b2"}},
		{[]string{"other"}, []string{"a"}},
		{nil, []string{"a", "b1", "b2"}},
		{[]string{"*"}, []string{"a", "b1", "b2"}},
		{[]string{"*", "-a"}, []string{"b1", "b2"}},
		{[]string{"-b*"}, []string{"a"}},
		{[]string{"*", "-b*", "b2"}, []string{"a", "b2"}},
		{[]string{"a", "zz"}, []string{"a"}},
		{[]string{"["}, nil},
	} {
		e := tools.NewExecutor(reg, &tools.Options{Enabled: c.enabled})
		if d := cmp.Diff(c.want, names(e.Specs(scope("1")))); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.enabled, d)
		}
	}
	e := tools.NewExecutor(reg, &tools.Options{Offer: func(sc tools.Scope, s tools.Spec) bool { return sc.Depth == 0 || s.Category == tools.File }})
	sub := scope("1")
	sub.Depth = 1
	if d := cmp.Diff([]string{"a", "b1"}, names(e.Specs(sub))); d != "" {
		t.Error(d)
	}
	if res := e.Run(t.Context(), sub, "b2", ""); res.Err != tools.NotFound {
		t.Errorf("what is not offered runs: %+v", res)
	}
}

// TOOL-9: the time of a call is bounded by category, by the tool, or not at all.
func TestTimeouts(t *testing.T) {
	for _, c := range []struct {
		spec tools.Spec
		want time.Duration
	}{
		{tools.Spec{}, 30 * time.Second},
		{tools.Spec{Category: tools.Network}, time.Minute},
		{tools.Spec{Category: tools.MCP}, time.Minute},
		{tools.Spec{Timeout: 7 * time.Second, Category: tools.Network}, 7 * time.Second},
		{tools.Spec{Timeout: -1}, time.Hour}, // the test's own end
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			e := with(t, nil, c.spec, func(ctx context.Context, _ tools.Scope) (tools.Result, error) {
				<-ctx.Done()
				return tools.Result{}, ctx.Err()
			})
			start := time.Now()
			res := e.Run(ctx, scope("1"), "t", "")
			want, text := tools.Timeout, "t took longer than "+c.want.String()
			if c.spec.Timeout < 0 {
				want, text = tools.Failed, "stopped before it ended"
			}
			if took := time.Since(start); took != c.want || res.Err != want || !strings.Contains(res.Text, text) || res.Duration != took {
				t.Errorf("%+v: %s after %s: %s", c.spec, res.Err, took, res.Text)
			}
		})
	}
}

func TestADeafToolHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		e := with(t, &tools.Options{Timeout: time.Second}, tools.Spec{}, func(context.Context, tools.Scope) (tools.Result, error) {
			<-wake
			return tools.Result{}, nil
		})
		start := time.Now()
		res := e.Run(t.Context(), scope("1"), "t", "")
		if took := time.Since(start); res.Err != tools.Timeout || took != 4*time.Second {
			t.Errorf("%s after %s", res.Err, took)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := e.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close while it runs: %v", err)
		}
		close(wake)
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestACancelledCallDoesNotBegin(t *testing.T) {
	e := with(t, nil, tools.Spec{}, func(context.Context, tools.Scope) (tools.Result, error) {
		t.Error("it ran")
		return tools.Result{}, nil
	})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if res := e.Run(ctx, scope("1"), "t", ""); res.OK || res.Err != tools.Failed || !strings.Contains(res.Text, "stopped") {
		t.Errorf("got %+v", res)
	}
}

// TOOL-13: two chats at once never see each other's scope.
func TestScopesStayApart(t *testing.T) {
	e := with(t, nil, tools.Spec{}, func(_ context.Context, sc tools.Scope) (tools.Result, error) {
		return tools.Result{Text: fmt.Sprint(sc.Addr, sc.Sender.ID, sc.Trace, sc.Turn, sc.CallID, sc.Zone)}, nil
	})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			id := fmt.Sprint(i)
			for range 20 {
				res := e.Run(t.Context(), scope(id), "t", "")
				want := "test/" + id + "sender-" + id + "trace-" + id + "turn-" + id + "call-" + id + "Local"
				if res.Text != want || res.CallID != "call-"+id {
					t.Errorf("want %s, got %s for %s", want, res.Text, res.CallID)
				}
			}
		})
	}
	all.Wait()
}

// TOOL-10: every call is told of, with duration, and without secrets.
func TestEventsAndLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []chat.Event
		var log bytes.Buffer
		o := &tools.Options{
			Events: func(ev chat.Event) { events = append(events, ev) },
			Log:    slog.New(slog.NewJSONHandler(&log, nil)),
			Redact: tools.NewRedactor([]chat.Secret{"hunter2-hunter2"}),
		}
		fail := false
		e := with(t, o, tools.Spec{}, func(context.Context, tools.Scope) (tools.Result, error) {
			<-time.After(2 * time.Second)
			if fail {
				return tools.Result{}, errors.New("login with hunter2-hunter2 refused" + strings.Repeat("!", 500))
			}
			return tools.Result{Text: "private text"}, nil
		})
		run(t, e, "t", "")
		fail = true
		run(t, e, "t", "")
		run(t, e, "none", "")
		var got []string
		for _, ev := range events {
			got = append(got, fmt.Sprintf("%s %s %s %s %s", ev.Kind, ev.Tool.Name, ev.Tool.CallID, ev.Turn, ev.Tool.Duration))
			if strings.Contains(ev.Tool.Err, "hunter2") || len([]rune(ev.Tool.Err)) > 301 || ev.Trace != "trace-1" {
				t.Errorf("event %+v", ev)
			}
		}
		want := []string{
			"tool.requested t call-1 turn-1 0s", "tool.completed t call-1 turn-1 2s",
			"tool.requested t call-1 turn-1 0s", "tool.failed t call-1 turn-1 2s",
			"tool.requested none call-1 turn-1 0s", "tool.failed none call-1 turn-1 0s",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if s := log.String(); strings.Count(s, `"msg":"tool call"`) != 3 || strings.Contains(s, "hunter2") || strings.Contains(s, "private text") {
			t.Errorf("log:\n%s", s)
		}
	})
}

// TOOL-10: what a background task does is told, but not to its chat.
func TestEventsOfATask(t *testing.T) {
	var events []chat.Event
	e := with(t, &tools.Options{Events: func(ev chat.Event) { events = append(events, ev) }}, tools.Spec{}, func(context.Context, tools.Scope) (tools.Result, error) {
		return tools.Result{Text: "done"}, nil
	})
	for depth, want := range []chat.Address{{Channel: "telegram", Chat: "5"}, {Channel: "system", Chat: "turn-1"}} {
		events = nil
		e.Run(t.Context(), tools.Scope{Addr: chat.Address{Channel: "telegram", Chat: "5"}, Turn: "turn-1", Depth: depth}, "t", "")
		if len(events) != 2 || events[0].Addr != want || events[1].Addr != want {
			t.Errorf("depth %d: %+v", depth, events)
		}
	}
}

// TOOL-11.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		e := with(t, nil, tools.Spec{Category: tools.Data}, func(context.Context, tools.Scope) (tools.Result, error) {
			n++
			<-time.After(time.Duration(n) * time.Millisecond)
			if n%4 == 0 {
				return tools.Result{}, errors.New("no")
			}
			return tools.Result{}, nil
		})
		for range 100 {
			run(t, e, "t", "")
		}
		run(t, e, "none", "")
		want := tools.Stats{
			Total: tools.Count{Calls: 101, Failures: 26}, Unknown: 1,
			Categories: map[tools.Category]tools.Count{tools.Data: {Calls: 100, Failures: 25}},
			Tools: map[string]tools.ToolStats{"t": {
				Count: tools.Count{Calls: 100, Failures: 25}, Category: tools.Data, Average: 50500 * time.Microsecond, P95: 95 * time.Millisecond,
			}},
		}
		if d := cmp.Diff(want, e.Stats()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		for range 256 { // only the last 256 count for the percentile
			run(t, e, "t", "")
		}
		if p := e.Stats().Tools["t"].P95; p != 344*time.Millisecond {
			t.Errorf("p95 of 101…356 ms: %s", p)
		}
	})
}

func TestNothingBreaksTheLoop(t *testing.T) {
	fn := func(context.Context, tools.Scope) (tools.Result, error) {
		return tools.Result{Text: strings.Repeat("x", 20000)}, nil
	}
	boom := func() { panic("boom") }
	for name, o := range map[string]*tools.Options{
		"events": {Events: func(chat.Event) { boom() }},
		"offer":  {Offer: func(tools.Scope, tools.Spec) bool { boom(); return true }},
		"keep":   {Keep: func(context.Context, tools.Scope, string) (string, error) { boom(); return "", nil }},
	} {
		if res := run(t, with(t, o, tools.Spec{}, fn), "t", ""); res.OK || res.Err != tools.Failed {
			t.Errorf("%s: %+v", name, res)
		}
	}
}
