package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxViolations bounds the list that a huge wrong value leads to.
const maxViolations = 200

// checker collects every violation of a schema. jsonschema's own validator
// stops at the first one, and a model that learns one mistake at a time needs
// one call for each.
type checker struct {
	root  *jsonschema.Schema
	found []string
	more  int
	steps *int // shared by the attempts at alternatives
}

func (c *checker) add(path, format string, args ...any) {
	if len(c.found) >= maxViolations {
		c.more++
		return
	}
	c.found = append(c.found, place(path)+": "+fmt.Sprintf(format, args...))
}

func place(path string) string {
	if path == "" {
		return "arguments"
	}
	return path
}

// check compares a value with a schema.
func (c *checker) check(path string, s *jsonschema.Schema, v any, depth int) {
	if s = follow(c.root, s); s == nil {
		return
	}
	if *c.steps++; depth > maxDepth || *c.steps > maxSteps {
		c.add(path, "nested too deeply or too large to check")
		return
	}
	if !c.kind(path, s, v) {
		return
	}
	c.values(path, s, v)
	switch x := v.(type) {
	case string:
		c.text(path, s, x)
	case json.Number:
		c.number(path, s, x)
	case []any:
		c.array(path, s, x, depth)
	case map[string]any:
		c.object(path, s, x, depth)
	}
	c.combined(path, s, v, depth)
}

func (c *checker) kind(path string, s *jsonschema.Schema, v any) bool {
	want := s.Types
	if s.Type != "" {
		want = []string{s.Type}
	}
	if accepts(want, v) {
		return true
	}
	c.add(path, "want %s, got %s", strings.Join(want, " or "), kindOf(v))
	return false
}

// accepts says whether a value is of one of the kinds; none means any.
func accepts(kinds []string, v any) bool {
	got := kindOf(v)
	return len(kinds) == 0 || slices.Contains(kinds, got) || got == "integer" && slices.Contains(kinds, "number")
}

func (c *checker) values(path string, s *jsonschema.Schema, v any) {
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return equal(e, v) }) {
		c.add(path, "want one of %s, got %s", choices(s.Enum), show(v))
	}
	if s.Const != nil && !equal(*s.Const, v) {
		c.add(path, "want %s, got %s", show(*s.Const), show(v))
	}
}

func (c *checker) text(path string, s *jsonschema.Schema, v string) {
	n := utf8.RuneCountInString(v)
	if s.MinLength != nil && n < *s.MinLength {
		c.add(path, "want at least %d characters, got %d", *s.MinLength, n)
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		c.add(path, "want at most %d characters, got %d", *s.MaxLength, n)
	}
	if s.Pattern != "" {
		// A foreign schema may hold a pattern that RE2 does not know; then it
		// is the server's to judge.
		if re, err := regexp.Compile(s.Pattern); err == nil && !re.MatchString(v) {
			c.add(path, "want text that matches %s, got %s", s.Pattern, show(v))
		}
	}
}

