package llmtest

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"magpie/agent/llm"
	"magpie/internal/fakes/modelserver"
)

// testHistories sends legal conversations of every make: a vendor takes
// whatever the contract of llm.Message allows.
func testHistories(t *testing.T, newProvider func(*testing.T, Target) llm.Provider) {
	server := modelserver.New(t)
	server.RequireKey(Key)
	p := newProvider(t, Target{Server: server, Timeout: limit, Idle: limit})
	rapid.Check(t, func(rt *rapid.T) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		req := Request()
		req.System = rapid.SampledFrom([]string{"", " ", "sys"}).Draw(rt, "system")
		req.Messages = history(rt)
		if rapid.Bool().Draw(rt, "no tools") {
			req.Tools = nil
		}
		if s := Check(ctx, rt, p, req); s.Err != nil {
			rt.Errorf("rule any-legal-history: %v\n%+v", s.Err, req.Messages)
		}
	})
}

// history draws a legal conversation that ends in what a model can answer.
func history(t *rapid.T) []llm.Message {
	text := rapid.SampledFrom([]string{"", " ", "\n", "hello", "你好", "a <b> & \"c\"\x00"})
	image := rapid.SampledFrom([]llm.Image{
		{Ref: "a", MIME: "image/png", Data: []byte{1}},
		{Ref: "b", MIME: "image/png"},
		{Ref: "c", MIME: "application/pdf", Data: []byte{1}},
	})
	args := rapid.SampledFrom([]string{"", "{}", `{"path":"x"}`, "{broken", `"text"`, "[1]", "null"})
	name := rapid.SampledFrom([]string{"read_file", "list_dir", "gone", "bad name!", "", "名"})
	thinking := rapid.SampledFrom([]llm.Thinking{
		{Provider: "anthropic", Text: "t", Signature: "s"},
		{Provider: "anthropic", Redacted: "r"},
		{Provider: "anthropic"},
		{Provider: "openai", Text: "t"},
		{Provider: "other", Text: "t", Signature: "s"},
	})
	var out []llm.Message
	n := 0
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		if rapid.Bool().Draw(t, "user speaks") {
			out = append(out, llm.Message{Role: llm.User, Text: text.Draw(t, "said"), Images: rapid.SliceOfN(image, 0, 2).Draw(t, "images")})
			continue
		}
		m := llm.Message{Role: llm.Assistant, Text: text.Draw(t, "answered"), Thinking: rapid.SliceOfN(thinking, 0, 2).Draw(t, "thinking")}
		var results []llm.Message
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			n++
			c := llm.Call{ID: fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"c", "x.y:"}).Draw(t, "id"), n), Name: name.Draw(t, "name"), Args: args.Draw(t, "args")}
			m.Calls = append(m.Calls, c)
			results = append(results, llm.Message{
				Role: llm.Tool, CallID: c.ID, Name: c.Name, Text: text.Draw(t, "result"),
				Failed: rapid.Bool().Draw(t, "failed"), Images: rapid.SliceOfN(image, 0, 1).Draw(t, "seen"),
			})
		}
		if len(results) == 2 && rapid.Bool().Draw(t, "other order") {
			results[0], results[1] = results[1], results[0]
		}
		out = append(append(out, m), results...)
	}
	if len(out) == 0 || out[len(out)-1].Role == llm.Assistant {
		out = append(out, llm.Message{Role: llm.User, Text: text.Draw(t, "asks")})
	}
	return out
}
