package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/agent/llm"
	"magpie/internal/fakes/modelserver"
)

// testCase is one answer of the server and what the provider must make of it.
type testCase struct {
	name   string
	answer modelserver.Answer
	check  func(ctx context.Context, t *testing.T, p llm.Provider)
}

const unicode = "你好，世界 👩‍👩‍👧 — naïve <b>&amp;</b> \"quoted\"\n\ttab \u2028"

func cases() []testCase {
	list := append(replies(), failures()...)
	return append(list, leaving()...)
}

// Request is a request with a bit of everything: a system prompt, a tool with
// a past call, and a question.
func Request() llm.Request {
	return llm.Request{
		System: "Be brief.",
		Messages: []llm.Message{
			{Role: llm.User, Text: "What is in notes.txt?"},
			{Role: llm.Assistant, Text: "I look.", Calls: []llm.Call{{ID: "old_1", Name: "read_file", Args: `{"path":"notes.txt"}`}}},
			{Role: llm.Tool, CallID: "old_1", Name: "read_file", Text: "no such file", Failed: true},
			{Role: llm.Assistant, Text: "It does not exist."},
			{Role: llm.User, Text: "Then list the files. 谢谢"},
		},
		Tools: []llm.ToolDef{
			{Name: "read_file", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
			{Name: "list_dir", Description: "Lists a folder.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
		},
		Session: "abcdefghij234567klmn",
	}
}

func replies() []testCase {
	calls := []modelserver.Call{
		{ID: "c1", Name: "read_file", Args: `{"path":"a \"b\".txt"}`},
		{ID: "c2", Name: "list_dir", Args: `{}`},
		{ID: "c3", Name: "read_file", Args: `{"path":"文件.txt"}`},
	}
	return []testCase{
		{"text in pieces", modelserver.Answer{Text: "Hello, world.", Pieces: modelserver.Pieces{N: 4}}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			if s := reply(ctx, t, p); s.Text() != "Hello, world." || len(s.Pieces) < 2 {
				t.Errorf("rule streaming: got %q, want the text in several pieces", s.Pieces)
			}
		}},
		{"unicode", modelserver.Answer{Text: unicode, Pieces: modelserver.Pieces{N: 9}}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			if s := reply(ctx, t, p); s.Text() != unicode {
				t.Errorf("rule text-unchanged: got %q, want %q", s.Text(), unicode)
			}
		}},
		{"huge text", modelserver.Answer{Text: strings.Repeat("长文 long. ", 50_000), Pieces: modelserver.Pieces{N: 7}}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			if s := reply(ctx, t, p); len(s.Text()) != 50_000*len("长文 long. ") {
				t.Errorf("rule text-unchanged: got %d bytes", len(s.Text()))
			}
		}},
		{"empty reply", modelserver.Answer{}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			if s := reply(ctx, t, p); s.Reply.Stop != llm.StopEnd || s.Text() != "" {
				t.Errorf("rule empty-reply: got %q, stop %q; want a Done without text", s.Text(), s.Reply.Stop)
			}
		}},
		{"parallel calls", modelserver.Answer{Text: "Let me look.", Calls: calls}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			checkCalls(t, reply(ctx, t, p), calls)
		}},
		{"a call without text", modelserver.Answer{Calls: calls[:1]}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			checkCalls(t, reply(ctx, t, p), calls[:1])
		}},
		{"an id that was used before", modelserver.Answer{Calls: []modelserver.Call{{ID: "old_1", Name: "list_dir", Args: "{}"}}}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			if s := reply(ctx, t, p); len(s.Reply.Message.Calls) != 1 || s.Reply.Message.Calls[0].ID == "old_1" {
				t.Errorf("rule call-ids: %+v repeats an id of the history", s.Reply.Message.Calls)
			}
		}},
		{"usage and model", modelserver.Answer{Text: "x", Usage: modelserver.Usage{Input: 120, Output: 7, CacheRead: 100}}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			s := reply(ctx, t, p)
			if diff := cmp.Diff(llm.Usage{Input: 120, Output: 7, CacheRead: 100}, s.Reply.Usage); diff != "" || s.Reply.Model == "" {
				t.Errorf("rule usage: model %q, %s", s.Reply.Model, diff)
			}
		}},
		{"cut off by length", modelserver.Answer{Text: "x", Stop: "length"}, stops(llm.StopLength)},
		{"filtered", modelserver.Answer{Text: "x", Stop: "filter"}, stops(llm.StopFilter)},
		{"without tools, after calls", modelserver.Answer{Text: "a summary"}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			req := Request()
			req.Tools = nil
			if s := Check(ctx, t, p, req); s.Err != nil || s.Text() != "a summary" {
				t.Errorf("rule no-tools: a history with calls but no tools: got %q, %v", s.Text(), s.Err)
			}
		}},
	}
}

func stops(want llm.Stop) func(context.Context, *testing.T, llm.Provider) {
	return func(ctx context.Context, t *testing.T, p llm.Provider) {
		if s := reply(ctx, t, p); s.Reply.Stop != want {
			t.Errorf("rule stop: got %q, want %q", s.Reply.Stop, want)
		}
	}
}

// reply asks with Request and wants an answer.
func reply(ctx context.Context, t *testing.T, p llm.Provider) Seen {
	t.Helper()
	s := Check(ctx, t, p, Request())
	if s.Err != nil {
		t.Fatalf("rule answers: %v", s.Err)
	}
	if s.Reply == nil {
		t.FailNow()
	}
	return s
}

