package desk

import (
	"regexp"
	"strings"
	"unicode"

	"magpie/chat"
	"magpie/cron"
)

// The words before somebody who is to be reminded, and anybody behind them.
var (
	reminding = regexp.MustCompile(`(?i)(\b(?:remind|ping|notify|nudge))\s+|(?:提醒|叫|通知)(?:一下)?\s*`)
	somebody  = regexp.MustCompile(`^@[\p{L}\p{N}_.-]+`)
)

// Whom finds out for whom a reminder is: "remind @Bob tomorrow at 9 to call"
// is for Bob if the message names him. The text is returned as if it were for
// whoever asks. at is somebody who is not known by more than their name.
func Whom(text string, named []chat.Sender, command bool) (plain string, who chat.Sender, at string) {
	if len(text) > maxAsking {
		return text, who, ""
	}
	verb, rest := reminding.FindStringSubmatchIndex(text), text
	switch {
	case command:
		verb = nil
	case verb == nil:
		return text, who, ""
	default:
		rest = text[verb[1]:]
	}
	for _, p := range named {
		for _, name := range []string{"@" + p.Name, p.Name, "@" + p.Username} {
			if more, is := strings.CutPrefix(rest, name); is && len(name) > 1 && p.ID != "" && ends(more) {
				return instead(text, verb, more), p, ""
			}
		}
	}
	if at := somebody.FindString(rest); at != "" {
		return instead(text, verb, rest[len(at):]), who, at
	}
	return text, who, ""
}

// maxAsking is how many bytes a text has at most that is looked at for a name.
const maxAsking = 2000

// ends says that no Latin name goes on.
func ends(rest string) bool {
	for _, r := range rest {
		return r > unicode.MaxLatin1 || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return true
}

// instead is a text that reminds who asks, with what stands behind the name.
func instead(text string, verb []int, rest string) string {
	rest = strings.TrimSpace(rest)
	switch {
	case verb == nil:
		return rest
	case verb[2] >= 0:
		return text[:verb[0]] + "remind me " + rest
	}
	return text[:verb[0]] + "提醒我" + rest
}

// forWhom reads for whom a message asks, in a group.
func (w Who) forWhom(m Message) Message {
	if w.Direct || m.For.ID != "" || m.Calls != "" {
		return m
	}
	var who chat.Sender
	if m.Text, who, m.Calls = Whom(m.Text, m.Named, m.Command); who.ID != "" {
		m.For = cron.Person{Channel: w.by().Channel, Sender: who}
	}
	return m
}
