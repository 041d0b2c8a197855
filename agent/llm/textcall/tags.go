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
			return len(head) < 200
		}
	}
	for _, t := range jsonTags {
		if may(t) {
			return len(head) < 200
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
	inner, n, v := s.content(body, tag)
	if v == maybe {
		return found{}, maybe
	}
	n += len(text) - len(body)
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

// element reads a call whose arguments are elements, or one JSON object.
func (s *scanner) element(text, body, tag, name string) (found, verdict) {
	inner, n, v := s.content(body, tag)
	if v == maybe {
		return found{}, maybe
	}
	n += len(text) - len(body)
	trimmed := strings.TrimSpace(inner)
	if _, ok := members([]byte(trimmed)); ok {
		return found{n, []llm.Call{{Name: name, Args: trimmed}}}, yes
	}
	args, ok := s.arguments(name, trimmed)
	switch {
	case v == no && (!ok || trimmed == ""):
		return found{}, no
	case !ok || name == "":
		return found{n: n}, no
	}
	return found{n, []llm.Call{{Name: name, Args: args}}}, yes
}

// arguments reads <parameter name="x">…</parameter>, <parameter=x>… and
// <x>…</x>, one after the other and nothing else.
func (s *scanner) arguments(tool, text string) (string, bool) {
	var b strings.Builder
	b.WriteByte('{')
	for text != "" {
		head, rest, ok := strings.Cut(text, ">")
		if !ok || head == "" || head[0] != '<' {
			return "", false
		}
		name, tag := argument(head[1:])
		value, after, ok := strings.Cut(rest, "</"+tag+">")
		if name == "" || !ok {
			return "", false
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(quote(name) + ":")
		b.Write(s.known.value(tool, name, plain(value)))
		text = strings.TrimSpace(after)
	}
	b.WriteByte('}')
	return b.String(), json.Valid([]byte(b.String()))
}

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
