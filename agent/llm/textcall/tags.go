package textcall

import (
	"encoding/json"
	"regexp"
	"strings"

	"magpie/agent/llm"
)

// Tags whose content is a call in JSON, or in one of the other notations, and
// tags that only stand around calls.
var (
	jsonTags = []string{"tool_call", "function_call", "tool_use"}
	wrappers = []string{"function_calls", "tool_calls"}
)

var (
	nameAttr = regexp.MustCompile(`^\s+name\s*=\s*(?:"([^"]*)"|'([^']*)')\s*$`)
	jsonName = regexp.MustCompile(`"(?:name|tool)"\s*:\s*"([^"\\]+)"`)
	unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&#34;", `"`, "&amp;", "&")
)

// tag judges text at the beginning of which a tag may stand.
func (s *scanner) tag(text string) (found, verdict) {
	if text[0] != '<' {
		return found{}, no
	}
	end := strings.IndexByte(text, '>')
	if end < 0 {
		if s.beginsTag(text[1:]) {
			return found{}, maybe
		}
		return found{}, no
	}
	head := text[1:end]
	for _, w := range wrappers {
		if head == w || head == "/"+w {
			return found{n: end + 1}, yes
		}
	}
	body := text[end+1:]
	if name, ok := strings.CutPrefix(head, "function="); ok {
		return s.element(text, body, "function", strings.Trim(name, `"' `))
	}
	if attr, ok := strings.CutPrefix(head, "invoke"); ok {
		if m := nameAttr.FindStringSubmatch(attr); m != nil {
			return s.element(text, body, "invoke", unescape.Replace(m[1]+m[2]))
		}
		return found{}, no
	}
	for _, t := range jsonTags {
		if head == t {
			return s.wrapped(text, body, t)
		}
	}
	name := strings.TrimRight(strings.TrimSuffix(head, "/"), " ")
	if _, ok := s.known[name]; !ok {
		return found{}, no
	}
	if strings.HasSuffix(head, "/") {
		return found{end + 1, []llm.Call{{Name: name, Args: "{}"}}}, yes
	}
	return s.element(text, body, name, name)
}

// beginsTag says whether what follows "<" may become the head of a tag that
// means something here.
func (s *scanner) beginsTag(head string) bool {
	may := func(tag string) bool { return strings.HasPrefix(tag, head) || strings.HasPrefix(head, tag) }
	for _, t := range []string{"function=", "invoke ", "/function_calls", "/tool_calls", wrappers[0], wrappers[1]} {
		if may(t) {
			return len(head) < longTag
		}
	}
	for _, t := range jsonTags {
		if may(t) {
			return len(head) < longTag
		}
	}
	for name := range s.known {
		if strings.HasPrefix(name, head) || strings.HasPrefix(name+" /", head) || strings.HasPrefix(name+"/", head) {
			return true
		}
	}
	return false
}

// content cuts body at its closing tag. Without one it is maybe, and at the
// end of everything the whole rest.
func (s *scanner) content(body, tag string) (string, int, verdict) {
	end := "</" + tag + ">"
	if !s.missing[end] {
		if at := strings.Index(body, end); at >= 0 {
			return body[:at], at + len(end), yes
		}
		s.missing[end] = s.last
	}
	if s.last {
		return body, len(body), no
	}
	return "", 0, maybe
}

// wrapped reads <tool_call>…</tool_call>.
func (s *scanner) wrapped(text, body, tag string) (found, verdict) {
	at, v := s.whole(body)
	if v == maybe {
		return found{}, maybe
	}
	inner, n, v := s.content(body[at:], tag)
	if v == maybe {
		return found{}, maybe
	}
	inner, n = body[:at]+inner, n+at+len(text)-len(body)
	if v == no { // never closed: only a whole JSON value counts
		if calls := s.fromJSON(strings.TrimSpace(inner), true); calls != nil {
			return found{n, calls}, yes
		}
		return found{}, no
	}
	if calls := s.only(inner); calls != nil {
		return found{n, calls}, yes
	}
	if m := jsonName.FindStringSubmatch(inner); m != nil {
		// Broken JSON: the executor tells the model what is wrong with it.
		return found{n, []llm.Call{{Name: m[1], Args: strings.TrimSpace(inner)}}}, yes
	}
	return found{n: n}, no
}

// whole says how far a call reaches with which the content of a tag begins, so
// that an end tag inside of its arguments is none; 0 when there is no whole one.
func (s *scanner) whole(body string) (int, verdict) {
	rest := strings.TrimLeft(body, space)
	lead := len(body) - len(rest)
	switch {
	case rest == "" && !s.last:
		return 0, maybe
	case rest == "":
	case rest[0] == '{', rest[0] == '[':
		if n := balanced(rest); n > 0 {
			return lead + n, yes
		} else if !s.last {
			return 0, maybe
		}
	case rest[0] == '<' && s.depth < maxDepth:
		inner := &scanner{known: s.known, last: s.last, depth: s.depth + 1, missing: map[string]bool{}}
		if f, v := inner.tag(rest); v == maybe {
			return 0, maybe
		} else if v == yes && f.calls != nil {
			return lead + f.n, yes
		}
	}
	return 0, no
}

