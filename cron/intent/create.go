package intent

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// create reads a new reminder.
func (r request) create() Intent {
	noun := false // only 闹钟
	if r.asked >= 0 && !r.c.Command {
		if r.refused() {
			return r.second()
		}
		noun = r.At("zh-bare-noun", r.asked) > r.At("zh-ask", r.asked) && r.First(r.asked+1, len(r.Tokens), "zh-ask") < 0
		told := noun && !r.notes() || (noun || r.Tokens[r.asked].Kind != grammar.Han) && !r.leads() // "pasta timer 9 min"
		if told && !r.notes() {
			return Intent{}
		}
		if told || r.At("zh-ask", r.asked) > 0 && !r.sure() && !r.ahead() && !r.only() { // 告诉我今天天气
			r.asked = -1
		}
	}
	in := Intent{Kind: Create, Timer: r.At("has-timer", 0) > 0 && r.At("zh-ask", r.asked) <= r.At("zh-wake", r.asked) || strings.ContainsAny(r.said, "⏰⏱⏲⏳⌛") || r.At("call", 0) > 0}
	all, err := r.found()
	if err != nil {
		in = r.untimed(in.Timer, err)
	} else {
		in.Times, in.Text, in.Nag = all, all[0].Rest, all[0].Nag
		if theGrammar().Read(in.Text).At("no-text", 0) > 0 {
			in.Text = ""
		}
		in = complete(in)
		if words := cmp.Or(leftOver(in.Text, "left-over"), left(in)); words != "" && !r.c.Command {
			in = in.doubted(words)
		}
	}
	note := r.asked < 0 && !r.c.Command
	if note && err == nil && len(all) > 1 && r.First(0, len(r.Tokens), "bare-in") >= 0 && r.First(0, len(r.Tokens), "in", "in-zh", "day", "zh-day", "clock", "zh-clock") < 0 {
		all[0].And = all[1:] // 鸡蛋10分钟，米饭20分钟
		return Intent{Kind: Ask, Timer: true, Text: all[0].Rest, Question: &Question{Missing: MissTime, Choices: all[:1], Text: when.Text{English: "Shall I time this?", Chinese: "要我计时吗？"}}}
	}
	if note && !r.worth(in, err) || noun && err == nil && !all[0].Exact {
		return Intent{}
	}
	return in
}

// complete asks for the text of a reminder that has none yet.
func complete(in Intent) Intent {
	if in.Text == "" && !in.Timer {
		in.Kind = Ask
		in.Question = &Question{Missing: MissText, Text: when.Text{English: "What shall I remind you of?", Chinese: "要提醒你什么？"}}
	}
	return in
}

// leftOver are words of the text that say how or how often it is to come and were
// not understood: to take them for what is to be done would be a guess.
func leftOver(text, category string) string {
	t := theGrammar().Read(text)
	if i := t.First(0, len(t.Tokens), category); i >= 0 {
		return t.Cut(i, t.At(category, i))
	}
	return ""
}

// left are words that leave something out of what repeats.
func left(in Intent) string {
	if !in.Times[0].At.IsZero() {
		return ""
	}
	return leftOver(in.Text, "left-out")
}

// doubted asks whether the times are right though some words were not understood.
func (in Intent) doubted(words string) Intent {
	all := in.Times[0]
	all.And = in.Times[1:]
	in.Kind, in.Question = Ask, &Question{Missing: MissTime, Choices: []when.Phrase{all}, Text: when.Text{
		English: "I did not understand “" + words + "”. Is this right without it?",
		Chinese: "“" + words + "”没看懂。不看这部分，这样对吗？",
	}}
	in.Times = nil
	return in
}

