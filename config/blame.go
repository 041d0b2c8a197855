package config

import (
	"slices"
	"strconv"
	"strings"
)

// tellingLength is from how many bytes on a variable's value is taken out of a
// message wherever it stands there; a shorter one only where it is quoted, since
// it may be a word of the message.
const tellingLength = 8

// examples are those of our own messages: a value that is one is no secret, and
// without it they would teach nothing.
const examples = "https://bot.example.org *.example.org 127.0.0.1:18990 172.16.0.0/12 https://oss-cn-hangzhou.aliyuncs.com"

// blame adds to a message about a value what the variables in it hold, and
// takes their values out of the message. written is the value as it stands in
// the file; without a variable the message stays as it is.
func blame(written string, env func(string) (string, bool), said string) string {
	var all []string
	// The error of a value that cannot be expanded has been reported.
	_, _ = expand(written, func(name string) (string, bool) {
		value, ok := env(name)
		if ok && value != "" {
			said = strings.ReplaceAll(said, strconv.Quote(value), strconv.Quote("${"+name+"}"))
			if len(value) >= tellingLength && !strings.Contains(examples, value) {
				said = strings.ReplaceAll(said, value, "${"+name+"}")
			}
		}
		if one := "the variable " + name + " " + held(value, ok); !slices.Contains(all, one) {
			all = append(all, one)
		}
		return value, ok
	})
	if all == nil {
		return said
	}
	return said + "; " + strings.Join(all, ", ")
}

// held says what is in a variable without showing it. The usual mistakes are
// named: quotes and line ends that a file of variables kept.
func held(value string, ok bool) string {
	plain := strings.TrimSpace(value)
	switch {
	case !ok:
		return "is not set"
	case plain == "":
		return "is empty"
	case len(plain) > 1 && plain[0] == plain[len(plain)-1] && strings.ContainsAny(plain[:1], `"'`):
		return "holds a text in quotes"
	case strings.Contains(plain, "\n"):
		return "holds several lines"
	}
	form := "holds a text"
	switch guess(plain).(type) {
	case int64:
		form = "holds a whole number"
	case float64:
		form = "holds a number"
	case bool:
		form = "holds true or false"
	}
	if plain != value {
		form += " with blanks around it"
	}
	return form
}
