package modelserver

import "encoding/json"

type object = map[string]any

func (a Answer) stopReason() string {
	switch {
	case a.Stop == "length":
		return "max_tokens"
	case a.Stop == "filter":
		return "refusal"
	case len(a.Calls) > 0:
		return "tool_use"
	default:
		return "end_turn"
	}
}

// anUsage: this API counts cached tokens beside the input, not in it.
func anUsage(u Usage, output int) object {
	return object{
		"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "output_tokens": output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
	}
}

func (anthropic) answer(w *writer, r Request, a Answer) error {
	if !r.Stream {
		return w.whole(anWhole(r, a))
	}
	u := a.usage(r)
	start := object{
		"id": "msg_fake", "type": "message", "role": "assistant", "model": r.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": anUsage(u, 1),
	}
	if err := w.event("message_start", object{"type": "message_start", "message": start}); err != nil {
		return err
	}
	if err := w.event("ping", object{"type": "ping"}); err != nil {
		return err
	}
	s := &anStream{w: w}
	if err := s.content(a); err != nil {
		return err
	}
	err := w.event("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": a.stopReason(), "stop_sequence": nil},
		"usage": object{"output_tokens": u.Output},
	})
	if err != nil {
		return err
	}
	return w.event("message_stop", object{"type": "message_stop"})
}

// anStream sends content blocks.
type anStream struct {
	w     *writer
	index int
}

func (s *anStream) content(a Answer) error {
	if a.Thinking != "" {
		err := s.block(object{"type": "thinking", "thinking": "", "signature": ""}, func() error {
			for _, p := range pieces(a.Thinking, 2) {
				if err := s.delta(object{"type": "thinking_delta", "thinking": p}); err != nil {
					return err
				}
			}
			return s.delta(object{"type": "signature_delta", "signature": "sig_fake"})
		})
		if err != nil {
			return err
		}
	}
	if a.Text != "" {
		err := s.block(object{"type": "text", "text": ""}, func() error {
			return s.w.texts(pieces(a.Text, a.Pieces.N), func(p string) error {
				return s.delta(object{"type": "text_delta", "text": p})
			})
		})
		if err != nil {
			return err
		}
	} else if err := s.w.fail(); err != nil {
		return err
	}
	for _, c := range a.Calls {
		err := s.block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, func() error {
			for _, p := range append([]string{""}, pieces(c.Args, 2)...) {
				if err := s.delta(object{"type": "input_json_delta", "partial_json": p}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *anStream) block(head object, deltas func() error) error {
	err := s.w.event("content_block_start", object{"type": "content_block_start", "index": s.index, "content_block": head})
	if err != nil {
		return err
	}
	if err := deltas(); err != nil {
		return err
	}
	err = s.w.event("content_block_stop", object{"type": "content_block_stop", "index": s.index})
	s.index++
	return err
}

func (s *anStream) delta(d object) error {
	return s.w.event("content_block_delta", object{"type": "content_block_delta", "index": s.index, "delta": d})
}

func anWhole(r Request, a Answer) any {
	content := []any{}
	if a.Thinking != "" {
		content = append(content, object{"type": "thinking", "thinking": a.Thinking, "signature": "sig_fake"})
	}
	if a.Text != "" {
		content = append(content, object{"type": "text", "text": a.Text})
	}
	for _, c := range a.Calls {
		input := json.RawMessage(c.Args)
		if !json.Valid(input) {
			input = json.RawMessage("{}")
		}
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input})
	}
	u := a.usage(r)
	return object{
		"id": "msg_fake", "type": "message", "role": "assistant", "model": r.Model, "content": content,
		"stop_reason": a.stopReason(), "stop_sequence": nil, "usage": anUsage(u, u.Output),
	}
}