// second reads what follows a clause that asks for none: 医生叫我按时吃药，每天八点提醒我.
func (r request) second() Intent {
	for i := r.asked; i < len(r.Tokens); i++ {
		if !r.Is(i, ",", "。", ";") {
			continue
		}
		rest := r.Cut(i+1, len(r.Tokens))
		if more := newRequest(theGrammar().Read(rest), rest, r.c); more.asked >= 0 {
			if in := more.create(); in.Kind == Create {
				return in
			}
		}
	}
	return Intent{}
}

// untimed asks for the time that the words do not say.
func (r request) untimed(timer bool, err error) Intent {
	unsure, several := errors.AsType[*when.Ambiguous](err)
	switch {
	case several && len(unsure.Choices) == 0:
		return Intent{Kind: Ask, Timer: timer, Question: &Question{Missing: MissSense, Text: unsure.Question}}
	case several:
		return Intent{Kind: Ask, Text: unsure.Choices[0].Rest, Timer: timer, Question: &Question{Missing: MissTime, Text: unsure.Question, Choices: unsure.Choices}}
	case !errors.Is(err, when.ErrNone):
		return Intent{Kind: Ask, Question: &Question{Missing: MissSense, Text: when.Explain(err)}}
	case !r.c.Command && !r.sure():
		return Intent{}
	}
	return askWhen(r.Source, timer, r.First(0, len(r.Tokens), "event") >= 0)
}

// askWhen asks for the time of words that say none.
func askWhen(text string, timer, event bool) Intent {
	p, err := when.Find("in 1 minute, "+text, time.Unix(0, 0), nil)
	if text = strings.TrimSpace(p.Rest); err != nil {
		text = ""
	}
	ask := when.Text{English: "When?", Chinese: "什么时候？"}
	if event {
		ask = when.Text{English: "I cannot see when that happens. At what time shall I remind you?", Chinese: "这件事什么时候发生，我看不到。几点提醒你？"}
	}
	return Intent{Kind: Ask, Text: text, Timer: timer, Question: &Question{Missing: MissTime, Text: ask}}
}

// found reads the times. Of several sentences the one that asks is enough when
// it says all.
func (r request) found() ([]when.Phrase, error) {
	i, j := r.asked, max(0, r.asked)
	for i > 0 && !r.stops(i-1) && !r.Is(i-1, "so") {
		i--
	}
	for j < len(r.Tokens) && !r.stops(j) {
		j++
	}
	if (i > 0 || i == 0 && j < len(r.Tokens)) && !r.back(i, j) {
		all, err := when.FindAll(r.Cut(i, j), r.c.Now, r.c.Zone)
		for k := j; err == nil && k+1 < len(r.Tokens); k++ {
			if r.stops(k) && r.Longest(k+1, "limit", "zh-limit", "but", "除了") > 0 {
				err = when.ErrNone // every day at 8. Not on Sundays
			}
		}
		if err == nil && all[0].Rest != "" && r.First(j, len(r.Tokens), "ask-verb", "zh-ask-verb") < 0 {
			return all, nil
		}
	}
	if r.Source == r.said {
		return when.FindIn(r.Text, r.c.Now, r.c.Zone)
	}
	return when.FindAll(r.said, r.c.Now, r.c.Zone)
}

// back says that the time between two tokens needs the day that is told before:
// "that day at 4pm", or only an hour behind "so".
func (r request) back(i, j int) bool {
	return r.First(i, j, "that-day") >= 0 || r.Is(i-1, "so") && r.First(i, j, "day") < 0 && r.First(0, i, "day") >= 0
}

// stops says that a sentence ends with the token.
func (r request) stops(i int) bool {
	switch tok := r.Tokens[i]; tok.Text {
	case "。", "!", "?":
		return true
	case ".":
		return i+1 == len(r.Tokens) || r.Tokens[i+1].Gap && (r.At("ask-verb", i+1) > 0 || i > 0 && r.Tokens[i-1].Kind != grammar.Number && len(r.Tokens[i-1].Text) > 1 && r.At("abbreviation", i-1) == 0)
	default:
		return tok.Text[0] >= 0xf0 && i > 0 && i+1 < len(r.Tokens) // an emoji
	}
}

