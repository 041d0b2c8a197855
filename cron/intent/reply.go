package intent

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// Reply reads a message as the answer to the question that another one was
// asked back: "pm", "the second one", 晚上那个, "no, tomorrow at 5", "to call
// Bob". said and asked are that message and what it was read with. False when it
// is no answer. An answer that leaves a question open says in Time all that is
// known by then, in the words of a request.
func Reply(said string, asked Context, answer string, c Context) (Intent, bool) {
	in := Read(said, asked)
	if in.Kind != Ask || in.Question == nil {
		return Intent{}, false
	}
	t := trimmed(theGrammar().Read(answer))
	if len(t.Tokens) == 0 || len(t.Tokens) > maxWords || t.At("greeting", 0) == len(t.Tokens) {
		return Intent{}, false
	}
	made := Intent{Kind: Create, Text: in.Text, Timer: in.Timer, Nag: in.Nag}
	if in.Question.Missing == MissText && OnlyTime(answer, c) { // "actually at 6"
		made.Kind, made.Question = Ask, in.Question
		made.Time = "remind me " + clocked(Core(answer))
		return made, true
	}
	if in.Question.Missing == MissText {
		if kind := Read(answer, c).Kind; kind != None || t.At("shrug", 0) > 0 || t.Across(0, len(t.Tokens), "polite", "zh-polite", "particle") {
			return Intent{}, false
		}
		made.Times, made.Text = in.Times, text(answer)
		return made, made.Text != ""
	}
	if all := in.Question.Choices; len(all) == 1 && dated(all[0], c) == dated(when.Phrase{At: c.Now.AddDate(0, 0, 1)}, c) {
		if p, err := when.Parse(Core(answer), c.Now, c.Zone); err == nil && p.Exact && dated(p, c) == dated(when.Phrase{At: c.Now}, c) {
			made.Times = p.All() // 8am has passed today, and 11pm has not
			return complete(made), true
		}
	}
	if all, unsure := Times(answer, in.Question.Choices, c); len(all) > 0 {
		made.Times = all
		return complete(made), true
	} else if unsure != nil {
		made.Kind, made.Question = Ask, &Question{Missing: MissTime, Text: unsure.Question, Choices: unsure.Choices}
		made.Time = restated(made, answer, c)
		return made, true
	}
	core := Core(answer)
	all, err := when.FindAll(clocked(core), c.Now, c.Zone)
	if unsure, ok := errors.AsType[*when.Ambiguous](err); ok && len(unsure.Choices) > 0 && unsure.Choices[0].Rest == "" && !unsure.Choices[0].At.IsZero() {
		made.Kind, made.Question = Ask, &Question{Missing: MissTime, Text: unsure.Question, Choices: unsure.Choices}
		made.Time = restated(made, answer, c)
		return made, true
	}
	if err != nil || all[0].Rest != "" && made.Text != "" && !strings.Contains(said, all[0].Rest) {
		return Intent{}, false
	}
	made.Times, made.Text = all, cmp.Or(made.Text, all[0].Rest)
	return complete(made.bounded(core, c)), true
}

// bounded takes an end or an exception out of the text that was said before how
// often: "clock in until christmas", "every day at 9".
func (in Intent) bounded(often string, c Context) Intent {
	t := theGrammar().Read(in.Text)
	if !in.Times[0].At.IsZero() || t.First(0, len(t.Tokens), "limit", "zh-limit") < 0 {
		return in
	}
	all, err := when.FindAll(clocked(often)+", "+in.Text, c.Now, c.Zone)
	if err == nil && len(all) == len(in.Times) && all[0].At.IsZero() && all[0].Rest != "" && all[0].Rest != in.Text {
		in.Times, in.Text = all, all[0].Rest
	}
	return in
}

// dated is the day on which a phrase comes once.
func dated(p when.Phrase, c Context) string {
	return p.At.In(cmp.Or(c.Zone, time.UTC)).Format(time.DateOnly)
}

// Answered is what an answer says that neither a time nor a name is in: "yes",
// "no", "drop" it, "none" or "all" of what is offered, "any" of it, or "unsure".
func Answered(answer string) string {
	for _, said := range []string{answer, Core(answer)} {
		t := theGrammar().Read(strings.Trim(said, " .,!~…，。！"))
		switch v, j := t.Match("answer", 0); {
		case j == 0 || j < len(t.Tokens):
		case strings.ContainsAny(answer, "?？"): // "both?"
			return "unsure"
		default:
			return v.(string)
		}
	}
	return ""
}

