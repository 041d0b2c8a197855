package modelserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// openAI is the chat-completions API as its vendor and the stricter of the
// compatible servers take it.
type openAI struct{}

func (openAI) name() string { return OpenAI }

func (openAI) key(h http.Header) string {
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

func (openAI) fail(status int, code, message string) any {
	kind := "invalid_request_error"
	switch {
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	case status == http.StatusTooManyRequests:
		kind = "requests"
	}
	e := map[string]any{"message": message, "type": kind, "param": nil, "code": nil}
	if code != "" {
		e["code"] = code
	}
	return map[string]any{"error": e}
}

type oaRequest struct {
	Model         string      `json:"model"`
	Messages      []oaMessage `json:"messages"`
	Tools         []oaTool    `json:"tools"`
	Stream        bool        `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens     *int `json:"max_tokens"`
	MaxCompletion *int `json:"max_completion_tokens"`
}

type oaMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

type oaTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func (openAI) parse(body []byte, _ http.Header) (Request, error) {
	var in oaRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, refuse("We could not parse the JSON body of your request: %v", err)
	}
	switch {
	case in.Model == "":
		return Request{}, refuse("you must provide a model parameter")
	case len(in.Messages) == 0:
		return Request{}, refuse("Invalid 'messages': empty array. Expected an array with minimum length 1.")
	case in.MaxTokens != nil && in.MaxCompletion != nil:
		return Request{}, refuse("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case in.StreamOptions != nil && !in.Stream:
		return Request{}, refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	out := Request{Model: in.Model, Stream: in.Stream}
	if err := in.messages(&out); err != nil {
		return Request{}, err
	}
	for i, t := range in.Tools {
		if t.Type != "function" {
			return Request{}, refuse("Invalid value for tools[%d].type: %q.", i, t.Type)
		}
		out.Tools = append(out.Tools, Tool{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	return out, checkTools(out.Tools)
}

// messages checks the order of the history while it converts it.
func (in oaRequest) messages(out *Request) error {
	var open []string // ids of calls that still lack their result
	seen := map[string]bool{}
	for i, m := range in.Messages {
		msg, err := m.message(i)
		if err != nil {
			return err
		}
		if msg.Role != "tool" && len(open) > 0 {
			break
		}
		switch msg.Role {
		case "system", "developer":
			out.System = strings.TrimSpace(out.System + "\n" + msg.Text)
			continue
		case "tool":
			at := slices.Index(open, msg.CallID)
			if at < 0 {
				return refuse("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (messages[%d], id %q).", i, msg.CallID)
			}
			open = slices.Delete(open, at, at+1)
		}
		for _, c := range msg.Calls {
			if seen[c.ID] {
				return refuse("Duplicate value for 'tool_call_id' of %q in messages[%d].", c.ID, i)
			}
			seen[c.ID] = true
			open = append(open, c.ID)
		}
		out.Messages = append(out.Messages, msg)
	}
	if len(open) > 0 {
		return refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
	}
	return nil
}

func (m oaMessage) message(i int) (Message, error) {
	out := Message{Role: m.Role, CallID: m.ToolCallID}
	if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, m.Role) {
		return out, refuse("Invalid value: %q. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer' (messages[%d].role).", m.Role, i)
	}
	var err error
	if out.Text, out.Images, err = oaContent(m.Content); err != nil {
		return out, refuse("Invalid value for messages[%d].content: %v.", i, err)
	}
	switch {
	case out.Text == "" && out.Images == 0 && len(m.ToolCalls) == 0:
		return out, refuse("Invalid value for messages[%d].content: expected a string, got nothing.", i)
	case out.Images > 0 && m.Role != "user":
		return out, refuse("Image URLs are only allowed for messages with role 'user' (messages[%d] is %q).", i, m.Role)
	case len(m.ToolCalls) > 0 && m.Role != "assistant":
		return out, refuse("messages[%d]: 'tool_calls' is only allowed for role 'assistant'.", i)
	case m.Role == "tool" && m.ToolCallID == "":
		return out, refuse("Missing required parameter: 'messages[%d].tool_call_id'.", i)
	}
	for j, c := range m.ToolCalls {
		var args string
		if err := json.Unmarshal(c.Function.Arguments, &args); err != nil {
			return out, refuse("Invalid type for messages[%d].tool_calls[%d].function.arguments: expected a string.", i, j)
		}
		if !isObject([]byte(args)) {
			return out, refuse("messages[%d].tool_calls[%d].function.arguments is no JSON object: %s", i, j, args)
		}
		if c.Type != "function" || c.ID == "" || !goodName.MatchString(c.Function.Name) {
			return out, refuse("messages[%d].tool_calls[%d]: type, id or name is missing or bad.", i, j)
		}
		out.Calls = append(out.Calls, Call{ID: c.ID, Name: c.Function.Name, Args: args})
	}
	return out, nil
}

// oaContent reads a content that is a string, a list of parts, or nothing.
func oaContent(raw json.RawMessage) (text string, images int, err error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return "", 0, nil
	}
	if raw[0] == '"' {
		err = json.Unmarshal(raw, &text)
		return text, 0, err
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", 0, err
	}
	for _, p := range parts {
		switch {
		case p.Type == "text" && p.Text != "":
			text += p.Text
		case p.Type == "image_url" && goodDataURL(p.ImageURL.URL):
			images++
		default:
			return "", 0, fmt.Errorf("a part of type %q is bad or empty", p.Type)
		}
	}
	return text, images, nil
}
