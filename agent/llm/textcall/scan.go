package textcall

import (
	"maps"
	"slices"
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
	seen    int    // bytes so far
	held    string // not yet decided
	last    bool   // no more will come
	cut     bool   // what comes last was cut off
	bol     bool   // held begins at the beginning of a line
	fenced  string // the fence of the block of another language that held is in
	ticks   quoting
	before  string          // the end of the text before
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
		fenced := s.fenced
		f, v := s.look()
		switch {
		case v == yes:
			s.take(f.n)
			s.before = ""
			out = append(out, segment{calls: f.calls, markup: true})
		case v == maybe && !last:
			return out
		case s.cut && s.begun(&out, fenced):
			s.take(len(s.held))
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
	s.ticks.read(t)
	if s.before += t; len(s.before) > mostBefore {
		s.before = s.before[len(s.before)-mostBefore:]
	}
	return t
}

// candidate is the first place in held where a call, or a block of code, might
// begin.
func (s *scanner) candidate() int {
	bol := s.bol
	for i := 0; i < len(s.held); i++ {
		switch c := s.held[i]; {
		case c == '<' && s.fenced == "", bol && (c == '`' || c == '~' || c == '{' && s.fenced == ""):
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
	switch c := s.held[0]; {
	case c == '<' && s.fenced == "":
		if f, v := s.inline(); v != no || f.n > 0 {
			return f, v
		}
		return s.tag(s.held)
	case (c == '`' || c == '~') && s.bol:
		return s.fence()
	case c == '{' && s.bol && s.fenced == "":
		return s.bare()
	}
	return found{}, no
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

// begun takes what is held for the beginning of a call that was cut off, if it
// is one. Nobody is shown it; with its name the model can be told. fenced is the
// fence that it stood in before it was looked at.
func (s *scanner) begun(out *[]segment, fenced string) bool {
	if fenced != "" {
		return false
	}
	name, is := s.opening(s.held, s.bol)
	if !is {
		return false
	}
	cut := segment{markup: true}
	if name != "" {
		cut.calls = []llm.Call{{Name: name, Args: "{}"}}
	}
	*out = append(*out, cut)
	return true
}

// opening says whether text is the beginning of a call, and of which tool if it
// says so already. In a fence or at the beginning of a line JSON counts too.
func (s *scanner) opening(text string, jsonToo bool) (name string, is bool) {
	switch c := text[0]; {
	case c == '<':
		return s.openTag(text)
	case (c == '{' || c == '[') && jsonToo:
		object := strings.TrimLeft(text, "["+space)
		if object == "" || firstKey(object) == maybe {
			return "", true
		}
		if firstKey(object) == no {
			return "", false
		}
		if n := balanced(text); n > 0 {
			rest := strings.TrimLeft(text[n:], space)
			if rest == "" || rest[0] == '`' {
				return "", false
			}
			return s.opening(rest, true)
		}
		m := jsonName.FindStringSubmatch(object)
		if m == nil {
			return "", true
		}
		_, known := s.known[m[1]]
		return m[1], known || !strings.HasPrefix(m[0], `"name"`)
	case c == '`' && jsonToo:
		info, body, ok := strings.Cut(strings.TrimLeft(text, "`"), "\n")
		info = strings.ToLower(strings.TrimSpace(info))
		if s.explained("") == no {
			return "", false
		}
		if !ok {
			return "", slices.ContainsFunc(slices.Collect(maps.Keys(callLanguages)), func(l string) bool { return strings.HasPrefix(l, info) })
		}
		if body = strings.TrimLeft(body, space); !callLanguages[info] || body == "" {
			return "", callLanguages[info]
		}
		return s.opening(body, true)
	}
	return "", false
}

// openTag is opening for elements.
func (s *scanner) openTag(text string) (name string, is bool) {
	head, rest, whole := strings.Cut(text[1:], ">")
	if !whole {
		return "", s.beginsTag(head)
	}
	tag, _, _ := strings.Cut(strings.ReplaceAll(head, "=", " "), " ")
	if strings.Contains(rest, "</"+tag+">") {
		return "", false
	}
	if name, ok := strings.CutPrefix(head, "function="); ok {
		return strings.Trim(name, `"' `), true
	}
	if attr, ok := strings.CutPrefix(head, "invoke"); ok {
		m := nameAttr.FindStringSubmatch(attr)
		if m == nil {
			return "", false
		}
		return unescape.Replace(m[1] + m[2]), true
	}
	if slices.Contains(jsonTags, head) {
		if inner := strings.TrimLeft(rest, space); inner != "" && inner[0] == '<' {
			name, _ = s.openTag(inner)
		} else if m := jsonName.FindStringSubmatch(rest); m != nil {
			name = m[1]
		}
		return name, true
	}
	_, known := s.known[head]
	return head, known
}