// element reads a call whose arguments are elements, or one JSON object.
func (s *scanner) element(text, body, tag, name string) (found, verdict) {
	args, n, v := s.arguments(name, body, "</"+tag+">")
	if v == yes && name != "" && json.Valid([]byte(args)) {
		return found{len(text) - len(body) + n, []llm.Call{{Name: name, Args: args}}}, yes
	}
	if v == maybe {
		return found{}, maybe
	}
	if _, n, v = s.content(body, tag); v != yes {
		return found{}, v
	}
	return found{n: n + len(text) - len(body)}, no
}

// arguments reads <parameter name="x">…</parameter>, <parameter=x>… and
// <x>…</x>, one after the other and nothing else, or a JSON object, up to the end
// tag of the call, and says how much that is.
func (s *scanner) arguments(tool, body, end string) (args string, n int, v verdict) {
	var b strings.Builder
	b.WriteByte('{')
	rest := strings.TrimLeft(body, space)
	if strings.HasPrefix(rest, "{") {
		n := balanced(rest)
		if n == 0 {
			return "", 0, s.later(no)
		}
		if _, ok := members([]byte(rest[:n])); !ok {
			return "", 0, no
		}
		b.Reset()
		b.WriteString(rest[:n-1])
		rest = rest[n:]
	}
	for {
		rest = strings.TrimLeft(rest, space)
		after, closed := strings.CutPrefix(rest, end)
		head, value, opened := strings.Cut(rest, ">")
		switch {
		case closed, rest == "" && s.last && b.Len() > 1: // or never closed
			return b.String() + "}", len(body) - len(after), yes
		case strings.HasPrefix(end, rest) || rest[0] == '<' && !opened:
			return "", 0, s.later(no)
		case rest[0] != '<':
			return "", 0, no
		}
		name, tag := argument(head[1:])
		if name == "" {
			return "", 0, no
		}
		n, v := s.value(value, tag, end)
		if v != yes {
			return "", 0, v
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(quote(name) + ":")
		b.Write(s.known.value(tool, name, plain(value[:n])))
		rest = value[n+len("</"+tag+">"):]
	}
}

// later is maybe as long as more may come.
func (s *scanner) later(v verdict) verdict {
	if s.last {
		return v
	}
	return maybe
}

// value says how long the value of an argument is. It may hold end tags of its
// own: the one that counts is followed by another argument or the end of the
// call, and closes no element of the same name that the value has opened.
func (s *scanner) value(text, tag, end string) (n int, v verdict) {
	stop := "</" + tag + ">"
	if strings.HasPrefix(text, "<![CDATA[") {
		if at := strings.Index(text, "]]>"+stop); at >= 0 {
			return at + len("]]>"), yes
		}
		if !s.last {
			return 0, maybe
		}
	}
	closest := -1
	for at, opened, closed := 0, 0, 0; ; closed++ {
		i := strings.Index(text[at:], stop)
		if i < 0 {
			break
		}
		for _, sign := range []string{" ", "=", ">"} {
			opened += strings.Count(text[at:at+i], "<"+tag+sign)
		}
		at += i
		v := s.follows(strings.TrimLeft(text[at+len(stop):], space), end)
		if v == maybe {
			return 0, maybe
		}
		if v == yes {
			if opened <= closed {
				return at, yes
			}
			if closest < 0 {
				closest = at
			}
		}
		at += len(stop)
	}
	if closest >= 0 && s.last {
		return closest, yes
	}
	return 0, s.later(no)
}

// follows says whether text may stand behind an argument of a call.
func (s *scanner) follows(text, end string) verdict {
	head, _, opened := strings.Cut(text, ">")
	switch {
	case strings.HasPrefix(text, end), text == "" && s.last:
		return yes
	case strings.HasPrefix(end, text) || text[0] == '<' && !opened && len(head) < longTag:
		return s.later(no)
	case text[0] != '<':
		return no
	}
	if name, _ := argument(head[1:]); name == "" {
		return no
	}
	return yes
}

// longTag is more than any tag of ours has.
const longTag = 200

// argument returns the parameter and the tag that an opening tag's head means.
func argument(head string) (name, tag string) {
	for _, tag := range []string{"parameter", "arg", "argument"} {
		rest, ok := strings.CutPrefix(head, tag)
		if !ok {
			continue
		}
		if m := nameAttr.FindStringSubmatch(rest); m != nil {
			return unescape.Replace(m[1] + m[2]), tag
		}
		if name, ok := strings.CutPrefix(rest, "="); ok {
			return strings.Trim(name, `"' `), tag
		}
	}
	if strings.ContainsAny(head, " \t\r\n/<=\"'") {
		return "", ""
	}
	return head, head
}

// plain is the text of an argument: without the line breaks that only set it
// apart, without CDATA, entities resolved.
func plain(value string) string {
	if len(value) >= 2 && value[0] == '\n' && value[len(value)-1] == '\n' {
		value = value[1 : len(value)-1]
	}
	if raw, ok := strings.CutPrefix(value, "<![CDATA["); ok {
		if raw, ok = strings.CutSuffix(raw, "]]>"); ok {
			return raw
		}
	}
	return unescape.Replace(value)
}
