package tools

import (
	"context"
	"encoding/json"
	"slices"

	"golang.org/x/text/unicode/norm"
)

// Matter is what a call is about, beside its arguments.
type Matter struct {
	// Main are the things that a rule which allows must match, every one: the
	// commands of a command line, both ends of a move.
	Main []string
	// Also are further ones: the commands inside of commands, the files that
	// they name, what stands in a folder that is moved. A rule that asks or
	// denies need match only one of these, of Main, or of all texts in the
	// arguments.
	Also []string
	// Unclear: nobody can tell from the call what will run, or not all of what it
	// is about; then no rule with a match allows it.
	Unclear bool
}

// Matters is a Tool that knows better than by its main argument what a call is
// about.
type Matters interface {
	Matter(sc Scope, args json.RawMessage) Matter
}

// Doubter is a Tool that knows more reasons to ask a person about a call.
type Doubter interface {
	Doubt(sc Scope, args json.RawMessage) Doubt
}

// Doubt is such a reason.
type Doubt struct {
	Why    string // for the person; "" there is none
	Of     string // all that it is about: when that changes it is another reason
	Settle func() // is called when the call was allowed
}

// matter is all that rules look at.
type matter struct {
	main    []string
	also    []string
	ours    int // how many of also the tool itself has named
	unclear bool
}

// covers says whether a rule speaks of it.
func (r rule) covers(m *matter) bool {
	switch {
	case r.match == nil:
		return true
	case r.Action == Allow:
		return !m.unclear && len(m.main) > 0 && !slices.ContainsFunc(m.main, func(s string) bool { return !r.finds(s) })
	}
	return slices.ContainsFunc(m.main, r.finds) || slices.ContainsFunc(m.also, r.finds)
}

// finds looks for the rule's match in a text, also when its letters with marks
// are written in two characters.
func (r rule) finds(text string) bool {
	return r.match.MatchString(text) || !norm.NFC.IsNormalString(text) && r.match.MatchString(norm.NFC.String(text))
}

// Bounds of what is looked at as if it were a path or URL.
const (
	maxNamed    = 2048 // bytes of a text
	mostNamed   = 200  // texts of a call
	deepestText = 32
)

// matter finds out what the call is about. full asks for all that rules with a
// match may look at.
func (e *Executor) matter(c *call, full bool) *matter {
	m := &matter{}
	if t, ok := as[Matters](c.entry.tool); ok {
		found := t.Matter(c.scope, c.args)
		m.main, m.also, m.unclear, m.ours = found.Main, found.Also, found.Unclear, len(found.Also)
	}
	if len(m.main) == 0 {
		m.main = c.subjects()
	}
	if !full {
		return m
	}
	texts := leaves(c.values, nil, 0)
	named := append(slices.Clone(m.main), texts...)
	m.also = append(m.also, string(c.args))
	m.also = append(m.also, texts...)
	for i, text := range named {
		if i < mostNamed {
			m.also = append(m.also, e.opt.Policy.names(text)...)
		}
	}
	return m
}

// leaves are all texts of the arguments, those that name parameters included.
func leaves(v any, sofar []string, depth int) []string {
	if depth > deepestText {
		return sofar
	}
	switch v := v.(type) {
	case string:
		return append(sofar, v)
	case json.Number:
		return append(sofar, v.String())
	case []any:
		for _, in := range v {
			sofar = leaves(in, sofar, depth+1)
		}
	case map[string]any:
		for key, in := range v {
			sofar = leaves(in, append(sofar, key), depth+1)
		}
	}
	return sofar
}

// ruling is what was decided, and by which rule.
type ruling struct {
	action  Action
	rule    int
	tainted bool // it asks for what the turn has read, and nothing else
}

// decide lets the policy look at everything that the call is about. Of several
// main things the strictest answer counts. A call that no rule speaks of asks
// when the turn has read text from outside and the call could carry its wishes
// out of the chat, or leave them where a program obeys them.
func (e *Executor) decide(c *call) ruling {
	p, spec := e.opt.Policy, c.entry.spec
	m := e.matter(c, p.matching(c.scope, spec))
	r := ruling{rule: none}
	r.action, r.rule = p.decide(c.scope, spec, m)
	if len(m.main) > 1 {
		for _, one := range m.main {
			action, i := p.decide(c.scope, spec, &matter{main: []string{one}, unclear: m.unclear})
			if severity(action) > severity(r.action) {
				r = ruling{action: action, rule: i}
			}
		}
	}
	open := r.action == "" || r.action == Allow && p.rules[r.rule].match == nil
	switch {
	case open && e.reachesHome(c, m):
		r.action = Ask
	case r.action == "" && c.scope.Tainted() && e.risky(c, m):
		r.action, r.tainted = Ask, true
	}
	return r
}

// subjects are the main argument in its one spelling, or what stands for it.
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

// doubt asks the tool for reasons of its own.
func (c *call) doubt() Doubt {
	if d, ok := as[Doubter](c.entry.tool); ok {
		return d.Doubt(c.scope, c.args)
	}
	return Doubt{}
}

type visitKey struct{}

// visiting lets the tool ask what the policy says of what it comes upon. rule is
// the one that a person has allowed the call against.
func (e *Executor) visiting(ctx context.Context, c *call, allowed int) context.Context {
	if !e.opt.Policy.matching(c.scope, c.entry.spec) {
		return ctx
	}
	return context.WithValue(ctx, visitKey{}, func(subject string, more []string) Action {
		m := &matter{main: []string{subject}, also: more}
		action, rule := e.opt.Policy.decide(c.scope, c.entry.spec, m)
		if action == Ask && rule == allowed {
			return Allow
		}
		return action
	})
}

// Visits says what the policy says of something that a call comes upon while it
// runs: a file below the folder that was named, the next page of a redirect. It
// is written as the tool's subjects are; more are its other names. "" no rule
// speaks of it.
func Visits(ctx context.Context, subject string, more ...string) Action {
	visit, ok := ctx.Value(visitKey{}).(func(string, []string) Action)
	if !ok {
		return ""
	}
	return visit(subject, more)
}

// Visited is nil when a call may go on to something that it has come upon.
func Visited(ctx context.Context, subject string, more ...string) error {
	switch Visits(ctx, subject, more...) {
	case Deny:
		return Errorf(Permission, "the policy of this bot does not allow what this leads to; do not try it again, find another way or say so")
	case Ask:
		return Errorf(Permission, "this leads to %q, which the policy of this bot asks a person about; name that itself", clip(subject, shownRunes))
	}
	return nil
}
