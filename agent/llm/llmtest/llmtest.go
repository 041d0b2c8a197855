// Package llmtest is the conformance suite of model providers. Run asks a
// provider against a scripted server and checks the contract of llm.Provider
// rule by rule; a failure names the rule that was broken. Check does the same
// for a single stream of any provider, with or without a server. It starts no
// goroutine that outlives a check.
package llmtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"magpie/agent/llm"
	"magpie/internal/fakes/modelserver"
)

// Key is the API key that the suite's server wants. No error may show it.
const Key = "sk-llmtest-5ecret-0123456789"

// limit bounds every wait of the suite.
const limit = 2 * time.Minute

// patience is how long a provider waits for a server that is silent for good.
const patience = 100 * time.Millisecond

// T is what the suite needs of a test.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Target is what a provider under test is to be configured with, besides Key.
type Target struct {
	Server  *modelserver.Server
	Timeout time.Duration // of a whole request
	Idle    time.Duration // silence within a reply
}

// Run runs the suite. newProvider returns the provider under test, configured
// for the target.
func Run(t *testing.T, newProvider func(t *testing.T, to Target) llm.Provider) {
	t.Helper()
	t.Run("any legal history", func(t *testing.T) {
		t.Parallel()
		testHistories(t, newProvider)
	})
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			to := Target{Server: modelserver.New(t), Timeout: limit, Idle: limit}
			switch c.answer.Fault {
			case modelserver.Hang:
				to.Timeout = patience
			case modelserver.Stall:
				to.Idle = patience
			}
			to.Server.RequireKey(Key)
			to.Server.Script(c.answer)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			c.check(ctx, t, newProvider(t, to))
		})
	}
}

// Seen is what came out of one stream.
type Seen struct {
	Pieces   []string // of text
	Thoughts []string
	Reply    *llm.Reply
	Err      error
}

// Text is all text that was streamed.
func (s Seen) Text() string { return strings.Join(s.Pieces, "") }

// Check runs one stream to its end and reports every rule of the contract that
// it breaks.
func Check(ctx context.Context, t T, p llm.Provider, req llm.Request) Seen {
	t.Helper()
	seen, broken := watch(p.Stream(ctx, req))
	for _, b := range append(broken, judge(ctx, seen)...) {
		t.Errorf("%s", b)
	}
	return seen
}

// watch drains a stream and checks the rules of its order.
func watch(stream iter.Seq2[llm.Event, error]) (seen Seen, broken []string) {
	for ev, err := range stream {
		switch {
		case seen.Err != nil:
			broken = append(broken, "rule error-last: something was yielded after an error")
		case seen.Reply != nil:
			broken = append(broken, "rule done-once: something was yielded after Done")
		}
		switch {
		case err != nil:
			seen.Err = err
		case ev.Done != nil:
			seen.Reply = ev.Done
			if ev.Text != "" || ev.Thinking != "" {
				broken = append(broken, "rule done-alone: the event with Done carries text as well")
			}
		case ev.Text == "" && ev.Thinking == "":
			broken = append(broken, "rule no-empty-events: an event says nothing")
		}
		if ev.Text != "" && err == nil {
			seen.Pieces = append(seen.Pieces, ev.Text)
		}
		if ev.Thinking != "" && err == nil {
			seen.Thoughts = append(seen.Thoughts, ev.Thinking)
		}
	}
	return seen, broken
}

// judge checks what a stream came to.
func judge(ctx context.Context, s Seen) []string {
	if s.Err != nil {
		return judgeError(ctx, s.Err)
	}
	if s.Reply == nil {
		return []string{"rule done-or-error: the stream ended with neither Done nor an error"}
	}
	var broken []string
	rule := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	m := s.Reply.Message
	rule(m.Text == s.Text(), "rule text-is-sum: the reply's text is %q, streamed was %q", m.Text, s.Text())
	rule(m.Role == llm.Assistant, "rule role: the reply's role is %q, want assistant", m.Role)
	rule(utf8.ValidString(m.Text), "rule utf8: the reply's text is no valid UTF-8")
	rule((s.Reply.Stop == llm.StopTools) == (len(m.Calls) > 0) || s.Reply.Stop == llm.StopLength || s.Reply.Stop == llm.StopFilter,
		"rule stop: the reply stops with %q and has %d calls", s.Reply.Stop, len(m.Calls))
	ids := map[string]bool{}
	for _, c := range m.Calls {
		rule(c.ID != "" && !ids[c.ID], "rule call-ids: id %q is empty or doubled", c.ID)
		rule(c.Args != "", "rule call-args: call %q has no arguments, not even {}", c.Name)
		ids[c.ID] = true
	}
	for _, piece := range s.Pieces {
		rule(utf8.ValidString(piece), "rule utf8: piece %q is no valid UTF-8", piece)
	}
	return broken
}

func judgeError(ctx context.Context, err error) []string {
	var broken []string
	var known *llm.Error
	switch {
	case errors.As(err, &known):
		if known.Provider == "" {
			broken = append(broken, "rule error-names-provider: the error does not say which provider failed")
		}
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		broken = append(broken, fmt.Sprintf("rule error-type: %T is neither *llm.Error nor the context's", err))
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(fmt.Sprintf("%v|%+v|%#v", e, e, e), Key) {
			broken = append(broken, "rule no-secret: an error shows the API key")
		}
	}
	return broken
}
