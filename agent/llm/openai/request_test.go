package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/agent/llm"
	"magpie/agent/llm/llmtest"
	"magpie/agent/llm/openai"
)

var png = llm.Image{Ref: "r", MIME: "image/png", Data: []byte{1, 2, 3}}

// mixed is a history with everything that needs care.
func mixed() llm.Request {
	return llm.Request{
		Messages: []llm.Message{
			{Role: llm.User, Text: "look", Images: []llm.Image{png, {Ref: "gone", MIME: "image/png"}, {Ref: "x", MIME: "image/tiff", Data: []byte{1}}}},
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: "bad name!", Args: "{broken"}, {ID: "2", Name: "screenshot", Args: ""}}},
			{Role: llm.Tool, CallID: "1", Name: "bad name!", Text: "no such tool", Failed: true},
			{Role: llm.Tool, CallID: "2", Name: "screenshot", Images: []llm.Image{png}},
			{Role: llm.Assistant},
			{Role: llm.User},
		},
		Tools: llmtest.Request().Tools,
	}
}

func sent(t *testing.T, vision bool) any {
	t.Helper()
	p, c := serve(t, openai.Config{Vision: vision}, sse(`{"content":"ok"}`))
	if s := llmtest.Check(t.Context(), t, p, mixed()); s.Err != nil {
		t.Fatal(s.Err)
	}
	return c.sent[0]["messages"]
}

func fromJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

const calls = `{"role":"assistant","content":null,"tool_calls":[
	{"id":"1","type":"function","function":{"name":"bad_name_","arguments":"{\"_invalid_arguments\":\"{broken\"}"}},
	{"id":"2","type":"function","function":{"name":"screenshot","arguments":"{}"}}]},
	{"role":"tool","tool_call_id":"1","content":"no such tool"},`

func TestImagesForAModelThatSees(t *testing.T) {
	want := fromJSON(t, `[
	{"role":"user","content":[{"type":"text","text":"look\n[an image is no longer available]\n[an image was left out: image/tiff is not supported by models]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}}]},
	`+calls+`
	{"role":"tool","tool_call_id":"2","content":"(no output)"},
	{"role":"user","content":[{"type":"text","text":"Images from the tool results above:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}}]},
	{"role":"user","content":"(no text)"}]`)
	if diff := cmp.Diff(want, sent(t, true)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestImagesForAModelThatDoesNotSee(t *testing.T) {
	note := `[an image was left out: this model cannot see images]`
	want := fromJSON(t, `[
	{"role":"user","content":"look\n`+strings.TrimSuffix(strings.Repeat(note+`\n`, 3), `\n`)+`"},
	`+calls+`
	{"role":"tool","tool_call_id":"2","content":"`+note+`"},
	{"role":"user","content":"(no text)"}]`)
	if diff := cmp.Diff(want, sent(t, false)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]openai.Config{
		"no model":      {},
		"no scheme":     {Model: "m", BaseURL: "api.openai.com/v1"},
		"odd scheme":    {Model: "m", BaseURL: "ftp://x/v1"},
		"password":      {Model: "m", BaseURL: "https://u:secret@x/v1"},
		"key in query":  {Model: "m", BaseURL: "https://x/v1?key=secret"},
		"not parseable": {Model: "m", BaseURL: "http://secret\x7f"},
	} {
		if _, err := openai.New(cfg); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want an error without the secret", name, err)
		}
	}
	p, err := openai.New(openai.Config{Model: "m"})
	if err != nil || p.Name() != "m" {
		t.Errorf("got %v, %v; want the defaults", p, err)
	}
}
