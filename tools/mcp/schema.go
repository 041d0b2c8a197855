package mcp

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// schemaOf is the schema as JSON. A tool without one takes an object; what is
// no schema of an object is refused by the registry.
func schemaOf(given any) json.RawMessage {
	raw, err := json.Marshal(given)
	if err != nil || string(raw) == "null" || string(raw) == "{}" {
		return json.RawMessage(`{"type":"object"}`)
	}
	return raw
}

// references finds a reference of a schema that leads nowhere. Models' servers
// refuse every call that offers such a tool, so one bad server would silence
// the bot. Other documents are not fetched.
func references(schema json.RawMessage) error {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil // the registry says what is wrong
	}
	var wrong error
	anchors := map[string]bool{}
	subschemas(root, func(s map[string]any) {
		if name, ok := s["$anchor"].(string); ok {
			anchors["#"+name] = true
		}
	})
	subschemas(root, func(s map[string]any) {
		ref, ok := s["$ref"].(string)
		if ok && wrong == nil && !anchors[ref] && !leads(root, ref) {
			wrong = fmt.Errorf("the schema's $ref %q leads nowhere; want a part of the same schema, such as #/$defs/name", ref)
		}
	})
	return wrong
}

// Keywords whose values are no schemas, and those whose values hold schemas by
// names of the author's choice.
var (
	literals = []string{"const", "default", "enum", "example", "examples"}
	named    = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)

// subschemas calls see for a schema and all below it.
func subschemas(v any, see func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			subschemas(item, see)
		}
	case map[string]any:
		see(v)
		for key, sub := range v {
			if names, ok := sub.(map[string]any); ok && slices.Contains(named, key) {
				for _, s := range names {
					subschemas(s, see)
				}
			} else if !slices.Contains(literals, key) {
				subschemas(sub, see)
			}
		}
	}
}

// leads says whether a JSON pointer (RFC 6901) as the fragment of a URL leads
// to a schema.
func leads(at any, ref string) bool {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return false
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return false
	}
	for i, part := range strings.Split(pointer, "/") {
		if i == 0 {
			continue // before the first slash stands nothing
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch here := at.(type) {
		case map[string]any:
			at = here[part]
		case []any:
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n >= len(here) {
				return false
			}
			at = here[n]
		default:
			return false
		}
	}
	switch at.(type) {
	case map[string]any, bool:
		return true
	}
	return false
}
