package session

import (
	"strconv"
	"strings"

	"magpie/agent/llm"
)

// The texts that Legalise writes where something is missing. They are for the
// model.
const (
	noteNoStart  = "[the beginning of this conversation is missing]"
	noteNoResult = "[the result of this call was lost; it is unknown whether the call took effect]"
	noteNoOutput = "[no output]"
	noteOrphan   = "[result of an earlier tool call whose request is missing]\n"
)

// Legalise returns msgs as a conversation that every model's server accepts:
// it starts with a user message, no message is empty, call ids are unique, and
// right after an assistant message with calls stands exactly one tool message
// for each of them, in order. Nothing that was said is lost: results without
// their call become labelled user messages, calls without a result get one
// that says so. A legal conversation comes back equal; msgs is not changed.
func Legalise(msgs []llm.Message) []llm.Message {
	l := legaliser{out: make([]llm.Message, 0, len(msgs)), ids: map[string]struct{}{}}
	for i := 0; i < len(msgs); {
		m := msgs[i]
		i++
		switch {
		case m.Role == llm.Tool:
			l.orphan(m)
		case m.Role == llm.Assistant && len(m.Calls) > 0:
			results := i
			for i < len(msgs) && msgs[i].Role == llm.Tool {
				i++
			}
			l.calls(m, msgs[results:i])
		default:
			l.add(m)
		}
	}
	return l.out
}

type legaliser struct {
	out []llm.Message
	ids map[string]struct{}
}

// add appends a message without calls, unless it is empty.
func (l *legaliser) add(m llm.Message) {
	if m.Role != llm.Assistant {
		m.Role = llm.User
	}
	m.Calls, m.CallID, m.Name, m.Failed = nil, "", "", false
	if strings.TrimSpace(m.Text) == "" && len(m.Images) == 0 {
		return
	}
	l.start(m.Role)
	l.out = append(l.out, m)
}

// start puts a user message in front of a conversation that has lost its own.
func (l *legaliser) start(r llm.Role) {
	if len(l.out) == 0 && r != llm.User {
		l.out = append(l.out, llm.Message{Role: llm.User, Text: noteNoStart})
	}
}

func (l *legaliser) orphan(m llm.Message) {
	if strings.TrimSpace(m.Text) != "" || len(m.Images) > 0 {
		l.add(llm.Message{Role: llm.User, Text: noteOrphan + m.Text, Images: m.Images})
	}
}

// calls appends an assistant message with its results; the results that fit no
// call follow as orphans.
func (l *legaliser) calls(m llm.Message, results []llm.Message) {
	l.start(llm.Assistant)
	asked := append([]llm.Call{}, m.Calls...)
	m.Calls = asked
	l.out = append(l.out, m)
	used := make([]bool, len(results))
	for i := range asked {
		res := llm.Message{Role: llm.Tool, Text: noteNoResult, Failed: true}
		for j, r := range results {
			if !used[j] && r.CallID == asked[i].ID {
				used[j], res = true, r
				break
			}
		}
		asked[i].ID = l.unique(asked[i].ID)
		res.CallID, res.Name, res.Calls = asked[i].ID, asked[i].Name, nil
		if strings.TrimSpace(res.Text) == "" {
			res.Text = noteNoOutput
		}
		l.out = append(l.out, res)
	}
	for j, r := range results {
		if !used[j] {
			l.orphan(r)
		}
	}
}

// unique returns id, or a variant of it that no earlier call has.
func (l *legaliser) unique(id string) string {
	free := func(id string) bool { _, taken := l.ids[id]; return id != "" && !taken }
	if !free(id) {
		base := id
		if base == "" {
			base = "call"
		}
		for n := len(l.ids); ; n++ {
			if id = base + "_" + strconv.Itoa(n); free(id) {
				break
			}
		}
	}
	l.ids[id] = struct{}{}
	return id
}
