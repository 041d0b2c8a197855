package when

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"magpie/cron/grammar"
)

// find chooses the times among all that the sentence holds, joins an hour with
// its day when they stand apart, and cuts a sentence that asks for several
// things.
func (s *sentence) find() (Phrase, error) {
	if p, ok, err := s.lines(); ok || err != nil {
		return p, err
	}
	return several(s.apart(), nil)
}

// lines reads a list of which every line has a time and a thing; what stands in
// the line before them is of all.
func (s *sentence) lines() (Phrase, bool, error) {
	lines := strings.FieldsFunc(s.Source, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) < 2 || len(lines) > maxLines {
		return Phrase{}, false, nil
	}
	var before []group
	var all []*sentence
	for n, line := range lines {
		one := newSentence(bullet.ReplaceAllString(line, ""), s.now, s.zone)
		groups := one.groups()
		switch {
		case len(groups) > 0 && one.rest(groups) != "" && !(n == 0 && one.firstAsk() >= 0):
			all = append(all, one)
		case n == 0:
			before = groups
		default:
			return Phrase{}, false, nil
		}
	}
	if len(all) < 2 {
		return Phrase{}, false, nil
	}
	p, err := several(all, before)
	return p, err == nil, err
}

// maxLines bounds a list of times.
const maxLines = 20

// bullet is what stands before the items of a list.
var bullet = regexp.MustCompile(`^[ \t*•·-]*([0-9]{1,3}[.、)）][.、)） ]*)?`)

// cut is where a second thing with a time of its own begins, 0 without one:
// "remind me at 1 to call, and at 3 to post the parcel".
func (s *sentence) cut() int {
	all := s.groups()
	for k := 1; k < len(all); k++ {
		if at := s.clause(all[k].from); k > 1 && at >= all[k-1].to && all[k-1].shifts() && !all[k].shifts() && !all[k-2].bound() && slices.ContainsFunc(all[k:], group.shifts) {
			return at // dentist at 3, remind me an hour before; flight at 9, two hours before
		}
		if s.comesToo(all[k-1], all[k]) {
			continue
		}
		if s.notes(all[k-1], all[k]) || s.jots(all[k-1], all[k]) || s.runsOn(all[k-1], all[k]) {
			return all[k].from
		}
		for i := all[k-1].to; i <= all[k].from; i++ {
			j := s.At("separator", i)
			if j == 0 && i == all[k].from && s.clauseBegins(i) {
				j = i // only a space
			}
			if j == 0 || j > all[k].from {
				continue
			}
			if ask := s.firstAsk(); ask >= i {
				from, to := s.askingClause()
				if !s.ending(to) || s.Tokens[ask].Kind == grammar.Han && !s.asking(from, to) {
					continue // what is told before it is asked
				}
			}
			left := s.words(all[k-1].to, i) || s.words(0, all[0].from)
			leads := j == all[k].from || s.asking(j, all[k].from)
			ends := i == all[k-1].to && s.words(j, all[k].from) && (s.ending(all[k].to) || s.At("separator", all[k].to) > 0 && s.words(0, all[k-1].from))
			left = left || ends && s.words(0, all[k-1].from)
			if left && (leads && s.words(all[k].to, len(s.Tokens)) || ends) && (!all[k].bound() || ends && all[k].later()) && !all[k-1].bound() {
				return i
			}
		}
	}
	return 0
}

// jots says that two times, each with a day, an hour and a thing behind it, stand
// in a note: "tuesday 4pm physio thursday 9am blood test".
func (s *sentence) jots(a, b group) bool {
	for _, g := range []group{a, b} {
		if g.names() != hasDay|hasHour || g.repeats() || g.bound() || !g.has(piece.isHour) || g.pieces[0].from != g.from {
			return false
		}
	}
	return s.firstAsk() < 0 && s.beginning(a.from) && s.At("separator", b.from-1) == 0 && s.words(a.to, b.from) && s.words(b.to, len(s.Tokens)) && !s.Is(b.from, "the", "this", "on") && !s.Is(b.from-1, "for", "with", "of", "from", "until", "to", "before", "after", "about") && !s.asking(b.to, len(s.Tokens))
}

