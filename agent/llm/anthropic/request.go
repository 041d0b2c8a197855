package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"magpie/agent/llm"
	"magpie/agent/llm/internal/wire"
)

// maker marks thinking that came from a provider of this package.
const maker = "anthropic"

// What is said where the API wants a user's turn and the history has none.
const (
	goOn    = "(continue)"
	earlier = "(earlier conversation)"
)

type request struct {
	Model      string      `json:"model"`
	MaxTokens  int         `json:"max_tokens"`
	System     []block     `json:"system,omitempty"`
	Messages   []message   `json:"messages"`
	Tools      []tool      `json:"tools,omitempty"`
	ToolChoice *toolChoice `json:"tool_choice,omitempty"`
	Stream     bool        `json:"stream"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cache          `json:"cache_control,omitempty"`
}

type toolChoice struct {
	Type string `json:"type"`
}

type cache struct {
	Type string `json:"type"`
}

// block is any block of content: only the fields of its type are set.
type block struct {
	Type  string  `json:"type"`
	Text  *string `json:"text,omitempty"`
	Cache *cache  `json:"cache_control,omitempty"`
	*thought
	*picture
	*use
	*result
}

type thought struct {
	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
}

type picture struct {
	Source source `json:"source"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type use struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type result struct {
	ToolUseID string  `json:"tool_use_id"`
	Content   []block `json:"content"`
	IsError   bool    `json:"is_error,omitempty"`
}

func textBlock(text string) block { return block{Type: "text", Text: &text} }

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func (p *Provider) encode(req llm.Request) request {
	out := request{Model: p.cfg.Model, MaxTokens: req.MaxTokens, Stream: true}
	if out.MaxTokens == 0 {
		out.MaxTokens = p.cfg.MaxTokens
	}
	if !blank(req.System) {
		out.System = []block{textBlock(req.System)}
		mark(out.System)
	}
	out.Messages = p.history(req.Messages)
	for _, d := range req.Tools {
		out.Tools = append(out.Tools, tool{Name: d.Name, Description: d.Description, InputSchema: d.Schema})
	}
	if len(out.Tools) == 0 {
		if out.Tools = formerTools(req.Messages); len(out.Tools) > 0 {
			out.ToolChoice = &toolChoice{"none"}
		}
	}
	if n := len(out.Tools); n > 0 {
		out.Tools[n-1].Cache = ephemeral()
	}
	cachePoints(out.Messages)
	return out
}

// formerTools declares the tools of past calls. The API wants declarations as
// soon as the history holds a call, even when none is to be made.
func formerTools(list []llm.Message) []tool {
	var names []string
	for _, m := range list {
		for _, c := range m.Calls {
			names = append(names, wire.Name(c.Name))
		}
	}
	slices.Sort(names)
	var out []tool
	for _, name := range slices.Compact(names) {
		out = append(out, tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

func ephemeral() *cache { return &cache{"ephemeral"} }

func mark(list []block) { list[len(list)-1].Cache = ephemeral() }

// cachePoints marks the ends of the last two user messages: the newest, where
// the next request of the turn goes on, and the one before, which stays as it
// is when the newest does not. With system and tools that is the four marks
// that the API allows.
func cachePoints(list []message) {
	left := 2
	for i := len(list) - 1; i >= 0 && left > 0; i-- {
		if list[i].Role == "user" {
			mark(list[i].Content)
			left--
		}
	}
}

// history converts messages: neighbours of one role become one message, the
// first and the last are the user's.
func (p *Provider) history(list []llm.Message) []message {
	var out []message
	add := func(role string, content []block) {
		switch n := len(out); {
		case len(content) == 0:
		case n > 0 && out[n-1].Role == role:
			out[n-1].Content = append(out[n-1].Content, content...)
		default:
			out = append(out, message{role, content})
		}
	}
	for _, m := range list {
		switch m.Role {
		case llm.Assistant:
			if len(out) == 0 {
				add("user", []block{textBlock(earlier)})
			}
			add("assistant", assistant(m))
		case llm.Tool:
			add("user", []block{p.result(m)})
		case llm.User:
			add("user", p.user(m))
		}
	}
	if n := len(out); n == 0 || out[n-1].Role == "assistant" {
		add("user", []block{textBlock(goOn)})
	}
	for _, m := range out {
		slices.SortStableFunc(m.Content, byPlace)
	}
	return out
}

// byPlace orders the blocks of a message as the API wants them: thinking and
// tool results before everything else.
func byPlace(a, b block) int {
	place := func(x block) int {
		if x.thought != nil || x.result != nil {
			return 0
		}
		return 1
	}
	return place(a) - place(b)
}

func assistant(m llm.Message) []block {
	var out []block
	for _, t := range m.Thinking {
		switch {
		case t.Provider != maker:
		case t.Redacted != "":
			out = append(out, block{Type: "redacted_thinking", thought: &thought{Data: t.Redacted}})
		case t.Signature != "":
			out = append(out, block{Type: "thinking", thought: &thought{Thinking: &t.Text, Signature: t.Signature}})
		}
	}
	said := len(out)
	if !blank(m.Text) {
		out = append(out, textBlock(m.Text))
	}
	for _, c := range m.Calls {
		out = append(out, block{Type: "tool_use", use: &use{wire.ID(c.ID), wire.Name(c.Name), wire.Object(c.Args)}})
	}
	if len(out) == said {
		return nil // thinking alone is no message
	}
	return out
}

func (p *Provider) user(m llm.Message) []block {
	pictures, notes := wire.Pictures(m.Images, p.cfg.Vision)
	text := wire.WithNotes(m.Text, notes)
	if blank(text) && len(pictures) == 0 {
		text = wire.NoText
	}
	return content(text, pictures)
}

func (p *Provider) result(m llm.Message) block {
	pictures, notes := wire.Pictures(m.Images, p.cfg.Vision)
	text := wire.WithNotes(m.Text, notes)
	if blank(text) && len(pictures) == 0 {
		text = wire.NoOutput
	}
	return block{Type: "tool_result", result: &result{wire.ID(m.CallID), content(text, pictures), m.Failed}}
}

func content(text string, pictures []wire.Picture) []block {
	var out []block
	if !blank(text) {
		out = append(out, textBlock(text))
	}
	for _, pic := range pictures {
		out = append(out, block{Type: "image", picture: &picture{source{"base64", pic.MIME, pic.Data}}})
	}
	return out
}
