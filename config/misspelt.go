package config

import (
	"fmt"
	"slices"
	"strings"

	"magpie/internal/near"
)

// Variables are the names that a configuration looks up.
func (h Home) variables() []string {
	if h.origin.root == nil {
		return modelVariables()
	}
	return h.origin.root.uses()
}

// misspelt warns of variables that are set, that nothing reads, and that are
// nearly the name of one that is missing.
func (h Home) misspelt(names []string) (all []string) {
	env, wanted := h.origin.blank.env, h.variables()
	if env == nil {
		return nil
	}
	var missing []string
	for _, name := range wanted {
		if value, _ := env(name); strings.TrimSpace(value) == "" {
			missing = append(missing, name)
		}
	}
	names = slices.Concat(names, h.origin.named)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if value, _ := env(name); strings.TrimSpace(value) == "" || slices.Contains(wanted, name) {
			continue
		}
		if meant := meantName(name, missing); meant != "" {
			all = append(all, fmt.Sprintf("the variable %s is set, and nothing reads it: did you mean %s?", name, meant))
		}
	}
	return all
}

// meantName is the one of known that name was probably meant to be; "" is none.
func meantName(name string, known []string) string {
	if len(name) > longestKey || len(name) < 4 {
		return ""
	}
	best, least := "", 3
	mine := nameWords(name)
	for _, k := range known {
		if len(k) < 4 { // QQ is near to everything
			continue
		}
		theirs := nameWords(k)
		d := near.Distance(strings.Join(mine, ""), strings.Join(theirs, ""))
		if d > 0 && d > len(k)/5 {
			d = least // only near when the words say so
		}
		// TELEGRAM_TOKEN, OPENAI_API_BASE_URL: a word less or more.
		if last := len(theirs) - 1; len(mine) > 1 && last > 0 && mine[0] == theirs[0] && mine[len(mine)-1] == theirs[last] &&
			(holds(mine, theirs) || holds(theirs, mine)) {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// nameWords splits the name of a variable and gives each word the form that
// our names use.
func nameWords(name string) []string {
	name = strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
	for _, alias := range [][2]string{
		{"APIKEY", "API_KEY"},
		{"APPKEY", "CLIENT_ID"},
		{"APP_KEY", "CLIENT_ID"},
		{"APPID", "APP_ID"},
		{"APPSECRET", "APP_SECRET"},
		{"BASEURL", "BASE_URL"},
		{"API_BASE", "BASE_URL"},
		{"ENDPOINT", "BASE_URL"},
		{"API_URL", "BASE_URL"},
		{"API_HOST", "BASE_URL"},
		{"CLIENTID", "CLIENT_ID"},
		{"CLIENTSECRET", "CLIENT_SECRET"},
		{"TIME_ZONE", "TIMEZONE"},
		{"BOTTOKEN", "BOT_TOKEN"},
		{"BOT_KEY", "BOT_TOKEN"},
		{"API_TOKEN", "API_KEY"},
		{"URL_URL", "URL"},
		{"APP_TOKEN", "BOT_TOKEN"},
	} {
		name = strings.ReplaceAll(name, alias[0], alias[1])
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' })
	if len(words) == 0 {
		return []string{""}
	}
	for platform, aliases := range map[string][]string{
		"FEISHU": {"LARK"}, "DINGTALK": {"DINGDING", "DING"}, "TELEGRAM": {"TG"}, "ANTHROPIC": {"CLAUDE"}, "OPENAI": {"GPT", "CHATGPT"},
	} {
		if slices.Contains(aliases, words[0]) {
			words[0] = platform
		}
	}
	if len(words) == 2 && words[0] == "OPENAI" && words[1] == "TOKEN" {
		words[1] = "KEY"
	}
	if words[0] == "DINGTALK" && len(words) > 2 && words[1] == "APP" {
		words[1] = "CLIENT"
	}
	return words
}

// holds says that all words of part stand in whole, in their order.
func holds(whole, part []string) bool {
	for _, word := range whole {
		if len(part) > 0 && part[0] == word {
			part = part[1:]
		}
	}
	return len(part) == 0
}
