package intent

import (
	"slices"
	"strings"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// decide says what the marks of a message want of the reminders that exist. A
// clause that wants something is enough; what else is said explains it.
func (s *sense) decide(asked bool) (Intent, bool) {
	all := s.all()
	if all.has("world") && !all.has(name) {
		return Intent{}, false
	}
	if in, ok := all.wish(all, asked); ok {
		return in, true
	}
	clauses := s.clauses()
	for i, c := range clauses {
		if len(clauses) < 2 {
			break
		}
		in, ok := c.wish(all, asked)
		if !ok {
			continue
		}
		if in.Kind == Change && in.Op != Undo {
			for k, other := range clauses {
				if in.takes(other) {
					in = in.timed(s.c)
					continue
				}
				if also, ok := other.wish(all, asked); k != i && other.changes() && (!ok || also.Op != in.Op) && !(in.Op == Remove && other.unwanted()) {
					return Intent{}, false // more is said than is understood
				}
			}
		}
		return in, true
	}
	return Intent{}, false
}

// takes gives a change without a time that of a clause that tells of one: "they
// moved the meeting to 11, fix my reminder".
func (in *Intent) takes(told some) bool {
	if in.Op != Move || in.Time != "" || in.Shift != (when.Span{}) || !told.has("to") || told.has(remind) || told.has("not") {
		return false
	}
	in.Time = told.target()
	if strange := told.unknown(); in.Ref.Last && !told.has("it") && len(strange) > 0 {
		last := strange[len(strange)-1]
		in.Ref, in.Maybe = readRef(told.Cut(last.From, last.To)), false
	}
	return in.Time != ""
}

// changes says that the words may change something: a clause that is not
// understood and does so makes the others uncertain.
func (s some) changes() bool {
	return s.op("move", "later", "earlier", "remove", "pause", "resume", "skip", "snooze", "run", "repeat", "once", "text", "undo") ||
		s.op("edit") && s.has(clock) || s.has("to") && s.has(clock) || s.unwanted() || s.has("old") || s.has(length, "later", "earlier") || s.has(remind)
}

// wish is what a clause wants.
func (s some) wish(all some, asked bool) (Intent, bool) {
	if s.has("world") {
		return Intent{}, false
	}
	if s.op("undo") && len(s.unknown()) == 0 {
		return Intent{Kind: Change, Op: Undo}, true
	}
	if in, ok := s.query(); ok {
		return in, true
	}
	op, in := s.change(asked)
	if op == "" || s.whether() {
		return Intent{}, false
	}
	in.Kind, in.Op = Change, op
	return s.aim(in, all)
}

// whether says that the message asks if something has been done: 周会取消了吗.
func (s *sense) whether() bool {
	end := len(s.Tokens)
	for end > 0 && s.Tokens[end-1].Kind == grammar.Mark {
		end--
	}
	begs := slices.ContainsFunc(s.Tokens, func(t grammar.Token) bool {
		return strings.Contains("能可请帮把烦", t.Text) && t.Kind == grammar.Han
	})
	return s.Is(end-1, "吗", "么", "没") && s.Is(end-2, "了") && !begs
}

// change is the operation that the words want, with its time or text.
func (s some) change(asked bool) (Op, Intent) {
	in := Intent{}
	asks := s.has(remind)
	refs := s.has(name) || s.has(place)
	switch {
	case s.text(&in):
		return Text, in
	case asks && asked && !s.besides():
		return "", in
	case s.op("once"), s.deniedOp("repeat"), s.has("not") && s.repeats() && s.has("this"):
		return Once, in
	case (s.op("run") || s.op("ring") && s.has("now")) && !s.has("again") && (refs || s.has("it") || s.has("noun") || s.one() != "") && !s.op("remove"):
		return Run, in
	case s.op("resume") && !s.pausedFirst(), s.deniedOp("pause"):
		return Resume, in
	case s.again() || s.op("snooze"):
		in.Shift = s.span()
		if in.Shift == (when.Span{}) {
			in.Time = s.target()
		}
		in.Maybe = !s.op("snooze") && !asks
		return Snooze, in
	case s.op("skip"):
		return Skip, in
	case s.op("pause"):
		return Pause, in
	case s.unwanted() && s.soon():
		in.Maybe = true
		return Skip, in
	case s.op("done") && !s.has("not") && !s.has("to") && !s.op("remove"):
		in.Maybe = true
		return Done, in
	case s.unwanted():
		in.Maybe = true
		return Remove, in
	case s.op("remove-all"):
		return Remove, in
	case s.op("remove") && s.soon() && (s.has(name) || s.has(place) || s.has("it")):
		return Skip, in
	case s.op("remove"):
		return Remove, in
	case s.has("now") && refs && (asks || s.has("noun") || s.has("ask", "list")):
		return Run, in
	case s.op("text") && !s.asks && (refs || s.has("it")):
		return Text, in // and what shall it say?
	case s.told() && !s.has("not"):
		in.Maybe = true
		return Done, in
	}
	return s.move(in)
}

// besides says that a message may ask to be reminded and mean a reminder that
// exists: "remind me again", "don't remind me", 以后每天都提醒我.
func (s some) besides() bool {
	i := s.index(remind)
	for _, kind := range []string{"again", "not", "always", "now"} {
		if k := s.index(kind); k >= 0 && k <= i+1 {
			return true
		}
	}
	if k := s.index("op", "resume", "run", "once", "skip", "remove", "snooze"); k >= 0 && k < i {
		return true
	}
	if k := s.index("to"); k >= 0 && k < i && (some{s.sense, s.marks[:k]}).aimed() {
		return true // 买牛奶改成每周五都提醒
	}
	return s.has(length, "earlier") && s.has(name) && !s.has(clock) || s.has(length, "later", "again") && len(s.unknown()) == 0
}

// again says that what rang shall come once more.
func (s some) again() bool {
	if s.has("not") || s.has("to") {
		return false
	}
	timed := s.has(length) || s.has(clock)
	switch {
	case s.has(length, "again") && s.all().tells():
		return false
	case s.has(remind, "") && (s.has("again") || s.has(length, "again") || s.has(length, "later") && !s.has(name)):
		return true
	case s.has("busy") && !s.has(length) && s.index(clock) < s.index("busy"):
		return false // 我三点在开会
	case s.has("busy"), s.has("again") && !s.op("resume", "later", "earlier") && (s.before(s.index("again")) == "" || s.has("op") || s.has("rang") || s.has("it") || s.has("noun") && len(s.marks) < 5 || s.has(name)):
		return timed
	}
	for _, m := range s.marks { // "five more minutes"
		if m.kind == length && s.At("more-time", m.from) == m.to {
			return !s.has("op") && len(s.clauses()) < 3
		}
	}
	return false
}

// tells says that a clause names a thing, and nobody who does it: 再过二十分钟叫我，
// 锅里炖着汤.
func (s some) tells() bool {
	for _, c := range s.clauses() {
		who := slices.ContainsFunc(c.marks, func(m mark) bool {
			return m.kind != unknown && m.kind != fill && m.kind != name && m.kind != "need" || s.At("subject", m.from) > 0
		})
		if !who && len(c.unknown()) > 0 {
			return true
		}
	}
	return false
}

// unwanted says that a reminder is not wanted any more.
func (s some) unwanted() bool {
	i := s.index("not", "")
	if i < 0 {
		i = s.index("no-more")
	}
	if i < 0 {
		return false
	}
	kind, _ := s.next(i)
	named := s.has(name) || s.has(place) || s.has("it") || s.one() != ""
	switch kind {
	case remind, "noun":
		return named
	case "need":
		return named || s.has("noun")
	case "op":
		return (s.has(name) || s.has(place)) && s.has("op", "done", "run", "ring")
	case "rang":
		return named
	case name, "this", clock, "all", "it":
		return s.has(name) && (i == 0 || !s.has("to") && !s.has("is")) && (!s.has(clock) || s.soon())
	case "": // 健身不用了
		return named && i > 0
	}
	return false
}

// soon says that only the next time is meant.
func (s some) soon() bool {
	if s.has("this") {
		return true
	}
	for _, m := range s.marks {
		if m.kind == clock && s.At("this-time", m.from) == m.to {
			return true
		}
	}
	return false
}

func (s some) repeats() bool {
	return slices.ContainsFunc(s.marks, func(m mark) bool { return m.kind == clock && s.comesAgain(m.from) })
}

func (s some) deniedOp(arg string) bool {
	i := s.index("op", arg)
	return i >= 0 && s.denied(i)
}

// pausedFirst: 先暂停，等我说恢复.
func (s some) pausedFirst() bool {
	i := s.index("op", "pause", "skip")
	return i >= 0 && i < s.index("op", "resume")
}

// told says that somebody tells of a thing that is done: "I've watered the
// plants".
func (s some) told() bool {
	past := false
	for _, m := range s.marks {
		if v, is := m.value.(mention); is && v.past {
			past = true
		}
	}
	return s.has(name) && !s.has(clock) && (past && (s.has("already") || s.marks[0].kind == name) || s.At("has-done", s.marks[0].from) > 0)
}

// move is another time, or another repetition.
func (s some) move(in Intent) (Op, Intent) {
	later, earlier := s.op("later") || s.has("dir", "later", "back") || s.has(length, "later"), s.op("earlier") || s.has("dir", "earlier") || s.has(length, "earlier")
	named := s.has(name) || s.has(place)
	in.Time = s.target()
	if shift := s.span(); shift != (when.Span{}) && (in.Time == "" || !s.has("to")) && (later || earlier) && (named || s.has("it") || s.has("noun") && !s.ahead() || s.has("op") || s.has("to")) {
		if in.Shift, in.Time = shift, ""; earlier {
			in.Shift = shift.Negative()
		}
		in.Maybe = !s.op("later", "earlier") && !named
		return Move, in
	}
	moves := s.op("move", "later", "earlier") || s.op("set", "edit") && named
	switch {
	case in.Time != "" && (s.op("move", "later", "earlier", "set", "edit", "repeat") || s.has("to", "") || s.has("to") && (named || s.has("it")) || s.has("correct") || s.always() && named || named && s.has("old")):
		in.Maybe = !moves
		return Move, in
	case in.Time == "" && (moves || s.op("set", "edit")) && (named || s.has("it") || s.has("noun") || s.bare()):
		in.Maybe = !moves
		return Move, in
	}
	return "", in
}

// always says that the words are of all times to come: 以后每周五.
func (s some) always() bool {
	return slices.ContainsFunc(s.marks, func(m mark) bool {
		v, j := s.Match("sign", m.from)
		sign, ok := v.(mark)
		return ok && sign.kind == "always" && (m.kind == "always" || m.kind == clock && s.comesAgain(j))
	})
}

// ahead says that a reminder shall come before something: 提前三小时提醒.
func (s some) ahead() bool {
	kind, _ := s.next(s.index(length))
	return kind == "noun"
}

// bare says that nothing but the operation is said: 改一下.
func (s some) bare() bool {
	for _, m := range s.marks {
		if m.kind != "op" && m.kind != fill {
			return false
		}
	}
	return true
}

// target is the new time: the one behind "to", else all that say neither which
// reminder is meant nor what is not right.
func (s some) target() string {
	said, from, to := "", 0, s.index("to")
	if to >= 0 && s.before(to) == "old" { // 不是改到八点，是改到六点
		if k := (some{s.sense, s.marks[to+1:]}).index("to"); k >= 0 {
			to += k + 1
		}
	}
	for i, m := range s.marks {
		if m.kind != clock || s.before(i) == "old" || s.before(i) == "not" {
			continue
		}
		kind, k := s.next(i)
		if i < to || s.before(i) != "to" && k == i+1 && (kind == "it" || kind == "noun-weak" || kind == "noun") {
			continue // the 6pm one, 下午六点那个
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
func (s some) comesAgain(i int) bool { return max(s.At("repeat", i), s.At("zh-repeat", i)) > 0 }

// before is the kind of what stands before the i-th mark.
func (s some) before(i int) string {
	for i--; i >= 0; i-- {
		if s.marks[i].kind != fill {
			return s.marks[i].kind
		}
	}
	return ""
}

// text finds new words for a reminder: what stands behind "to say", or behind
// "to" and is no time.
func (s some) text(in *Intent) bool {
	i := s.index("op", "says")
	if k := s.index("is"); i < 0 && k > s.index("old") && (s.has("old") || s.all().has("correct") && s.has("it")) && !(some{s.sense, s.marks[k:]}).has(clock) {
		i = k // 不是买牛奶，是买豆浆
	}
	if k := s.colon(); i < 0 && k > 0 && s.op("set", "edit", "text") && (some{s.sense, s.marks[:k]}).aimed() {
		i = k
	}
	if i < 0 {
		i = s.index("to")
		if i >= 0 && (s.has(remind) || i+1 == len(s.marks)) {
			return false
		}
		if kind, _ := s.next(i); i >= 0 && !s.op("text", "wording") && (kind == clock || kind == length || kind == "" || kind == "this" || kind == "instead" || kind == "always" || kind == "op" || kind == "dir") {
			return false
		}
	}
	if i < 0 {
		if i = s.index("op", "text"); i < 0 || s.marks[i].from == 0 {
			return false
		}
	}
	before := some{s.sense, s.marks[:i]}
	if k := s.index("old"); k > i {
		before = some{s.sense, s.marks[k:]} // "call it X instead of Y"
	}
	if !before.aimed() && !before.op("wording") && len(before.unknown()) != 1 {
		return false
	}
	if s.marks[i].kind == "to" && (!s.op("text", "wording", "edit") && s.Tokens[s.marks[i].from].Kind != grammar.Han || some{s.sense, s.marks[i:]}.has(clock)) {
		return false
	}
	end := s.marks[len(s.marks)-1].to
	if k := s.index("not"); k > i && s.marks[k-1].kind == stop {
		end = s.marks[k-1].from
	}
	if !slices.ContainsFunc(s.marks[i+1:], func(m mark) bool { return m.kind != fill && m.kind != stop && m.kind != "need" }) {
		return false // 改名字了吗
	}
	for k := i + 1; k < len(s.marks); k++ { // ，时间不动
		if rest := (some{s.sense, s.marks[k:]}); s.marks[k].kind == stop && len(rest.unknown())+len(rest.mentions()) == 0 && !rest.has(clock) {
			end = s.marks[k].from
			break
		}
	}
	for _, kind := range []string{"instead", "old"} {
		if k := s.index(kind); k > i {
			end = s.marks[k].from
		}
	}
	for end > s.marks[i].to && (s.Tokens[end-1].Kind == grammar.Mark && !strings.ContainsAny(s.Tokens[end-1].Text, ")]") || s.At("particle", end-1) == end || s.At("polite", end-1) == end) {
		end--
	}
	if s.marks[i].kind == "op" && s.Is(end-1, "了") && end-1 > s.marks[i].to {
		end--
	}
	in.Text = strings.Trim(s.Cut(s.marks[i].to, end), " ,，。“”\"'「」:：")
	return in.Text != ""
}

// aimed says that the words name a reminder.
func (s some) aimed() bool { return s.has(name) || s.has(place) || s.has("it") }

// colon is the mark that is one.
func (s some) colon() int {
	for i, m := range s.marks {
		if m.kind == stop && s.Tokens[m.from].Text == ":" {
			return i
		}
	}
	return -1
}
