package intent

import (
	"cmp"
	"slices"
	"strings"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// decide says what the marks of a message want of the reminders that exist. A
// clause that wants something is enough; what else is said explains it.
func (s *sense) decide() (Intent, bool) {
	all := s.all()
	if all.has("world") && !all.has(name) {
		return Intent{}, false
	}
	if acts := all.acts(); acts != nil {
		return Intent{Kind: Change, Op: Several, Acts: acts}, true
	}
	clauses := s.clauses()
	if in, ok := all.wish(all); ok {
		return in, true
	}
	if len(clauses) < 2 {
		return Intent{}, false
	}
	for i, c := range clauses {
		in, ok := c.wish(all)
		if !ok {
			continue
		}
		if in.Op == Remove && in.From.IsZero() && c.is("unwanted") {
			in = in.away(slices.Delete(slices.Clone(clauses), i, i+1))
		}
		if i > 0 && in.Ref == (Ref{Last: true}) && clauses[i-1].is("topic") { // the dentist thing, move it to 5
			said := clauses[i-1].unknown()
			in.Ref, in.Maybe = c.called(said[0].From, said[0].To), false
		}
		for k, other := range clauses {
			if k > 0 && in.Kind == Change && clauses[k-1].lone("not", "correct") && other.lone(unknown) {
				return Intent{}, false
			}
			if k != i && in.takes(other) || k == i || in.Kind != Change || in.Op == Undo || !other.is("changes") || in.Op == Remove && other.is("unwanted") {
				continue
			}
			if also, ok := other.wish(all); !ok || also.Op != in.Op || also.Time != in.Time && also.Time != "" && !all.has("correct") {
				return Intent{}, false // more is said than is understood
			}
		}
		return in, true
	}
	return Intent{}, false
}

// away leaves out the days that another clause tells of: "on holiday next week, no
// team meeting".
func (in Intent) away(others []some) Intent {
	for _, c := range others {
		for i := range c.marks {
			if from, to, ok := c.day(i, Skip); ok && in.From.IsZero() && !c.has("op") {
				in.From, in.To = from, to
			}
		}
	}
	return in
}

// takes gives a change without a time that of a clause that tells of one: "they
// moved the meeting to 11, fix my reminder".
func (in *Intent) takes(told some) bool {
	if in.Op != Move || in.Time != "" || in.Shift != (when.Span{}) || !told.is("tells-time") {
		return false
	}
	in.Time, in.Op = told.target(), told.moving()
	if strange := told.unknown(); in.Ref.Last && !told.has("it") && len(strange) > 0 {
		last := strange[len(strange)-1]
		in.Ref, in.Maybe = told.called(last.From, last.To), false
	}
	return true
}

// moving is what a new time does: one that repeats makes a reminder repeat.
func (s some) moving() Op {
	if p, err := when.Parse(s.target(), s.c.Now, s.c.Zone); err == nil && p.At.IsZero() {
		return Repeat
	}
	return Move
}

// lone says that a clause is one mark, of one of the kinds: "put it off for 10
// minutes, no, 20".
func (s some) lone(kinds ...string) bool {
	return len(s.marks) == 1 && slices.Contains(kinds, s.marks[0].kind)
}

// wish is what a clause wants, as the rules have it.
func (s some) wish(all some) (Intent, bool) {
	then, ok := s.rules.first("wish", s)
	if !ok || then[0] == "none" {
		return Intent{}, false
	}
	if then[0] == "ask" {
		return s.ask(then[1])
	}
	if said, lead := s.noTime(); lead >= 0 && (then[0] == string(Move) || then[0] == string(Snooze)) {
		in, ok := s.part(0, lead).aim(Intent{Kind: Change, Op: Op(then[0]), Time: said}, all)
		in.Maybe = false
		return in, ok
	}
	in := Intent{Kind: Change, Op: Op(then[0]), Maybe: len(then) > 1 && then[len(then)-1] != UndoChange, Asks: all.is("unsure-wish")}
	if in, ok, whole := s.whole(in, then, all); whole {
		return in, ok
	}
	switch in.Op {
	case Skip:
		if i := s.index("times"); i >= 0 {
			in.Count = s.marks[i].value.(int)
		}
	case Add:
		if i := s.index(clock); i >= 0 {
			in.Time = s.Cut(s.marks[i].from, s.marks[i].to)
		}
	case Move:
		var done bool
		if in, s, all, done = s.moved(in, all); done {
			return in, true
		}
	case Snooze:
		if in.Shift = s.span(); in.Shift == (when.Span{}) {
			if in.Time = s.target(); in.Time == "" && s.has(clock) {
				in.Op = Move // "not today": when, then?
			}
		}
	case "shift":
		if in.Op, in.Shift = Move, s.span(); s.is("earlier") {
			in.Shift = in.Shift.Negative()
		}
	}
	if said := s.among(in.Time); said != "" {
		in.Part = PartOf(said, s.c)
		in.Part.Others = in.Op == Remove && s.has("but", "keep") && !s.has("all") || then[len(then)-1] == "others"
	}
	if that := then[len(then)-1]; that == "all" || that == "it" || that == "others" { // 周五别提醒了; "except friday"
		in.Ref, in.Maybe = Ref{All: that == "all", Last: that != "all"}, false
		return s.onDays(in), true
	}
	if in.Ref = (Ref{Last: true}); in.Maybe && then[1] == "just" {
		return s.just(in), true
	}
	in, ok = s.aim(in, all)
	return s.onDays(in), ok
}

// whole is a wish that says no new time, or nothing else; false when it is another.
func (s some) whole(in Intent, then []string, all some) (Intent, bool, bool) {
	switch in.Op {
	case Undo, Several:
		in.What, _, _ = strings.Cut(strings.Join(then[1:], " "), " ")
		for _, m := range s.marks { // the change of what
			if m.kind == name || m.kind == unknown {
				in.Ref.Words = strings.TrimSpace(in.Ref.Words + " " + s.Cut(m.from, m.to))
			}
		}
		return in, true, true
	case Text:
		var lead int
		if in.Text, lead = s.text(); lead == 0 && in.Text != "" && !s.has("old") {
			all = s.part(0, 0) // a name in the new words names nothing
		}
		s = s.part(0, lead)
		s, in.Old = s.replaced()
	case MoreText:
		in, ok := s.more(in)
		return in, ok, true
	case End:
		from, to, _ := s.end()
		in.Time = cmp.Or(s.Cut(from, to), "no end")
		s, all = s.besides(from, to), all.besides(from, to)
	case "each": // weekends only
		m := s.marks[s.find(selected("clock@week-part"))]
		if in.Op, in.Time = Repeat, strings.TrimPrefix(s.Cut(m.from, m.to), "在"); s.Tokens[m.from].Kind == grammar.Han && !s.comesAgain(m.from) {
			in.Time = "每" + in.Time
		}
		s, all = s.besides(m.from, m.to), all.besides(m.from, m.to)
	default:
		return in, false, false
	}
	in, ok := s.aim(in, all)
	return in, ok, true
}

// just is a change of what was told right before.
func (s some) just(in Intent) Intent {
	if in.Maybe = false; in.Op == Snooze && s.moving() == Repeat {
		in.Op = Repeat
	}
	if in.Op == Move && s.says("only-word") && s.starts("only-today") {
		in.Time = "today" // only tonight: the hour stays
	}
	if p, err := when.Parse(in.Time, s.c.Now, s.c.Zone); err == nil && p.Vague && in.Op == Move {
		in.Time = "" // "a bit later": when, then?
	}
	return in
}

// moved adds the new time, and from when on: what is left of the message then. True
// when it is an end alone, of what was last spoken of.
func (s some) moved(in Intent, all some) (Intent, some, some, bool) {
	if from, rest := s.since(); !from.IsZero() && rest.target() != "" && rest.moving() == Move {
		in.From, s = from, rest
		_, all = all.since()
	}
	if s.says("since-when") { // that is not understood
		in.Time, in.Op = s.Source, Move
		return in, s, all, false
	}
	in.Time, in.Op = s.target(), s.moving()
	if k, at := s.next(s.find(selected("^clock"))); in.Op == Move && k == name && at > 0 && s.Is(s.marks[0].from, "每") && s.comesAgain(s.marks[0].from) { // 每月1号的房租改到5号
		for _, every := range []string{"每", "每月"} {
			if p, err := when.Parse(every+in.Time, s.c.Now, s.c.Zone); err == nil && p.At.IsZero() {
				in.Op, in.Time = Repeat, every+in.Time
				break
			}
		}
	}
	if s.onlyEnd() {
		from, to, _ := s.end()
		in.Time, in.Ref, in.Maybe = s.Cut(from, to), Ref{Last: true}, in.Maybe && !s.names.just(Set)
		return in, s, all, true
	}
	if i := s.index(length); in.Time == "" && i >= 0 {
		in.Time = s.Cut(s.marks[i].from, s.marks[i].to)
	}
	return in, s, all, false
}

// ask is a question about the reminders.
func (s some) ask(what string) (Intent, bool) {
	in := Intent{Kind: Query, What: what}
	switch what {
	case AskList, AskMissed:
		in.From, in.To, _ = when.Range(s.Source, s.c.Now, s.c.Zone)
	case AskWhen:
		return s.aim(in, s)
	case AskLeft:
		if in.Timer = s.At("has-timer", 0) > 0; s.is("aimed") {
			return s.aim(in, s)
		}
	}
	return in, true
}

// target is the new time: the one behind "to", else all that say neither which
// reminder is meant nor what is not right.
func (s some) target() string {
	said, from, to := "", 0, s.index("to")
	if again, _ := s.next(to); to > 0 && again == clock && s.Is(s.marks[to].from, "until", "till", "til") && s.before(to) == clock {
		last := to // make mum weekly until christmas
		for last--; s.marks[last].kind != clock; last-- {
		}
		if m := s.marks[last]; s.comesAgain(m.from) {
			_, k := s.next(to)
			return s.Cut(m.from, s.marks[k].to)
		}
	}
	for i, m := range s.marks {
		if kind, _ := s.next(i); m.kind == "to" && kind == clock && (s.before(to) == "old" || s.before(to) == "not") {
			to = i // 不是改到八点，是改到九点
		}
	}
	for i, m := range s.marks {
		if m.kind != clock || s.before(i) == "old" || s.before(i) == "not" || i < to || s.stands(i) && !(s.comesAgain(m.from) && s.Is(m.from-1, "a", "an")) {
			continue
		}
		here := s.Cut(m.from, m.to)
		if said != "" && s.comesAgain(from) && !s.comesAgain(m.from) {
			here = said + " " + here // "twice a day now, at 9am and 9pm"
		}
		if said, from = here, m.from; to >= 0 {
			return said + s.following(i)
		}
	}
	return said
}

// stands says that the i-th mark is a time that stands for a reminder: the 6pm
// one, 下午六点那个.
func (s some) stands(i int) bool {
	m := s.marks[i]
	kind, k := s.next(i)
	tonight := m.kind == "this" && theGrammar().Read(strings.TrimSuffix(s.Cut(m.from, m.to), "'s")).At("run", 0) > 0 // tonight's
	if m.kind == clock && s.before(i) == "noun" && (s.Is(m.from, "for") || s.Is(m.from-1, "for")) && (s.has("to") || s.has("op", "edit", "fix")) {
		return true // the reminder for tomorrow
	}
	return (m.kind == clock || tonight) && k == i+1 && (kind == "it" || kind == "noun-weak" || kind == "noun") && s.before(i) != "to"
}

// following are the times that follow the i-th mark: "a daily thing at 6pm".
func (s some) following(i int) (said string) {
	for n, m := range s.marks[i+1:] {
		if m.kind == clock {
			said += " " + s.Cut(m.from, m.to)
		} else if next, k := s.next(i + 1 + n); m.kind == stop && strings.Contains(",，、", m.arg) && next == clock && k == i+2+n {
			said += "," // 8am, 1pm and 9pm
		} else if m.kind != fill && m.kind != "noun-weak" {
			break
		}
	}
	return said
}

// comesAgain says that a time that repeats stands at a token.
func (s some) comesAgain(i int) bool { return s.Longest(i, "repeat", "zh-repeat") > 0 }

// text finds new words for a reminder, and the mark that leads to them.
func (s some) text() (text string, lead int) {
	i := s.lead()
	if i < 0 {
		return "", max(0, s.index("op", "text"))
	}
	end := s.marks[len(s.marks)-1].to
	for k, m := range s.marks[i+1:] {
		next, at := s.next(i + 1 + k)
		if m.kind == "instead" || m.kind == "old" || m.kind == stop && next == "not" && at == i+k+2 {
			end = m.from
			break
		}
	}
	for k := i + 1; k < len(s.marks); k++ { // ，时间不动
		if rest := s.part(k, len(s.marks)); s.marks[k].kind == stop && s.marks[k].from < end && len(rest.unknown())+len(rest.mentions()) == 0 && !rest.has(clock) {
			end = s.marks[k].from
			break
		}
	}
	from := s.marks[i].to
	if said := s.part(i+1, len(s.marks)); !slices.ContainsFunc(said.marks, func(m mark) bool { return m.from < end && m.kind != fill && m.kind != stop && m.kind != "need" }) {
		return "", i // 改名字了吗
	}
	if s.marks[i].kind == "op" && s.Is(end-1, "了") && end-1 > from {
		end--
	}
	if end = ended(s.Text, from, end); s.At("polite", from) < end {
		text = strings.Trim(s.Cut(from, end), " ,，。“”\"'「」:：")
		if t := theGrammar().Read(text); t.At("so-often", 0) == len(t.Tokens) { // 改成三次
			text = ""
		}
	}
	return text, i
}

// noTime is what stands where the new time has to, and is none: "to yesterday",
// 改到晚饭时间. lead is the mark before it, -1 without one.
func (s some) noTime() (said string, lead int) {
	i := s.index("to")
	if i < 0 || s.marks[i].arg != "" || i+1 == len(s.marks) || s.denied(i) || s.part(i+1, len(s.marks)).has(clock) {
		return "", -1
	}
	end := len(s.marks)
	if k := slices.IndexFunc(s.marks[i+1:], func(m mark) bool { return m.kind == stop }); k >= 0 {
		end = i + 1 + k
	}
	from := s.marks[i].to
	said = s.Cut(from, ended(s.Text, from, s.marks[end-1].to))
	t := theGrammar().Read(said)
	strange := s.part(i+1, end).unknown()
	time := s.At("to-time", s.marks[i].from) == from && len(strange) > 0 && s.part(0, i).is("aimed")
	if !time && (len(t.Tokens) == 0 || t.At("no-moment", 0) < len(t.Tokens)) {
		return "", -1
	}
	return said, i
}

// lead is the mark behind which new words stand, -1 without one: "to say", or
// "to" before what is no time.
func (s some) lead() int {
	mark, ok := s.rules.first("lead", s)
	if !ok || mark[0] == "none" {
		return -1
	}
	i := s.index(mark[0], mark[1:]...)
	before, behind := s.part(0, i), s.part(i, len(s.marks))
	if old := behind.index("old"); old >= 0 {
		before = behind.part(old, len(behind.marks)) // "call it X instead of Y"
	}
	if just := i == 0 && (s.names.just(Rang) || s.names.just(Set)); !just && !before.is("aimed") && !before.op("wording") && len(before.unknown()) != 1 {
		return -1
	}
	if named := s.op("text") && len(behind.unknown()) > 0; (mark[0] == "to" || mark[0] == "is") && behind.has(clock) && !named {
		return -1
	}
	if mark[0] == "to" && !s.op("text", "wording", "edit") && s.Tokens[s.marks[i].from].Kind == grammar.Word {
		return -1
	}
	return i
}
