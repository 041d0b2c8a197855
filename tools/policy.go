package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
)

// Action is what a policy rule says.
type Action string

// The actions.
const (
	Allow Action = "allow"
	Ask   Action = "ask" // somebody who may approve decides
	Deny  Action = "deny"
)

// Rule is one line of the policy. Empty fields match everything.
type Rule struct {
	Tool    string `yaml:"tool"`    // name, may hold *
	Match   string `yaml:"match"`   // RE2 on the main argument, else on the JSON of all
	Channel string `yaml:"channel"` // configured instance
	Sender  string `yaml:"sender"`  // sender id, or "<channel>:<sender id>"
	Action  Action `yaml:"action"`
}

// Policy is an ordered list of rules; the first that matches decides, and a
// call that none matches is allowed. nil is the empty policy.
type Policy struct{ rules []rule }

type rule struct {
	Rule
	match *regexp.Regexp // nil: everything
}

// NewPolicy checks and compiles rules; the error names every bad one by its
// place, counted from 1.
func NewPolicy(rules []Rule) (*Policy, error) {
	p := &Policy{}
	var errs []error
	for i, r := range rules {
		compiled := rule{Rule: r}
		if _, err := path.Match(r.Tool, ""); err != nil {
			errs = append(errs, fmt.Errorf("policy rule %d: tool %q: %w", i+1, r.Tool, err))
		}
		if r.Action != Allow && r.Action != Ask && r.Action != Deny {
			errs = append(errs, fmt.Errorf("policy rule %d: action %q: want allow, ask or deny", i+1, r.Action))
		}
		if r.Match != "" {
			re, err := regexp.Compile(r.Match)
			if err != nil {
				errs = append(errs, fmt.Errorf("policy rule %d: match: %w", i+1, err))
			}
			compiled.match = re
		}
		p.rules = append(p.rules, compiled)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p, nil
}

func (r rule) concerns(sc Scope, tool string) bool {
	return (r.Tool == "" || globs(r.Tool, tool)) &&
		(r.Channel == "" || r.Channel == sc.Addr.Channel) &&
		(r.Sender == "" || r.Sender == sc.Sender.ID || r.Sender == sc.Addr.Channel+":"+sc.Sender.ID)
}

func (p *Policy) decide(sc Scope, tool, subject string) Action {
	if p == nil {
		return Allow
	}
	for _, r := range p.rules {
		if r.concerns(sc, tool) && (r.match == nil || r.match.MatchString(subject)) {
			return r.Action
		}
	}
	return Allow
}

// forbids says whether no call of the tool can be allowed in this scope, so
// that it need not be offered.
func (p *Policy) forbids(sc Scope, s Spec) bool {
	if p == nil {
		return false
	}
	for _, r := range p.rules {
		if r.concerns(sc, s.Name) && (r.match == nil || r.Action != Deny) {
			return r.Action == Deny
		}
	}
	return false
}

// Approver asks somebody who may approve and waits for the answer. The time it
// takes does not count as the tool's.
type Approver interface {
	// Approve returns nil when the call may run, else an error for the model;
	// an *Error keeps its kind, any other becomes a Permission failure.
	Approve(ctx context.Context, sc Scope, spec Spec, args json.RawMessage) error
}

// Subjecter is a Tool whose main argument can be written in several ways. The
// policy matches what Subject makes of it, so that "./a" does not slip through
// a rule about "a".
type Subjecter interface {
	Subject(main string) string
}

// permit lets the policy decide.
func (e *Executor) permit(next handler) handler {
	return func(ctx context.Context, c *call) (Result, error) {
		switch e.opt.Policy.decide(c.scope, c.entry.spec.Name, c.subject()) {
		case Deny:
			return Result{}, Errorf(Permission, "the policy of this bot does not allow this call of %s here; do not try it again, find another way or say so", c.name)
		case Ask:
			if err := e.ask(ctx, c); err != nil {
				return Result{}, err
			}
		}
		return next(ctx, c)
	}
}

func (e *Executor) ask(ctx context.Context, c *call) error {
	if e.opt.Approver == nil {
		return Errorf(Permission, "this call of %s needs an approval, and nobody can be asked here; find another way or say so", c.name)
	}
	err := e.opt.Approver.Approve(ctx, c.scope, c.entry.spec, c.args)
	var said *Error
	if err == nil || errors.As(err, &said) || ctx.Err() != nil {
		return err
	}
	return Errorf(Permission, "this call of %s was not approved: %w", c.name, err)
}

// subject is what a rule's match looks at.
func (c *call) subject() string {
	main, ok := c.values[c.entry.spec.Main].(string)
	if !ok {
		return string(c.args)
	}
	if s, ok := as[Subjecter](c.entry.tool); ok {
		return s.Subject(main)
	}
	return main
}
