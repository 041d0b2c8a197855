package intent

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// noted says that a message without "remind me" notes something to come: a few
// words and a time, without a subject that does it, or one that has to do it.
func noted(t *grammar.Text) bool {
	n := 0
	for i := 0; i < len(t.Tokens); i++ {
		tok := t.Tokens[i]
		if tok.Kind != grammar.Mark {
			n++
		}
		if j := t.At("wish", i); j > 0 {
			i = j - 1
		} else if t.At("subject", i) > 0 && !spoken(t, i) || strings.ContainsAny(tok.Text, "\"“") {
			return false
		}
	}
	return n <= 24
}

// unsure says that a change may be a note of something to do: "pull the brisket
// in 75 min".
func (in Intent) unsure(t *grammar.Text, asked int) bool {
	i := t.At("wish", 0)
	if slices.ContainsFunc(t.Tokens, func(tok grammar.Token) bool { return tok.Kind == grammar.Han }) {
		return false
	}
	return in.Kind == Query && asked >= 0 || in.Kind == Change && in.Ref.ID == "" && !in.Ref.One && (in.Maybe || in.Op == Remove && asked > 0 || t.At("everyday", i) > 0)
}

// create reads a new reminder.
func create(text string, t *grammar.Text, c Context, asked int) Intent {
	noun := false // only 闹钟
	if asked >= 0 && !c.Command {
		if refused(t, asked) {
			return second(t, c, asked)
		}
		noun = t.At("zh-bare-noun", asked) > t.At("zh-ask", asked) && !later(t, asked+1, "zh-ask")
		told := noun && !noted(t) || (noun || t.Tokens[asked].Kind != grammar.Han) && !leads(t, asked) // "pasta timer 9 min"
		if told && !noted(t) {
			return Intent{}
		}
		if told || t.At("zh-ask", asked) > 0 && !sure(t, asked) && !ahead(t, asked) { // 告诉我今天天气
			asked = -1
		}
	}
	note := asked < 0 && !c.Command
	in := Intent{Kind: Create, Timer: t.At("has-timer", 0) > 0 && t.At("zh-ask", asked) <= t.At("zh-wake", asked) || strings.ContainsAny(text, "⏰⏱⏲⏳⌛")}
	all, err := found(text, t, asked, c)
	if err != nil {
		return in.untimed(t, c, asked, err)
	}
	in.Times, in.Text, in.Nag = all, all[0].Rest, all[0].Nag
	if theGrammar().Read(in.Text).At("no-text", 0) > 0 {
		in.Text = ""
	}
	if in.Text == "" && !in.Timer {
		if note {
			return Intent{}
		}
		return Intent{Kind: Ask, Times: all, Question: &Question{Missing: MissText, Text: when.Text{English: "What shall I remind you of?", Chinese: "要提醒你什么？"}}}
	}
	if note && (!letters(in.Text) && !in.Timer || !all[0].Exact) || noun && !all[0].Exact {
		return Intent{}
	}
	return in
}

// conditional asks when something will be of which only a condition is said:
// 要是下雨就提醒我带伞, 老王到了提醒我把钥匙给他.
func conditional(t *grammar.Text, asked int) (Intent, bool) {
	to := t.At("zh-sure", max(asked, 0))
	if asked <= 0 || to == 0 || to >= len(t.Tokens) || t.At("zh-ask", asked) != to || t.Is(to, "的") || t.At("happy", len(t.Tokens)-3) > 0 || later(t, len(t.Tokens)-1, "question") {
		return Intent{}, false
	}
	from := asked
	for from > 0 && t.At("clause-mark", from-1) == 0 {
		from--
	}
	if from == asked && from > 0 { // 要是明天下雨，提醒我带伞
		for from--; from > 0 && t.At("clause-mark", from-1) == 0; from-- {
		}
	}
	before := max(from-1, 0)
	for before > 0 && t.At("clause-mark", before-1) == 0 {
		before--
	}
	ifs, event := t.At("zh-if", from) > 0 || from > 0 && t.At("zh-if", before) > 0 && t.At("zh-polite", before) == 0, false
	if later(t, to, "zh-then") || later(t, 0, "past-word") {
		return Intent{}, false // 要是昨天提醒我，就不会迟到了
	}
	for i := from; i < asked; i++ {
		event = event || t.At("zh-event", i) == asked && t.At("zh-person", from) > 0
		if t.Is(i, "你", "您", "谁") || t.Is(i, "有", "没") && t.Is(i+1, "人") {
			return Intent{}, false
		}
	}
	if !ifs && !event {
		return Intent{}, false
	}
	return Intent{Kind: Ask, Text: t.Cut(to, len(t.Tokens)), Question: &Question{Missing: MissTime, Text: when.Text{English: "When?", Chinese: "什么时候？"}}}, true
}

