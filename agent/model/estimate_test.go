package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"magpie/agent/llm"
	"magpie/agent/model"
)

func TestEstimate(t *testing.T) {
	text := func(s string) llm.Request { return llm.Request{System: s} }
	for name, c := range map[string]struct {
		req  llm.Request
		want int
	}{
		"nothing":       {llm.Request{}, 0},
		"ascii":         {text("abcd"), 2},
		"chinese":       {text("每天提醒"), 4},
		"emoji":         {text("👍"), 1},
		"invalid bytes": {text("\xff\xfe"), 2},
		"huge":          {text(strings.Repeat("abc", 1<<20)), 1 << 20},
		"all parts": {llm.Request{
			Messages: []llm.Message{
				{Text: "abc", Images: make([]llm.Image, 2)},
				{Calls: []llm.Call{{Name: "abc", Args: "{}{"}}, Thinking: []llm.Thinking{{Text: "abc", Redacted: "abc"}}},
			},
			Tools: []llm.ToolDef{{Name: "abc", Description: "abc", Schema: json.RawMessage("{} ")}},
		}, (8 + 1 + 3200) + (8 + 8 + 2 + 2) + (8 + 3)},
	} {
		if got := model.Estimate(c.req); got != c.want {
			t.Errorf("%s: %d tokens, want %d", name, got, c.want)
		}
	}
}
