package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"magpie/chat"
)

// Text is a configuration file that a program adds to: what stands in it stays
// as it is, comments and order too.
type Text struct {
	text string
	root *node
}

// Entry is a key with its value, or with a section.
type Entry struct {
	Key     string
	Value   string  // as text; it is quoted where YAML wants it
	Entries []Entry // a section; Value is not looked at
	List    bool    // the section is the only item of a list
}

// ErrPlace says that an entry cannot be added by a program.
var ErrPlace = errors.New("the file is written in a way that cannot be added to: write it in by hand")

// NewText reads a file's content; nil when it is no YAML.
func NewText(data []byte) *Text {
	r := &report{}
	root := parse(data, r)
	if len(r.problems) > 0 {
		return nil
	}
	if root == nil {
		root = &node{kind: table}
	}
	return &Text{string(data), root}
}

// Bytes is the content.
func (t *Text) Bytes() []byte { return []byte(t.text) }

// Keys are the keys of a section at the top, of the file itself for "".
func (t *Text) Keys(section string) []string {
	n := t.root
	if section != "" {
		p := t.pair(section)
		if p == nil {
			return nil
		}
		n = p.value
	}
	var all []string
	for _, p := range n.pairs {
		all = append(all, canonical(p.key))
	}
	return all
}

func (t *Text) pair(key string) *pair {
	for i := range t.root.pairs {
		if canonical(t.root.pairs[i].key) == key {
			return &t.root.pairs[i]
		}
	}
	return nil
}

// Add puts an entry into a section at the top, or at the end of the file for
// "". The section is made when it is missing. It returns what was put in.
func (t *Text) Add(section string, e Entry) (added string, err error) {
	p := t.pair(section)
	next := t.text
	switch {
	case t.root.kind != table || strings.HasPrefix(strings.TrimSpace(t.text), "{") || strings.Contains(t.text, "\n...") || strings.Contains(t.text, "\n---"):
		return "", ErrPlace
	case section != "" && p == nil:
		return t.Add("", Entry{Key: section, Entries: []Entry{e}})
	case section == "":
		added = strings.Join(e.lines(0), "\n") + "\n"
		if next != "" && !strings.HasSuffix(next, "\n") {
			next += "\n"
		}
		if next != "" && len(e.Entries) > 0 {
			next += "\n"
		}
		next += added
	default:
		if next, added, err = t.into(p, e); err != nil {
			return "", err
		}
	}
	if strings.Contains(t.text, "\r\n") {
		next = strings.ReplaceAll(strings.ReplaceAll(next, "\r\n", "\n"), "\n", "\r\n")
	}
	changed := NewText([]byte(next))
	if changed == nil {
		return "", ErrPlace
	}
	*t = *changed
	return added, nil
}

// into adds to a section that is there, as its first entry: the place after its
// key is the one that can always be found.
func (t *Text) into(p *pair, e Entry) (next, added string, err error) {
	lines := strings.SplitAfter(t.text, "\n")
	at := p.place.line - 1
	if at < 0 || at >= len(lines) {
		return "", "", ErrPlace
	}
	line := lines[at]
	_, rest, _ := strings.Cut(line, ":")
	rest, _, _ = strings.Cut(strings.TrimSpace(rest), "#")
	switch {
	case strings.HasPrefix(rest, "{"):
		added = e.flow()
		glue := added
		if len(p.value.pairs) > 0 {
			glue += ", "
		}
		lines[at] = strings.Replace(line, "{", "{"+glue, 1)
	case rest != "" || p.value.kind != table && p.value.kind != null:
		return "", "", ErrPlace
	default:
		indent := 2
		if len(p.value.pairs) > 0 {
			indent = p.value.pairs[0].place.column - 1
		}
		added = strings.Join(e.lines(indent), "\n") + "\n"
		if !strings.HasSuffix(line, "\n") {
			line += "\n"
		}
		lines[at] = line + added
	}
	return strings.Join(lines, ""), added, nil
}

// lines writes the entry as a block.
func (e Entry) lines(indent int) []string {
	pad := strings.Repeat(" ", indent)
	if len(e.Entries) == 0 {
		return []string{pad + e.Key + ": " + scalar(e.Value, false)}
	}
	all := []string{pad + e.Key + ":"}
	for i, in := range e.Entries {
		if !e.List {
			all = append(all, in.lines(indent+2)...)
			continue
		}
		item := in.lines(indent + 4)
		if i == 0 {
			item[0] = pad + "  - " + strings.TrimLeft(item[0], " ")
		}
		all = append(all, item...)
	}
	return all
}

// flow writes the entry in braces.
func (e Entry) flow() string {
	if len(e.Entries) == 0 {
		return e.Key + ": " + scalar(e.Value, true)
	}
	var inside []string
	for _, in := range e.Entries {
		inside = append(inside, in.flow())
	}
	if text := "{" + strings.Join(inside, ", ") + "}"; e.List {
		return e.Key + ": [" + text + "]"
	} else {
		return e.Key + ": " + text
	}
}

// plain is what means itself in YAML without quotes; a variable only outside
// of braces.
var (
	plain     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*(://[A-Za-z0-9_./:-]+)?$`)
	reference = regexp.MustCompile(`^\$\{[A-Za-z0-9_]+\}$`)
	literal   = regexp.MustCompile(`^(\[[^\]]*\])$`)
)

func scalar(s string, flow bool) string {
	word := strings.ToLower(s)
	switch {
	case literal.MatchString(s), !flow && reference.MatchString(s):
		return s
	case plain.MatchString(s) && word != "true" && word != "false" && word != "null" && word != "yes" && word != "no" && word != "on" && word != "off":
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// IsSecret says whether a key of an adapter's section is a secret.
func IsSecret(section any, key string) bool {
	v := reflect.Indirect(reflect.ValueOf(section))
	if v.Kind() != reflect.Struct {
		return false
	}
	for _, f := range fieldsOf(v) {
		if f.name == key {
			return f.value.Type() == reflect.TypeFor[chat.Secret]()
		}
	}
	return false
}

// List writes a list of texts as a value.
func List(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = fmt.Sprintf("%q", strings.NewReplacer("]", "", `"`, "", `\`, "").Replace(item))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
