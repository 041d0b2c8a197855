package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"magpie/agent/llm"
	"magpie/agent/session"
)

// illegal says what a model's server would refuse in msgs.
func illegal(msgs []llm.Message) error {
	ids := map[string]bool{}
	open := []string(nil)
	for i, m := range msgs {
		if m.Role == llm.Tool {
			if len(open) == 0 || open[0] != m.CallID {
				return fmt.Errorf("message %d: result of %q where %q is wanted", i, m.CallID, open)
			}
			if strings.TrimSpace(m.Text) == "" {
				return fmt.Errorf("message %d: empty result", i)
			}
			open = open[1:]
			continue
		}
		switch {
		case len(open) > 0:
			return fmt.Errorf("message %d: calls %q have no result", i, open)
		case i == 0 && m.Role != llm.User:
			return fmt.Errorf("begins with %q", m.Role)
		case m.Role != llm.User && m.Role != llm.Assistant:
			return fmt.Errorf("message %d: role %q", i, m.Role)
		case strings.TrimSpace(m.Text) == "" && len(m.Images) == 0 && len(m.Calls) == 0:
			return fmt.Errorf("message %d: empty", i)
		case m.Role == llm.User && (len(m.Calls) > 0 || m.CallID != ""):
			return fmt.Errorf("message %d: a user message with calls", i)
		}
		for _, c := range m.Calls {
			if c.ID == "" || ids[c.ID] {
				return fmt.Errorf("message %d: call id %q is empty or used before", i, c.ID)
			}
			ids[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("at the end: calls %q have no result", open)
	}
	return nil
}

// history draws a legal conversation in which every text is different.
func history(t *rapid.T) []llm.Message {
	var msgs []llm.Message
	n := 0
	text := func(what string) string { n++; return fmt.Sprintf("%s-%d 文", what, n) }
	for range rapid.IntRange(1, 6).Draw(t, "turns") {
		msgs = append(msgs, llm.Message{Role: llm.User, Text: text("user")})
		for range rapid.IntRange(0, 3).Draw(t, "rounds") {
			m := llm.Message{Role: llm.Assistant}
			if rapid.Bool().Draw(t, "speaks") {
				m.Text = text("think")
			}
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				n++
				m.Calls = append(m.Calls, llm.Call{ID: fmt.Sprintf("c%d", n), Name: "read_file", Args: "{}"})
			}
			msgs = append(msgs, m)
			for _, c := range m.Calls {
				msgs = append(msgs, llm.Message{Role: llm.Tool, CallID: c.ID, Name: c.Name, Text: text("result")})
			}
		}
		msgs = append(msgs, llm.Message{Role: llm.Assistant, Text: text("answer")})
	}
	return msgs
}

func texts(msgs []llm.Message) []string {
	var out []string
	for _, m := range msgs {
		if m.Text != "" {
			out = append(out, m.Text)
		}
	}
	return out
}

func TestLegaliseKeepsLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := history(t)
		if err := illegal(want); err != nil {
			t.Fatalf("the generator is wrong: %v", err)
		}
		if diff := cmp.Diff(want, session.Legalise(want)); diff != "" {
			t.Fatalf("a legal history was changed (-want +got):\n%s", diff)
		}
	})
}

// Any subset, cut, doubling or disorder of a legal history becomes legal, and
// no text is lost.
func TestLegaliseRepairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var broken []llm.Message
		for _, m := range history(t) {
			switch rapid.IntRange(0, 9).Draw(t, "fate") {
			case 0: // lost
			case 1: // written twice
				broken = append(broken, m, m)
			case 2:
				m.Calls = slices.Clone(m.Calls)
				for i := range m.Calls {
					m.Calls[i].ID = "same"
				}
				broken = append(broken, m)
			case 3:
				m.CallID = ""
				broken = append(broken, m)
			default:
				broken = append(broken, m)
			}
		}
		if rapid.Bool().Draw(t, "shuffled") {
			broken = rapid.Permutation(broken).Draw(t, "order")
		}
		from := rapid.IntRange(0, len(broken)).Draw(t, "from")
		to := rapid.IntRange(from, len(broken)).Draw(t, "to")
		broken = broken[from:to]
		before := slices.Clone(broken)
		got := session.Legalise(broken)
		if err := illegal(got); err != nil {
			t.Fatalf("%v\nof %+v\nin %+v", err, got, broken)
		}
		all := strings.Join(texts(got), "\n")
		for _, want := range texts(broken) {
			if !strings.Contains(all, want) {
				t.Fatalf("lost text %q", want)
			}
		}
		if diff := cmp.Diff(before, broken); diff != "" {
			t.Fatalf("the argument was changed:\n%s", diff)
		}
		if diff := cmp.Diff(got, session.Legalise(got)); diff != "" {
			t.Fatalf("not stable:\n%s", diff)
		}
	})
}

func TestLegaliseEdges(t *testing.T) {
	call := []llm.Call{{ID: "a", Name: "exec"}}
	tests := map[string]struct{ in, want []llm.Message }{
		"nothing":   {nil, []llm.Message{}},
		"empty":     {[]llm.Message{{Role: llm.User, Text: " \n"}, {Role: llm.Assistant}}, []llm.Message{}},
		"role lost": {[]llm.Message{{Text: "hi"}}, []llm.Message{{Role: llm.User, Text: "hi"}}},
		"no result": {
			[]llm.Message{{Role: llm.User, Text: "hi"}, {Role: llm.Assistant, Calls: call}},
			[]llm.Message{
				{Role: llm.User, Text: "hi"},
				{Role: llm.Assistant, Calls: call},
				{Role: llm.Tool, CallID: "a", Name: "exec", Failed: true, Text: "[the result of this call was lost; it is unknown whether the call took effect]"},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, session.Legalise(tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
