package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// Approver asks somebody who may approve and waits for the answer. The time it
// takes does not count as the tool's.
type Approver interface {
	// Approve returns nil when the call may run, else an error for the model;
	// an *Error keeps its kind, any other becomes a Permission failure. What is
	// to be shown is QuestionOf(ctx), and who decided is noted there.
	Approve(ctx context.Context, sc Scope, spec Spec, args json.RawMessage) error
}

// Shower is a Tool that can say what a call will really do. Of others every
// argument is shown.
type Shower interface {
	Show(ctx context.Context, sc Scope, args json.RawMessage) (Shown, error)
}

// Shown is what a call will do.
type Shown struct {
	// Parts are for the person who decides, in order.
	Parts []Part
	// Setting is what decides it beside the arguments and stays as it is unless
	// somebody changes it: environment and folder. A standing permission is for
	// the arguments in this setting.
	Setting string
	// State is what it would work on just now, such as a file's content.
	State string
}

// Part is one thing that is shown: an argument by its name, or one of those
// below.
type Part struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// The parts that are no arguments.
const (
	PartFolder  = "@folder"
	PartEnv     = "@environment" // a line for each variable that differs from the default
	PartChange  = "@change"      // a unified diff
	PartRemoved = "@removed"
	PartMoved   = "@moved"
	PartBytes   = "@bytes" // about content that is no text
)

// Question is one call as a person is asked about it.
type Question struct {
	Shown
	// Digest is over all that is shown and what it was made from: an answer is
	// for this and nothing else.
	Digest string
	// Rule is the digest of what a standing permission is for.
	Rule string
	// Again: what was allowed before has changed since.
	Again bool
	// Answer is what the Approver notes.
	Answer Answer
}

// Answer is how a question was decided.
type Answer struct {
	ID      string    `json:"question,omitempty"` // as /approve takes it; "" where nobody was asked
	Rule    bool      `json:"rule,omitempty"`     // a standing permission decided
	Verdict string    `json:"verdict"`
	By      string    `json:"by,omitempty"` // sender id
	Name    string    `json:"name,omitempty"`
	At      time.Time `json:"at"`
}

type questionKey struct{}

// QuestionOf is what an Approver is to ask; nil where it is not called by an
// Executor.
func QuestionOf(ctx context.Context) *Question {
	q, _ := ctx.Value(questionKey{}).(*Question)
	return q
}

// Asking makes the question of a call out of what it will do.
func Asking(spec Spec, args json.RawMessage, shown Shown) *Question {
	if len(shown.Parts) == 0 {
		shown.Parts = everyArgument(spec, args)
	}
	q := &Question{Shown: shown}
	q.Rule = digest(spec.Name, string(args), shown.Setting)
	all := []string{q.Rule, shown.State}
	for _, p := range shown.Parts {
		all = append(all, p.Name, p.Text)
	}
	q.Digest = digest(all...)
	return q
}

// digest is over texts in order, so that none can pass for two.
func digest(texts ...string) string {
	raw, _ := json.Marshal(texts) // of strings
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// everyArgument lists the arguments, the main one first.
func everyArgument(spec Spec, args json.RawMessage) []Part {
	var values map[string]json.RawMessage
	if json.Unmarshal(args, &values) != nil || len(values) == 0 {
		return []Part{{Text: string(args)}}
	}
	names := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		if main := spec.Main; a == main || b == main {
			return cmp.Compare(boolean(a != main), boolean(b != main))
		}
		return cmp.Compare(a, b)
	})
	var parts []Part
	for _, name := range names {
		text := string(values[name])
		var plain string
		if json.Unmarshal(values[name], &plain) == nil {
			text = plain
		}
		parts = append(parts, Part{name, text})
	}
	return parts
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// asked is what people had to do with a call.
type asked struct {
	waited   time.Duration // for their answers
	question *Question     // that was allowed; nil: nobody was asked
	setting  string        // in which it ran, of commands
}

// mostQuestions: what changes under every answer is not asked about for ever.
const mostQuestions = 5

// ask has a person decide, and again when what was shown is no longer what
// would run.
func (e *Executor) ask(ctx context.Context, c *call) error {
	if e.opt.Approver == nil {
		return Errorf(Permission, "this call of %s needs an approval, and nobody can be asked here; find another way or say so", c.name)
	}
	q := c.shows(ctx)
	for range mostQuestions {
		err := e.putQuestion(ctx, c, q)
		e.auditAnswer(c, q)
		if err != nil {
			return err
		}
		now := c.shows(ctx)
		if now.Digest == q.Digest {
			c.question = q
			return nil
		}
		q = now
		q.Again = true
	}
	return Errorf(Permission, "this call of %s was not run: what it would do changes whenever somebody has allowed it; find out what changes it, or say so", c.name)
}

// putQuestion asks once and waits.
func (e *Executor) putQuestion(ctx context.Context, c *call, q *Question) error {
	began := time.Now()
	defer func() { c.waited += time.Since(began) }()
	ask := func(ctx context.Context) error {
		return e.opt.Approver.Approve(context.WithValue(ctx, questionKey{}, q), c.scope, c.entry.spec, c.args)
	}
	var err error
	if c.scope.Caller != nil {
		err = c.scope.Caller.Ask(ctx, ask)
	} else {
		err = ask(ctx)
	}
	var said *Error
	if err == nil || errors.As(err, &said) || ctx.Err() != nil {
		return err
	}
	return Errorf(Permission, "this call of %s was not approved: %w", c.name, err)
}

// shows is the call as it would run now. A tool that cannot say it, because the
// call will fail for example, is shown by its arguments: what it found out must
// not reach the model before somebody has agreed.
func (c *call) shows(ctx context.Context) *Question {
	var shown Shown
	if s, ok := as[Shower](c.entry.tool); ok {
		var err error
		if shown, err = s.Show(ctx, c.scope, c.args); err != nil {
			shown = Shown{State: err.Error()}
		}
	}
	return Asking(c.entry.spec, c.args, shown)
}

// same refuses a call that is no longer what a person has allowed, and notes
// for the audit in which setting a command runs.
func (c *call) same(ctx context.Context) error {
	if c.question == nil && c.entry.spec.Category != Code {
		return nil
	}
	now := c.shows(ctx)
	c.setting = now.Setting
	if c.question == nil || c.question.Digest == now.Digest {
		return nil
	}
	return Errorf(Permission, "%s was not run: what was allowed has changed at the last moment, by another call or another program. Call it again, and the person is asked about it as it is now", c.name)
}
