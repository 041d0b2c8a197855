package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"magpie/internal/rights"
)

// expand replaces ${VAR} and ${VAR:-default} in a value of the file; $${ is a
// literal ${. The result is never looked at again, neither as YAML nor for
// more variables. A variable that is empty counts as unset.
func expand(s string, env func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			b.WriteString(s)
			return b.String(), nil
		}
		if literal, ok := strings.CutSuffix(before, "$"); ok {
			b.WriteString(literal + "${")
			s = after
			continue
		}
		b.WriteString(before)
		inside, rest, closed := strings.Cut(after, "}")
		name, fallback, hasFallback := strings.Cut(inside, ":-")
		if !closed || !variable(name) {
			return "", fmt.Errorf("%q is no variable: want ${NAME} or ${NAME:-default}; $${ writes a plain ${", "${"+cut(inside))
		}
		value, ok := env(name)
		switch {
		case ok && value != "":
			b.WriteString(value)
		case hasFallback:
			b.WriteString(fallback)
		default:
			return "", unset(name)
		}
		s = rest
	}
}

// unset is the name of a variable that a value needs.
type unset string

func (name unset) Error() string {
	if name == "WEB_TOKEN" {
		return "the variable WEB_TOKEN is not set, which opens the chat page: set it, for example to what openssl rand -hex 16 prints"
	}
	return fmt.Sprintf("the variable %s is not set: set it, or write ${%s:-default}", string(name), string(name))
}

// lacks says whether a variable of s is not set.
func lacks(s string, env func(string) (string, bool)) (lacking bool) {
	// The error of a value that cannot be expanded is reported elsewhere.
	_, _ = expand(s, func(name string) (string, bool) {
		value, ok := env(name)
		lacking = lacking || value == ""
		return value, ok
	})
	return lacking
}

func variable(name string) bool {
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// cut shortens what is quoted in a message.
func cut(s string) string {
	const most = 40 // runes: enough to find the place
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// maxSecretFile bounds a secret's file in bytes; the largest real ones are
// credentials of a few KiB.
const maxSecretFile = 64 << 10

// secretFile reads a secret that stands alone in a file, without the white
// space around it. The path is not part of the error: the secret itself is put
// there by mistake.
func secretFile(path string) (string, error) {
	f, err := os.Open(path)
	if _, missing := os.Stat(path); errors.Is(err, fs.ErrPermission) && missing == nil { // so it is the name of a file
		denied := rights.ReadSecret(path)
		return "", fmt.Errorf("%s; %s", denied.Why, denied.Todo)
	}
	if err != nil {
		return "", reason(err)
	}
	defer f.Close()
	data, err := readBounded(f, maxSecretFile)
	if err != nil {
		return "", reason(err)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		return "", errors.New("the file is empty")
	}
	return secret, nil
}
