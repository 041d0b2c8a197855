package intent

import (
	"cmp"
	"strings"
	"time"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// Reply reads a message as the answer to the question that another one was
// asked back: "pm", "the second one", 晚上那个, "tomorrow at 5", "to call Bob".
// said and asked are that message and what it was read with. False when it is
// no answer.
func Reply(said string, asked Context, answer string, c Context) (Intent, bool) {
	in := Read(said, asked)
	if in.Kind != Ask || in.Question == nil {
		return Intent{}, false
	}
	t := trimmed(answer)
	if len(t.Tokens) == 0 || len(t.Tokens) > maxWords {
		return Intent{}, false
	}
	made := Intent{Kind: Create, Text: in.Text, Timer: in.Timer, Nag: in.Nag}
	if in.Question.Missing == MissText {
		if kind := Read(answer, c).Kind; kind != None || t.At("shrug", 0) > 0 {
			return Intent{}, false
		}
		made.Times, made.Text = in.Times, text(answer)
		return made, made.Text != ""
	}
	if p, ok := chosen(t, in.Question.Choices, c); ok {
		made.Times = p.All()
		return complete(made), true
	}
	all, err := when.FindAll(answer, c.Now, c.Zone)
	if err != nil || all[0].Rest != "" && made.Text != "" && !strings.Contains(said, all[0].Rest) {
		return Intent{}, false
	}
	made.Times, made.Text = all, cmp.Or(made.Text, all[0].Rest)
	return complete(made), true
}

// text is what an answer says to be reminded of: "to call Bob", 给老王打电话.
func text(answer string) string {
	t := trimmed(answer)
	i := 0
	for i < len(t.Tokens) && t.At("answer-lead", i) > i && t.At("answer-lead", i) < len(t.Tokens) {
		i = t.At("answer-lead", i)
	}
	return t.Cut(i, len(t.Tokens))
}

// chosen is the one choice that the words name by its place, or that fits what
// they say of it: "2", 第二个, "pm", "in the evening", "the 20:00 one".
func chosen(t *grammar.Text, choices []when.Phrase, c Context) (when.Phrase, bool) {
	place, _ := t.Match("choice", 0)
	n, _ := place.(int)
	half, _ := t.Match("half", 0)
	var fit []when.Phrase
	for i, p := range choices {
		at, fits := first(p, c), false
		switch {
		case n != 0 && n <= len(choices):
			fits = n == i+1 || n == i-len(choices)
		case at.IsZero():
		case half == "am":
			fits = at.Hour() < 12
		case half == "pm":
			fits = at.Hour() >= 12
		default:
			q, err := when.Moved(t.Source, when.Phrase{At: at, Zone: c.Zone}, at, c.Now)
			fits = err == nil && q.At.Equal(at)
		}
		if fits {
			fit = append(fit, p)
		}
	}
	if len(fit) != 1 {
		return when.Phrase{}, false
	}
	return fit[0], true
}

// first is when a phrase comes first.
func first(p when.Phrase, c Context) time.Time {
	at, ok := p.Next(c.Now)
	if !ok {
		return time.Time{}
	}
	return at.In(p.Zone)
}
