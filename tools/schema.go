package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// params is what is derived from a parameter struct.
type params struct {
	advertised json.RawMessage // JSON Schema for the model
	accepted   json.RawMessage // the same with the hidden parameters
	defaults   json.RawMessage // JSON object
}

// paramsOf derives the schemas of a parameter struct. The tags of a field:
//
//	json:"name,omitempty"        the parameter's name; without omitempty or omitzero it is required
//	jsonschema:"text"            its description for the model
//	rule:"min=1,max=9"           bounds of a number
//	rule:"minlen=1,maxlen=80"    bounds of a text, in runes
//	rule:"minitems=1,maxitems=5" bounds of a list
//	rule:"enum=a|b|c"            the accepted values
//	rule:"default=10"            used when the parameter is missing (top level only)
//	rule:"hidden"                accepted, never advertised (top level only): for models that know
//	                             another tool's way of saying it, where an alias is not enough
//	rule:"pattern=^[a-z,]+$"     RE2; takes the rest of the tag, so it stands last
//
// On a list, min, max, minlen, maxlen, enum and pattern describe its items.
// Every object is closed: unknown parameters are refused.
func paramsOf(t reflect.Type) (p params, err error) {
	if t.Kind() != reflect.Struct {
		return p, fmt.Errorf("parameters must be a struct, got %s", t)
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
	if err != nil {
		return p, err
	}
	top := &topLevel{defaults: map[string]json.RawMessage{}}
	if err := applyRules(t, s, top); err != nil {
		return p, err
	}
	if p.defaults, err = json.Marshal(top.defaults); err != nil {
		return p, err
	}
	if p.accepted, err = json.Marshal(s); err != nil {
		return p, err
	}
	for _, name := range top.hidden {
		delete(s.Properties, name)
		s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
		s.PropertyOrder = slices.DeleteFunc(s.PropertyOrder, func(o string) bool { return o == name })
	}
	p.advertised, err = json.Marshal(s)
	return p, err
}

// topLevel collects what is possible at the top level only.
type topLevel struct {
	defaults map[string]json.RawMessage
	hidden   []string
}

// applyRules walks a struct type and its schema together; top is nil below the
// top level.
func applyRules(t reflect.Type, s *jsonschema.Schema, top *topLevel) error {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		p := s.Properties[name]
		if p == nil || !f.IsExported() {
			continue
		}
		dropNull(p)
		hidden, err := applyRule(p, f.Tag.Get("rule"))
		switch {
		case err != nil:
			return fmt.Errorf("parameter %q: %w", name, err)
		case top == nil && (hidden || p.Default != nil):
			return fmt.Errorf("parameter %q: default and hidden are possible at the top level only", name)
		case hidden:
			top.hidden = append(top.hidden, name)
			p.Deprecated = true // no message names it
		}
		if p.Default != nil {
			top.defaults[name] = p.Default
		}
		if sub, st := inner(p, f.Type); st.Kind() == reflect.Struct && sub.Properties != nil {
			if err := applyRules(st, sub, nil); err != nil {
				return fmt.Errorf("parameter %q: %w", name, err)
			}
		}
	}
	return nil
}

// inner steps through pointers and lists to the described value.
func inner(s *jsonschema.Schema, t reflect.Type) (*jsonschema.Schema, reflect.Type) {
	for {
		switch {
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && s.Items != nil:
			s, t = s.Items, t.Elem()
			dropNull(s)
		default:
			return s, t
		}
	}
}

// dropNull takes back that pointers and lists may be null: a model leaves out
// what it does not want to say.
func dropNull(s *jsonschema.Schema) {
	kept := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	if len(s.Types) > 0 && len(kept) == 1 {
		s.Type, s.Types = kept[0], nil
	}
}

func applyRule(s *jsonschema.Schema, rule string) (hidden bool, err error) {
	for rule != "" {
		var part string
		if part, rule = rule, ""; !strings.HasPrefix(part, "pattern=") {
			part, rule, _ = strings.Cut(part, ",")
		}
		if part == "hidden" {
			hidden = true
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return false, fmt.Errorf("rule %q: want key=value", part)
		}
		if err := setRule(s, key, value); err != nil {
			return false, fmt.Errorf("rule %s: %w", part, err)
		}
	}
	return hidden, nil
}

func setRule(s *jsonschema.Schema, key, value string) (err error) {
	item := s
	if s.Type == "array" && s.Items != nil {
		item = s.Items
	}
	switch key {
	case "min":
		item.Minimum, err = pointer(strconv.ParseFloat(value, 64))
	case "max":
		item.Maximum, err = pointer(strconv.ParseFloat(value, 64))
	case "minlen":
		item.MinLength, err = pointer(strconv.Atoi(value))
	case "maxlen":
		item.MaxLength, err = pointer(strconv.Atoi(value))
	case "minitems":
		s.MinItems, err = pointer(strconv.Atoi(value))
	case "maxitems":
		s.MaxItems, err = pointer(strconv.Atoi(value))
	case "pattern":
		item.Pattern = value
		_, err = regexp.Compile(value)
	case "enum":
		for _, v := range strings.Split(value, "|") {
			raw, litErr := literal(item.Type, v)
			if litErr != nil {
				return litErr
			}
			item.Enum = append(item.Enum, raw)
		}
	case "default":
		s.Default, err = literal(s.Type, value)
	default:
		err = fmt.Errorf("unknown key; want min, max, minlen, maxlen, minitems, maxitems, enum, default, hidden or pattern")
	}
	return err
}

func pointer[T any](v T, err error) (*T, error) { return &v, err }

// literal writes a tag's value as JSON of the wanted type.
func literal(kind, value string) (json.RawMessage, error) {
	if kind == "string" {
		return json.Marshal(value)
	}
	raw := json.RawMessage(value)
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("%q is no %s", value, kind)
	}
	if got := kindOf(v); got != kind && !(got == "integer" && kind == "number") {
		return nil, fmt.Errorf("%q is no %s", value, kind)
	}
	return raw, nil
}
