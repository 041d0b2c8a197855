// Package llm says what a language model is to Magpie: a Provider that streams
// the answer to a Request. It holds only value types and what can be derived
// from them, imports nothing but the standard library and starts no goroutine.
// Providers stand in agent/llm/<name>; retry, fall-back and budgets are
// wrapped around them by package agent.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Role says who speaks in a Message.
type Role string

// The roles. The system prompt stands in Request.System.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool" // the result of one call
)

// Message is one entry of a conversation. A legal conversation has, right
// after an assistant message with calls, exactly one tool message for each of
// them, in any order, and no other tool message.
type Message struct {
	Role     Role       `json:"role"`
	Text     string     `json:"text,omitempty"`
	Images   []Image    `json:"images,omitempty"`   // user and tool messages
	Calls    []Call     `json:"calls,omitempty"`    // assistant messages
	CallID   string     `json:"call_id,omitempty"`  // tool messages: the call answered
	Name     string     `json:"name,omitempty"`     // tool messages: the tool
	Failed   bool       `json:"failed,omitempty"`   // tool messages: the call failed
	Thinking []Thinking `json:"thinking,omitempty"` // assistant messages; only the provider that made it uses it
}

// Image is a picture for a model that can see. Data is filled in just before
// the request; histories hold only Ref.
type Image struct {
	Ref  string `json:"ref"`
	MIME string `json:"mime"`
	Data []byte `json:"-"`
}

// Call is a tool call that a model asks for. Args is the text as the model
// wrote it, which may be no valid JSON.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// Thinking is a block of a model's reasoning that the provider wants back
// unchanged.
type Thinking struct {
	Provider  string `json:"provider"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}

// ToolDef is what a model is told of a tool.
type ToolDef struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema, type object
}

// Request asks for the next message of a conversation.
type Request struct {
	System    string
	Messages  []Message
	Tools     []ToolDef // none: the model must answer in text
	MaxTokens int       // 0 = the provider's setting
	// Session is the same for every request of one conversation; a provider
	// may pass it on for caching. It holds nothing private.
	Session string
}

// Usage counts tokens as the model's server reports them.
type Usage struct {
	Input      int `json:"input"` // all of the prompt, cached or not
	Output     int `json:"output"`
	CacheRead  int `json:"cache_read,omitempty"`  // part of Input
	CacheWrite int `json:"cache_write,omitempty"` // part of Input
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Stop says why a reply ended.
type Stop string

// The reasons.
const (
	StopEnd    Stop = "end"
	StopTools  Stop = "tools"
	StopLength Stop = "length" // MaxTokens or the context is used up
	StopFilter Stop = "filter" // the server refused to say more
)

// Event is one step of a streamed reply. Exactly one Event, the last, has Done
// set; it carries the whole reply. An iteration that ends without Done and
// without an error is a broken stream; Collect reports it.
type Event struct {
	Text     string // newly written text
	Thinking string // newly written reasoning
	Done     *Reply
}

// Reply is a whole answer.
type Reply struct {
	Message Message
	Usage   Usage
	Stop    Stop
	Model   string // as the server names it
}

// Provider answers requests. It does not retry. Safe for concurrent use.
type Provider interface {
	// Name is the model's name in the configuration, for logs and /model.
	Name() string
	// Stream asks and yields the reply as it is written. Errors are *Error
	// (or ctx's). The request is sent when the iteration starts; breaking off
	// the iteration cancels it.
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Collect runs a stream to its end. onText, if not nil, sees every new piece.
func Collect(stream iter.Seq2[Event, error], onText func(string)) (Reply, error) {
	for ev, err := range stream {
		switch {
		case err != nil:
			return Reply{}, err
		case ev.Done != nil:
			return *ev.Done, nil
		case ev.Text != "" && onText != nil:
			onText(ev.Text)
		}
	}
	return Reply{}, &Error{Kind: Temporary, Err: errors.New("the reply broke off before its end")}
}

// Kind classifies an error by what the caller does next.
type Kind int

// The kinds of errors.
const (
	Temporary    Kind = iota // try again
	RateLimited              // try again after RetryAfter
	TooLong                  // the conversation does not fit: compact it
	Rejected                 // this request will never be answered
	Unauthorized             // key, balance or permission: try another model, tell the operator
)

var kindNames = [...]string{"temporary", "rate limited", "too long", "rejected", "unauthorized"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return kindNames[k]
}

// Error is a failed request. Its text holds no secret.
type Error struct {
	Provider   string // Provider.Name
	Kind       Kind
	Status     int           // HTTP status, 0 when there was no answer
	RetryAfter time.Duration // 0 unknown
	Err        error
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model %s: %s (HTTP %d): %v", e.Provider, e.Kind, e.Status, e.Err)
	}
	return fmt.Sprintf("model %s: %s: %v", e.Provider, e.Kind, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err, and Temporary for errors of other types.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Temporary
}