// runsOn says that two hours, each with a thing behind it, stand in Chinese with
// nothing between: 八点提醒我吃药九点开会.
func (s *sentence) runsOn(a, b group) bool {
	if s.At("zh-ask", a.to) > 0 && s.At("zh-ask", b.to) > 0 && s.firstAsk() == a.to && !b.bound() {
		return s.words(s.At("zh-ask", a.to), b.from) && s.words(s.At("zh-ask", b.to), len(s.Tokens)) // 五分钟后叫我关火十分钟后叫我出门
	}
	for _, g := range []group{a, b} {
		if !g.has(piece.isHour) && g.names() != hasDay|hasHour || g.bound() || g.shifts() || g.failed() != nil {
			return false
		}
	}
	for i := a.to; i < b.from; i++ {
		if !s.order[i] && (s.At("zh-tells", i) > 0 || i >= b.from-2 && s.At("zh-leads", i) == b.from) {
			return false
		}
	}
	for i := b.to; i < len(s.Tokens) && !b.has(piece.isHour); i++ {
		if s.Is(i, "的") {
			return false // 取消明早不用的闹钟
		}
	}
	_, asked := s.askingClause()
	if k := b.from - 1; s.firstAsk() > k && !s.ending(asked) || s.Tokens[k].Kind != grammar.Han || s.order[k] || s.order[a.from] || s.Is(b.to, "的") || s.At("zh-clock-noun", b.to)+s.At("zh-of-event", b.to)+s.At("behind", b.to) > 0 && s.At("zh-rise", b.to) == 0 {
		return false
	}
	return s.words(a.to, b.from) && s.words(b.to, len(s.Tokens))
}

// notes says that two clauses, each with a day, an hour and a thing, stand before
// one that only asks: 周四七点游泳课，周六十点钢琴课，都提醒我.
func (s *sentence) notes(a, b group) bool {
	full := func(g group) bool {
		return g.names() == hasDay|hasHour && !g.repeats() && !g.bound() && g.has(piece.isHour)
	}
	from, to := s.askingClause()
	return full(a) && full(b) && b.to < from && s.clauseBegins(b.from) && s.words(a.to, b.from) && s.words(b.to, from) && s.ending(to) && s.asking(from, to)
}

// firstAsk is where the sentence first asks for a reminder; -1 where it does
// not.
func (s *sentence) firstAsk() int {
	for i := range s.Tokens {
		if s.order[i] && max(s.At("ask-verb", i), s.At("zh-ask-verb", i)) > 0 {
			return i
		}
	}
	return -1
}

// asking says that only words that ask stand between two places.
func (s *sentence) asking(i, j int) bool {
	for ; i < j; i++ {
		if !s.silent(i) && s.At("joiner", i) == 0 {
			return false
		}
	}
	return true
}

// words says that something to be reminded of stands between two places.
func (s *sentence) words(i, j int) bool { return s.trim(i, j) != "" }

// eventOf says that the time is of the event that a shift names: 40 minutes
// before my 7pm dinner, two hours before dinner at seven.
func (s *sentence) eventOf(shift, g group) bool {
	for i := shift.to; i < g.from; i++ {
		if s.order[i] || s.Is(i, "to") || s.Tokens[i].Kind != grammar.Word {
			return false
		}
	}
	return shift.to <= g.from && (s.At("noun-before", shift.to) > 0 || g.from < shift.to+5 && !g.repeats())
}

// apart are the parts of a sentence, of which each has a thing and a time of its
// own.
func (s *sentence) apart() []*sentence {
	if all := s.eachBefore(); all != nil {
		return all
	}
	cut := s.cut()
	if cut == 0 {
		return []*sentence{s}
	}
	next := cut
	for next < len(s.Tokens) && (s.mark(next) || next < s.At("separator", cut)) {
		next++
	}
	first := newSentence(s.Source[:s.Tokens[cut].From], s.now, s.zone)
	second := newSentence(s.Source[s.Tokens[next].From:], s.now, s.zone)
	first.timers = s.timers || s.timed() > 1
	second.timers = first.timers
	return append([]*sentence{first}, second.apart()...)
}

