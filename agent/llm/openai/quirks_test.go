package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"magpie/agent/llm"
	"magpie/agent/llm/llmtest"
	"magpie/agent/llm/openai"
)

// canned is a server that answers one body after the other, and keeps what it
// was sent.
type canned struct {
	mu     sync.Mutex
	bodies []string
	sent   []map[string]any
}

func (c *canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(c.bodies) == 0 {
		http.Error(w, "unexpected", http.StatusTeapot)
		return
	}
	c.sent = append(c.sent, in)
	body := c.bodies[0]
	c.bodies = c.bodies[1:]
	if rest, ok := strings.CutPrefix(body, "400 "); ok {
		w.WriteHeader(http.StatusBadRequest)
		body = rest
	}
	_, _ = w.Write([]byte(body))
}

// serve returns a provider in front of a canned server.
func serve(t *testing.T, cfg openai.Config, bodies ...string) (*openai.Provider, *canned) {
	t.Helper()
	c := &canned{bodies: bodies}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	cfg.BaseURL, cfg.Model, cfg.HTTP = s.URL+"/v1/", "m", client(t)
	p, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

// sse makes a stream of events out of chunks of deltas.
func sse(deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"model":"m","choices":[{"index":0,"delta":` + d + "}]}\n\n")
	}
	return b.String() + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
}

func ask(t *testing.T, p llm.Provider) llm.Reply {
	t.Helper()
	s := llmtest.Check(t.Context(), t, p, llmtest.Request())
	if s.Err != nil || s.Reply == nil {
		t.Fatalf("no reply: %v", s.Err)
	}
	return *s.Reply
}

var noIDs = cmpopts.IgnoreFields(llm.Call{}, "ID")

func TestStreamsAsServersReallySendThem(t *testing.T) {
	chunk := `{"model":"m","choices":[{"index":0,"delta":{"content":"hi"}}]}`
	end := `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`
	for name, body := range map[string]string{
		"CRLF":                    "data: " + chunk + "\r\n\r\ndata: " + end + "\r\n\r\ndata: [DONE]\r\n\r\n",
		"CR":                      "data: " + chunk + "\r\rdata: " + end + "\r\r",
		"comments":                ": processing\n\n:\n\ndata: " + chunk + "\n\n: still\n\ndata: " + end + "\n\n",
		"no space":                "data:" + chunk + "\n\ndata:" + end + "\n\n",
		"byte order mark":         "\uFEFFdata: " + chunk + "\n\ndata: " + end + "\n\n",
		"event names and ids":     "id: 1\nevent: message\nretry: 5\ndata: " + chunk + "\n\ndata: " + end + "\n\n",
		"no DONE":                 "data: " + chunk + "\n\ndata: " + end + "\n\n",
		"no finish reason":        "data: " + chunk + "\n\ndata: [DONE]\n\n",
		"no blank line at end":    "data: " + chunk + "\n\ndata: " + end,
		"null delta":              "data: " + chunk + "\n\ndata: {\"choices\":[{\"index\":0,\"delta\":null,\"finish_reason\":\"stop\"}]}\n\n",
		"choices null at the end": "data: " + chunk + "\n\ndata: " + end + "\n\ndata: {\"model\":\"m\",\"choices\":null}\n\n",
		"a second choice":         "data: " + chunk + "\n\ndata: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"other\"}}]}\n\ndata: " + end + "\n\n",
		"message for delta":       "data: {\"choices\":[{\"index\":0,\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n",
		"content in parts":        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}]}\n\ndata: " + end + "\n\n",
		"whole":                   `{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`,
		"whole after blank lines": "\n \n" + `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := serve(t, openai.Config{}, body)
			if r := ask(t, p); r.Message.Text != "hi" || r.Stop != llm.StopEnd {
				t.Errorf("got %q, stop %q", r.Message.Text, r.Stop)
			}
		})
	}
}

// callCase is a body and the calls that it means; ids are checked by llmtest.
type callCase struct {
	body string
	want []llm.Call
}

var readX, listDir = llm.Call{ID: "a", Name: "read_file", Args: `{"path":"x"}`}, llm.Call{ID: "b", Name: "list_dir", Args: `{}`}

func checkCalls(t *testing.T, cases map[string]callCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, _ := serve(t, openai.Config{}, c.body)
			r := ask(t, p)
			if diff := cmp.Diff(c.want, r.Message.Calls, noIDs); diff != "" || r.Stop != llm.StopTools {
				t.Errorf("stop %q, calls (-want +got)\n%s", r.Stop, diff)
			}
		})
	}
}

