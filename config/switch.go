package config

import (
	"fmt"
	"slices"
	"strings"

	"magpie/internal/paste"
)

// turn is how the key enabled of a channel stands.
type turn struct {
	given    *node    // nil: the key is not there, and the channel is on
	open     bool     // it is there and empty: the credentials decide
	keys     []string // the credentials that are there: variables, else keys
	variable string   // of the switch
	platform string
}

// credentials are the ends of the keys that a platform gives: without them a
// channel cannot be, and nobody fills them in by accident.
func credentials() []string {
	return []string{"token", "secret", "app_id", "client_id", "password"}
}

// turned reads the switch of a section. A key alone switches a channel on:
// enabled that is empty, as ${TELEGRAM:-} is, leaves it to them.
func (d *decoder) turned(name string, section *node) turn {
	t := turn{platform: name}
	for _, p := range section.pairs {
		key := strings.TrimSuffix(canonical(p.key), "_file")
		if key == "enabled" {
			t.given = p.value
			continue
		}
		if slices.ContainsFunc(credentials(), func(end string) bool { return key == end || strings.HasSuffix(key, "_"+end) }) {
			t.keys = append(t.keys, d.holding(key, p.value)...)
		}
	}
	if t.given == nil {
		return t
	}
	names := variablesIn(t.given.text)
	if len(names) == 1 {
		t.variable = names[0]
	}
	value, err := expand(t.given.text, d.env)
	t.open = t.given.kind == null || t.given.kind == text && err == nil && strings.TrimSpace(value) == ""
	return t
}

// holding names what gives a value: the variables in it that are set, or the
// key.
func (d *decoder) holding(key string, n *node) (all []string) {
	if n.kind == null || n.kind == list || n.kind == table || n.kind == text && n.text == "" {
		return nil
	}
	names := variablesIn(n.text)
	if n.kind != text || len(names) == 0 {
		return []string{key}
	}
	for _, name := range names {
		if value, _ := d.env(name); value != "" {
			all = append(all, name)
		}
	}
	return all
}

// why says what has switched the channel on, for who has forgotten the rest.
func (t turn) why(env func(string) (string, bool)) string {
	switch {
	case t.given == nil:
		return ""
	case t.open && t.variable != "":
		return fmt.Sprintf("and %s switches %s on: set both, or neither", strings.Join(t.keys, " and "), t.platform)
	case t.open:
		return ""
	case t.variable != "":
		value, _ := env(t.variable)
		if on, ok := paste.Truth(value); !ok || !on {
			return ""
		}
		return fmt.Sprintf("and %s=%s switches %s on: set it, or leave %s empty", t.variable, cut(value), t.platform, t.variable)
	}
	return ""
}

// off warns of credentials beside a variable that says no.
func (t turn) off(env func(string) (string, bool)) string {
	if t.variable == "" || len(t.keys) == 0 {
		return ""
	}
	value, _ := env(t.variable)
	held := strings.Join(t.keys, " and ")
	verb := "is"
	if len(t.keys) > 1 {
		verb = "are"
	}
	if value == "" {
		return fmt.Sprintf("%s %s set, and %s is off: %s=true switches it on", held, verb, t.platform, t.variable)
	}
	return fmt.Sprintf("%s %s set, and %s=%s keeps %s off: leave %s empty to switch it on", held, verb, t.variable, cut(value), t.platform, t.variable)
}

// unreadable is what to say of a switch that says neither yes nor no. What
// stands in it is not shown: it may be the token.
func (t turn) unreadable(env func(string) (string, bool)) string {
	value, _ := env(t.variable)
	if t.variable == "" || strings.TrimSpace(value) == "" {
		return ""
	}
	if _, ok := paste.Truth(value); ok {
		return ""
	}
	said := fmt.Sprintf("the variable %s switches %s on or off: want true, false or nothing", t.variable, t.platform)
	if len(value) > tellingLength {
		said += "; a token or a key belongs into a variable of its own"
	}
	return said
}
