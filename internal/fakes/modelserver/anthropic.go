package modelserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// anthropic is the Messages API.
type anthropic struct{}

func (anthropic) name() string { return Anthropic }

func (anthropic) key(h http.Header) string { return h.Get("X-Api-Key") }

func (anthropic) fail(status int, _, message string) any {
	kinds := map[int]string{
		http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error",
		http.StatusNotFound: "not_found_error", http.StatusRequestEntityTooLarge: "request_too_large",
		http.StatusTooManyRequests: "rate_limit_error", 529: "overloaded_error",
	}
	kind := kinds[status]
	if kind == "" {
		kind = "invalid_request_error"
		if status >= http.StatusInternalServerError {
			kind = "api_error"
		}
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}, "request_id": "req_fake"}
}

type anRequest struct {
	Model     string          `json:"model"`
	MaxTokens int             `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []anMessage     `json:"messages"`
	Tools     []anTool        `json:"tools"`
	Stream    bool            `json:"stream"`
}

type anMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type anTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl any             `json:"cache_control"`
}

type anBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	Content      json.RawMessage `json:"content"`
	IsError      bool            `json:"is_error"`
	Thinking     string          `json:"thinking"`
	Signature    string          `json:"signature"`
	CacheControl any             `json:"cache_control"`
	anMore
}

type anMore struct {
	Data   string `json:"data"` // redacted_thinking
	Source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

// blocks reads a content that is a string or a list of blocks.
func blocks(raw json.RawMessage) ([]anBlock, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []anBlock{{Type: "text", Text: text}}, nil
	}
	var list []anBlock
	err := json.Unmarshal(raw, &list)
	return list, err
}

func (anthropic) parse(body []byte, h http.Header) (Request, error) {
	var in anRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, refuse("The request body is not valid JSON: %v", err)
	}
	switch {
	case h.Get("Anthropic-Version") == "":
		return Request{}, refuse("anthropic-version: header is required")
	case in.Model == "":
		return Request{}, refuse("model: Field required")
	case in.MaxTokens < 1:
		return Request{}, refuse("max_tokens: Field required, at least 1")
	case len(in.Messages) == 0:
		return Request{}, refuse("messages: at least one message is required")
	}
	out := Request{Model: in.Model, Stream: in.Stream}
	h2 := history{out: &out}
	if err := h2.system(in.System); err != nil {
		return Request{}, err
	}
	for i, m := range in.Messages {
		if err := h2.message(i, m); err != nil {
			return Request{}, err
		}
	}
	for _, t := range in.Tools {
		out.Tools = append(out.Tools, Tool{t.Name, t.Description, t.InputSchema})
		h2.cached(t.CacheControl)
	}
	switch {
	case len(h2.open) > 0:
		return Request{}, h2.unanswered()
	case h2.role == "assistant":
		return Request{}, refuse("This model does not support assistant message prefill. The conversation must end with a user message.")
	case h2.caches > 4:
		return Request{}, refuse("A maximum of 4 blocks with cache_control may be provided. Found %d.", h2.caches)
	case h2.used && len(in.Tools) == 0:
		return Request{}, refuse("Requests which have `tool_use` or `tool_result` blocks in `messages` must define `tools`.")
	}
	return out, checkTools(out.Tools)
}

// history checks messages one after the other and converts them.
type history struct {
	out    *Request
	role   string   // of the message before
	open   []string // calls of the message before
	ids    []string // every call so far
	used   bool     // there are calls
	caches int
}

func (h *history) cached(mark any) {
	if mark != nil {
		h.caches++
	}
}

func (h *history) unanswered() error {
	return refuse("`tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(h.open, ", "))
}

func (h *history) system(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	list, err := blocks(raw)
	if err != nil {
		return refuse("system: %v", err)
	}
	for _, b := range list {
		if strings.TrimSpace(b.Text) == "" {
			return refuse("system: text content blocks must be non-empty")
		}
		h.out.System += b.Text
		h.cached(b.CacheControl)
	}
	return nil
}