func TestWhichCallAPieceBelongsTo(t *testing.T) {
	checkCalls(t, map[string]callCase{
		"by the book": {sse(
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read_file","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"pa"}}]}`,
			`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"list_dir","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"th\":\"x\"}"}}]}`,
		), []llm.Call{readX, listDir}},
		"no index": {sse(
			`{"tool_calls":[{"id":"a","function":{"name":"read_file","arguments":"{\"pa"}}]}`,
			`{"tool_calls":[{"function":{"arguments":"th\":\"x\"}"}}]}`,
			`{"tool_calls":[{"id":"b","function":{"name":"list_dir","arguments":"{}"}}]}`,
		), []llm.Call{readX, listDir}},
		"no index, no ids": {sse(
			`{"tool_calls":[{"function":{"name":"read_file","arguments":"{\"path\":\"x\"}"}},{"function":{"name":"list_dir","arguments":"{}"}}]}`,
		), []llm.Call{readX, listDir}},
		"no ids, the same tool twice": {sse(
			`{"tool_calls":[{"function":{"name":"list_dir","arguments":"{}"}}]}`,
			`{"tool_calls":[{"function":{"name":"list_dir","arguments":"{}"}}]}`,
		), []llm.Call{listDir, listDir}},
		"index always 0": {sse(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\":\"x\"}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"list_dir","arguments":"{}"}}]}`,
		), []llm.Call{readX, listDir}},
		"name repeated": {sse(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_file","arguments":":\"x\"}"}}]}`,
		), []llm.Call{readX}},
		"name repeated without ids": {sse(
			`{"tool_calls":[{"function":{"name":"read_file","arguments":"{\"path\""}}]}`,
			`{"tool_calls":[{"function":{"name":"read_file","arguments":":\"x\"}"}}]}`,
			`{"tool_calls":[{"function":{"name":"read_file","arguments":""}}]}`,
		), []llm.Call{readX}},
		"name in pieces": {sse(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"file","arguments":"{\"path\":\"x\"}"}}]}`,
		), []llm.Call{readX}},
		"a new id with every piece": {sse(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"a2","function":{"arguments":":\"x\"}"}}]}`,
		), []llm.Call{readX}},
		"name after its arguments": {sse(
			`{"tool_calls":[{"id":"a","function":{"arguments":"{\"path\":\"x\"}"}}]}`,
			`{"tool_calls":[{"function":{"name":"read_file"}}]}`,
		), []llm.Call{readX}},
	})
}

func TestHowArgumentsAreWritten(t *testing.T) {
	checkCalls(t, map[string]callCase{
		"as an object": {sse(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_file","arguments":{"path":"x"}}}]}`,
		), []llm.Call{readX}},
		"no arguments": {sse(
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"list_dir","arguments":null}}]}`,
			`{"tool_calls":null}`,
		), []llm.Call{listDir}},
		"whole, object, no ids": {
			`{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"read_file","arguments":{"path":"x"}}},{"id":"","function":{"name":"list_dir","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			[]llm.Call{readX, listDir},
		},
	})
}