// several reads sentences that stand together, and are not asked apart. The day
// that one does not say is the one that was said last; before are the times said
// before all of them.
func several(parts []*sentence, before []group) (Phrase, error) {
	var all []answer
	before = append(before, trailing(parts)...)
	for _, s := range parts {
		if n := len(all); n > 0 && len(all[n-1].phrases) == 1 {
			s.follow(all[n-1].phrases[0].At, before[len(before)-1])
		}
		p, err := s.one(before)
		unsure, asked := errors.AsType[*Ambiguous](err)
		switch {
		case asked && len(unsure.Choices) > 0:
			all = append(all, answer{phrases: unsure.Choices, question: unsure.Question, open: len(unsure.Choices) < 2, past: unsure.Past})
		case err != nil:
			return p, err
		default:
			if n := len(all); n > 0 && len(all[n-1].phrases) == 1 {
				p.At = s.afterwards(p.At, all[n-1].phrases[0].At)
			}
			all = append(all, sole(p))
		}
		before = append(before, s.groups()...)
	}
	return together(all).phrase()
}

// trailing is the last time of several sentences when only it names a day, at
// the end of all: "call Ann at 9, Bob at 10 and Kim at 11 tomorrow".
func trailing(parts []*sentence) []group {
	var all []group
	for _, s := range parts {
		if ask := s.firstAsk(); ask > 0 && !s.beginning(ask) && s != parts[len(parts)-1] {
			return nil
		}
		all = append(all, s.groups()...)
	}
	last := len(all) - 1
	if len(parts) < 2 || last < 1 || slices.ContainsFunc(all[:last], func(g group) bool { return g.names() != hasHour }) {
		return nil
	}
	g, s := all[last], parts[len(parts)-1]
	if n := len(g.pieces); g.names() != hasDay|hasHour || !g.pieces[0].isHour() || g.pieces[0].isDay() || !g.pieces[n-1].isDay() || g.shifts() || !s.ending(g.to) {
		return nil
	}
	return all[last:]
}

// one reads a sentence that asks for one thing; before are the times of the
// sentence before it.
func (s *sentence) one(before []group) (Phrase, error) {
	all := s.groups()
	all = slices.DeleteFunc(all, func(g group) bool { return !s.meant(g, all) || s.onOccasion(g, all) })
	if len(all) == 0 {
		return Phrase{}, ErrNone
	}
	all, told := s.toldBefore(all)
	before = append(before, told...)
	chosen := s.choose(all)
	if err := s.beyond(chosen, all); err != nil {
		return Phrase{}, err
	}
	for i := range s.Tokens { // every ten minutes to drink, once each time
		if j := s.At("once-each", i); j > 0 && (j == len(s.Tokens) || s.taken(chosen, j) || s.clauseEnds(j)) && slices.ContainsFunc(chosen, group.repeats) {
			s.order[i], s.order[j-1] = true, true
		}
	}
	if n := len(before); n > 0 {
		chosen[0].everyMonth(before[n-1])
	}
	if n := len(before); n > 0 && chosen[0].names() == hasHour && before[n-1].names() == hasHour && before[n-1].leads(chosen[0]) {
		chosen[0].pieces = append(pieces{{part: before[n-1].parts()[0], from: -1, to: -1}}, chosen[0].pieces...) // 早上八点吃药九点开会
	}
	if n := len(before); n > 0 && before[n-1].early(chosen[0]) {
		chosen[0].pieces = slices.Clone(chosen[0].pieces) // flight at 6am, wake me at 3:30
		for i, p := range chosen[0].pieces {
			if p.clock != nil {
				chosen[0].pieces[i].part = morning
			}
		}
	}
	for _, g := range slices.Backward(before) {
		if g.names()&hasDay != 0 && (completes(chosen[0], g) || chosen[0].names() == hasHour) {
			chosen[0].pieces = append(g.dayFor(chosen[0]), chosen[0].pieces...)
			break
		}
	}
	return s.finish(chosen, s.rest(chosen))
}

