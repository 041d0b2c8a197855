package openai

import (
	"encoding/json"
	"strings"

	"magpie/agent/llm"
	"magpie/agent/llm/internal/wire"
)

type request struct {
	Model         string         `json:"model"`
	Messages      []message      `json:"messages"`
	Tools         []tool         `json:"tools,omitempty"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
	MaxTokens     int            `json:"max_tokens,omitempty"`
	MaxCompletion int            `json:"max_completion_tokens,omitempty"`
	CacheKey      string         `json:"prompt_cache_key,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message: Content is a string, a list of parts, or nil where an assistant
// message has only calls.
type message struct {
	Role      string `json:"role"`
	Content   any    `json:"content"`
	Reasoning string `json:"reasoning_content,omitempty"`
	Calls     []call `json:"tool_calls,omitempty"`
	CallID    string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type part struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

func (p *Provider) encode(req llm.Request, s shape) request {
	out := request{Model: p.cfg.Model, Stream: true}
	if s.usage {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	limit := req.MaxTokens
	if limit == 0 {
		limit = p.cfg.MaxTokens
	}
	if s.completion {
		out.MaxCompletion = limit
	} else {
		out.MaxTokens = limit
	}
	if p.owned {
		out.CacheKey = req.Session
	}
	if strings.TrimSpace(req.System) != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: req.System})
	}
	out.Messages = append(out.Messages, p.history(req.Messages, s)...)
	for _, d := range req.Tools {
		t := tool{Type: "function"}
		t.Function.Name, t.Function.Description, t.Function.Parameters = d.Name, d.Description, d.Schema
		out.Tools = append(out.Tools, t)
	}
	return out
}

func (p *Provider) history(list []llm.Message, s shape) []message {
	var out []message
	turn := lastUser(list)
	var seen []llm.Image // images of tool results, which only a user message may hold
	for i, m := range list {
		if m.Role != llm.Tool && len(seen) > 0 {
			out = append(out, p.user("Images from the tool results above:", seen))
			seen = nil
		}
		switch m.Role {
		case llm.User:
			out = append(out, p.user(m.Text, m.Images))
		case llm.Assistant:
			if a, ok := assistant(m, s.reasoning && i > turn); ok {
				out = append(out, a)
			}
		case llm.Tool:
			text := m.Text
			if p.cfg.Vision {
				seen = append(seen, m.Images...)
			} else {
				_, notes := wire.Pictures(m.Images, false)
				text = wire.WithNotes(text, notes)
			}
			if strings.TrimSpace(text) == "" {
				text = wire.NoOutput
			}
			out = append(out, message{Role: "tool", Content: text, CallID: m.CallID})
		}
	}
	if len(seen) > 0 {
		out = append(out, p.user("Images from the tool results above:", seen))
	}
	return out
}

// lastUser is the place of the last user message. What a model thought before
// it is of no use to anybody; servers that want reasoning back want it from
// the running turn only.
func lastUser(list []llm.Message) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Role == llm.User {
			return i
		}
	}
	return -1
}

func (p *Provider) user(text string, images []llm.Image) message {
	pictures, notes := wire.Pictures(images, p.cfg.Vision)
	text = wire.WithNotes(text, notes)
	if strings.TrimSpace(text) == "" && len(pictures) == 0 {
		text = wire.NoText
	}
	if len(pictures) == 0 {
		return message{Role: "user", Content: text}
	}
	var parts []part
	if strings.TrimSpace(text) != "" {
		parts = append(parts, part{Type: "text", Text: text})
	}
	for _, pic := range pictures {
		parts = append(parts, part{Type: "image_url", Image: &imageURL{"data:" + pic.MIME + ";base64," + pic.Data}})
	}
	return message{Role: "user", Content: parts}
}

// assistant is false for a message that says nothing.
func assistant(m llm.Message, reasoning bool) (message, bool) {
	out := message{Role: "assistant"}
	if m.Text != "" {
		out.Content = m.Text
	}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, call{c.ID, "function", function{wire.Name(c.Name), string(wire.Object(c.Args))}})
	}
	for _, t := range m.Thinking {
		if reasoning && t.Provider == thinker {
			out.Reasoning += t.Text
		}
	}
	return out, out.Content != nil || len(out.Calls) > 0
}