func (c *checker) number(path string, s *jsonschema.Schema, v json.Number) {
	f, err := v.Float64()
	switch {
	case err != nil:
		c.add(path, "the number %s is out of range", show(v))
	case s.Minimum != nil && f < *s.Minimum:
		c.add(path, "want at least %s, got %s", plain(*s.Minimum), v)
	case s.Maximum != nil && f > *s.Maximum:
		c.add(path, "want at most %s, got %s", plain(*s.Maximum), v)
	case s.ExclusiveMinimum != nil && f <= *s.ExclusiveMinimum:
		c.add(path, "want more than %s, got %s", plain(*s.ExclusiveMinimum), v)
	case s.ExclusiveMaximum != nil && f >= *s.ExclusiveMaximum:
		c.add(path, "want less than %s, got %s", plain(*s.ExclusiveMaximum), v)
	}
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (c *checker) array(path string, s *jsonschema.Schema, v []any, depth int) {
	if s.MinItems != nil && len(v) < *s.MinItems {
		c.add(path, "want at least %d items, got %d", *s.MinItems, len(v))
	}
	if s.MaxItems != nil && len(v) > *s.MaxItems {
		c.add(path, "want at most %d items, got %d", *s.MaxItems, len(v))
	}
	for i, x := range v {
		if is := item(s, i); is != nil {
			c.check(path+"["+strconv.Itoa(i)+"]", is, x, depth+1)
		}
	}
}

func (c *checker) object(path string, s *jsonschema.Schema, v map[string]any, depth int) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok && demanded(c.root, s, name) {
			c.add(join(path, name), "required, but missing%s", meaning(c.root, s.Properties[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		p := property(s, name)
		switch {
		case p == nil:
		case v[name] == nil && demanded(c.root, s, name) && !(&caster{root: c.root}).fits(p, nil):
			c.add(join(path, name), "required, but null%s", meaning(c.root, p))
		case s.Properties[name] == nil && closed(p):
			c.add(join(path, name), "unknown parameter%s", c.instead(name, s, v))
		default:
			c.check(join(path, name), p, v[name], depth+1)
		}
	}
}

// closed says whether a schema is `false`: nothing fits it.
func closed(s *jsonschema.Schema) bool {
	return s.Not != nil && reflect.DeepEqual(s.Not, &jsonschema.Schema{})
}

// instead says what an unknown parameter may have meant.
func (c *checker) instead(name string, s *jsonschema.Schema, v map[string]any) string {
	told := slices.DeleteFunc(slices.Sorted(maps.Keys(s.Properties)), func(p string) bool { return s.Properties[p].Deprecated })
	free := slices.DeleteFunc(slices.Clone(told), func(p string) bool { _, ok := v[p]; return ok })
	if near := Nearest(name, free); len(near) > 0 {
		return "; did you mean " + quoted(near) + "?"
	}
	if len(told) == 0 {
		return "; there are no parameters"
	}
	return "; accepted: " + strings.Join(told, ", ")
}

// meaning tells type and description of a missing parameter.
func meaning(root, s *jsonschema.Schema) string {
	kinds := wanted(root, s, 0)
	if s == nil || len(kinds) == 0 {
		kinds = []string{"a value"}
	}
	if s == nil || s.Description == "" {
		return "; want " + strings.Join(kinds, " or ")
	}
	return "; want " + strings.Join(kinds, " or ") + ": " + s.Description
}

// combined checks allOf, anyOf and oneOf; a value that fits two forms of a
// oneOf is let through, for a model could not tell them apart either.
func (c *checker) combined(path string, s *jsonschema.Schema, v any, depth int) {
	for _, sub := range s.AllOf {
		c.check(path, sub, v, depth+1)
	}
	for _, forms := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(forms) == 0 {
			continue
		}
		var first []string
		fits := slices.ContainsFunc(forms, func(sub *jsonschema.Schema) bool {
			try := &checker{root: c.root, steps: c.steps}
			try.check(path, sub, v, depth+1)
			if first == nil {
				first = try.found
			}
			return len(try.found) == 0
		})
		if !fits {
			c.add(path, "fits none of the %d accepted forms (the first: %s)", len(forms), strings.Join(first, "; "))
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// equal compares JSON values whichever way their numbers were decoded.
func equal(a, b any) bool { return canonical(a) == canonical(b) }

func canonical(v any) string {
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil {
			v = f
		}
	}
	raw, err := encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

const shownRunes = 60 // of a wrong value: enough to recognise it

func show(v any) string { return clip(canonical(v), shownRunes) }

func choices(values []any) string {
	var all []string
	for _, v := range values {
		all = append(all, canonical(v))
	}
	return strings.Join(all, ", ")
}

// clip cuts a text after n runes and shows that it did.
func clip(s string, n int) string {
	if head := first(s, n); len(head) < len(s) {
		return head + "…"
	}
	return s
}

// first is the first n runes of a text.
func first(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// validate checks a call's arguments and returns one error that lists all
// violations.
func validate(s *jsonschema.Schema, values map[string]any, violations []string) error {
	c := &checker{root: s, found: violations, steps: new(int)}
	c.check("", s, values, 0)
	if len(c.found) == 0 {
		return nil
	}
	slices.Sort(c.found)
	all := slices.Compact(c.found)
	text := "the arguments do not fit:\n- " + strings.Join(all, "\n- ")
	if c.more > 0 {
		text += fmt.Sprintf("\n- and %d more", c.more)
	}
	return Errorf(InvalidArgs, "%s", text)
}