// second reads what follows a clause that asks for none: 医生叫我按时吃药，每天八点提醒我.
func second(t *grammar.Text, c Context, asked int) Intent {
	for i := asked; i < len(t.Tokens); i++ {
		if !t.Is(i, ",", "。", ";") {
			continue
		}
		rest := t.Cut(i+1, len(t.Tokens))
		more := theGrammar().Read(rest)
		if k := asks(more); k >= 0 {
			if in := create(rest, more, c, k); in.Kind == Create {
				return in
			}
		}
	}
	return Intent{}
}

// untimed asks for the time that the words do not say.
func (in Intent) untimed(t *grammar.Text, c Context, asked int, err error) Intent {
	note := asked < 0 && !c.Command
	unsure, several := errors.AsType[*when.Ambiguous](err)
	switch {
	case several && len(unsure.Choices) == 0:
		if note {
			return Intent{}
		}
		return Intent{Kind: Ask, Timer: in.Timer, Question: &Question{Missing: MissSense, Text: unsure.Question}}
	case several:
		in.Text = unsure.Choices[0].Rest
		if note && (!letters(in.Text) || !unsure.Choices[0].Exact) {
			return Intent{}
		}
		return Intent{Kind: Ask, Text: in.Text, Timer: in.Timer, Question: &Question{Missing: MissTime, Text: unsure.Question, Choices: unsure.Choices}}
	case note, errors.Is(err, when.ErrNone) && !c.Command && !sure(t, asked):
		return Intent{}
	case errors.Is(err, when.ErrNone):
		return Intent{Kind: Ask, Text: strings.TrimSpace(bare(t.Source)), Question: &Question{Missing: MissTime, Text: when.Text{English: "When?", Chinese: "什么时候？"}}}
	}
	return Intent{Kind: Ask, Question: &Question{Missing: MissSense, Text: when.Explain(err)}}
}

// found reads the times. Of several sentences the one that asks is enough when
// it says all.
func found(text string, t *grammar.Text, asked int, c Context) ([]when.Phrase, error) {
	if asked >= 0 {
		i, j := asked, asked
		for i > 0 && !stops(t, i-1) && !t.Is(i-1, "so") {
			i--
		}
		for j < len(t.Tokens) && !stops(t, j) {
			j++
		}
		if i > 0 || j < len(t.Tokens) {
			all, err := when.FindAll(t.Cut(i, j), c.Now, c.Zone)
			if err == nil && all[0].Rest != "" && asks(theGrammar().Read(t.Cut(j, len(t.Tokens)))) < 0 {
				return all, nil
			}
		}
	}
	if t.Source == text {
		return when.FindIn(t, c.Now, c.Zone)
	}
	return when.FindAll(text, c.Now, c.Zone)
}

// stops says that a sentence ends with the token.
func stops(t *grammar.Text, i int) bool {
	switch tok := t.Tokens[i]; tok.Text {
	case "。", "！", "？", "!", "?":
		return true
	case ".":
		return i+1 == len(t.Tokens) || t.Tokens[i+1].Gap && (t.At("ask-verb", i+1) > 0 || t.Tokens[i-1].Kind != grammar.Number && len(t.Tokens[i-1].Text) > 1 && t.At("abbreviation", i-1) == 0)
	}
	return t.Tokens[i].Text[0] >= 0xf0 && i > 0 && i+1 < len(t.Tokens) // an emoji
}

