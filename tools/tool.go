// Package tools is the one interface of everything the agent can do: a Tool
// has a Spec and a Call, New makes one from a typed function, a Registry holds
// them, and an Executor runs a call through alias, cast, validate, policy,
// timeout, audit, statistics and output limit. The tools themselves stand in
// tools/<field>.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"magpie/chat"
)

// Tool is something the agent can call. Safe for concurrent use.
type Tool interface {
	// Spec describes the tool: same value every time.
	Spec() Spec
	// Call runs it. args is a JSON object that has been validated against
	// Spec.Schema, with canonical parameter names. A returned error (best an
	// *Error) is written for the model: what was wrong, what would be right.
	Call(ctx context.Context, sc Scope, args json.RawMessage) (Result, error)
}

// Category groups tools for people.
type Category string

// The categories.
const (
	System  Category = "system"
	File    Category = "file"
	Network Category = "network"
	Data    Category = "data"
	Code    Category = "code"
	MCP     Category = "mcp"
	Custom  Category = "custom"
)

// Effect says what a call may change; it decides what may run at the same
// time, what is repeated after a crash and what policy asks about.
type Effect string

// The effects.
const (
	Reads  Effect = "reads"  // changes nothing: may run twice and in parallel
	Writes Effect = "writes" // changes the workspace or the bot's own notes
	Acts   Effect = "acts"   // reaches people or other systems
)

// Spec describes a tool.
type Spec struct {
	Name        string   // [a-zA-Z0-9_-]{1,64}, unique
	Also        []string // other names under which it may be called; never advertised
	For         []string // tools whose work it does in another notation: it is never offered, and forbidden where one of them is
	Description string   // for the model; stands in <name>.md beside the code
	Category    Category
	Effect      Effect
	Schema      json.RawMessage   // JSON Schema of the arguments, type object; New fills it
	Aliases     map[string]string // accepted parameter name → canonical name; never advertised
	Main        string            // the parameter a policy's match looks at; "" = all arguments
	Timeout     time.Duration     // 0 = the executor's (by Category); < 0 = the tool bounds itself
	MaxChars    int               // output limit in runes; 0 = the executor's
	Untrusted   bool              // the output holds text from outside; of failures only those of MCP servers
}

// Scope is where a call comes from. It is passed by value: two chats never
// see each other's.
type Scope struct {
	Addr    chat.Address
	Sender  chat.Sender // whose message started the turn
	Direct  bool        // a private chat
	Trace   string
	Turn    string
	CallID  string         // unique, the same again when a crashed turn is repeated
	Zone    *time.Location // of the chat; never nil inside Call
	Lang    string         // of the chat: "en" or "zh"
	Depth   int            // 0 = a person's turn, 1 = a subagent's
	FromJob bool           // the turn was started by a job
	Heard
	// Caller is the turn that waits for the call; nil: nobody does.
	Caller Caller
}

// Heard is what a turn has been told so far.
type Heard struct {
	// Said is what the person has written: the message that started the turn and
	// those that joined it, a line each. "" in the turn of a job or a task.
	Said string
	// Reply is the platform's id of the bot's message that the latest of them
	// replies to; "" none.
	Reply string
	Files []chat.Attachment // that came with them
	Named []chat.Sender     // whom they mention, each as "@" and the name
	// Sources are where the text from outside came from that the turn has before
	// it; none: it has read nothing of others.
	Sources []chat.Source
	// Guard breaks the links of a text for people that nobody vouches for, and
	// Leaks says what an address would carry away, "" for nothing, in the
	// language of the chat. nil: the turn has read nothing of others.
	Guard func(markdown string) string
	Leaks func(address string) string
	// Leaves is what the call that is asked about would carry away, of Leaks.
	Leaves string
}

// Guarded is text that a call is to show to people, with Guard.
func (h Heard) Guarded(text string) string {
	if h.Guard == nil || text == "" {
		return text
	}
	return h.Guard(text)
}

// Tainted says whether the turn has text from outside before it.
func (h Heard) Tainted() bool { return len(h.Sources) > 0 }

// Place is where events about the call belong: the chat, but for a subagent,
// of which nobody in the chat sees the turn, a place that no platform has.
func (sc Scope) Place() chat.Address {
	if sc.Depth == 0 {
		return sc.Addr
	}
	return chat.Address{Channel: chat.SystemChannel, Chat: sc.Turn}
}

// Caller is a running turn as a call needs it.
type Caller interface {
	// Begin is called once, when nothing but the tool itself is left to do of a
	// call that may change something; after an error the tool does not run.
	Begin(ctx context.Context) error
	// Ask calls fn, which waits until a person has approved of the call; the
	// turn takes no place among the running ones meanwhile, and shows it.
	Ask(ctx context.Context, fn func(context.Context) error) error
	// Wait is Ask for what the tool itself waits for: no person.
	Wait(ctx context.Context, fn func(context.Context) error) error
}

// Result is what a call came to. A Tool fills Text, Attachments and the flags;
// the executor fills the rest.
type Result struct {
	Tool     string
	CallID   string
	OK       bool   // success is this flag, never the look of Text
	Text     string // output or error, as the model reads it
	Err      ErrorKind
	Started  time.Time
	Duration time.Duration
	// Attachments are pictures and files for the model to look at (already in
	// the media store).
	Attachments []chat.Attachment
	// Untrusted is true when the text came from outside, from the web for
	// example: what stands in it are no instructions. Spec.Untrusted says it
	// of every result of a tool.
	Untrusted bool
	// Sources are where that text came from, if the tool can say it better than
	// by its own name. Empty and not nil: there is nothing of others in it.
	Sources []chat.Source
	// Answered is true when the call has sent the current chat its answer, so
	// that the turn's final text need not be sent.
	Answered bool
	// Buttons stand under the turn's answer, if no later call brings others.
	Buttons Buttons
}

// Buttons are what a tool offers to press, row by row. The action of that name
// is told what a pressed one holds.
type Buttons struct {
	Action string     `json:"action"`
	Rows   [][]Button `json:"rows"`
}

// Button is one of them.
type Button struct {
	Label string
	Press string
}

// ErrorKind classifies a failed call.
type ErrorKind string

// The kinds of failures.
const (
	NotFound    ErrorKind = "not_found" // no such tool, or what it was to work on is missing
	InvalidArgs ErrorKind = "invalid_arguments"
	Timeout     ErrorKind = "timeout"
	Permission  ErrorKind = "permission" // denied by policy, a person or the system
	Security    ErrorKind = "security"   // traversal, outside root, symlink, bad path, address
	Failed      ErrorKind = "execution_failed"
)

// Error is a failure that a tool explains to the model.
type Error struct {
	Kind ErrorKind
	Text string // what was wrong and what would be right
	Err  error  // cause, may be nil
	// Outside is true when Text holds words from outside, such as a server's.
	Outside bool
}

func (e *Error) Error() string { return e.Text }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Outside marks an *Error whose text holds words from outside; other errors
// are returned as they are.
func Outside(err error) error {
	var said *Error
	if !errors.As(err, &said) {
		return err
	}
	marked := *said
	marked.Outside = true
	return &marked
}

// IsOutside says whether an error's text holds words from outside.
func IsOutside(err error) bool {
	var said *Error
	return errors.As(err, &said) && said.Outside
}
