// Package textcall lets models call tools that know nothing of tool calls. A
// wrapped provider tells the model about the tools in the system prompt, shows
// it past calls and results as text, and reads its calls out of what it
// writes. It understands the notation that the prompt shows and the others
// that models are used to. It is stateless, starts no goroutine and imports
// only the standard library and agent/llm.
package textcall

import (
	"context"
	"iter"
	"slices"
	"strings"

	"magpie/agent/llm"
)

// Format is the notation in which the prompt shows tools and calls.
type Format string

// The formats.
const (
	FormatXML  Format = "xml"
	FormatJSON Format = "json"
)

// Wrap returns p with calls in text. What the wrapped provider streams is only
// what the model says to people; a call is held back from its first possible
// character on. An unknown format is FormatXML.
func Wrap(p llm.Provider, f Format) llm.Provider {
	return &provider{Provider: p, format: f}
}

type provider struct {
	llm.Provider
	format Format
}

// Stream asks the wrapped provider with a request that holds text only.
func (p *provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	if len(req.Tools) == 0 && !hasCalls(req.Messages) {
		return p.Provider.Stream(ctx, req)
	}
	n := p.notation()
	asked := req
	asked.Tools = nil
	asked.Messages = flatten(n, req.Messages)
	if len(req.Tools) > 0 {
		asked.System = strings.TrimSpace(req.System + "\n\n" + n.tools(req.Tools))
	}
	return func(yield func(llm.Event, error) bool) {
		r := &reading{scanner: newScanner(req.Tools), yield: yield}
		for ev, err := range p.Provider.Stream(ctx, asked) {
			switch {
			case err != nil:
				yield(llm.Event{}, err)
				return
			case ev.Done != nil:
				r.finish(*ev.Done, req)
				return
			case ev.Thinking != "" && !yield(llm.Event{Thinking: ev.Thinking}, nil):
				return
			}
			if !r.add(ev.Text, false) {
				return
			}
		}
	}
}

func (p *provider) notation() notation {
	if p.format == FormatJSON {
		return jsonNotation{}
	}
	return xmlNotation{}
}

func hasCalls(list []llm.Message) bool {
	for _, m := range list {
		if len(m.Calls) > 0 || m.Role == llm.Tool {
			return true
		}
	}
	return false
}

const space = " \t\r\n"

// reading gathers a reply: text is yielded, calls are kept.
type reading struct {
	scanner *scanner
	yield   func(llm.Event, error) bool
	text    strings.Builder
	gap     string // white space that is text only if text follows
	joint   bool   // a call has just been cut out
	calls   []llm.Call
}

// add takes newly written text; last says that it is all. It returns false
// when the caller wants no more.
func (r *reading) add(text string, last bool) bool {
	for _, s := range r.scanner.next(text, last) {
		if s.markup {
			r.calls = append(r.calls, s.calls...)
			r.joint = true
			continue
		}
		said := r.gap + s.text
		if r.joint {
			if said = strings.TrimLeft(said, space); said == "" {
				continue
			}
			if r.text.Len() > 0 {
				said = "\n" + said
			}
			r.joint = false
		}
		solid := strings.TrimRight(said, space)
		r.gap = said[len(solid):]
		if solid != "" && !r.say(solid) {
			return false
		}
	}
	return true
}

func (r *reading) say(text string) bool {
	r.text.WriteString(text)
	return r.yield(llm.Event{Text: text}, nil)
}

// finish yields the reply. Without tools on offer, calls are dropped.
func (r *reading) finish(done llm.Reply, req llm.Request) {
	r.scanner.cut = done.Stop == llm.StopLength
	if r.scanner.seen == 0 && done.Message.Text != "" { // nothing was streamed
		if !r.add(done.Message.Text, true) {
			return
		}
	} else if !r.add("", true) {
		return
	}
	if len(r.calls) == 0 && r.gap != "" && !r.say(r.gap) {
		return
	}
	done.Message.Text = r.text.String()
	if len(req.Tools) > 0 {
		done.Message.Calls = append(slices.Clone(done.Message.Calls), r.calls...)
		llm.Identify(done.Message.Calls, req.Messages)
	}
	switch {
	case len(done.Message.Calls) > 0 && done.Stop == llm.StopEnd:
		done.Stop = llm.StopTools
	case len(done.Message.Calls) == 0 && done.Stop == llm.StopTools:
		done.Stop = llm.StopEnd
	}
	r.yield(llm.Event{Done: &done}, nil)
}
