package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
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
	Tool    string `yaml:"tool"`    // name, also another one (Spec.Also), or a pattern with *
	Match   string `yaml:"match"`   // RE2 on the main argument, else on the JSON of all
	Channel string `yaml:"channel"` // configured instance
	Chat    string `yaml:"chat"`    // chat id as in Address.Chat
	Sender  string `yaml:"sender"`  // sender id, or "<channel>:<sender id>"
	Action  Action `yaml:"action"`
}

// Policy is an ordered list of rules; the first that matches decides. A call
// that none matches is allowed, unless the turn has read text from outside and
// the call could carry its wishes out of the chat (see risky): then somebody is
// asked. nil is the empty policy.
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

func (r rule) concerns(sc Scope, s Spec) bool {
	named := r.Tool == "" || means(r.Tool, s) || r.Action != Allow && slices.ContainsFunc(s.For, func(name string) bool { return globs(r.Tool, name) })
	return named &&
		(r.Channel == "" || r.Channel == sc.Addr.Channel) &&
		(r.Chat == "" || r.Chat == sc.Addr.Chat) &&
		(r.Sender == "" || r.Sender == sc.Sender.ID || r.Sender == sc.Addr.Channel+":"+sc.Sender.ID)
}

// decide returns "" when no rule matches.
func (p *Policy) decide(sc Scope, s Spec, subject string) Action {
	if p == nil {
		return ""
	}
	for _, r := range p.rules {
		if r.concerns(sc, s) && (r.match == nil || r.match.MatchString(subject)) {
			return r.Action
		}
	}
	return ""
}

// forbids says whether no call of the tool can be allowed in this scope, so
// that it need not be offered.
func (p *Policy) forbids(sc Scope, s Spec) bool {
	if p == nil {
		return false
	}
	for _, r := range p.rules {
		if r.concerns(sc, s) && (r.match == nil || r.Action != Deny) {
			return r.Action == Deny
		}
	}
	return false
}

// Subjecter is a Tool whose main argument can be written in several ways. The
// policy matches what Subject makes of it, so that "./a" does not slip through
// a rule about "a".
type Subjecter interface {
	Subject(main string) string
}

// Stayer is a Tool of which some calls reach nobody but the current chat, with
// effect Acts, or some reach further than its effect says.
type Stayer interface {
	Stays(sc Scope, args json.RawMessage) bool
}

// Judge is a Tool that can say beforehand that a call cannot succeed, so that
// nobody is asked in vain. Its error is the one that Call would return.
type Judge interface {
	Judge(args json.RawMessage) error
}

// Mender is a Tool that puts right, before they are checked, arguments that
// models often get wrong in a way that leaves no doubt. Names are canonical by
// then; numbers are json.Number.
type Mender interface {
	Mend(args map[string]any)
}

// risky says whether a call could carry out of the chat what a text from
// outside wishes: it runs commands, acts on others than the current chat, says
// itself that it would (Stayer), changes a skill, which later turns would take
// for instructions, or fetches an address that holds a piece of what the turn
// knows.
func (c *call) risky() bool {
	if c.scope.Leaves = c.leaves(); c.scope.Leaves != "" {
		return true
	}
	spec := c.entry.spec
	s, ok := as[Stayer](c.entry.tool)
	if ok && !s.Stays(c.scope, c.args) {
		return true
	}
	if spec.Effect != Acts {
		return spec.Category == Code || spec.Effect == Writes && slices.ContainsFunc(c.subjects(), isSkill)
	}
	return !ok
}

// permit lets the policy decide.
func (e *Executor) permit(next handler) handler {
	return func(ctx context.Context, c *call) (Result, error) {
		action, again := e.decide(c), false
		if action == "" && c.scope.Tainted() && c.risky() {
			action = Ask
			if again = c.allowedBefore(ctx); again {
				action = Allow
			}
		}
		switch action {
		case Deny:
			return Result{}, Errorf(Permission, "the policy of this bot does not allow this call of %s here; do not try it again, find another way or say so", c.name)
		case Ask:
			if j, ok := as[Judge](c.entry.tool); ok {
				if err := j.Judge(c.args); err != nil {
					return Result{}, err
				}
			}
			if err := e.ask(ctx, c); err != nil {
				return Result{}, err
			}
			again = true
		}
		if turn := c.scope.Caller; turn != nil && c.entry.spec.Effect != Reads {
			if err := turn.Begin(ctx); err != nil {
				return Result{}, Errorf(Failed, "%s was not run: it could not be noted beforehand", c.name)
			}
		}
		if err := c.remember(ctx, again); err != nil {
			return Result{}, fmt.Errorf("%s was not run, what was allowed before could not be forgotten: %w", c.name, err)
		}
		c.ran = true
		return next(ctx, c)
	}
}

// decide lets the policy look at everything that the call is about; the
// strictest answer counts.
func (e *Executor) decide(c *call) Action {
	strictest := Allow
	for _, subject := range c.subjects() {
		action := e.opt.Policy.decide(c.scope, c.entry.spec, subject)
		if severity(action) > severity(strictest) {
			strictest = action
		}
	}
	return strictest
}

// isSkill says whether a path leads into the folder of skills.
func isSkill(subject string) bool {
	return subject == "skills" || strings.HasPrefix(subject, "skills/")
}

func severity(a Action) int {
	return slices.Index([]Action{Allow, "", Ask, Deny}, a)
}

// subjects are what a rule's match looks at, one after the other.
func (c *call) subjects() []string {
	if s, ok := as[interface {
		Subjects(args json.RawMessage) []string
	}](c.entry.tool); ok {
		if all := s.Subjects(c.args); len(all) > 0 {
			return all
		}
	}
	return []string{c.subject()}
}

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
