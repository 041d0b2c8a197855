// Package offline is the provider that needs no model: a scripted assistant in
// English and Chinese. It goes through the same loop as any model, asks for the
// same tool calls and reads their results. What it understands is a table of
// intents, one small function each; what it does not understand it says
// plainly, with the one line that connects a model. It keeps no state, starts
// no goroutine and reaches nothing outside.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"magpie/agent/llm"
)

// pieces is how many pieces a reply is streamed in, when it is long enough.
const pieces = 4

// Provider is the scripted assistant. Safe for concurrent use.
type Provider struct {
	name   string
	skills []skill
}

var _ llm.Provider = (*Provider)(nil)

// New returns the assistant under a name of the configuration; "" is
// "offline".
func New(name string) *Provider {
	if name == "" {
		name = "offline"
	}
	return &Provider{name: name, skills: skills()}
}

// Name returns the name in the configuration.
func (p *Provider) Name() string { return p.name }

// Stream answers at once. It fails only when ctx has ended.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		a := p.answer(req)
		for _, piece := range cut(a.text) {
			if ctx.Err() != nil {
				break
			}
			if !yield(llm.Event{Text: piece}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(llm.Event{}, fmt.Errorf("ask model %s: %w", p.name, err))
			return
		}
		reply := llm.Reply{
			Message: llm.Message{Role: llm.Assistant, Text: a.text, Calls: a.calls},
			Stop:    llm.StopEnd,
			Model:   "offline",
		}
		if len(a.calls) > 0 {
			reply.Stop = llm.StopTools
		}
		yield(llm.Event{Done: &reply}, nil)
	}
}

// question is one thing that a person said.
type question struct {
	said     string // as it was said
	text     string // trimmed, without politeness and closing punctuation
	zh       bool
	offered  []llm.ToolDef
	before   []llm.Message // the conversation up to it
	declined bool          // the reminders have nothing to do with it
}

// answer is what the assistant says, or which tools it wants first.
type answer struct {
	text  string
	calls []llm.Call
}

// answer looks at everything since the assistant last spoke: results of its
// calls, and what was said meanwhile.
func (p *Provider) answer(req llm.Request) answer {
	from := 0
	zh := false
	for i, m := range req.Messages {
		switch m.Role {
		case llm.Assistant:
			from = i + 1
		case llm.User:
			if text := spoken(m.Text); text == "" && len(m.Images) > 0 || letters(text) { // "2" has no language
				zh = chinese(text)
			}
		}
	}
	var said []string
	var calls []llm.Call
	for i, m := range req.Messages[from:] {
		var a answer
		switch {
		case m.Role == llm.Tool:
			if words := declinedWords(req.Messages[:from+i], m); words != "" {
				a = p.understand(question{said: words, text: tidy(words), zh: chinese(words) || zh && !letters(words), offered: req.Tools, declined: true}, m)
			} else {
				a.text = report(m, zh)
			}
		case m.Role == llm.User:
			if r := reportFence.FindStringSubmatch(m.Text); r != nil {
				said = append(said, r[1]) // nobody has seen it yet
			}
			m.Text = spoken(m.Text)
			if m.Text == "" && len(m.Images) == 0 {
				continue // only notes of the program
			}
			a = p.understand(question{said: m.Text, text: tidy(m.Text), zh: chinese(m.Text) || zh && m.Text != "" && !letters(m.Text), offered: req.Tools, before: req.Messages[:from+i]}, m)
		}
		if a.text != "" {
			said = append(said, a.text)
		}
		calls = append(calls, a.calls...)
	}
	if len(said) == 0 && len(calls) == 0 {
		said = append(said, say(zh, nothing))
	}
	llm.Identify(calls, req.Messages)
	return answer{strings.Join(said, "\n\n"), calls}
}

// understand finds the first skill that fits.
func (p *Provider) understand(q question, m llm.Message) answer {
	if q.text == "" {
		if len(m.Images) > 0 {
			return answer{text: say(q.zh, noEyes)}
		}
		return answer{text: say(q.zh, nothing)}
	}
	for _, in := range p.skills {
		if a, ok := in(q); ok {
			return a
		}
	}
	return answer{text: say(q.zh, noModel)}
}

// call asks for a tool, or says that it is not to be had.
func (q question) call(tool string, args map[string]string) answer {
	if !slices.ContainsFunc(q.offered, func(d llm.ToolDef) bool { return d.Name == tool }) {
		return answer{text: fmt.Sprintf(say(q.zh, noTool), tool)}
	}
	raw, err := json.Marshal(args)
	if err != nil { // a map of strings always encodes
		return answer{text: say(q.zh, noModel)}
	}
	return answer{calls: []llm.Call{{Name: tool, Args: string(raw)}}}
}

// chinese says whether a text is answered in Chinese: as soon as it has a Han
// character.
func chinese(text string) bool { return strings.ContainsFunc(text, isHan) }

// letters says whether a text has any letter.
func letters(text string) bool { return strings.ContainsFunc(text, unicode.IsLetter) }

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// cut cuts a text into a few pieces between runes.
func cut(text string) []string {
	runes := []rune(text)
	n := min(pieces, (len(runes)+7)/8)
	var out []string
	for i := range n {
		out = append(out, string(runes[i*len(runes)/n:(i+1)*len(runes)/n]))
	}
	return out
}
