package anthropic_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/agent/llm"
	"magpie/agent/llm/anthropic"
	"magpie/agent/llm/llmtest"
)

// serve returns a provider in front of a server that always answers body.
func serve(t *testing.T, body string) llm.Provider {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	t.Cleanup(s.Close)
	p, err := anthropic.New(anthropic.Config{Name: "main", BaseURL: s.URL, Model: "m", HTTP: client(t)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stream makes events of their data; the event's name is its type.
func stream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		kind := strings.SplitN(e, `"`, 5)[3]
		b.WriteString("event: " + kind + "\ndata: " + e + "\n\n")
	}
	return b.String()
}

var thoughtful = stream(
	`{"type":"message_start","message":{"model":"claude-x","usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":1}}}`,
	`{"type":"ping"}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I "}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig=="}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"zzz"}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Hel"}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"lo"}}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"list_dir","input":{}}}`,
	`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"read_file","input":{}}}`,
	`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}`,
	`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":" \"x\"}"}}`,
	`{"type":"content_block_start","index":5,"content_block":{"type":"server_tool_use","id":"s","name":"web","text":"hidden"}}`,
	`{"type":"content_block_delta","index":5,"delta":{"type":"text_delta","text":"hidden"}}`,
	`{"type":"a_new_kind_of_event"}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":42}}`,
	`{"type":"message_stop"}`,
)

var wantThoughtful = llm.Reply{
	Message: llm.Message{
		Role: llm.Assistant, Text: "Hello",
		Calls: []llm.Call{{ID: "toolu_1", Name: "list_dir", Args: "{}"}, {ID: "toolu_2", Name: "read_file", Args: `{"path": "x"}`}},
		Thinking: []llm.Thinking{
			{Provider: "anthropic", Text: "I see.", Signature: "sig=="},
			{Provider: "anthropic", Redacted: "zzz"},
		},
	},
	Usage: llm.Usage{Input: 125, Output: 42, CacheRead: 100, CacheWrite: 20}, Stop: llm.StopTools, Model: "claude-x",
}

func TestReply(t *testing.T) {
	whole := `{"type":"message","model":"claude-x","stop_reason":"tool_use","usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":42},"content":[
		{"type":"thinking","thinking":"I see.","signature":"sig=="},{"type":"redacted_thinking","data":"zzz"},{"type":"text","text":"Hello"},
		{"type":"tool_use","id":"toolu_1","name":"list_dir","input":{}},{"type":"tool_use","id":"toolu_2","name":"read_file","input":{"path": "x"}}]}`
	for name, body := range map[string]string{
		"streamed":        thoughtful,
		"CRLF":            strings.ReplaceAll(thoughtful, "\n", "\r\n"),
		"no message_stop": strings.TrimSuffix(thoughtful, stream(`{"type":"message_stop"}`)),
		"whole":           whole,
	} {
		s := llmtest.Check(t.Context(), t, serve(t, body), llmtest.Request())
		if s.Err != nil {
			t.Errorf("%s: %v", name, s.Err)
			continue
		}
		if diff := cmp.Diff(wantThoughtful, *s.Reply); diff != "" || strings.Join(s.Thoughts, "") != "I see." {
			t.Errorf("%s: thoughts %q (-want +got)\n%s", name, s.Thoughts, diff)
		}
	}
}

func TestErrorInsideAStream(t *testing.T) {
	begun := thoughtful[:strings.Index(thoughtful, "event: message_delta")]
	for event, want := range map[string]llm.Kind{
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:              llm.Temporary,
		`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`:               llm.RateLimited,
		`{"type":"error","error":{"type":"authentication_error","message":"no"}}`:                  llm.Unauthorized,
		`{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`:                 llm.Rejected,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`: llm.TooLong,
		`{"type":"error"}`: llm.Temporary,
	} {
		for _, body := range []string{begun + stream(event), event} {
			s := llmtest.Check(t.Context(), t, serve(t, body), llmtest.Request())
			var e *llm.Error
			if !errors.As(s.Err, &e) || e.Kind != want {
				t.Errorf("%s: got %v, want %s", event, s.Err, want)
			}
		}
	}
}

func FuzzReply(f *testing.F) {
	f.Add(thoughtful)
	f.Add(`{"type":"message","content":[{"type":"tool_use","input":null}]}`)
	// A text that claims to be of the thoughts is text.
	f.Add("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"o\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n")
	f.Add("data: {\"type\":\"content_block_delta\",\"index\":9,\"delta\":null}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"x\"}}\n\n")
	var body atomic.Pointer[string]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(*body.Load())) }))
	tr := &http.Transport{}
	f.Cleanup(func() { s.Close(); tr.CloseIdleConnections() })
	p, err := anthropic.New(anthropic.Config{BaseURL: s.URL, Model: "m", HTTP: &http.Client{Transport: tr}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body.Store(&text)
		llmtest.Check(t.Context(), t, p, llmtest.Request())
	})
}