// ahead says that the words that ask stand behind 提前一天.
func ahead(t *grammar.Text, asked int) bool {
	for i := max(0, asked-8); i < asked; i++ {
		if t.At("zh-shift", i) == asked {
			return true
		}
	}
	return false
}

// later says that the category stands at i or behind it.
func later(t *grammar.Text, i int, name string) bool {
	for ; i < len(t.Tokens); i++ {
		if t.At(name, i) > 0 {
			return true
		}
	}
	return false
}

// sure says that words ask for a reminder also without a time.
func sure(t *grammar.Text, asked int) bool {
	return later(t, asked, "zh-sure") || max(t.At("weak-ask", asked), t.At("zh-ask", asked)) == 0
}

func letters(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

// bare is what a message without a time asks to be reminded of.
func bare(text string) string {
	p, err := when.Find("in 1 minute, "+text, time.Unix(0, 0), nil)
	if err != nil {
		return ""
	}
	return p.Rest
}

// refused says that words that ask for a reminder stand in a sentence that does
// not: "he said remind me", "don't remind me".
func refused(t *grammar.Text, asked int) bool {
	for i := max(asked-2, 0); i <= asked || i < t.At("zh-ask", asked); i++ {
		if t.At("no-object", i) > asked {
			return true
		}
	}
	if quoted(t, asked) {
		return true
	}
	if asked == 0 || onlyTimes(t, asked) || t.At("shift", 0) > 0 {
		return false
	}
	if t.Tokens[asked].Kind == grammar.Han {
		return told(t, asked)
	}
	for i := range asked {
		if t.At("refuses", i) > 0 && !clauseBetween(t, i, asked) {
			return true
		}
	}
	return false
}

// quoted says that the words that ask stand in a quotation behind other words:
// 书里写着：“叫醒我”.
func quoted(t *grammar.Text, asked int) bool {
	open := -1
	for i := range asked {
		switch {
		case t.Is(i, "“", "「", "『") || t.Is(i, `"`) && open < 0:
			open = i
		case t.Is(i, "”", "」", "』", `"`):
			open = -1
		}
	}
	return open > 0 && !onlyTimes(t, open)
}

// leads says that the clause begins with the words that ask: nothing stands
// before them in it but times and politeness.
func leads(t *grammar.Text, asked int) bool {
	for i := asked; i >= 0; i-- {
		if i > 0 && t.At("clause-mark", i-1) != i && t.At("emoji", i-1) != i && t.At("polite", i) != asked && !(i == asked && spoken(t, i-1)) {
			continue
		}
		j := i
		for k := 1; j < asked && k > 0; {
			k = max(t.At("run", j), t.At("order", j), t.At("joiner", j), t.At("clause-mark", j))
			j = max(j, k)
		}
		if j >= asked {
			return true
		}
	}
	return false
}

// told says that somebody else reminds, or is not to: 我老婆每天都提醒我.
func told(t *grammar.Text, asked int) bool {
	only := func(i, j int) bool {
		for ; i < j; i = max(i+1, t.At("run", i), t.At("zh-adverb", i)) {
			if max(t.At("run", i), t.At("zh-polite", i), t.At("zh-adverb", i), t.At("joiner", i)) == 0 {
				return false
			}
		}
		return true
	}
	start := asked
	for start > 0 && !(t.Tokens[start-1].Kind == grammar.Mark && strings.Contains(",;。!?", t.Tokens[start-1].Text)) {
		start--
	}
	for i := range asked {
		who, not := t.At("refuses", i), t.At("zh-not", i)
		if t.At("zh-if", i) > 0 || i >= start && (who > 0 && who <= asked && only(start, i) && only(who, asked) || not > 0 && only(not, asked)) {
			return true
		}
	}
	return false
}

// clauseBetween says that a sentence ends between two tokens.
func clauseBetween(t *grammar.Text, i, j int) bool {
	for ; i < j; i++ {
		if t.Tokens[i].Kind == grammar.Mark && strings.ContainsAny(t.Tokens[i].Text, ".!;。！；") || t.Is(i, "so", "but") {
			return true
		}
	}
	return false
}
