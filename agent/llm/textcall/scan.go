package textcall

import (
	"strings"

	"magpie/agent/llm"
)

// segment is a stretch of what the model wrote: text, or calls, or markup
// around calls that nobody is to see.
type segment struct {
	text   string
	calls  []llm.Call
	markup bool
}

// verdict is what a look at a possible beginning of a call comes to.
type verdict int

const (
	no    verdict = iota // text
	maybe                // cannot be told before more is written
	yes
)

// found is a call, or markup, of length n.
type found struct {
	n     int
	calls []llm.Call
}

// scanner cuts what a model writes into segments.
type scanner struct {
	known   catalogue
	seen    int             // bytes so far
	held    string          // not yet decided
	last    bool            // no more will come
	bol     bool            // held begins at the beginning of a line
	code    bool            // within a fenced block of some other language
	missing map[string]bool // closing tags that the rest is known not to hold
	depth   int             // of notations within notations
}

// maxDepth: a function element in a tool_call element in a fenced block.
const maxDepth = 2

func newScanner(tools []llm.ToolDef) *scanner {
	return &scanner{known: newCatalogue(tools), bol: true, missing: map[string]bool{}}
}

// next takes newly written text and returns what can be decided.
func (s *scanner) next(text string, last bool) []segment {
	s.seen += len(text)
	s.held += text
	s.last = last
	var out []segment
	for s.held != "" {
		at := s.candidate()
		if at > 0 {
			out = append(out, segment{text: s.take(at)})
			continue
		}
		f, v := s.look()
		switch {
		case v == yes:
			s.take(f.n)
			out = append(out, segment{calls: f.calls, markup: true})
		case v == maybe && !last:
			return out
		default:
			out = append(out, segment{text: s.take(max(f.n, 1))})
		}
	}
	return out
}

// take removes n bytes from what is held.
func (s *scanner) take(n int) string {
	t := s.held[:n]
	s.held = s.held[n:]
	line := strings.LastIndexByte(t, '\n') + 1
	s.bol = (s.bol || line > 0) && strings.Trim(t[line:], " \t\r") == ""
	return t
}

// candidate is the first place in held where a call might begin.
func (s *scanner) candidate() int {
	bol := s.bol
	for i := 0; i < len(s.held); i++ {
		switch c := s.held[i]; {
		case c == '<' && !s.code, bol && (c == '`' || c == '{' && !s.code):
			return i
		case c == '\n':
			bol = true
		case c != ' ' && c != '\t' && c != '\r':
			bol = false
		}
	}
	return len(s.held)
}

// look judges the beginning of held. For text, found.n may say how much of it.
func (s *scanner) look() (found, verdict) {
	switch {
	case s.held[0] == '<' && !s.code:
		return s.tag(s.held)
	case s.held[0] == '`' && s.bol:
		return s.fence()
	case s.held[0] == '{' && s.bol && !s.code:
		return s.bare()
	}
	return found{}, no
}

// languages of fenced blocks in which models write calls.
var callLanguages = map[string]bool{"": true, "json": true, "xml": true, "tool": true, "tool_call": true, "tool_code": true, "tool_use": true}

const ticks = "```"

// fence judges a fenced block.
func (s *scanner) fence() (found, verdict) {
	if !strings.HasPrefix(s.held, ticks) {
		if strings.HasPrefix(ticks, s.held) {
			return found{}, maybe
		}
		return found{}, no
	}
	info, body, ok := strings.Cut(s.held[len(ticks):], "\n")
	if !ok {
		return found{n: len(s.held)}, maybe
	}
	head := len(s.held) - len(body)
	if strings.Contains(info, "`") {
		return found{n: head}, no // code within a line
	}
	if s.code || !callLanguages[strings.ToLower(strings.TrimSpace(info))] {
		s.code = !s.code
		return found{n: head}, no
	}
	end := strings.Index("\n"+body, "\n"+ticks)
	if end < 0 {
		if s.last {
			if calls := s.only(body); calls != nil {
				return found{len(s.held), calls}, yes
			}
			s.code = true
			return found{n: head}, no
		}
		return found{}, maybe
	}
	n := head + end + len(ticks)
	if calls := s.only(body[:end]); calls != nil {
		return found{n, calls}, yes
	}
	return found{n: n}, no
}

// only reads a body that holds calls and nothing else; nil for any other.
func (s *scanner) only(body string) []llm.Call {
	body = strings.TrimSpace(body)
	if calls := s.fromJSON(body, true); calls != nil {
		return calls
	}
	if s.depth == maxDepth {
		return nil
	}
	inner := &scanner{known: s.known, last: true, depth: s.depth + 1, missing: map[string]bool{}}
	var out []llm.Call
	for body != "" {
		f, v := inner.tag(body)
		if v != yes {
			return nil
		}
		out = append(out, f.calls...)
		body = strings.TrimSpace(body[f.n:])
	}
	return out
}

// bare judges a JSON object that begins a line.
func (s *scanner) bare() (found, verdict) {
	if v := firstKey(s.held); v != yes {
		return found{}, v
	}
	n := balanced(s.held)
	if n == 0 {
		return found{}, maybe
	}
	if calls := s.fromJSON(s.held[:n], false); calls != nil {
		return found{n, calls}, yes
	}
	return found{n: n}, no
}
