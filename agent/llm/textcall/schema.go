package textcall

import (
	"bytes"
	"encoding/json"
	"slices"

	"magpie/agent/llm"
)

// member is one entry of a JSON object, in its order.
type member struct {
	name  string
	value json.RawMessage
}

// members reads a JSON object; false when raw is none.
func members(raw []byte) ([]member, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []member
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var v json.RawMessage
		if err != nil || !ok || d.Decode(&v) != nil {
			return nil, false
		}
		out = append(out, member{name, v})
	}
	if _, err := d.Token(); err != nil || d.InputOffset() != int64(len(bytes.TrimRight(raw, " \t\r\n"))) {
		return nil, false
	}
	return out, true
}

// str reads a JSON string.
func str(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// parameter is one property of a tool's schema.
type parameter struct {
	name     string
	required bool
	raw      json.RawMessage
	schema   map[string]json.RawMessage
}

// parameters lists the properties of a schema in their order.
func parameters(schema json.RawMessage) []parameter {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	props, _ := members(s.Properties)
	var out []parameter
	for _, m := range props {
		p := parameter{name: m.name, required: slices.Contains(s.Required, m.name), raw: m.value}
		if json.Unmarshal(m.value, &p.schema) != nil {
			p.schema = nil // true, or no schema: anything goes
		}
		out = append(out, p)
	}
	return out
}

// types are the types that the parameter takes; "any" when it does not say.
func (p parameter) types() []string {
	if t, ok := str(p.schema["type"]); ok {
		return []string{t}
	}
	var many []string
	if json.Unmarshal(p.schema["type"], &many) == nil && len(many) > 0 {
		return many
	}
	return []string{"any"}
}

// catalogue is what the reader knows of the tools: types by parameter by tool.
type catalogue map[string]map[string][]string

func newCatalogue(tools []llm.ToolDef) catalogue {
	c := catalogue{}
	for _, d := range tools {
		c[d.Name] = map[string][]string{}
		for _, p := range parameters(d.Schema) {
			c[d.Name][p.name] = p.types()
		}
	}
	return c
}

// value turns a written argument into JSON: a string where the schema takes
// one, else JSON where the text is JSON. The executor casts the rest.
func (c catalogue) value(tool, name, text string) json.RawMessage {
	types := c[tool][name]
	trimmed := bytes.TrimSpace([]byte(text))
	switch {
	case slices.Contains(types, "string") || !json.Valid(trimmed):
	case len(types) > 0 && !slices.Equal(types, []string{"any"}), trimmed[0] == '{', trimmed[0] == '[':
		return trimmed
	}
	return json.RawMessage(quote(text))
}
