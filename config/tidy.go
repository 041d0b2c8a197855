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

// halfSaid warns of a server that is named in the variables and not asked, since
// the key is what makes a model of them, and of one that is asked for a model of
// another.
func (h Home) halfSaid() (all []string) {
	env := h.origin.blank.env
	if env == nil || !slices.Contains(h.variables(), "OPENAI_MODEL") {
		return nil
	}
	fromVariables := h.origin.root == nil || !slices.Contains(h.origin.root.keysOf("llm"), "models")
	for _, v := range []struct{ provider, base, model string }{
		{"OPENAI", openAIBase, openAIModel},
		{"ANTHROPIC", anthropicBase, anthropicModel},
	} {
		key, _ := env(v.provider + "_API_KEY")
		base, _ := env(v.provider + "_BASE_URL")
		model, _ := env(v.provider + "_MODEL")
		switch base = strings.TrimRight(strings.TrimSpace(base), "/"); {
		case base == "":
		case key == "":
			all = append(all, fmt.Sprintf("%s_BASE_URL is set, and without %[1]s_API_KEY its server is not asked: a server that wants no key takes any text", v.provider))
		case fromVariables && base != v.base && strings.TrimSpace(model) == "":
			all = append(all, fmt.Sprintf("%s_BASE_URL is set and %[1]s_MODEL is not, so that the server is asked for %s: set %[1]s_MODEL to one that it has, such as deepseek-chat", v.provider, v.model))
		}
		switch {
		case key != "" || strings.TrimSpace(model) == "":
		case likeKey.MatchString(model):
			all = append(all, fmt.Sprintf("%s_MODEL looks like a key, which belongs into %[1]s_API_KEY", v.provider))
		case base == "":
			all = append(all, fmt.Sprintf("%s_MODEL is set, and without %[1]s_API_KEY it is not asked", v.provider))
		}
	}
	return all
}

// idle warns of a platform's credentials that are set beside a configuration
// that does not know the platform, in a line for each platform. names are the
// variables of the environment.
func (h Home) idle(names []string) (all []string) {
	env := h.origin.blank.env
	if env == nil {
		return nil
	}
	var used, types []string
	if h.origin.root != nil {
		used, types = h.origin.root.uses(), h.origin.root.channelTypes()
	}
	names = slices.Concat(names, h.origin.named)
	for _, platform := range []struct{ is, keys string }{
		{"telegram", "TELEGRAM_BOT_TOKEN"},
		{"discord", "DISCORD_BOT_TOKEN"},
		{"feishu", "FEISHU_APP_ID FEISHU_APP_SECRET"},
		{"dingtalk", "DINGTALK_CLIENT_ID DINGTALK_CLIENT_SECRET"},
		{"qq", "QQ_APP_ID QQ_APP_SECRET"},
	} {
		if slices.Contains(types, platform.is) {
			continue
		}
		for name := range strings.FieldsSeq(platform.keys) {
			value, _ := env(name)
			if strings.TrimSpace(value) != "" && slices.Contains(names, name) && !slices.Contains(used, name) {
				all = append(all, fmt.Sprintf("%s is set, and nothing in the configuration uses it: bot init adds %s to it", name, platform.is))
				break
			}
		}
	}
	return all
}

// channelTypes are the types of the channels of the file, also of those that
// are off.
func (n *node) channelTypes() (all []string) {
	for _, p := range n.pairs {
		if canonical(p.key) != "channels" {
			continue
		}
		for _, channel := range p.value.pairs {
			is := channel.key
			for _, q := range channel.value.pairs {
				if canonical(q.key) == "type" {
					is = q.value.text
				}
			}
			all = append(all, is)
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
