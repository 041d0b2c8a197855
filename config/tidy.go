package config

import (
	"fmt"
	"slices"
	"strings"

	"magpie/internal/paste"
)

// pasted are the beginnings of the variables that people fill in by hand:
// those of env.example, and of bot init.
func pasted() []string {
	return []string{"WEB_TOKEN", "TIMEZONE", "OPENAI_", "ANTHROPIC_", "TELEGRAM", "DISCORD", "FEISHU", "DINGTALK", "QQ"}
}

// tidy is env without what comes along with a pasted value. `docker run
// --env-file` takes quotes and blanks for a part of it; Compose and the file
// beside the configuration do not, but leave typographic ones. Other variables
// stay as they are.
func tidy(env func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env(name)
		if ok && slices.ContainsFunc(pasted(), func(p string) bool { return strings.HasPrefix(name, p) }) {
			value, _ = paste.Trim(name, value)
		}
		return value, ok
	}
}

// wrapped warns of what tidy takes off.
func wrapped(names []string, env func(string) (string, bool)) (all []string) {
	neat := tidy(env)
	for _, name := range names {
		is, _ := env(name)
		meant, _ := neat(name)
		if _, what := paste.Trim(name, is); is != meant && strings.TrimSpace(is) != "" {
			all = append(all, fmt.Sprintf("%s: %s around the value %s left out: write %s=… without", name, what, are(what), name))
		}
	}
	return all
}

func are(what string) string {
	if strings.HasSuffix(what, "s") {
		return "are"
	}
	return "is"
}

// keyless warns of a server that is named and not asked, since the key is what
// makes a model of the variables.
func (h Home) keyless() (all []string) {
	env := h.origin.blank.env
	if env == nil || !slices.Contains(h.variables(), "OPENAI_MODEL") {
		return nil
	}
	for _, provider := range []string{"OPENAI", "ANTHROPIC"} {
		key, _ := env(provider + "_API_KEY")
		base, _ := env(provider + "_BASE_URL")
		model, _ := env(provider + "_MODEL")
		if key == "" && base != "" {
			all = append(all, fmt.Sprintf("%s_BASE_URL is set, and without %s_API_KEY its server is not asked: a server that wants no key takes any text", provider, provider))
		}
		switch {
		case key != "" || strings.TrimSpace(model) == "":
		case likeKey.MatchString(model):
			all = append(all, fmt.Sprintf("%s_MODEL looks like a key, which belongs into %s_API_KEY", provider, provider))
		case base == "":
			all = append(all, fmt.Sprintf("%s_MODEL is set, and without %s_API_KEY it is not asked", provider, provider))
		}
	}
	return all
}

// modelVariables are looked at where the file names no model.
func modelVariables() []string {
	var all []string
	for _, provider := range []string{"OPENAI_", "ANTHROPIC_"} {
		for _, name := range []string{"API_KEY", "BASE_URL", "MODEL"} {
			all = append(all, provider+name)
		}
	}
	return all
}

// uses are the variables that count, in the order of the file: those of its
// values, and those of models when it has none.
func (n *node) uses() []string {
	var all []string
	n.walk(func(n *node) {
		for _, name := range variablesIn(n.text) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	})
	if !slices.Contains(n.keysOf("llm"), "models") {
		all = append(all, modelVariables()...)
	}
	return all
}

// keysOf are the keys of a section of the file.
func (n *node) keysOf(section string) (all []string) {
	for _, p := range n.pairs {
		if canonical(p.key) != section {
			continue
		}
		for _, q := range p.value.pairs {
			all = append(all, canonical(q.key))
		}
	}
	return all
}

func (n *node) walk(look func(*node)) {
	look(n)
	for _, item := range n.items {
		item.walk(look)
	}
	for _, p := range n.pairs {
		p.value.walk(look)
	}
}

// variablesIn are the names in a value, once each.
func variablesIn(s string) []string {
	var all []string
	// A value that cannot be expanded has its own problem.
	_, _ = expand(s, func(name string) (string, bool) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
		return "x", true
	})
	return all
}
