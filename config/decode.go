package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"magpie/chat"
)

// decoder fills Go values from nodes, strictly, and reports everything that is
// wrong instead of stopping at the first.
type decoder struct {
	*report
	files  *[]string // that were read, or would be
	warned *[]string // what is legal and hardly meant; nil = nobody listens
	why    string    // what has made the section count; goes on from "is not set"
}

// custom is a value with a form of its own in the file.
type custom interface {
	decode(d *decoder, n *node, key string)
}

// prefilled is an element of a list or map that has defaults.
type prefilled interface{ defaults() }

// section decodes a table into a struct. also names keys that somebody else
// reads from the same table; they appear only in messages.
func (d *decoder) section(n *node, key string, v reflect.Value, also ...string) {
	fields := fieldsOf(v)
	if n.kind != null && n.kind != table {
		d.add(n, key, "want a section with keys (%s), got %s%s", strings.Join(keyNames(fields), ", "), n.kind, noColon(n))
		return
	}
	given := map[string]bool{}
	for _, p := range n.pairs {
		name := canonical(p.key)
		if given[name] {
			d.add(p.place, join(key, name), "given twice: remove one of them")
			continue
		}
		given[name] = true
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		switch base, isFile := strings.CutSuffix(name, "_file"); {
		case i >= 0:
			d.field(p.value, join(key, name), fields[i])
		case isFile && d.fromFile(fields, base, p, key):
		default:
			d.unknown(p, key, append(keyNames(fields), also...))
		}
	}
	for _, f := range fields {
		if f.tag.Get("required") == "true" && f.value.IsZero() && !given[f.name] {
			d.add(n, join(key, f.name), "is required%s", accepted(f))
		}
	}
}

func accepted(f field) string {
	if c := f.choices(); c != nil {
		return ": one of " + strings.Join(c, ", ")
	}
	return ""
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func (d *decoder) unknown(p pair, key string, names []string) {
	hint := "accepted: " + strings.Join(names, ", ")
	if len(names) == 0 {
		hint = "there are no keys here"
	}
	if near := nearest(p.key, names); near != "" {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	}
	d.add(p.place, join(key, p.key), "unknown key; %s", hint)
}

// fromFile reads <key>_file of a secret; false means that there is no such
// secret.
func (d *decoder) fromFile(fields []field, base string, p pair, key string) bool {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == base && f.value.Type() == secretType })
	if i < 0 {
		return false
	}
	var path string
	here := join(key, base+"_file")
	if !d.value(p.value, here, field{name: base, value: reflect.ValueOf(&path).Elem()}) || path == "" {
		return true
	}
	*d.files = append(*d.files, path)
	secret, err := secretFile(path)
	switch {
	case err != nil:
		d.add(p.value, here, "the secret %v", err)
	case !fields[i].value.IsZero():
		d.add(p.place, here, "%s is given too: keep one of them", base)
	default:
		fields[i].value.SetString(secret)
	}
	return true
}

// field decodes one key of a section and checks what its tags demand.
func (d *decoder) field(n *node, key string, f field) {
	if f.value.Type() == secretType {
		d.secret(n, key, f)
		return
	}
	if d.value(n, key, f) {
		d.bounds(n, key, f)
	}
}

// secret decodes a secret that a file may have given already. An empty one,
// such as ${TOKEN:-}, leaves the file's.
func (d *decoder) secret(n *node, key string, f field) {
	var direct chat.Secret
	if !d.value(n, key, field{name: f.name, tag: f.tag}.of(&direct)) || direct == "" {
		return
	}
	if !f.value.IsZero() {
		d.add(n, key, "%s_file is given too: keep one of them", f.name)
		return
	}
	f.value.SetString(string(direct))
}

// value decodes one value and says whether it did. Nothing (an empty value)
// leaves what was there before.
func (d *decoder) value(n *node, key string, f field) bool {
	if n.kind == null {
		return false
	}
	v := f.value
	switch {
	case v.Addr().Type().Implements(reflect.TypeFor[custom]()):
		v.Addr().Interface().(custom).decode(d, n, key)
		return true
	case v.Type() == durationType || v.Addr().Type().Implements(textType):
		return d.scalar(n, key, f)
	}
	switch v.Kind() {
	case reflect.Struct:
		d.section(n, key, v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.value = v.Elem()
		return d.value(n, key, f)
	case reflect.Slice:
		d.list(n, key, v)
	case reflect.Map:
		d.named(n, key, v)
	default:
		return d.scalar(n, key, f)
	}
	return true
}

func (d *decoder) list(n *node, key string, v reflect.Value) {
	if n.kind != list {
		d.add(n, key, "want a list such as [a, b], got %s%s", n.kind, wide(n))
		return
	}
	all := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		d.element(item, fmt.Sprintf("%s[%d]", key, i), all.Index(i))
	}
	v.Set(all)
}

func (d *decoder) named(n *node, key string, v reflect.Value) {
	if n.kind != table {
		d.add(n, key, "want names with values, got %s", n.kind)
		return
	}
	all := reflect.MakeMapWithSize(v.Type(), len(n.pairs))
	for _, p := range n.pairs {
		name := reflect.ValueOf(p.key).Convert(v.Type().Key())
		if all.MapIndex(name).IsValid() {
			d.add(p.place, join(key, p.key), "given twice: remove one of them")
			continue
		}
		element := reflect.New(v.Type().Elem()).Elem()
		d.element(p.value, join(key, p.key), element)
		all.SetMapIndex(name, element)
	}
	v.Set(all)
}

func (d *decoder) element(n *node, key string, v reflect.Value) {
	if p, ok := v.Addr().Interface().(prefilled); ok {
		p.defaults()
	}
	if n.kind == null {
		d.add(n, key, "is empty")
		return
	}
	d.value(n, key, field{name: key, value: v})
}

// unmarshalText hands a text to a type that reads its own. Its error says what
// is wanted.
func (d *decoder) unmarshalText(n *node, key, s string, v reflect.Value) bool {
	err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
	if err != nil {
		d.add(n, key, "%v, got %s", err, got(n))
	}
	return err == nil
}
