package tools

import "strings"

// leaves is what a call would carry away by an address that it names, in words
// for people; "" for nothing. Every text that a tool of the network is given
// may be one, or go along with one; the words of a search go to the service
// that the configuration names.
func (c *call) leaves() string {
	spec := c.entry.spec
	if c.scope.Leaks == nil || spec.Category != Network && spec.Category != MCP || spec.Category == Network && spec.Main == "query" {
		return ""
	}
	var found string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if found == "" && (spec.Category == Network || strings.Contains(v, "://")) {
				found = c.scope.Leaks(v)
			}
		case []any:
			for _, each := range v {
				walk(each)
			}
		case map[string]any:
			for _, each := range v {
				walk(each)
			}
		}
	}
	walk(map[string]any(c.values))
	return found
}
