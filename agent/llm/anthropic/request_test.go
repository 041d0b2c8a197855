package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/agent/llm"
	"magpie/agent/llm/anthropic"
	"magpie/agent/llm/llmtest"
	"magpie/internal/fakes/modelserver"
)

var png = llm.Image{Ref: "r", MIME: "image/png", Data: []byte{1, 2, 3}}

// asked sends a request to the strict server and returns the body that came.
func asked(t *testing.T, vision bool, req llm.Request) any {
	t.Helper()
	s := modelserver.New(t)
	p, err := anthropic.New(anthropic.Config{BaseURL: s.URL() + "/v1/", Model: "m", Vision: vision, HTTP: client(t)})
	if err != nil {
		t.Fatal(err)
	}
	if seen := llmtest.Check(t.Context(), t, p, req); seen.Err != nil {
		t.Fatal(seen.Err)
	}
	return fromJSON(t, string(s.Requests()[0].Body))
}

func fromJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRequest(t *testing.T) {
	object := json.RawMessage(`{"type":"object"}`)
	got := asked(t, true, llm.Request{
		System: "sys",
		Messages: []llm.Message{
			{Role: llm.Assistant, Text: "cut here"},
			{Role: llm.User, Text: "look", Images: []llm.Image{png}},
			{Role: llm.User, Text: "again"},
			{
				Role: llm.Assistant, Text: "hm ", Calls: []llm.Call{{ID: "functions.x:0", Name: "bad name!", Args: "{broken"}, {ID: "t2", Name: "shot", Args: `{"b": 1, "a": 2}`}},
				Thinking: []llm.Thinking{
					{Provider: "anthropic", Text: "t1", Signature: "s1"},
					{Provider: "anthropic", Redacted: "r1"},
					{Provider: "openai", Text: "not ours"},
				},
			},
			{Role: llm.Tool, CallID: "functions.x:0", Name: "bad name!", Text: "no such tool", Failed: true},
			{Role: llm.Tool, CallID: "t2", Name: "shot", Images: []llm.Image{png}},
			{Role: llm.User, Text: "steered"},
		},
		Tools: []llm.ToolDef{{Name: "a", Description: "d", Schema: object}, {Name: "b", Schema: object}},
	})
	const cache = `"cache_control":{"type":"ephemeral"}`
	const image = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID"}`
	want := fromJSON(t, `{"model":"m","max_tokens":4096,"stream":true,
	"system":[{"type":"text","text":"sys",`+cache+`}],
	"tools":[{"name":"a","description":"d","input_schema":{"type":"object"}},{"name":"b","input_schema":{"type":"object"},`+cache+`}],
	"messages":[
		{"role":"user","content":[{"type":"text","text":"(earlier conversation)"}]},
		{"role":"assistant","content":[{"type":"text","text":"cut here"}]},
		{"role":"user","content":[{"type":"text","text":"look"},`+image+`},{"type":"text","text":"again",`+cache+`}]},
		{"role":"assistant","content":[
			{"type":"thinking","thinking":"t1","signature":"s1"},{"type":"redacted_thinking","data":"r1"},{"type":"text","text":"hm "},
			{"type":"tool_use","id":"functions_x_0_ID","name":"bad_name_","input":{"_invalid_arguments":"{broken"}},
			{"type":"tool_use","id":"t2","name":"shot","input":{"a":2,"b":1}}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"functions_x_0_ID","is_error":true,"content":[{"type":"text","text":"no such tool"}]},
			{"type":"tool_result","tool_use_id":"t2","content":[`+image+`}]},
			{"type":"text","text":"steered",`+cache+`}]}]}`)
	sameIDs := cmp.FilterPath(func(p cmp.Path) bool {
		return strings.HasSuffix(p.GoString(), `["id"]`) || strings.HasSuffix(p.GoString(), `["tool_use_id"]`)
	}, cmp.Comparer(func(a, b any) bool {
		x, y := a.(string), b.(string)
		return x == y || strings.HasPrefix(x, "functions_x_0_") && strings.HasPrefix(y, "functions_x_0_")
	}))
	if diff := cmp.Diff(want, got, sameIDs); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A turn's last request offers no tools; the API wants those of the history
// declared all the same, and no call to come of it.
func TestHistoryWithCallsButNoTools(t *testing.T) {
	req := llmtest.Request()
	req.Tools, req.MaxTokens = nil, 77
	got := asked(t, false, req).(map[string]any)
	want := fromJSON(t, `[{"name":"read_file","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]`)
	if diff := cmp.Diff(want, got["tools"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"type": "none"}, got["tool_choice"]); diff != "" || got["max_tokens"] != 77.0 {
		t.Errorf("max_tokens %v, tool_choice (-want +got)\n%s", got["max_tokens"], diff)
	}
}

func TestImagesForAModelThatDoesNotSee(t *testing.T) {
	body, err := json.Marshal(asked(t, false, llm.Request{Messages: []llm.Message{{Role: llm.User, Images: []llm.Image{png}}}}))
	if err != nil || strings.Contains(string(body), "AQID") || !strings.Contains(string(body), "this model cannot see images") {
		t.Errorf("got %s, want a note and no image", body)
	}
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]anthropic.Config{
		"no model":  {},
		"no scheme": {Model: "m", BaseURL: "api.anthropic.com"},
		"password":  {Model: "m", BaseURL: "https://u:secret@x"},
	} {
		if _, err := anthropic.New(cfg); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want an error without the secret", name, err)
		}
	}
	if p, err := anthropic.New(anthropic.Config{Model: "m"}); err != nil || p.Name() != "m" {
		t.Errorf("got %v, %v; want the defaults", p, err)
	}
}
