package modelserver

import (
	"encoding/json"
	"net/http"
)

// The APIs that a Request may have come in by.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
)

// Request is a legal request, in one form for both APIs.
type Request struct {
	API      string // OpenAI or Anthropic
	N        int    // number of the request at this server, from 1
	Model    string
	System   string
	Messages []Message // without the system prompt
	Tools    []Tool
	Stream   bool
	Header   http.Header
	Body     []byte          // as it came
	Gone     <-chan struct{} // closed when nobody waits for the answer any more
}

// Message is one entry of the history. Roles are user, assistant and tool; an
// Anthropic user message with results comes as tool messages followed by a
// user message for the rest.
type Message struct {
	Role     string
	Text     string
	Images   int
	Calls    []Call
	CallID   string // tool messages
	Failed   bool   // tool messages, Anthropic only
	Thinking []string
}

// Call is a tool call. An empty ID in an Answer is filled in.
type Call struct {
	ID   string
	Name string
	Args string // JSON text
}

// Tool is a tool the request offers.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// LastUser is the text of the last user message, "" without one.
func (r Request) LastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Text
		}
	}
	return ""
}

// Results are the tool messages at the end of the history, after which the
// model is asked to go on; none when a user message is the last.
func (r Request) Results() []Message {
	i := len(r.Messages)
	for i > 0 && r.Messages[i-1].Role == "tool" {
		i--
	}
	return r.Messages[i:]
}

// Offers says whether the request offers the tool.
func (r Request) Offers(name string) bool {
	for _, t := range r.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}
