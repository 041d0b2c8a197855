package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"magpie/agent/llm"
	"magpie/agent/llm/internal/wire"
)

// thinker marks reasoning that came from a provider of this package.
const thinker = "openai"

// chunk is one piece of a streamed reply, and also a whole one: the two differ
// only in delta and message.
type chunk struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index   int    `json:"index"`
	Delta   *delta `json:"delta"`
	Message *delta `json:"message"`
	Finish  string `json:"finish_reason"`
}

type delta struct {
	Content    text        `json:"content"`
	Reasoning  text        `json:"reasoning_content"`
	Reasoning2 text        `json:"reasoning"` // the same elsewhere
	Refusal    string      `json:"refusal"`
	Calls      []callDelta `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// text is a string, or a list of parts with text, or anything else, which
// counts as nothing.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = text(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		for _, p := range parts {
			*t += text(p.Text)
		}
	}
	return nil
}

// arguments is a string, or the object that the string ought to hold.
type arguments string

func (a *arguments) UnmarshalJSON(raw []byte) error {
	var s string
	switch {
	case json.Unmarshal(raw, &s) == nil:
		*a = arguments(s)
	case !bytes.Equal(raw, []byte("null")):
		*a = arguments(raw)
	}
	return nil
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CacheHit int `json:"prompt_cache_hit_tokens"` // DeepSeek's name for cached_tokens
}

// reply gathers a reply while it comes.
type reply struct {
	client   *wire.Client
	emit     func(llm.Event, error) bool
	text     strings.Builder
	thinking strings.Builder
	calls    calls
	usage    llm.Usage
	model    string
	finish   string
	refused  bool
	ended    bool
}

func (r *reply) read(b *wire.Body) error {
	form, err := b.Form()
	if err != nil {
		return err
	}
	switch form {
	case wire.JSON:
		raw, err := b.Rest()
		if err != nil {
			return err
		}
		r.ended = true
		return r.add(raw)
	case wire.Events:
		return r.events(b)
	default:
		raw, err := b.Rest()
		if err != nil {
			return err
		}
		return r.client.Unreadable("the server's answer is no reply", raw)
	}
}

func (r *reply) events(b *wire.Body) error {
	for ev, err := range b.Events() {
		switch {
		case err != nil && r.ended:
			return nil // the reply was complete; only what may follow it broke
		case err != nil:
			return err
		case strings.TrimSpace(ev.Data) == "[DONE]":
			r.ended = true
			return nil
		}
		if err := r.add([]byte(ev.Data)); err != nil {
			return err
		}
		if r.finish != "" && !r.ended {
			r.ended = true
			b.Ended()
		}
	}
	if !r.ended {
		return errors.New("the reply broke off before its end")
	}
	return nil
}

// add takes one chunk.
func (r *reply) add(raw []byte) error {
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return r.client.Unreadable("the server sent what is no piece of a reply", raw)
	}
	if len(c.Error) > 0 && !bytes.Equal(c.Error, []byte("null")) {
		return r.client.Refused(0, http.Header{}, raw)
	}
	if c.Choices == nil && c.Usage == nil && c.Model == "" {
		return r.client.Unreadable("the server sent what is no piece of a reply", raw)
	}
	if c.Model != "" {
		r.model = c.Model
	}
	if u := c.Usage; u != nil {
		r.usage = llm.Usage{Input: u.Prompt, Output: u.Completion, CacheRead: max(u.Details.Cached, u.CacheHit)}
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		for _, d := range []*delta{ch.Delta, ch.Message} {
			if d == nil {
				continue
			}
			if err := r.delta(d); err != nil {
				return err
			}
		}
		if ch.Finish != "" {
			r.finish = ch.Finish
		}
	}
	return nil
}

func (r *reply) delta(d *delta) error {
	thought := string(d.Reasoning)
	if thought == "" {
		thought = string(d.Reasoning2)
	}
	if thought != "" {
		r.thinking.WriteString(thought)
		if !r.emit(llm.Event{Thinking: thought}, nil) {
			return wire.ErrStop
		}
	}
	if said := string(d.Content) + d.Refusal; said != "" {
		r.refused = r.refused || d.Refusal != ""
		r.text.WriteString(said)
		if !r.emit(llm.Event{Text: said}, nil) {
			return wire.ErrStop
		}
	}
	for _, c := range d.Calls {
		r.calls.add(c)
	}
	return nil
}

func (r *reply) done(history []llm.Message) llm.Reply {
	m := llm.Message{Role: llm.Assistant, Text: r.text.String(), Calls: r.calls.list()}
	llm.Identify(m.Calls, history)
	if r.thinking.Len() > 0 {
		m.Thinking = []llm.Thinking{{Provider: thinker, Text: r.thinking.String()}}
	}
	return llm.Reply{Message: m, Usage: r.usage, Stop: r.stop(len(m.Calls) > 0), Model: r.model}
}

func (r *reply) stop(calls bool) llm.Stop {
	switch {
	case r.refused, r.finish == "content_filter":
		return llm.StopFilter
	case r.finish == "length", r.finish == "max_tokens":
		return llm.StopLength
	case calls: // some servers end such a reply with "stop"
		return llm.StopTools
	default:
		return llm.StopEnd
	}
}
