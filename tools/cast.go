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

// caster turns what a model wrote into what the schema wants where it says
// exactly that: "42", "3.5", "true", "1", and JSON text of an object or array;
// one value where a list is wanted; null where there may be none. Whole numbers
// written as 42.0 or 4e1 are written as integers. Nothing else is changed; what
// does not fit is left for validation to name.
type caster struct {
	root  *jsonschema.Schema
	steps int
	forms int // alternatives that the walk is inside of
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
	if slices.Contains(want, "array") && !accepts(want, v) {
		v = c.list(s, v, depth)
	}
	switch x := v.(type) {
	case map[string]any:
		c.absent(s, x)
		for name, value := range x {
			x[name] = c.cast(property(s, name), value, depth+1)
		}
	case []any:
		if s.Items != nil && !c.fits(s.Items, nil) {
			fixed := min(len(x), len(s.PrefixItems)) // there the place counts
			v = append(x[:fixed], slices.DeleteFunc(x[fixed:], func(e any) bool { return e == nil })...)
		}
		for i, value := range v.([]any) {
			v.([]any)[i] = c.cast(item(s, i), value, depth+1)
		}
	case json.Number:
		if n, ok := whole(x); ok && slices.Contains(want, "integer") {
			return json.Number(n)
		}
	}
	for _, sub := range s.AllOf {
		v = c.cast(sub, v, depth+1)
	}
	if forms := slices.Concat(s.AnyOf, s.OneOf); len(forms) > 0 && !c.fits(s, v) {
		c.forms++
		for _, sub := range forms {
			v = c.cast(sub, v, depth+1)
		}
		c.forms--
	}
	return v
}

// list makes a list of one value where only a list is wanted, if it may stand
// there; of "1, 2" where numbers or a choice of words are wanted, one of each.
// Other texts are not cut: a comma may be a part of them.
func (c *caster) list(s *jsonschema.Schema, v any, depth int) any {
	is := follow(c.root, item(s, 0))
	kinds := wanted(c.root, is, 0)
	parts := []any{v}
	if text, ok := v.(string); ok {
		switch trimmed := strings.TrimSpace(text); {
		case trimmed == "":
			return []any{}
		case trimmed[0] == '[':
			return v // a list that is no JSON, and no name of anything
		case is != nil && len(is.Enum) > 0 || len(kinds) > 0 && !slices.Contains(kinds, "string"):
			parts = parts[:0]
			for part := range strings.SplitSeq(text, ",") {
				parts = append(parts, strings.TrimSpace(part))
			}
		}
	}
	for i, part := range parts {
		if parts[i] = c.cast(is, part, depth+1); parts[i] == nil || !accepts(kinds, parts[i]) {
			return v
		}
	}
	return parts
}

// absent takes out what is null and may not be, unless it is demanded, and puts
// in what is demanded and has a default: some servers list such parameters as
// required because they put them in themselves, others refuse a call without.
func (c *caster) absent(s *jsonschema.Schema, v map[string]any) {
	for name, value := range v {
		if p := property(s, name); value == nil && p != nil && !closed(p) && !c.fits(p, nil) && !demanded(c.root, s, name) {
			delete(v, name)
		}
	}
	for _, name := range s.Required {
		if _, given := v[name]; given || c.forms > 0 { // of another form it would be wrong
			continue
		}
		if d, err := decode(string(defaultOf(c.root, s.Properties[name]))); err == nil && d != nil && c.fits(s.Properties[name], d) {
			v[name] = d
		}
	}
}

// demanded says whether an object must have a property: it is required, and
// there is no default for it.
func demanded(root, s *jsonschema.Schema, name string) bool {
	return slices.Contains(s.Required, name) && defaultOf(root, s.Properties[name]) == nil
}

// defaultOf is what stands for a property that is not given, as JSON; nil: there
// is nothing.
func defaultOf(root, p *jsonschema.Schema) json.RawMessage {
	if p != nil && p.Default == nil {
		p = follow(root, p)
	}
	if p == nil {
		return nil
	}
	return p.Default
}

// fits says whether a value is what a schema wants.
func (c *caster) fits(s *jsonschema.Schema, v any) bool {
	try := &checker{root: c.root, steps: &c.steps}
	try.check("", s, v, 0)
	return len(try.found) == 0
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