// sure says that words ask for a reminder also without a time.
func (r request) sure() bool {
	return r.First(r.asked, len(r.Tokens), "zh-sure") >= 0 || r.Longest(r.asked, "weak-ask", "zh-ask") == 0
}

// refused says that words that ask for a reminder stand in a sentence that does
// not: "he said remind me", "don't remind me".
func (r request) refused() bool {
	for i := max(r.asked-2, 0); i <= r.asked || i < r.Longest(r.asked, "ask-verb", "zh-ask"); i++ {
		if r.At("no-object", i) > r.asked {
			return true
		}
	}
	if r.quoted() || r.recalls() {
		return true
	}
	if r.asked == 0 || r.onlyTimes() || r.At("shift", 0) > 0 {
		return false
	}
	if r.Tokens[r.asked].Kind == grammar.Han {
		return r.told()
	}
	return r.First(r.since("sentence-end"), r.asked, "refuses") >= 0
}

// recalls says that somebody is asked what he remembers.
func (r request) recalls() bool {
	k, end := r.At("recalls", r.asked), len(r.Tokens)
	return k > 0 && r.First(k, end, "ask-verb", "zh-ask-verb") < 0 && (r.Is(end-1, "吗", "么", "没") || r.At("ask-verb", r.asked) > 0 && strings.Contains(r.said, "?"))
}

// quoted says that the words that ask stand in a quotation behind other words:
// 书里写着：“叫醒我”.
func (r request) quoted() bool {
	open := -1
	for i := range r.asked {
		switch {
		case r.Is(i, "“", "「", "『", "《") || r.Is(i, `"`) && open < 0:
			open = i
		case r.Is(i, "”", "」", "』", "》", `"`):
			open = -1
		}
	}
	return open > 0 && !r.Across(0, open, beforeAsking...)
}

// only says that nothing is said but a time and the words that ask: 八点敲我一下.
func (r request) only() bool {
	return r.First(0, len(r.Tokens), "zh-clock") >= 0 && r.Across(0, r.asked, append(beforeAsking, "zh-after-time")...) && r.Across(r.At("zh-ask", r.asked), len(r.Tokens), "run", "particle", "zh-polite")
}

// ahead says that the words that ask stand behind 提前一天.
func (r request) ahead() bool {
	for i := max(0, r.asked-8); i < r.asked; i++ {
		if r.At("zh-shift", i) == r.asked {
			return true
		}
	}
	return false
}

// since is where what stands before the words that ask begins, behind the last
// of a category.
func (r request) since(category string) int {
	i := r.asked
	for i > 0 && r.At(category, i-1) == 0 {
		i--
	}
	return i
}

// leads says that the clause begins with the words that ask: nothing stands
// before them in it but times and politeness.
func (r request) leads() bool {
	for i := r.asked; i >= 0; i-- {
		begins := i == 0 || r.At("clause-mark", i-1) == i || r.At("polite", i) == r.asked || i == r.asked && r.spoken(i-1)
		if begins && r.Across(i, r.asked, "run", "order", "joiner") {
			return true
		}
	}
	return false
}

// told says that somebody else reminds, or is not to: 我老婆每天都提醒我.
func (r request) told() bool {
	only := func(i, j int) bool { return r.Across(i, j, "run", "zh-adverb", "zh-polite", "joiner") }
	start := r.since("clause-end")
	for i := start; i < r.asked; i++ {
		who, not := r.At("refuses", i), r.At("zh-not", i)
		if who > 0 && who <= r.asked && only(start, i) && only(who, r.asked) || not > 0 && only(not, r.asked) {
			return true
		}
	}
	when := r.At("when-that", r.asked-1)+r.At("when-that", r.asked-2) == r.asked && !r.spoken(r.asked-3) && !r.sure() // 六点的车到了告诉我
	return when || r.First(0, r.asked, "zh-if") >= 0
}