// toldBefore are the times that count, and those that are only told of before
// the clause that asks and has a time of its own: "I have a meeting at 3, remind
// me at 2".
func (s *sentence) toldBefore(all []group) (kept, told []group) {
	full := func(g group) bool {
		return !g.bound() && g.has(func(p piece) bool { return !p.vague && !p.asked }) && g.names()&(hasHour|hasMore) != 0
	}
	from, to := s.askingClause()
	if from == to {
		return all, nil
	}
	han := s.Tokens[to-1].Kind == grammar.Han
	own := slices.ContainsFunc(all, func(g group) bool {
		return g.from >= from && (full(g) && (han || s.edge(g)) || han && s.leads(g, from) || !han && !g.bound() && g.from > 0 && s.order[g.from-1])
	})
	asked := s.firstAsk()
	for i, g := range all { // 明天八点开会七点提醒我
		if han && i > 0 && g.from > from && g.to <= asked && g.has(piece.isHour) && all[i-1].has(piece.isHour) && s.asking(g.to, asked) && s.words(all[i-1].to, g.from) {
			from, own, s.told = g.from, true, g.from
		}
	}
	var led names // what is said before the words that ask
	for _, g := range all {
		if g.from >= from && g.to <= to && !g.bound() {
			if led |= g.names(); !g.has(piece.isHour) {
				led &^= hasHour // 下午提醒我去拿药四点
			}
		}
	}
	for _, g := range all {
		switch {
		case han && led != 0 && g.from >= to && !s.comesToo(all[0], g) && (!g.bound() || g.shifts() && !s.ending(g.to)) && (led&hasHour != 0 || g.names()&^led == 0) && s.ofThing(to, g): // 三点提醒我跟老师说五点不去了
		case own && g.to <= from && !g.bound() && (han || s.words(0, g.from) || s.words(g.to, from)):
			told = append(told, g)
		case !han || !slices.ContainsFunc(all, full) || g.has(func(p piece) bool { return !p.vague && !p.asked }) || g.from >= to && g.has(func(p piece) bool { return p.asked }):
			kept = append(kept, g)
		default: // 等一下，明天三点提醒我
			for i := g.from; i < g.to; i++ {
				s.order[i] = true
			}
		}
	}
	return kept, told
}

// leads says that a day stands right before the words that ask, in their clause:
// 周五考试，周四提醒我复习.
func (s *sentence) leads(g group, clause int) bool {
	asked := s.firstAsk()
	return asked >= g.to && g.names()&hasDay != 0 && !g.bound() && s.asking(clause, g.from) && s.asking(g.to, asked)
}

// ofThing says that the group is of what is to be done, in the clause that asks.
func (s *sentence) ofThing(from int, g group) bool {
	for i := from; i < g.to; i++ {
		if s.clauseEnds(i) {
			return false
		}
	}
	return s.At("zh-ask", g.to) == 0 && s.Tokens[g.from].Kind != grammar.Word
}

func (s *sentence) clauseEnds(i int) bool {
	if i >= len(s.Tokens) {
		return true
	}
	t := s.Tokens[i]
	if t.Text == "." && i > 0 && i+1 < len(s.Tokens) && s.Tokens[i+1].Gap {
		return s.order[i+1] || len(s.Tokens[i-1].Text) > 4 // and not "dr. "
	}
	return s.Is(i, "so") || s.oneOf(i, ",;。!?…") && !s.order[i]
}

// clauseBegins says that a clause begins at i: who writes Chinese without commas
// puts a space there.
func (s *sentence) clauseBegins(i int) bool {
	return i > 0 && (s.clauseEnds(i-1) || i < len(s.Tokens) && s.Tokens[i].Gap && s.Tokens[i].Kind == grammar.Han && s.Tokens[i-1].Kind == grammar.Han)
}

// askingClause is where the clause begins that asks first, and where the words
// end that do.
func (s *sentence) askingClause() (from, to int) {
	to = max(s.firstAsk(), 0)
	from = s.clause(to)
	for to < len(s.Tokens) && s.order[to] {
		to++
	}
	return from, to
}

// clause is where the clause begins in which i stands.
func (s *sentence) clause(i int) int {
	for i > 0 && !s.clauseBegins(i) {
		i--
	}
	return i
}
