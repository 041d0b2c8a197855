package modelserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var (
	goodName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	goodID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

func isObject(raw []byte) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && m != nil
}

// imageTypes are what both vendors can look at.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

func goodImage(mime, data string) bool {
	raw, err := base64.StdEncoding.DecodeString(data)
	return err == nil && len(raw) > 0 && slices.Contains(imageTypes, mime)
}

func goodDataURL(url string) bool {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return strings.HasPrefix(url, "https://")
	}
	mime, data, ok := strings.Cut(rest, ";base64,")
	return ok && goodImage(mime, data)
}

func checkTools(tools []Tool) error {
	seen := map[string]bool{}
	for i, t := range tools {
		switch {
		case !goodName.MatchString(t.Name):
			return refuse("Invalid 'tools[%d].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$': %q.", i, t.Name)
		case seen[t.Name]:
			return refuse("tools: Tool names must be unique: %q.", t.Name)
		case !isObject(t.Schema):
			return refuse("Invalid schema for function %q: it is no object.", t.Name)
		}
		seen[t.Name] = true
		var top struct {
			Type any `json:"type"`
		}
		if err := json.Unmarshal(t.Schema, &top); err != nil || top.Type != "object" {
			return refuse("Invalid schema for function %q: schema must be a JSON Schema of 'type: \"object\"', got 'type: %v'.", t.Name, top.Type)
		}
		if err := checkSchema(t.Name, t.Schema); err != nil {
			return err
		}
	}
	return nil
}

type schema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
}

var schemaTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// checkSchema refuses unknown types, arrays without items and required
// properties that are not declared, at any depth.
func checkSchema(tool string, raw json.RawMessage) error {
	if t := bytes.TrimSpace(raw); bytes.Equal(t, []byte("true")) || bytes.Equal(t, []byte("false")) {
		return nil
	}
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return refuse("Invalid schema for function %q: %v", tool, err)
	}
	types, err := s.types()
	if err != nil {
		return refuse("Invalid schema for function %q: bad type %s", tool, s.Type)
	}
	for _, t := range types {
		if !slices.Contains(schemaTypes, t) {
			return refuse("Invalid schema for function %q: %q is not valid under any of the given schemas.", tool, t)
		}
	}
	if slices.Contains(types, "array") && len(s.Items) == 0 {
		return refuse("Invalid schema for function %q: array schema missing items.", tool)
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			return refuse("Invalid schema for function %q: required property %q is not defined.", tool, name)
		}
	}
	below := s.AnyOf
	for _, p := range s.Properties {
		below = append(below, p)
	}
	if len(s.Items) > 0 {
		below = append(below, s.Items)
	}
	for _, b := range below {
		if err := checkSchema(tool, b); err != nil {
			return err
		}
	}
	return nil
}

// types reads a type that is one name or a list of them.
func (s schema) types() ([]string, error) {
	if len(s.Type) == 0 {
		return nil, nil
	}
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return []string{one}, nil
	}
	var many []string
	err := json.Unmarshal(s.Type, &many)
	return many, err
}
