package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"magpie/chat"
)

// Options of an Executor. Zero fields have the default that stands with them.
type Options struct {
	Timeout        time.Duration // of one call; 30 s
	NetworkTimeout time.Duration // of one call of category network or mcp; 60 s
	MaxResultChars int           // runes of a result that a model gets; 16000

	// Enabled are tool names, also other ones, and patterns with *; a leading "-" removes. The
	// last one that matches decides. Empty: all tools.
	Enabled []string
	// Offer, if set, says which tools exist for a scope.
	Offer func(Scope, Spec) bool
	// Policy allows and denies calls; nil allows all.
	Policy *Policy
	// Approver is asked when the policy says so; nil denies.
	Approver Approver
	// Keep stores the whole of an output that was cut and returns the path
	// under which read_file finds it, "" when it could not; nil: what is cut
	// is gone.
	Keep func(ctx context.Context, sc Scope, text string) (path string, err error)
	// Audit records calls; nil records none.
	Audit *Audit
	// Events is told of every call; it must not block. nil: nobody is.
	Events func(chat.Event)
	// Log gets one line for each call; nil: none.
	Log *slog.Logger
	// Redact hides secrets in audit, log and events; nil hides by name only.
	Redact *Redactor
}

// The defaults of Options.
const (
	defaultTimeout        = 30 * time.Second
	defaultNetworkTimeout = 60 * time.Second
	defaultMaxResultChars = 16000
)

func (o *Options) withDefaults() Options {
	opt := Options{}
	if o != nil {
		opt = *o
	}
	if opt.Timeout <= 0 {
		opt.Timeout = defaultTimeout
	}
	if opt.NetworkTimeout <= 0 {
		opt.NetworkTimeout = defaultNetworkTimeout
	}
	if opt.MaxResultChars <= 0 {
		opt.MaxResultChars = defaultMaxResultChars
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Redact == nil {
		opt.Redact = NewRedactor(nil)
	}
	return opt
}

// Executor runs tool calls. Safe for concurrent use, also while it is updated.
type Executor struct {
	reg    *Registry
	opt    Options
	handle handler
	fixed  bool // it stays as it is; else now is asked for every call
	*shared
}

// shared is what the fixed Executors of one Executor have in common.
type shared struct {
	now   atomic.Pointer[Executor] // the latest
	stats stats
	cache cache
	calls running // tools that run, also those that outlive their call
}

// call is one call on its way through the stages.
type call struct {
	scope  Scope
	name   string // as the model wrote it
	raw    string // arguments as the model wrote them
	entry  *entry // set by find
	values map[string]any
	args   json.RawMessage // canonical and valid, set by arguments
	ran    bool            // nothing is left but the tool itself
	asked                  // what people had to do with it

	session chat.SessionKey // of scope
	parsed  *parsed         // raw, once it was looked at
	shown   json.RawMessage // the arguments as the audit shows them
}

// handler is what is left of the way; stage is one step of it.
type (
	handler func(ctx context.Context, c *call) (Result, error)
	stage   func(next handler) handler
)

// NewExecutor makes an Executor of the tools in reg, also those that are
// registered later.
func NewExecutor(reg *Registry, o *Options) *Executor {
	e := &Executor{shared: &shared{}}
	e.Update(reg, o)
	return e
}

// Update replaces tools and options. Calls that run end as they began, and so
// does who works with a Fixed of before.
func (e *Executor) Update(reg *Registry, o *Options) {
	e.now.Store(newFixed(e.shared, reg, o))
}

// Fixed returns the Executor as it is now; no Update changes it.
func (e *Executor) Fixed() *Executor {
	if e.fixed {
		return e
	}
	return e.now.Load()
}

func newFixed(s *shared, reg *Registry, o *Options) *Executor {
	e := &Executor{reg: reg, opt: o.withDefaults(), fixed: true, shared: s}
	stages := []stage{
		e.record, e.label, e.limit, e.settle, // these see every call and its result
		e.find, e.arguments, e.permit, e.bound, e.reuse,
	}
	e.handle = e.invoke
	for i := len(stages) - 1; i >= 0; i-- {
		e.handle = stages[i](e.handle)
	}
	return e
}

// Specs lists the tools offered in a scope, ordered by name.
func (e *Executor) Specs(sc Scope) []Spec {
	var offered []Spec
	e = e.Fixed()
	for _, s := range e.reg.List() {
		if len(s.For) == 0 && e.exists(sc, s) && !e.opt.Policy.forbids(sc, s) {
			offered = append(offered, s)
		}
	}
	return offered
}

// exists says whether there is such a tool for this scope.
func (e *Executor) exists(sc Scope, s Spec) bool {
	for _, name := range s.For {
		if !Picked(e.opt.Enabled, name, globs) {
			return false
		}
	}
	return Picked(e.opt.Enabled, s.Name, func(p, _ string) bool { return means(p, s) }) && (e.opt.Offer == nil || e.opt.Offer(sc, s))
}

// Run runs one call and always comes back with a Result: a failure is a Result
// whose Text says what was wrong and what would be right. args is the text
// that the model wrote. Run ends at the latest a moment after the tool's
// timeout or the end of ctx.
func (e *Executor) Run(ctx context.Context, sc Scope, name, args string) (res Result) {
	if sc.Zone == nil {
		sc.Zone = time.Local
	}
	started := time.Now()
	e = e.Fixed()
	c := &call{scope: sc, name: name, raw: args}
	defer func() {
		if p := recover(); p != nil {
			res = e.crashed(sc, name, p)
		}
		res.Tool, res.CallID = name, sc.CallID
		res.Started, res.Duration = started, time.Since(started)-c.waited
	}()
	res, _ = e.handle(ctx, c) // settle has made every error a Result
	return res
}

// Close waits for tools that did not stop with their call, until ctx ends.
func (e *Executor) Close(ctx context.Context) error {
	select {
	case <-e.calls.none():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for running tools: %w", context.Cause(ctx))
	}
}

// Stats returns what was counted so far.
func (e *Executor) Stats() Stats { return e.stats.snapshot() }

func (e *Executor) crashed(sc Scope, tool string, p any) Result {
	e.opt.Log.Error("tool panicked", "tool", tool, "session", sc.Addr.Session(), "trace", sc.Trace,
		"err", e.opt.Redact.Text(fmt.Sprint(p)), "stack", string(debug.Stack()))
	return failure(Failed, fmt.Sprintf("%s broke down: a mistake in the program, not in the arguments. Go on without it.", tool))
}

func failure(kind ErrorKind, text string) Result {
	return Result{Err: kind, Text: fmt.Sprintf("error (%s): %s", kind, text)}
}