func TestReasoningAndUsage(t *testing.T) {
	p, c := serve(t, openai.Config{},
		`data: {"choices":[{"delta":{"reasoning_content":"let me "}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`+"\n\n"+
			`data: {"choices":[{"delta":{"reasoning":"think"}}]}`+"\n\n"+
			`data: {"choices":[{"delta":{"tool_calls":[{"id":"n1","function":{"name":"list_dir","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`+"\n\n"+
			`data: {"model":"served","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":4,"prompt_cache_hit_tokens":6}}`+"\n\ndata: [DONE]\n\n",
		sse(`{"content":"done"}`), sse(`{"content":"next"}`))
	r := ask(t, p)
	want := llm.Reply{
		Message: llm.Message{
			Role: llm.Assistant, Calls: []llm.Call{{ID: "n1", Name: "list_dir", Args: "{}"}},
			Thinking: []llm.Thinking{{Provider: "openai", Text: "let me think"}},
		},
		Usage: llm.Usage{Input: 10, Output: 4, CacheRead: 6}, Stop: llm.StopTools, Model: "served",
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// The reasoning goes back while the turn runs, and no longer.
	req := llmtest.Request()
	req.Messages = append(req.Messages, r.Message, llm.Message{Role: llm.Tool, CallID: "n1", Name: "list_dir"})
	llmtest.Check(t.Context(), t, p, req)
	req.Messages = append(req.Messages, llm.Message{Role: llm.User, Text: "and?"})
	llmtest.Check(t.Context(), t, p, req)
	reasoning := func(i int) (out []any) {
		for _, m := range c.sent[i]["messages"].([]any) {
			if v := m.(map[string]any)["reasoning_content"]; v != nil {
				out = append(out, v)
			}
		}
		return out
	}
	if diff := cmp.Diff([]any{"let me think"}, reasoning(1)); diff != "" || reasoning(2) != nil {
		t.Errorf("in the turn %s, after it %v", diff, reasoning(2))
	}
}

// What a server refuses is left out and not offered again; a limit has two names.
func TestRefusedFieldsAreRemembered(t *testing.T) {
	p, c := serve(t, openai.Config{MaxTokens: 9},
		`400 {"error":{"message":"Unrecognized request argument supplied: stream_options","type":"invalid_request_error"}}`,
		`400 {"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`,
		sse(`{"content":"a"}`), sse(`{"content":"b"}`))
	if r := ask(t, p); r.Message.Text != "a" {
		t.Errorf("got %q", r.Message.Text)
	}
	if r := ask(t, p); r.Message.Text != "b" || len(c.sent) != 4 {
		t.Errorf("got %q after %d requests, want four", r.Message.Text, len(c.sent))
	}
	for i, want := range []string{"stream_options max_tokens", "max_tokens", "max_completion_tokens", "max_completion_tokens"} {
		var got []string
		for _, k := range []string{"stream_options", "max_tokens", "max_completion_tokens"} {
			if c.sent[i][k] != nil {
				got = append(got, k)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("request %d has %v, want %s", i, got, want)
		}
	}
}

// A refusal that nothing helps against ends after one swap, and teaches nothing.
func TestRefusalIsNotRepeatedForEver(t *testing.T) {
	refused := `400 {"error":{"message":"max_completion_tokens and max_tokens must be positive"}}`
	p, c := serve(t, openai.Config{MaxTokens: 9}, refused, refused, sse(`{"content":"a"}`))
	s := llmtest.Check(t.Context(), t, p, llmtest.Request())
	if llm.KindOf(s.Err) != llm.Rejected || len(c.sent) != 2 {
		t.Errorf("got %v after %d requests, want a refusal after two", s.Err, len(c.sent))
	}
	if ask(t, p); c.sent[2]["max_tokens"] == nil {
		t.Errorf("the swap was remembered although it failed: %v", c.sent[2])
	}
}

func TestErrorInsideAStream(t *testing.T) {
	for body, want := range map[string]llm.Kind{
		`{"error":{"message":"Provider returned error","code":502}}`:                   llm.Temporary,
		`{"error":{"message":"slow down","code":429}}`:                                 llm.RateLimited,
		`{"error":{"message":"no such thing","type":"invalid_request_error"}}`:         llm.Rejected,
		`{"error":"something broke"}`:                                                  llm.Temporary,
		`{"error":{"message":"stream_options broken","type":"invalid_request_error"}}`: llm.Rejected,
	} {
		p, c := serve(t, openai.Config{}, sse(`{"content":"a"}`)[:20]+"\n\n", "data: "+body+"\n\n")
		s := llmtest.Check(t.Context(), t, p, llmtest.Request())
		if llm.KindOf(s.Err) != llm.Temporary {
			t.Errorf("half an event: got %v, want temporary", s.Err)
		}
		s = llmtest.Check(t.Context(), t, p, llmtest.Request())
		var e *llm.Error
		if !errors.As(s.Err, &e) || e.Kind != want || len(c.sent) != 2 {
			t.Errorf("%s: got %v after %d requests, want %s after two", body, s.Err, len(c.sent), want)
		}
	}
}

// open is a body that stays open when everything has been sent.
type open struct {
	io.Reader
	ctx context.Context
}

func (o open) Read(p []byte) (int, error) {
	if n, err := o.Reader.Read(p); err == nil {
		return n, nil
	}
	<-o.ctx.Done()
	return 0, o.ctx.Err()
}

func (open) Close() error { return nil }

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that says why the reply ended, but neither [DONE] nor goodbye, costs
// seconds and not the whole patience. (The clock is synctest's.)
func TestFinishedButLeftOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := openai.New(openai.Config{Model: "m", HTTP: &http.Client{
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: open{strings.NewReader(sse(`{"content":"hi"}`)), r.Context()}}, nil
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if r := ask(t, p); r.Message.Text != "hi" || time.Since(start) > 10*time.Second {
			t.Errorf("got %q after %v", r.Message.Text, time.Since(start))
		}
	})
}

func TestRefusalOfTheModelIsShown(t *testing.T) {
	p, _ := serve(t, openai.Config{}, sse(`{"refusal":"I cannot."}`))
	if r := ask(t, p); r.Message.Text != "I cannot." || r.Stop != llm.StopFilter {
		t.Errorf("got %q, stop %q", r.Message.Text, r.Stop)
	}
}

func FuzzReply(f *testing.F) {
	f.Add(sse(`{"content":"x"}`))
	f.Add(sse(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":{"a":1}}},{"id":"x"}]}`))
	f.Add(`{"choices":[{"message":{"content":[{"text":"x"}],"tool_calls":[null]}}]}`)
	f.Add("data: {\"error\":null}\r\n\r\n: x\r\rdata: [DONE]")
	f.Add("[1]")
	c := &canned{}
	s := httptest.NewServer(c)
	tr := &http.Transport{}
	f.Cleanup(func() { s.Close(); tr.CloseIdleConnections() })
	p, err := openai.New(openai.Config{BaseURL: s.URL, Model: "m", HTTP: &http.Client{Transport: tr}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		c.mu.Lock()
		c.bodies = []string{body, body, body, body}
		c.mu.Unlock()
		llmtest.Check(t.Context(), t, p, llmtest.Request())
	})
}
