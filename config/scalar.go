package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/internal/paste"
)

// scalar decodes a text, number, truth value or duration. A text that came out
// of a variable is cast to what the field wants; one that the file quotes is a
// text.
func (d *decoder) scalar(n *node, key string, f field) bool {
	if n.kind == list || n.kind == table {
		d.add(n, key, "want %s, got %s", wanted(f), n.kind)
		return false
	}
	s, cast := n.raw, false
	if n.kind == text {
		expanded, err := expand(n.text, d.env)
		if name, missing := errors.AsType[unset](err); missing && d.why != "" {
			d.note(n, key, fmt.Sprintf("the variable %s is not set, %s", string(name), d.why))
			return false
		}
		if err != nil {
			d.note(n, key, err.Error())
			return false
		}
		s, cast = expanded, strings.Contains(n.text, "${")
	}
	v := f.value
	switch {
	case cast && s == "" && v.Kind() != reflect.String:
		return false // ${PORT:-}: as if the key were not there
	case v.Type() == durationType:
		return d.duration(n, key, s, f)
	case v.Addr().Type().Implements(textType):
		return d.unmarshalText(n, key, s, v)
	case v.Kind() == reflect.String:
		if n.kind == boolean {
			d.add(n, key, "want %s, got %s: quote it if it is meant as text", wanted(f), n.raw)
			return false
		}
		v.SetString(s)
		return true
	}
	value := n.value
	if cast {
		value = guess(s)
		if on, ok := paste.Truth(s); ok && v.Kind() == reflect.Bool {
			value = on
		}
	}
	if !assign(v, value) {
		d.add(n, key, "want %s, got %s", wanted(f), got(n))
		return false
	}
	return true
}

// guess reads an expanded variable the way the file would have been read.
func guess(s string) any {
	s = strings.TrimSpace(s)
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i
	}
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return x
	}
	if b, err := strconv.ParseBool(strings.ToLower(s)); err == nil {
		return b
	}
	return s
}

// assign stores a parsed value if the kind fits without loss.
func assign(v reflect.Value, value any) bool {
	switch v.Kind() {
	case reflect.Bool:
		b, ok := value.(bool)
		v.SetBool(b)
		return ok
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, ok := whole(value)
		if !ok || v.OverflowInt(i) {
			return false
		}
		v.SetInt(i)
		return true
	case reflect.Float32, reflect.Float64:
		x, ok := value.(float64)
		if i, isInt := whole(value); isInt {
			x, ok = float64(i), true
		}
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
		v.SetFloat(x)
		return true
	}
	return false
}

func whole(value any) (int64, bool) {
	switch i := value.(type) {
	case int64:
		return i, true
	case uint64:
		return int64(i), i <= math.MaxInt64
	}
	return 0, false
}

func (d *decoder) duration(n *node, key, s string, f field) bool {
	t, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil || t < 0 {
		d.add(n, key, "want %s, got %s", wanted(f), got(n))
		return false
	}
	f.value.SetInt(int64(t))
	return true
}

// got quotes a scalar as it stands in the file: an expanded variable may be a
// secret that was put into the wrong place.
func got(n *node) string {
	switch {
	case n.kind != text:
	case strings.Contains(n.text, "${"):
		return strconv.Quote(cut(n.text))
	default:
		return fmt.Sprintf("the text %q%s", cut(n.text), wide(n))
	}
	return cut(n.raw)
}

func wanted(f field) string {
	if c := f.choices(); c != nil {
		return "one of " + strings.Join(c, ", ")
	}
	switch {
	case f.value.Type() == durationType:
		return "a duration such as 30s or 10m"
	case f.value.Type() == secretType:
		return "a text or ${VARIABLE}"
	}
	switch f.value.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a text"
}

// bounds checks the tags oneof, min and max.
func (d *decoder) bounds(n *node, key string, f field) {
	if c := f.choices(); c != nil && f.value.Kind() == reflect.String && !slices.Contains(c, f.value.String()) {
		hint := ""
		if near := nearest(f.value.String(), c); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		if vendor := ProviderHint(f.value.String()); f.name == "provider" && vendor != "" && strings.HasPrefix(key, "llm.") {
			hint = vendor
		}
		d.add(n, key, "want one of %s, got %s%s", strings.Join(named(c), ", "), got(n), hint)
		return
	}
	least, most := f.tag.Get("min"), f.tag.Get("max")
	if least != "" && compare(f, least) < 0 {
		d.add(n, key, "want at least %s, got %s", least, got(n))
	}
	if most != "" && compare(f, most) > 0 {
		d.add(n, key, "want at most %s, got %s", most, got(n))
	}
}

func named(choices []string) []string {
	all := slices.Clone(choices)
	for i, c := range all {
		if c == "" {
			all[i] = `""`
		}
	}
	return all
}

// compare orders a field's value and a bound written in a tag.
func compare(f field, bound string) int {
	if f.value.Type() == durationType {
		limit, _ := time.ParseDuration(bound)
		return cmp.Compare(time.Duration(f.value.Int()), limit)
	}
	limit, _ := strconv.ParseFloat(bound, 64)
	if f.value.CanInt() {
		return cmp.Compare(float64(f.value.Int()), limit)
	}
	return cmp.Compare(f.value.Float(), limit)
}
