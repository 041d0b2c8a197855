package textcall

import (
	"encoding/json"
	"slices"
	"strings"

	"magpie/agent/llm"
)

// The keys under which models write a call.
var (
	nameKeys = []string{"tool", "name", "tool_name", "function"}
	argsKeys = []string{"arguments", "args", "parameters", "params", "input"}
	wrapKeys = []string{"tool_call", "tool_calls", "function_call"}
)

// firstKey says whether an object begins with a key that a call has.
func firstKey(s string) verdict {
	rest := strings.TrimLeft(s[1:], " \t\r\n")
	if rest == "" {
		return maybe
	}
	if rest[0] != '"' {
		return no
	}
	key, _, closed := strings.Cut(rest[1:], `"`)
	for _, k := range slices.Concat(nameKeys, argsKeys, wrapKeys, []string{"id", "type"}) {
		if key == k && closed {
			return yes
		}
		if !closed && strings.HasPrefix(k, key) {
			return maybe
		}
	}
	return no
}

// balanced is the length of the object at the beginning of s, 0 while its end
// is missing.
func balanced(s string) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// fromJSON reads one call or a list of them; nil when the text is anything
// else. Loosely, a tool's name alone is a call too.
func (s *scanner) fromJSON(text string, loose bool) []llm.Call {
	var list []json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil {
		list = []json.RawMessage{json.RawMessage(text)}
	}
	var out []llm.Call
	for _, raw := range list {
		calls := s.fromObject(raw, loose)
		if calls == nil {
			return nil
		}
		out = append(out, calls...)
	}
	return out
}

func (s *scanner) fromObject(raw json.RawMessage, loose bool) []llm.Call {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	for _, k := range wrapKeys {
		if inner, ok := o[k]; ok {
			return s.fromJSON(string(inner), true)
		}
	}
	if inner := o["function"]; len(inner) > 0 && inner[0] == '{' {
		return s.fromObject(inner, true)
	}
	name, key := first(o, nameKeys)
	text, ok := str(name)
	if !ok || text == "" {
		return nil
	}
	args, argsKey := first(o, argsKeys)
	_, isTool := s.known[text]
	switch {
	case argsKey == "" && !isTool && !(loose && key == "tool"):
		return nil
	case argsKey == "" || string(args) == "null":
		return []llm.Call{{Name: text, Args: "{}"}}
	}
	if written, ok := str(args); ok {
		return []llm.Call{{Name: text, Args: written}}
	}
	return []llm.Call{{Name: text, Args: string(args)}}
}

func first(o map[string]json.RawMessage, keys []string) (json.RawMessage, string) {
	for _, k := range keys {
		if v, ok := o[k]; ok {
			return v, k
		}
	}
	return nil, ""
}
