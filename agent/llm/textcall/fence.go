package textcall

import (
	"strings"

	"magpie/agent/llm"
)

// Calls that are only shown: in code within a line, in blocks of code, in an
// explanation. They are text.

// callLanguages are those of fenced blocks in which models write calls.
var callLanguages = map[string]bool{"": true, "json": true, "xml": true, "tool": true, "tool_call": true, "tool_code": true, "tool_use": true}

const (
	leastFence = 3 // signs
	mostBefore = 300
)

// fence judges a line of ticks or tildes, and the block behind it.
func (s *scanner) fence() (found, verdict) {
	fence := s.held[:len(s.held)-len(strings.TrimLeft(s.held, s.held[:1]))]
	if len(fence) == len(s.held) && !s.last {
		return found{}, maybe
	}
	if len(fence) < leastFence {
		return found{n: len(fence)}, no
	}
	info, body, ok := strings.Cut(s.held[len(fence):], "\n")
	if !ok && !s.last {
		return found{}, maybe
	}
	head := len(s.held) - len(body)
	switch {
	case s.fenced != "":
		if fence[0] == s.fenced[0] && len(fence) >= len(s.fenced) && strings.TrimSpace(info) == "" {
			s.fenced = ""
		}
		return found{n: head}, no
	case fence[0] == '`' && strings.Contains(info, "`"):
		return found{n: head}, no // code within a line
	case fence[0] == '~' || !callLanguages[strings.ToLower(strings.TrimSpace(info))]:
		s.fenced = fence
		return found{n: head}, no
	}
	n, calls, v := s.block(body, fence)
	switch {
	case v == maybe:
		return found{}, maybe
	case v == no && n == 0: // never closed
		s.fenced = fence
		return found{n: head}, no
	case v == yes:
		v = s.explained(s.held[head+n:])
	}
	return found{head + n, calls}, v
}

// block reads what stands in a fence up to its end: calls and nothing else, or
// something else.
func (s *scanner) block(body, fence string) (n int, calls []llm.Call, v verdict) {
	end := strings.Index("\n"+body, "\n"+fence)
	for rest := body; ; {
		rest = strings.TrimLeft(rest, space)
		at := len(body) - len(rest)
		switch {
		case s.last && calls != nil && strings.HasPrefix(fence, rest): // never closed
			return len(body), calls, yes
		case !s.last && strings.HasPrefix(fence, rest):
			return 0, nil, maybe
		case strings.HasPrefix(rest, fence) && calls != nil && strings.HasSuffix(body[:at], "\n"):
			return at + len(fence), calls, yes
		}
		more, k, v := s.one(rest)
		if v == maybe && (end < 0 || rest[0] == '<') { // JSON holds no line breaks in its texts
			return 0, nil, maybe
		}
		if v != yes {
			break
		}
		calls, rest = append(calls, more...), rest[k:]
	}
	switch {
	case end >= 0:
		return end + len(fence), nil, no
	case s.last:
		return 0, nil, no
	}
	return 0, nil, maybe
}

// one reads one call, or a list of them, in JSON or as an element.
func (s *scanner) one(text string) (calls []llm.Call, n int, v verdict) {
	switch {
	case text == "":
		return nil, 0, s.later(no)
	case text[0] == '{', text[0] == '[':
		if n = balanced(text); n == 0 {
			return nil, 0, s.later(no)
		}
		if calls = s.fromJSON(text[:n], true); calls == nil {
			return nil, 0, no
		}
		return calls, n, yes
	case text[0] == '<' && s.depth < maxDepth:
		inner := &scanner{known: s.known, last: s.last, depth: s.depth + 1, missing: map[string]bool{}}
		f, v := inner.tag(text)
		return f.calls, f.n, v
	}
	return nil, 0, no
}

// explained says whether a call in a fence, with that behind it, is a call: one
// within a text that goes on, or that speaks of examples, is only shown.
func (s *scanner) explained(after string) verdict {
	before := strings.ToLower(strings.TrimSpace(s.before))
	if before == "" {
		return yes
	}
	after = strings.TrimLeft(after, space)
	switch {
	case after == "" && !s.last:
		return maybe
	case after != "" && !strings.ContainsRune("`<{", rune(after[0])):
		return no
	}
	for _, cue := range cues {
		if strings.Contains(before, cue) {
			return no
		}
	}
	return yes
}

// cues are words before a call that is shown as an example.
var cues = []string{
	"you could", "you would", "you'd", "you might", "one could", "one would", "could be written", "would look", "looks like", "like this", "for example",
	"for instance", "an example", "e.g.", "such as", "例如", "比如", "譬如", "举例", "示例", "例子", "可以写", "可以这样", "这样写", "像这样", "写法",
}

// quoting follows code within lines: what stands between two runs of as many
// ticks.
type quoting struct {
	open   int  // ticks of the run that has begun it; 0: none has
	run    int  // ticks that were just read
	direct bool // they stand right before what is looked at
	skip   int  // bytes that were judged already
}

func (q *quoting) read(text string) {
	n := min(q.skip, len(text))
	text, q.skip, q.direct = text[n:], q.skip-n, false
	for i := range len(text) {
		if text[i] == '`' {
			q.run++
			continue
		}
		if q.settle(); text[i] == '\n' {
			q.open = 0
		}
	}
}

func (q *quoting) settle() {
	switch {
	case q.run > 0 && q.open == 0:
		q.open = q.run
	case q.run > 0 && q.open == q.run:
		q.open = 0
	}
	q.run = 0
}

// inline judges a tag that may stand in code within a line. Code that begins
// right before the tag may go on over lines, as far as the paragraph does; other
// ticks that are not closed in their line mean nothing.
func (s *scanner) inline() (found, verdict) {
	s.ticks.direct = s.ticks.direct || s.ticks.run > 0
	s.ticks.settle()
	if s.ticks.open == 0 {
		return found{}, no
	}
	until := "\n"
	if s.ticks.direct {
		until = "\n\n"
	}
	text, _, ended := strings.Cut(s.held, until)
	for i := 0; i < len(text); i++ {
		if text[i] != '`' {
			continue
		}
		run := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		if i += run; i == len(text) && !ended && !s.last {
			return found{}, maybe // it may become longer
		}
		if run == s.ticks.open {
			s.ticks.open = 0
			s.ticks.skip = i
			return found{n: i}, no
		}
	}
	if !ended && !s.last {
		return found{}, maybe
	}
	s.ticks.open = 0
	return found{}, no
}