func (h *history) message(i int, m anMessage) error {
	list, err := blocks(m.Content)
	switch {
	case err != nil:
		return refuse("messages.%d.content: %v", i, err)
	case m.Role != "user" && m.Role != "assistant":
		return refuse("messages.%d.role: Input should be 'user' or 'assistant', got %q", i, m.Role)
	case i == 0 && m.Role != "user":
		return refuse("messages: first message must use the \"user\" role")
	case m.Role == h.role:
		return refuse("messages.%d: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", i, m.Role)
	case len(list) == 0:
		return refuse("messages.%d: all messages must have non-empty content", i)
	}
	h.role = m.Role
	if m.Role == "assistant" {
		return h.assistant(i, list)
	}
	return h.user(i, list)
}

func (h *history) assistant(i int, list []anBlock) error {
	msg := Message{Role: "assistant"}
	for j, b := range list {
		h.cached(b.CacheControl)
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				return refuse("messages.%d.content.%d: text content blocks must contain non-whitespace text", i, j)
			}
			msg.Text += b.Text
		case "thinking", "redacted_thinking":
			if j > 0 && !strings.HasSuffix(list[j-1].Type, "thinking") {
				return refuse("messages.%d.content.%d: thinking blocks must come first", i, j)
			}
			if b.Signature == "" && b.Data == "" {
				return refuse("messages.%d.content.%d.thinking.signature: Field required", i, j)
			}
			msg.Thinking = append(msg.Thinking, b.Thinking+b.Data)
		case "tool_use":
			if !goodID.MatchString(b.ID) || slices.Contains(h.ids, b.ID) {
				return refuse("messages.%d.content.%d: `tool_use` ids must be unique and match ^[a-zA-Z0-9_-]+$: %q", i, j, b.ID)
			}
			if !isObject(b.Input) || !goodName.MatchString(b.Name) {
				return refuse("messages.%d.content.%d.tool_use: input must be a valid dictionary and name a valid name", i, j)
			}
			h.ids, h.open, h.used = append(h.ids, b.ID), append(h.open, b.ID), true
			msg.Calls = append(msg.Calls, Call{b.ID, b.Name, string(b.Input)})
		default:
			return refuse("messages.%d.content.%d: unexpected block %q in an assistant message", i, j, b.Type)
		}
	}
	h.out.Messages = append(h.out.Messages, msg)
	return nil
}

func (h *history) user(i int, list []anBlock) error {
	msg := Message{Role: "user"}
	for j, b := range list {
		h.cached(b.CacheControl)
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) == "" {
				return refuse("messages.%d.content.%d: text content blocks must contain non-whitespace text", i, j)
			}
			msg.Text += b.Text
		case "image":
			if b.Source.Type != "base64" || !goodImage(b.Source.MediaType, b.Source.Data) {
				return refuse("messages.%d.content.%d.image.source: bad image", i, j)
			}
			msg.Images++
		case "tool_result":
			at := slices.Index(h.open, b.ToolUseID)
			if at < 0 {
				return refuse("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
			}
			if msg.Text != "" || msg.Images > 0 {
				return refuse("messages.%d.content.%d: tool_result blocks must come first", i, j)
			}
			h.open = slices.Delete(h.open, at, at+1)
			if err := h.result(i, b); err != nil {
				return err
			}
		default:
			return refuse("messages.%d.content.%d: unexpected block %q in a user message", i, j, b.Type)
		}
	}
	if len(h.open) > 0 {
		return h.unanswered()
	}
	if msg.Text != "" || msg.Images > 0 {
		h.out.Messages = append(h.out.Messages, msg)
	}
	return nil
}

func (h *history) result(i int, b anBlock) error {
	msg := Message{Role: "tool", CallID: b.ToolUseID, Failed: b.IsError}
	list, err := blocks(b.Content)
	if err != nil || len(list) == 0 {
		return refuse("messages.%d: tool_result content: bad or missing", i)
	}
	for _, c := range list {
		switch {
		case c.Type == "text" && strings.TrimSpace(c.Text) != "":
			msg.Text += c.Text
		case c.Type == "image" && goodImage(c.Source.MediaType, c.Source.Data):
			msg.Images++
		default:
			return refuse("messages.%d: tool_result: a block of type %q is bad or empty", i, c.Type)
		}
	}
	h.out.Messages = append(h.out.Messages, msg)
	return nil
}
