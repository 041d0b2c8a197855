package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"magpie/internal/rights"
)

// EnvName is the file of variables beside the configuration.
const EnvName = ".env"

// EnvFile is where the variables of a configuration file stand. They count
// where the environment does not set one; an empty one counts as unset.
func EnvFile(path string) string { return filepath.Join(filepath.Dir(path), EnvName) }

// variables adds what the file sets to env. There need not be one.
func (d *decoder) variables(path string, env func(string) (string, bool)) (both func(string) (string, bool), names []string) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return env, nil
	case errors.Is(err, fs.ErrPermission):
		// Another program may have read it for us, as systemd does: it is a
		// problem when a variable is missed.
		p := unread(path, err, rights.ReadSecret)
		d.closed = &p
		return env, nil
	}
	var data []byte
	if err == nil {
		defer f.Close()
		data, err = readBounded(f, maxFile)
	}
	if err != nil {
		d.problems = append(d.problems, unread(path, err, rights.ReadSecret))
		return env, nil
	}
	set, bad := ParseEnv(data)
	lines := strings.Split(string(data), "\n")
	for _, line := range bad {
		d.problems = append(d.problems, Problem{File: path, Line: line, Column: 1, Text: "want NAME=value, a comment or nothing" + mistyped(lines[line-1])})
	}
	*d.warned = append(*d.warned, repeated(path, lines)...)
	return func(name string) (string, bool) {
		if value, ok := env(name); ok && value != "" {
			return value, true
		}
		value, ok := set[name]
		return value, ok
	}, slices.Collect(maps.Keys(set))
}

// mistyped says what is wrong with a line that sets nothing, without the value.
func mistyped(line string) string {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
	at := strings.IndexAny(line, "=＝:：")
	if at < 0 {
		return ""
	}
	mark, _ := utf8.DecodeRuneInString(line[at:])
	name := strings.TrimPrefix(line[:at], "export ")
	switch {
	case mark == '＝':
		return ": the ＝ is full-width, write ="
	case mark == ':' || mark == '：':
		return ": write = and not a colon behind the name"
	case !variable(strings.TrimSpace(name)):
		return fmt.Sprintf(": %q is no name, which has letters, digits and _", cut(name))
	}
	return ": a quote is not closed"
}

// repeated warns of variables that a file sets twice, of which the last counts.
func repeated(path string, lines []string) (all []string) {
	seen := map[string]string{}
	for i, line := range lines {
		one, _ := ParseEnv([]byte(line))
		for name, value := range one {
			if was, twice := seen[name]; twice && was != value {
				all = append(all, fmt.Sprintf("%s:%d: %s is set a second time, to something else; this one counts", path, i+1, name))
			}
			seen[name] = value
		}
	}
	return all
}

// ParseEnv reads lines such as NAME=value, as Docker Compose does, but without
// variables in values. bad are the numbers of the lines that are none.
func ParseEnv(data []byte) (set map[string]string, bad []int) {
	set = map[string]string{}
	for i, line := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		value, whole := unquote(strings.TrimSpace(value))
		if !found || !whole || !variable(name) {
			bad = append(bad, i+1)
			continue
		}
		set[name] = value
	}
	return set, bad
}

// unquote reads a value; ok is false when a quote is not closed. What follows
// a quoted value, or a blank and # after a plain one, is a comment.
func unquote(s string) (value string, ok bool) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		for _, mark := range []string{" #", "\t#"} {
			s, _, _ = strings.Cut(s, mark)
		}
		return strings.TrimSpace(s), true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == s[0]:
			rest := strings.TrimSpace(s[i+1:])
			return b.String(), rest == "" || rest[0] == '#'
		case c == '\\' && s[0] == '"' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case '"', '\\', '$', '\'':
				b.WriteByte(s[i])
			default:
				b.WriteString(s[i-1 : i+1])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// EnvLine writes a line of a file of variables so that Docker Compose and
// systemd read the same value; false when no line can hold it.
func EnvLine(name, value string) (string, bool) {
	if !variable(name) || strings.ContainsAny(value, "'\n\r\x00") {
		return "", false
	}
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-.:/+=@,%~", c)
	}
	if strings.IndexFunc(value, func(c rune) bool { return !plain(c) }) >= 0 {
		value = "'" + value + "'"
	}
	return name + "=" + value, true
}
