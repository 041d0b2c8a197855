// Package agent answers the messages of chats: it holds one chat's mailbox at
// a time (Own), makes turns of its messages, asks the model, runs the tools it
// calls for and ends each turn with one durable record. It knows no bus, no
// platform and no model's server: all of them are ports that the caller
// connects.
//
// What a reader should know about its state: everything about a chat that
// stands in memory belongs to the one Own call that holds the chat, so chats
// share nothing but the ready sessions of session.Store. Own starts the
// goroutines it needs and waits for them.
package agent

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"magpie/agent/command"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/prompt"
	"magpie/agent/session"
	"magpie/agent/settings"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

// Ports are the parts that the agent works with. All but Media, Commands, Say
// and Event are required.
type Ports struct {
	Model    Model
	Tools    Tools
	Prompt   Prompt
	Settings Settings
	Commands Commands // nil: control messages are dropped
	Media    Media    // nil: attachments are named to the model, not shown
	// History reads a chat's records with Seq > after, in order.
	History session.History
	// Publish stores a message to be sent that belongs to no record: the answer
	// of a command. A message with an ID that was published before is not sent
	// again.
	Publish func(ctx context.Context, out chat.Outbound) error
	// Say puts a message into a mailbox, once per ID.
	Say func(ctx context.Context, in chat.Inbound) error
	// Event tells those who watch; it must not block.
	Event func(chat.Event)
	Turn  kv.Table // the journal; entries live for 24 hours
	Sess  kv.Table // the summaries
}

// Model asks language models; retries, fall-backs and budgets are its own. An
// error with a method Notice(lang string) string says itself what the person
// is told; one of kind llm.TooLong makes the agent ask again with less.
type Model interface {
	Ask(ctx context.Context, q model.Question) (llm.Reply, error)
	Limits(prefer string) model.Limits
}

// Tools is what the model may call. Run bounds itself, returns soon when ctx
// ends, and never panics.
type Tools interface {
	Specs(sc tools.Scope) []tools.Spec
	Run(ctx context.Context, sc tools.Scope, name, args string) tools.Result
}

// Prompt writes the system prompt of a turn.
type Prompt interface {
	Build(ctx context.Context, in prompt.Input) (string, error)
}

// Settings knows what a chat has chosen.
type Settings interface {
	Load(ctx context.Context, key chat.SessionKey) (settings.Settings, error)
	Zone(set settings.Settings) *time.Location
}

// Commands answers control messages: slash commands and presses. The bool says
// whether there is something to send.
type Commands interface {
	Handle(ctx context.Context, d chat.Delivery, c command.Chat) (chat.Outbound, bool, error)
}

// Media gives the files of messages.
type Media interface {
	// Open opens a stored file.
	Open(ctx context.Context, ref string) (io.ReadCloser, error)
	// Await returns what became of a file that is Pending, as soon as that is
	// known; an error means that ctx has ended, or that it never will be.
	Await(ctx context.Context, a chat.Attachment) (chat.Attachment, error)
}

// Busy says what becomes of a message that arrives while a turn runs. Only a
// message of the person who began the turn can change it; other people's,
// jobs' and reports wait for their own turn.
type Busy string

// The busy modes.
const (
	Steer     Busy = "steer"     // joins the running turn before its next model call
	Queue     Busy = "queue"     // a turn each, in order
	Collect   Busy = "collect"   // all that arrived become one next turn
	Interrupt Busy = "interrupt" // the running turn is cancelled, its history kept
)

// Options of New; nil and zero fields mean the defaults.
type Options struct {
	MaxIterations int           // model calls of one turn; 20. The last is offered no tools
	MaxConcurrent int           // tools of one turn that run at once; 3
	Busy          Busy          // Steer
	Debounce      time.Duration // how long a turn waits for more messages; 0 = not at all
	HistoryTokens int           // more than this is compacted; 0 = 60 % of the model's context
	Attempts      int           // counted attempts at a turn before it is given up; 3
	Workspace     string        // attachments are copied to its folder inbox; "" = not at all
	// Shrink makes a picture small enough for a model and says what type it has
	// then; nil = pictures go as they are.
	Shrink  func(img []byte) (small []byte, mime string, err error)
	Now     func() time.Time // time.Now
	Log     *slog.Logger     // nothing is logged
	History *session.Options // of the ready sessions
	// JobPauses are the waits before a turn begun by a job asks the models once
	// more when none could be reached; 5 s, 20 s, 1 min, 3 min.
	JobPauses []time.Duration
}

// Agent runs turns. Safe for concurrent use.
type Agent struct {
	ports    Ports
	opt      Options
	kit      atomic.Pointer[Kit]
	sessions *session.Store
	count    counters
}

// Kit is what a turn works with from its first step to its last, although an
// Update may come in between. Zero numbers mean the defaults of Options.
type Kit struct {
	Model         Model
	Tools         Tools
	MaxIterations int
	MaxConcurrent int
	Busy          Busy
	Debounce      time.Duration
	HistoryTokens int
	// Hosts are those of the configuration: an answer may lead to them whatever
	// its turn has read.
	Hosts []string
	// Buttons makes what tools offer to press under an answer; nil = nothing is
	// offered.
	Buttons func(ctx context.Context, sc tools.Scope, b tools.Buttons) ([][]chat.Button, error)
	// Reply answers, before the model is asked, what a person says to a question
	// that was put outside of the conversation, by a command or a button. False:
	// it was none. nil = there are no such questions.
	Reply func(ctx context.Context, sc tools.Scope) (tools.Result, bool, error)
	// Waiting is what somebody is told who writes while a question of the chat
	// waits for an answer; "" = nothing, or it was told before. nil: nobody is.
	Waiting func(ctx context.Context, a chat.Address, lang string) (string, error)
}

type counters struct{ turns, running, failed, panics, dead atomic.Int64 }

// New returns an Agent over ports.
func New(ports Ports, opt *Options) *Agent {
	a := &Agent{ports: ports}
	if opt != nil {
		a.opt = *opt
	}
	o := &a.opt
	o.Attempts = orElse(o.Attempts, 3)
	if o.JobPauses == nil {
		o.JobPauses = jobPauses()
	}
	a.Update(Kit{
		Model: ports.Model, Tools: ports.Tools, MaxIterations: o.MaxIterations, MaxConcurrent: o.MaxConcurrent,
		Busy: o.Busy, Debounce: o.Debounce, HistoryTokens: o.HistoryTokens,
	})
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if a.ports.Event == nil {
		a.ports.Event = func(chat.Event) {}
	}
	a.sessions = session.NewStore(ports.History, ports.Sess, o.History)
	return a
}

// Update gives the turns that begin from now on another Kit.
func (a *Agent) Update(k Kit) {
	k.MaxIterations = orElse(k.MaxIterations, 20)
	k.MaxConcurrent = orElse(k.MaxConcurrent, 3)
	if k.Busy == "" {
		k.Busy = Steer
	}
	a.kit.Store(&k)
}

func orElse(n, def int) int {
	if n > 0 {
		return n
	}
	return def
}

// Stats counts what an Agent has done since it was made.
type Stats struct {
	Turns   int64 // committed
	Running int64 // just now
	Failed  int64 // of Turns: the model could not answer
	Panics  int64
	Dead    int64 // given up after too many attempts
}

// Stats returns the counts.
func (a *Agent) Stats() Stats {
	c := &a.count
	return Stats{c.turns.Load(), c.running.Load(), c.failed.Load(), c.panics.Load(), c.dead.Load()}
}
