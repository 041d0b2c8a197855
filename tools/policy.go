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

	"golang.org/x/text/unicode/norm"
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
	Match   string `yaml:"match"`   // RE2, see matter
	Channel string `yaml:"channel"` // configured instance
	Chat    string `yaml:"chat"`    // chat id as in Address.Chat
	Sender  string `yaml:"sender"`  // sender id, or "<channel>:<sender id>"
	Action  Action `yaml:"action"`
}

// Policy is an ordered list of rules; the first that matches decides. A call
// that none matches is allowed, unless the turn has read text from outside and
// the call could carry its wishes out of the chat (see risky): then somebody is
// asked. nil is the empty policy.
type Policy struct {
	rules []rule
	paths Paths
}

// Paths is what a policy has to know of the names of files.
type Paths struct {
	// Names gives the other spellings of a path or URL; nil: there are none.
	Names func(text string) []string
	// Obeyed says whether programs or later turns obey what a file of that name
	// holds; nil: only the skills are.
	Obeyed func(name string) bool
}

// Knows lets a policy that is not yet in use know more of names.
func (p *Policy) Knows(paths Paths) *Policy {
	p.paths = paths
	return p
}

// obeyed is Paths.Obeyed.
func (p *Policy) obeyed(name string) bool {
	if p == nil || p.paths.Obeyed == nil {
		return isSkill(name)
	}
	return p.paths.Obeyed(name)
}

// names are the other spellings of a path or URL.
func (p *Policy) names(text string) []string {
	if p == nil || p.paths.Names == nil || text == "" || len(text) > maxNamed || strings.ContainsRune(text, '\n') {
		return nil
	}
	return p.paths.Names(text)
}

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
			re, err := regexp.Compile(norm.NFC.String(r.Match))
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

// decide returns "" when no rule matches, else what the first that does says,
// and which it is.
func (p *Policy) decide(sc Scope, s Spec, m *matter) (Action, int) {
	if p == nil {
		return "", none
	}
	for i, r := range p.rules {
		if r.concerns(sc, s) && r.covers(m) {
			return r.Action, i
		}
	}
	return "", none
}

// none is the number of no rule.
const none = -1

// matching says whether a rule with a match may speak of such calls, so that it
// is worth to find out all that they are about.
func (p *Policy) matching(sc Scope, s Spec) bool {
	return p != nil && slices.ContainsFunc(p.rules, func(r rule) bool { return r.match != nil && r.concerns(sc, s) })
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

// permit lets the policy decide.
func (e *Executor) permit(next handler) handler {
	return func(ctx context.Context, c *call) (Result, error) {
		ctx, allowed, err := e.judged(ctx, c)
		if err != nil {
			return Result{}, err
		}
		if turn := c.scope.Caller; turn != nil && c.entry.spec.Effect != Reads {
			if err := turn.Begin(ctx); err != nil {
				return Result{}, Errorf(Failed, "%s was not run: it could not be noted beforehand", c.name)
			}
		}
		if err := c.remember(ctx, allowed); err != nil {
			return Result{}, fmt.Errorf("%s was not run, what was allowed before could not be forgotten: %w", c.name, err)
		}
		c.ran = true
		return next(ctx, c)
	}
}

// judged is ctx with what Visits needs, once the call may run; allowed says that
// a person lets it.
func (e *Executor) judged(ctx context.Context, c *call) (_ context.Context, allowed bool, err error) {
	v, why := e.decide(c), c.doubt()
	if v.action == Ask && v.tainted && why.Why == "" && c.allowedBefore(ctx) {
		return e.visiting(ctx, c, none), true, nil
	}
	switch {
	case v.action == Deny:
		return ctx, false, c.denied()
	case v.action != Ask && why.Why == "":
		return e.visiting(ctx, c, none), false, nil
	}
	if j, ok := as[Judge](c.entry.tool); ok {
		if err := j.Judge(c.args); err != nil {
			return ctx, false, err
		}
	}
	if err := e.ask(ctx, c); err != nil {
		return ctx, false, err
	}
	// What was asked about must be what runs: links may have changed while the
	// question stood.
	now := e.decide(c)
	if now.action == Deny {
		return ctx, false, c.denied()
	}
	if now.rule != v.rule {
		return ctx, false, Errorf(Permission, "while the question about this call of %s stood, what it would do has changed, so it was not done; call it again to ask anew", c.name)
	}
	return e.visiting(ctx, c, v.rule), true, nil
}

func (c *call) denied() error {
	return Errorf(Permission, "the policy of this bot does not allow this call of %s here; do not try it again, find another way or say so", c.name)
}

func severity(a Action) int {
	return slices.Index([]Action{Allow, "", Ask, Deny}, a)
}