// Edits says that an answer may be new words for a reminder: it asks for nothing
// else.
func Edits(answer string) bool {
	return Answered(answer) == "" && theGrammar().Read(answer).At("no-edit", 0) == 0
}

// Alarm says that words speak of an alarm, which is no timer.
func Alarm(text string) bool { return theGrammar().Read(text).At("has-alarm", 0) > 0 }

// Place is which one of several an answer means by its place: "2", "the second one",
// 第二个; -1 is the last. 0 when it names none.
func Place(answer string) int {
	for _, said := range []string{answer, Core(answer)} {
		t := theGrammar().Read(strings.Trim(said, "# ."))
		if v, j := t.Match("choice", 0); j == len(t.Tokens) {
			n, _ := v.(int)
			return n
		}
	}
	return 0
}

// Pointed reads an answer that says which of the reminders are meant, of c.Known:
// "the 6pm one", "1 and 3", "not mum", "keep the gym", 除了健身.
func Pointed(answer string, c Context) (Intent, bool) {
	s := newSense(theGrammar().Read(Core(answer)), c, false)
	all := s.all()
	if len(s.Tokens) == 0 || all.has("op") || all.has(remind) || all.has("to") || len(all.unknown()) > 0 {
		return Intent{}, false
	}
	in, ok := all.aim(Intent{Kind: Change}, all)
	spares := all.says("spares")
	denied := spares || all.has("not") && !all.says("only-word")
	for i, m := range s.marks {
		denied = denied && (m.kind != name || spares || all.before(i) == "not")
	}
	if refs, _ := all.refs(); denied {
		in = Intent{Kind: Change, Ref: Ref{All: true}, But: refs}
	}
	return in, ok && in.Ref != Ref{Last: true}
}

// restated is a request for what is known once an answer has several meanings
// itself; "" when it cannot be said in a way that is read like this.
func restated(in Intent, answer string, c Context) string {
	for _, day := range []string{in.Question.Choices[0].At.Format("2006-01-02 "), ""} {
		said := "remind me " + day + Core(answer) + " to " + in.Text
		again := Read(said, c)
		if again.Kind == Ask && again.Text == in.Text && len(again.Question.Choices) == len(in.Question.Choices) {
			return said
		}
	}
	return ""
}

// text is what an answer says to be reminded of: "to call Bob", 给老王打电话.
func text(answer string) string {
	t := trimmed(theGrammar().Read(answer))
	i := 0
	for i < len(t.Tokens) && t.At("answer-lead", i) > i && t.At("answer-lead", i) < len(t.Tokens) {
		i = t.At("answer-lead", i)
	}
	return t.Cut(i, len(t.Tokens))
}

// Core is an answer without what people say around it: "no, I meant 8am" is
// "8am", 改成后天上午十点吧 is 后天上午十点.
func Core(answer string) string {
	t := trimmed(theGrammar().Read(answer))
	i, j := 0, len(t.Tokens)
	mark := func(k int) bool {
		return t.Tokens[k].Kind == grammar.Mark && !strings.ContainsAny(t.Tokens[k].Text, `"“#/@*+(（`)
	}
	for i < j {
		if k := t.At("amend", i); k > i {
			i = k
		} else if mark(i) {
			i++
		} else {
			break
		}
	}
	for cut := true; cut; {
		cut = false
		for k := j - 1; k > i && j-k < 5; k-- {
			if t.At("amend-end", k) == j || k == j-1 && mark(k) {
				j, cut = k, true
				break
			}
		}
	}
	if i >= j {
		return t.Cut(0, len(t.Tokens))
	}
	return t.Cut(i, j)
}

// clocked is an answer that may be a bare number, as a time.
func clocked(core string) string {
	if t := theGrammar().Read(core); t.At("bare-place", 0) == len(t.Tokens) {
		return "at " + core
	}
	return core
}