func checkCalls(t *testing.T, s Seen, want []modelserver.Call) {
	t.Helper()
	var got []modelserver.Call
	for _, c := range s.Reply.Message.Calls {
		got = append(got, modelserver.Call(c))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rule calls: (-want +got)\n%s", diff)
	}
	if s.Reply.Stop != llm.StopTools {
		t.Errorf("rule stop: got %q, want %q", s.Reply.Stop, llm.StopTools)
	}
}

func failures() []testCase {
	html := "<html><body>502 Bad Gateway: " + Key + "</body></html>"
	return []testCase{
		{"400", modelserver.Answer{Status: 400}, fails(llm.Rejected, 400)},
		{"401", modelserver.Answer{Status: 401}, fails(llm.Unauthorized, 401)},
		{"403", modelserver.Answer{Status: 403}, fails(llm.Unauthorized, 403)},
		{"404", modelserver.Answer{Status: 404}, fails(llm.Rejected, 404)},
		{"429", modelserver.Answer{Status: 429, Header: map[string]string{"Retry-After": "7"}}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			fails(llm.RateLimited, 429)(ctx, t, p)
		}},
		{"429 says when", modelserver.Answer{Status: 429, Header: map[string]string{"Retry-After": "7"}}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			var e *llm.Error
			if s := Check(ctx, t, p, Request()); !errors.As(s.Err, &e) || e.RetryAfter != 7*time.Second {
				t.Errorf("rule retry-after: got %v, want an error with 7 s", s.Err)
			}
		}},
		{"500", modelserver.Answer{Status: 500}, fails(llm.Temporary, 500)},
		{"503", modelserver.Answer{Status: 503}, fails(llm.Temporary, 503)},
		{"529", modelserver.Answer{Status: 529}, fails(llm.Temporary, 529)},
		{"prompt too long", modelserver.Answer{Fault: modelserver.TooLong}, fails(llm.TooLong, 400)},
		{"no balance", modelserver.Answer{Fault: modelserver.NoBalance}, fails(llm.Unauthorized, 0)},
		{"hang", modelserver.Answer{Fault: modelserver.Hang}, fails(llm.Temporary, 0)},
		{"silence in the middle", modelserver.Answer{Text: "abcdef", Fault: modelserver.Stall}, fails(llm.Temporary, 0)},
		{"cut in the middle", modelserver.Answer{Text: "abcdef", Fault: modelserver.Cut}, fails(llm.Temporary, 0)},
		{"no end", modelserver.Answer{Text: "abcdef", Fault: modelserver.Short}, fails(llm.Temporary, 0)},
		{"HTML with status 200", modelserver.Answer{Status: 200, Body: html}, fails(llm.Temporary, 0)},
		{"HTML with status 502", modelserver.Answer{Status: 502, Body: html}, fails(llm.Temporary, 502)},
		{"broken JSON", modelserver.Answer{Status: 200, Body: `{"id": "` + Key}, fails(llm.Temporary, 0)},
		{"broken event", modelserver.Answer{Status: 200, Body: "data: {\"x" + Key + "\n\n"}, fails(llm.Temporary, 0)},
		{"empty body", modelserver.Answer{Status: 200, Body: "\n"}, fails(llm.Temporary, 0)},
		{"the key in an error", modelserver.Answer{Status: 400, Body: `{"error":{"message":"bad key ` + Key + `","type":"x","code":"` + Key + `"}}`}, fails(llm.Rejected, 400)},
	}
}

// fails wants an error of a kind, and of a status unless that is 0.
func fails(kind llm.Kind, status int) func(context.Context, *testing.T, llm.Provider) {
	return func(ctx context.Context, t *testing.T, p llm.Provider) {
		t.Helper()
		s := Check(ctx, t, p, Request())
		var e *llm.Error
		switch {
		case !errors.As(s.Err, &e):
			t.Errorf("rule error-kind: got %v, want an *llm.Error that is %s", s.Err, kind)
		case e.Kind != kind:
			t.Errorf("rule error-kind: got %v, want %s", e, kind)
		case status != 0 && e.Status != status:
			t.Errorf("rule error-status: got %d, want %d", e.Status, status)
		}
	}
}

// leaving are the cases in which the caller wants no more.
func leaving() []testCase {
	slow := modelserver.Answer{Text: "abcdef", Pieces: modelserver.Pieces{Pause: time.Hour}}
	return []testCase{
		{"cancelled before", modelserver.Answer{Text: "x"}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			if s := Check(ctx, t, p, Request()); !errors.Is(s.Err, context.Canceled) {
				t.Errorf("rule cancel: got %v, want the context's error", s.Err)
			}
		}},
		{"cancelled in the middle", slow, func(ctx context.Context, t *testing.T, p llm.Provider) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			var err error
			for ev, e := range p.Stream(ctx, Request()) {
				if ev.Text != "" {
					cancel()
				}
				err = e
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("rule cancel: got %v, want the context's error", err)
			}
		}},
		{"broken off", slow, func(ctx context.Context, t *testing.T, p llm.Provider) {
			n := 0
			for range p.Stream(ctx, Request()) {
				n++
				break
			}
			if n != 1 || ctx.Err() != nil {
				t.Errorf("rule break: %d events, %v; want one and a return at once", n, ctx.Err())
			}
		}},
		{"asked twice", modelserver.Answer{Text: "first"}, func(ctx context.Context, t *testing.T, p llm.Provider) {
			stream := p.Stream(ctx, Request())
			first, broken := watch(stream)
			second, more := watch(stream)
			if len(broken)+len(more) > 0 || first.Text() != "first" || !strings.HasPrefix(second.Text(), "echo: ") {
				t.Errorf("rule lazy: every iteration sends the request anew: got %q then %q (%v %v)", first.Text(), second.Text(), first.Err, second.Err)
			}
		}},
	}
}
