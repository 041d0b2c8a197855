package intent

import (
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
	if in, ok := all.wish(all); ok {
		return in, true
	}
	clauses := s.clauses()
	for i, c := range clauses {
		in, ok := c.wish(all)
		if len(clauses) < 2 || !ok {
			continue
		}
		for k, other := range clauses {
			if k > 0 && in.Kind == Change && clauses[k-1].lone("not", "correct") && other.lone(unknown) {
				return Intent{}, false
			}
			if k != i && in.takes(other) || k == i || in.Kind != Change || in.Op == Undo || !other.is("changes") || in.Op == Remove && other.is("unwanted") {
				continue
			}
			if also, ok := other.wish(all); !ok || also.Op != in.Op {
				return Intent{}, false // more is said than is understood
			}
		}
		return in, true
	}
	return Intent{}, false
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
	in := Intent{Kind: Change, Op: Op(then[0]), Maybe: len(then) > 1}
	switch in.Op {
	case Undo:
		return in, true
	case Text:
		var lead int
		if in.Text, lead = s.text(); lead == 0 && in.Text != "" && !s.has("old") {
			all = s.part(0, 0) // a name in the new words names nothing
		}
		return s.part(0, lead).aim(in, all)
	case End:
		from, to, _ := s.end()
		in.Time = s.Cut(from, to)
		return s.besides(from, to).aim(in, all.besides(from, to))
	case Move:
		in.Time, in.Op = s.target(), s.moving()
		if i := s.index(length); in.Time == "" && i >= 0 {
			in.Time = s.Cut(s.marks[i].from, s.marks[i].to)
		}
	case Snooze:
		if in.Shift = s.span(); in.Shift == (when.Span{}) {
			in.Time = s.target()
		}
		if in.Shift == (when.Span{}) && in.Time == "" && s.has(clock) {
			in.Op = Move // "not today": when, then?
		}
	case "shift":
		in.Op, in.Shift = Move, s.span()
		if s.is("earlier") {
			in.Shift = in.Shift.Negative()
		}
	}
	if in.Ref = (Ref{Last: true}); in.Maybe && then[1] == "just" {
		if in.Maybe = false; in.Op == Snooze && s.moving() == Repeat {
			in.Op = Repeat
		}
		if p, err := when.Parse(in.Time, s.c.Now, s.c.Zone); err == nil && p.Vague && in.Op == Move {
			in.Time = "" // "a bit later": when, then?
		}
		return in, true
	}
	in, ok = s.aim(in, all)
	return s.onDays(in), ok
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
	return (m.kind == clock || tonight) && k == i+1 && (kind == "it" || kind == "noun-weak" || kind == "noun") && s.before(i) != "to"
}

// following are the times that follow the i-th mark: "a daily thing at 6pm".
func (s some) following(i int) (said string) {
	for _, m := range s.marks[i+1:] {
		if m.kind == clock {
			said += " " + s.Cut(m.from, m.to)
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
	if said := s.part(i+1, len(s.marks)); !slices.ContainsFunc(said.marks, func(m mark) bool { return m.kind != fill && m.kind != stop && m.kind != "need" }) {
		return "", i // 改名字了吗
	}
	if s.marks[i].kind == "op" && s.Is(end-1, "了") && end-1 > from {
		end--
	}
	if end = ended(s.Text, from, end); s.At("polite", from) < end {
		text = strings.Trim(s.Cut(from, end), " ,，。“”\"'「」:：")
	}
	return text, i
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
	if (mark[0] == "to" || mark[0] == "is") && behind.has(clock) {
		return -1
	}
	if mark[0] == "to" && !s.op("text", "wording", "edit") && s.Tokens[s.marks[i].from].Kind == grammar.Word {
		return -1
	}
	return i
}