// OnlyTime says that an answer is a time, or a part of one, and nothing else.
func OnlyTime(answer string, c Context) bool {
	core := Core(answer)
	t := theGrammar().Read(core)
	if len(t.Tokens) == 0 || len(t.Tokens) > maxWords {
		return false
	}
	if t.At("half", 0) > 0 || monthOf(core, c) > 0 {
		return true
	}
	if core != answer { // "make it 6"
		core = clocked(core)
	}
	_, err := when.Parse(core, c.Now, c.Zone)
	_, unsure := errors.AsType[*when.Ambiguous](err)
	return err == nil || unsure
}

// Times are the times that an answer to a choice of times means: one of them, or
// others, of which what is not said is as in the choices. Of an answer that has
// several meanings itself it returns these.
func Times(answer string, choices []when.Phrase, c Context) ([]when.Phrase, *when.Ambiguous) {
	core := Core(answer)
	if p, ok := chosen(theGrammar().Read(core), choices, c); ok {
		return p.All(), nil
	}
	var all []when.Phrase
	for _, p := range choices {
		at := first(p, c)
		if at.IsZero() || p.At.IsZero() {
			return nil, nil
		}
		q, err := when.Moved(core, when.Phrase{At: at, Zone: p.Zone}, at, c.Now)
		if unsure, ok := errors.AsType[*when.Ambiguous](err); ok {
			return nil, unsure
		}
		if err != nil {
			return nil, nil
		}
		if !slices.ContainsFunc(all, func(o when.Phrase) bool { return when.Words(o, "en") == when.Words(q, "en") }) {
			all = append(all, q)
		}
	}
	if len(all) > 1 {
		return nil, &when.Ambiguous{Question: when.Text{English: "Which time?", Chinese: "是哪个时间？"}, Choices: all}
	}
	if len(all) == 1 {
		return all[0].All(), nil
	}
	return nil, nil
}

// monthOf is the month that an answer names alone: "april", "the june one", 六月的.
func monthOf(core string, c Context) time.Month {
	t := theGrammar().Read(core)
	i := t.After("the-one", 0)
	j := t.At("month-only", i)
	if j == 0 || j < len(t.Tokens) && t.At("that-one", j) != len(t.Tokens) {
		return 0
	}
	name := t.Cut(i, j)
	for _, day := range []string{"1 " + name, name + "1号"} {
		if p, err := when.Parse(day, c.Now, c.Zone); err == nil && !p.At.IsZero() {
			return p.At.In(cmp.Or(c.Zone, time.UTC)).Month()
		}
	}
	return 0
}

// chosen is the one choice that the words name by its place, or that fits what
// they say of it: "2", 第二个, "pm", "in the evening", "the 20:00 one", "april".
func chosen(t *grammar.Text, choices []when.Phrase, c Context) (when.Phrase, bool) {
	fit := fitting(t, choices, c)
	if len(fit) != 1 {
		return when.Phrase{}, false
	}
	return choices[fit[0]], true
}

// Fitting are the choices that an answer fits, by their numbers.
func Fitting(answer string, choices []when.Phrase, c Context) []int {
	return fitting(theGrammar().Read(Core(answer)), choices, c)
}

func fitting(t *grammar.Text, choices []when.Phrase, c Context) (fit []int) {
	place, _ := t.Match("choice", 0)
	n, _ := place.(int)
	half, _ := t.Match("half", 0)
	month := monthOf(t.Source, c)
	for i, p := range choices {
		at, fits := first(p, c), false
		switch {
		case n != 0 && n <= len(choices):
			fits = n == i+1 || n == i-len(choices)
		case at.IsZero():
		case month > 0:
			fits = at.Month() == month
		case half == "am":
			fits = at.Hour() < 12
		case half == "pm":
			fits = at.Hour() >= 12
		default:
			if when.PartOfDay(t.Source, c.Now, p.Zone) { // sunday morning
				from, to, _ := when.Range(t.Source, c.Now, p.Zone)
				fits = !at.Before(from) && at.Before(to)
				break
			}
			q, err := when.Moved(t.Source, when.Phrase{At: at, Zone: p.Zone}, at, c.Now)
			fits = err == nil && q.At.Equal(at)
		}
		if fits {
			fit = append(fit, i)
		}
	}
	return fit
}

// first is when a phrase comes first.
func first(p when.Phrase, c Context) time.Time {
	at, ok := p.Next(c.Now)
	if !ok {
		return time.Time{}
	}
	return at.In(p.Zone)
}
