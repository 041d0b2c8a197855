package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/agent/llm"
	"magpie/cron/intent"
)

// What the cron tool writes for those who call it: that its answer asks the
// person something, and that words want nothing of it.
const (
	asksMark    = "\n[The person is asked this.]"
	nothingMark = "these words want nothing of the reminders"
)

// reminders hands words that want something of the reminders to the tool, which
// knows them and the zone of the chat.
func reminders(q question) (answer, bool) {
	switch q.wants() {
	case intent.Create, intent.Change, intent.Query:
		return q.hand(), true
	}
	return answer{}, false
}

// somebody finds those who are to be reminded besides who asks.
var somebody = regexp.MustCompile(`(?i)\bremind\s+@\S+|(?:提醒|叫|通知)(?:一下)?\s*@\S+`)

// unclear hands over what has no other meaning here: it may name a reminder, which
// the tool knows.
func unclear(q question) (answer, bool) {
	return q.hand(), !q.declined && slices.ContainsFunc(q.offered, func(d llm.ToolDef) bool { return d.Name == "cron" })
}

// wants is what the words want of the reminders.
func (q question) wants() intent.Kind {
	if q.declined {
		return intent.None
	}
	said := somebody.ReplaceAllStringFunc(q.said, func(words string) string {
		if words[0] < utf8.RuneSelf {
			return "remind me"
		}
		return "提醒我"
	})
	return intent.Read(said, intent.Context{Now: time.Now(), Zone: time.Local}).Kind
}

// answers hands over whatever follows a question of the tool, which knows how
// long it is open.
func answers(q question) (answer, bool) {
	if q.declined || !asks(q.before) {
		return answer{}, false
	}
	return q.hand(), true
}

func (q question) hand() answer {
	return q.call("cron", map[string]string{"action": "say", "said": q.said})
}

// lookedBack is how many messages a question of the tool is looked for in.
const lookedBack = 40

// asks says whether the tool has asked something of late.
func asks(before []llm.Message) bool {
	return slices.ContainsFunc(before[max(0, len(before)-lookedBack):], func(m llm.Message) bool {
		return m.Role == llm.Tool && m.Name == "cron" && strings.Contains(m.Text, asksMark)
	})
}

// declinedWords are the words that the tool has nothing to do with, if m is
// what it has answered to them; "" for every other result.
func declinedWords(before []llm.Message, m llm.Message) string {
	if m.Name != "cron" || !m.Failed || !strings.Contains(m.Text, nothingMark) {
		return ""
	}
	for _, b := range before {
		for _, c := range b.Calls {
			var args struct{ Said string }
			if c.ID == m.CallID && json.Unmarshal([]byte(c.Args), &args) == nil {
				return args.Said
			}
		}
	}
	return ""
}

// toolError is how the executor begins a failure; asked finds those that only
// tell the person what is wanted.
var (
	toolError = regexp.MustCompile(`^error \([a-z_]+\): `)
	asked     = regexp.MustCompile(`^error \((?:invalid_arguments|not_found)\): `)
)

// quoted is what a person's words stand in.
var quoted = regexp.MustCompile("“[^”]*”|\"[^\"]*\"|`[^`]*`")

// languageOf is the language of what the cron tool says: that of the chat,
// which need not be the one in which the person has asked.
func languageOf(said string, zh bool) bool {
	first, _, _ := strings.Cut(said, "\n")
	first = quoted.ReplaceAllString(first, "")
	if !letters(first) {
		return zh
	}
	return chinese(first)
}

// reportCron words what the cron tool says, which is already meant for people.
// What is added is in the same language.
func reportCron(m llm.Message, zh bool) string {
	text := strings.TrimSpace(m.Text)
	out := toolError.ReplaceAllString(text, "")
	if note := strings.Index(out, "\n["); note > 0 { // for models
		out = out[:note]
	}
	if m.Failed && !asked.MatchString(text) {
		return say(languageOf(out, zh), failed) + out
	}
	return out
}
