package tools

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// These bound the work on one call's arguments: schemas also come from foreign
// servers, and one that refers to itself would have no end.
const (
	maxDepth     = 64      // of values and schemas
	maxTypeDepth = 4       // of alternatives within alternatives
	maxSteps     = 1 << 18 // schemas applied to values
	maxDigits    = 64      // of a number that may be whole
)

// caster turns texts into what the schema wants where the text says exactly
// that: "42", "3.5", "true", "1", and JSON text of an object or array. Whole
// numbers written as 42.0 or 4e1 are written as integers. Nothing else is
// changed; what does not fit is left for validation to name.
type caster struct {
	root  *jsonschema.Schema
	steps int
}

func (c *caster) cast(s *jsonschema.Schema, v any, depth int) any {
	c.steps++
	if s = follow(c.root, s); s == nil || depth > maxDepth || c.steps > maxSteps {
		return v
	}
	want := wanted(c.root, s, 0)
	if text, ok := v.(string); ok && len(want) > 0 && !slices.Contains(want, "string") {
		v = castText(text, want)
	}
	switch x := v.(type) {
	case map[string]any:
		for name, value := range x {
			x[name] = c.cast(property(s, name), value, depth+1)
		}
	case []any:
		for i, value := range x {
			x[i] = c.cast(item(s, i), value, depth+1)
		}
	case json.Number:
		if n, ok := whole(x); ok && slices.Contains(want, "integer") {
			return json.Number(n)
		}
	}
	for _, sub := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		v = c.cast(sub, v, depth+1)
	}
	return v
}

func castText(text string, want []string) any {
	for _, kind := range want {
		switch kind {
		case "integer", "number":
			if text == strings.TrimSpace(text) && text != "" && strings.ContainsRune("-0123456789", rune(text[0])) && json.Valid([]byte(text)) {
				n := json.Number(text)
				if _, ok := whole(n); ok || kind == "number" {
					return n
				}
			}
		case "boolean":
			switch text {
			case "true", "1":
				return true
			case "false", "0":
				return false
			}
		case "object", "array":
			if v, err := decode(text); err == nil && v != nil && kindOf(v) == kind {
				return v
			}
		}
	}
	return text
}

// whole writes a number without a fraction as digits; false when it has one or
// does not fit 64 bits.
func whole(n json.Number) (string, bool) {
	if _, err := n.Int64(); err == nil {
		return n.String(), true
	}
	f, err := n.Float64()
	if err != nil || len(n) > maxDigits || f > 1<<63 || f < -1<<63 {
		return "", false
	}
	if f == 0 { // also 1e-999999999, whose digits must not be written out
		mantissa, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
		return "0", !strings.ContainsAny(mantissa, "123456789")
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return "", false
	}
	return r.Num().String(), true
}

// follow steps through references inside the schema.
func follow(root, s *jsonschema.Schema) *jsonschema.Schema {
	for range maxDepth {
		if s == nil || s.Ref == "" {
			return s
		}
		s = lookup(root, s.Ref)
	}
	return nil
}

func lookup(root *jsonschema.Schema, ref string) *jsonschema.Schema {
	if ref == "#" {
		return root
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return root.Definitions[name]
	}
	return nil
}

// wanted lists the types that a schema accepts; none means any.
func wanted(root, s *jsonschema.Schema, depth int) []string {
	if s = follow(root, s); s == nil || depth > maxTypeDepth {
		return nil
	}
	if s.Type != "" {
		return []string{s.Type}
	}
	all := slices.Clone(s.Types)
	for _, sub := range slices.Concat(s.AnyOf, s.OneOf) {
		kinds := wanted(root, sub, depth+1)
		if kinds == nil {
			return nil
		}
		all = append(all, kinds...)
	}
	return all
}

// property returns the schema of a property, nil when nothing is said of it.
func property(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if p := s.Properties[name]; p != nil {
		return p
	}
	return s.AdditionalProperties
}

// item returns the schema of the i-th item, nil when nothing is said of it.
func item(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	return s.Items
}
