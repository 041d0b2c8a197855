package llmtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"magpie/agent/llm"
)

// scripted yields given events; each breaks one rule.
type scripted []func(yield func(llm.Event, error) bool) bool

func (scripted) Name() string { return "scripted" }

func (s scripted) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, step := range s {
			if !step(yield) {
				return
			}
		}
	}
}

func event(ev llm.Event, err error) func(func(llm.Event, error) bool) bool {
	return func(yield func(llm.Event, error) bool) bool { return yield(ev, err) }
}

// notes collects what Check reports.
type notes []string

func (*notes) Helper() {}

func (n *notes) Errorf(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

func TestCheckNamesTheBrokenRule(t *testing.T) {
	text := event(llm.Event{Text: "a"}, nil)
	done := func(r llm.Reply) func(func(llm.Event, error) bool) bool { return event(llm.Event{Done: &r}, nil) }
	good := llm.Reply{Message: llm.Message{Role: llm.Assistant, Text: "a"}, Stop: llm.StopEnd}
	call := func(calls ...llm.Call) llm.Reply {
		return llm.Reply{Message: llm.Message{Role: llm.Assistant, Calls: calls}, Stop: llm.StopTools}
	}
	failure := &llm.Error{Provider: "p", Err: errors.New("x")}
	for rule, p := range map[string]scripted{
		"":                     {text, done(good)},
		"done-once":            {text, done(good), done(good)},
		"done-alone":           {text, event(llm.Event{Thinking: "x", Done: &good}, nil)},
		"done-or-error":        {text},
		"error-last":           {event(llm.Event{}, failure), text},
		"no-empty-events":      {text, event(llm.Event{}, nil), done(good)},
		"text-is-sum":          {text, text, done(good)},
		"role":                 {text, done(llm.Reply{Message: llm.Message{Text: "a"}, Stop: llm.StopEnd})},
		"utf8":                 {event(llm.Event{Text: "\xff"}, nil), done(llm.Reply{Message: llm.Message{Role: llm.Assistant, Text: "\xff"}, Stop: llm.StopEnd})},
		"stop":                 {text, done(llm.Reply{Message: good.Message, Stop: llm.StopTools})},
		"call-ids":             {done(call(llm.Call{ID: "1", Args: "{}"}, llm.Call{ID: "1", Args: "{}"}))},
		"call-args":            {done(call(llm.Call{ID: "1"}))},
		"error-names-provider": {event(llm.Event{}, &llm.Error{Err: errors.New("x")})},
		"error-type":           {event(llm.Event{}, errors.New("x"))},
		"no-secret":            {event(llm.Event{}, &llm.Error{Provider: "p", Err: errors.New("bad key " + Key)})},
	} {
		var got notes
		Check(t.Context(), &got, p, llm.Request{})
		switch {
		case rule == "" && len(got) > 0:
			t.Errorf("a good stream: %q", got)
		case rule != "" && !strings.Contains(strings.Join(got, "\n"), "rule "+rule+":"):
			t.Errorf("rule %s was broken and not named: %q", rule, got)
		}
	}
}
