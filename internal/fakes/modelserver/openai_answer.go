package modelserver

import "encoding/json"

func (a Answer) finish() string {
	switch {
	case a.Stop == "filter":
		return "content_filter"
	case a.Stop != "":
		return a.Stop
	case len(a.Calls) > 0:
		return "tool_calls"
	default:
		return "stop"
	}
}

func oaUsage(u Usage) map[string]any {
	return map[string]any{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.CacheRead},
	}
}

func oaCall(c Call) map[string]any {
	return map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Args}}
}

func (openAI) answer(w *writer, r Request, a Answer) error {
	if !r.Stream {
		return w.whole(oaWhole(r, a))
	}
	chunk := func(delta map[string]any, finish any) error {
		return w.event("", map[string]any{
			"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1, "model": r.Model,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	if err := chunk(map[string]any{"role": "assistant", "content": ""}, nil); err != nil {
		return err
	}
	for _, p := range pieces(a.Thinking, 2) {
		if err := chunk(map[string]any{"reasoning_content": p}, nil); err != nil {
			return err
		}
	}
	err := w.texts(pieces(a.Text, a.Pieces.N), func(p string) error {
		return chunk(map[string]any{"content": p}, nil)
	})
	if err != nil {
		return err
	}
	if err := oaStreamCalls(a.Calls, func(d map[string]any) error { return chunk(d, nil) }); err != nil {
		return err
	}
	if err := chunk(map[string]any{}, a.finish()); err != nil {
		return err
	}
	if oaWantsUsage(r.Body) {
		err := w.event("", map[string]any{
			"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1, "model": r.Model,
			"choices": []any{}, "usage": oaUsage(a.usage(r)),
		})
		if err != nil {
			return err
		}
	}
	return w.raw("", "[DONE]")
}

// oaStreamCalls sends each call's head, then its arguments in two pieces.
func oaStreamCalls(calls []Call, send func(map[string]any) error) error {
	for i, c := range calls {
		head := oaCall(Call{ID: c.ID, Name: c.Name})
		head["index"] = i
		if err := send(map[string]any{"tool_calls": []any{head}}); err != nil {
			return err
		}
		for _, p := range pieces(c.Args, 2) {
			part := map[string]any{"index": i, "function": map[string]any{"arguments": p}}
			if err := send(map[string]any{"tool_calls": []any{part}}); err != nil {
				return err
			}
		}
	}
	return nil
}

func oaWhole(r Request, a Answer) any {
	msg := map[string]any{"role": "assistant", "content": a.Text}
	if a.Text == "" && len(a.Calls) > 0 {
		msg["content"] = nil
	}
	if a.Thinking != "" {
		msg["reasoning_content"] = a.Thinking
	}
	if len(a.Calls) > 0 {
		var calls []any
		for _, c := range a.Calls {
			calls = append(calls, oaCall(c))
		}
		msg["tool_calls"] = calls
	}
	return map[string]any{
		"id": "chatcmpl-fake", "object": "chat.completion", "created": 1, "model": r.Model,
		"choices": []any{map[string]any{"index": 0, "message": msg, "finish_reason": a.finish()}},
		"usage":   oaUsage(a.usage(r)),
	}
}

func oaWantsUsage(body []byte) bool {
	var in oaRequest
	return json.Unmarshal(body, &in) == nil && in.StreamOptions != nil && in.StreamOptions.IncludeUsage
}
