package when

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/cron/grammar"
)

//go:embed grammar/*.txt
var tables embed.FS

// theGrammar is read once; the tables are part of the program, and TestGrammar
// reads them.
var theGrammar = sync.OnceValue(func() *grammar.Grammar {
	g, err := grammar.New(Grammar())
	if err != nil {
		panic("cron/when: " + err.Error())
	}
	return g
})

// Grammar is the tables of times, for grammars that hold times.
func Grammar() grammar.Source {
	return grammar.Source{Tables: tables, Readers: readers(), Actions: actions()}
}

// sentence is a text on its way to a phrase.
type sentence struct {
	*grammar.Text
	now   time.Time
	zone  *time.Location
	order []bool // tokens that say "remind me", "please", 提醒我

	timers  bool // it is one of several things, each with a length: 鸡蛋10分钟
	told    int  // where the clause that asks begins behind another, with no mark between
	grouped bool
	all     []group
}

func newSentence(text string, now time.Time, zone *time.Location) *sentence {
	return sentenceOf(theGrammar().Read(text), now, zone)
}

func sentenceOf(t *grammar.Text, now time.Time, zone *time.Location) *sentence {
	if zone == nil {
		zone = time.UTC
	}
	s := &sentence{Text: t, now: now.In(zone), zone: zone}
	s.order = make([]bool, len(s.Tokens))
	asked, clause := -1, false // behind 提醒我, and in its clause
	for i := 0; i < len(s.Tokens); i++ {
		j := s.At("order", i)
		switch {
		case s.mark(i) && j == 0:
			clause = false
			continue
		case j == 0, s.At("zh-word", i) > j, i == asked && !s.link(i) && !s.ending(j) && !s.clauseEnds(j), clause && (s.At("zh-ask-noun", i) == j || j == i+2 && s.ending(j)),
			s.Is(i-1, "to") && !s.order[i-1] && s.At("ask-weak", i) == j:
			continue // what is to be done: 提醒我叫孩子起床
		case s.At("zh-ask", i) == j, i == asked:
			asked, clause = j, true
		}
		for k := i; k < j; k++ {
			s.order[k] = true
		}
		i = j - 1
	}
	return s
}

// run reads pieces from i on.
func (s *sentence) run(i int) (group, bool) {
	g := group{from: i}
	for j := i; len(g.pieces) < grammar.MaxList; {
		p, next := s.piece(g, j)
		at := j
		for next == 0 && len(g.pieces) > 0 {
			if at = s.At("joiner", at); at == 0 || at > j+4 || g.pieces[len(g.pieces)-1].vague && s.Is(j, ",") {
				break
			}
			if p, next = s.piece(g, at); next > 0 && g.has(piece.isHour) && (p.clock != nil && s.Is(j, "for") || p.repeat != nil && s.Is(j, ":") && !s.ending(next)) {
				next = 0 // wake me at 6 for the 8:05 ferry; 3pm: weekly report
			}
			if next > 0 {
				p.listed = s.At("and", j) > 0 && !(s.Is(j, ",") && s.At("and", j) == j+1) || p.span != nil && g.pieces[len(g.pieces)-1].span != nil
				p.either = p.either || s.At("or", j) > 0
			}
		}
		if next == 0 || p.clock != nil && s.Is(j, ",") && s.At("zh-ask", next) > 0 && !s.beginning(g.from) {
			break // 约了明天三点，两点半提醒我
		}
		p.from, p.to = at, next
		g.pieces = append(g.pieces, p)
		g.to, j = next, next
	}
	return g, g.has(func(p piece) bool { // a zone alone is no time
		return !p.isZone() || p.whole != nil || s.Tokens[g.from].Kind == grammar.Han && (s.alone(g) || s.Is(g.from, "按", "照", "以", "用", "依"))
	})
}

// piece reads one piece that may stand at i behind those of the group.
func (s *sentence) piece(g group, i int) (piece, int) {
	first := len(g.pieces) == 0
	if first && s.inside(i) {
		return piece{}, 0
	}
	if first && s.beginning(i) {
		if p, next := s.expression(i); next > 0 {
			return p, next
		}
	}
	v, next := s.Match("piece", i)
	if s.At("no-time", i) > next {
		next = 0 // 下午茶
	}
	switch {
	case next == 0 && first:
		return piece{}, 0
	case next == 0:
		return s.number(g, i)
	}
	p := v.(piece)
	if p.clock != nil && p.clock.now {
		c := *p.clock
		c.hour, c.minute = s.now.Hour(), s.now.Minute()
		p.clock = &c
	}
	if p.zone == here {
		p.zone = s.zone
	}
	if last := len(g.pieces) - 1; p.bare && p.span != nil && last >= 0 && g.pieces[last].shift != nil && g.pieces[last].part == noPart && i > g.to { // 提前一周、一天
		back := p.span.Negative()
		p.shift, p.span, p.bare = &back, nil, false
	}
	if first {
		listed := p.span != nil && p.bare && (s.At("list-and", i-1) == i && s.Is(next, "for") || (s.timers || s.timed() > 1) && s.clauseEnds(next)) || p.span != nil && (s.takenBack(i) >= 0 || (s.At("list-and", i-1) == i || s.At("another-for", i-3) == i || s.ending(next) || s.clauseEnds(next)) && s.asksFor("timer-noun"))
		counted := s.At("zh-timer-noun", s.Skip(next, "的")) > 0 || s.At("zh-ask", next) > 0 && s.ending(s.At("zh-ask", next)) // 蒸鱼十分钟叫我
		if p.weak || p.bare && !s.beginning(i) && !listed && !counted || p.offset {
			return piece{}, 0
		}
		return p, next
	}
	if p.more != nil && g.has(func(o piece) bool { return o.day != nil }) {
		p.repeat = nil // 明天早中晚
	}
	last := g.pieces[len(g.pieces)-1]
	if p.from, p.to = i, next; s.occasion(p) && g.names() == hasDay|hasHour {
		return piece{}, 0 // friday 6pm christmas dinner
	}
	if p.bare && !(last.repeat != nil && s.Is(i-1, "for")) && !(p.span != nil && last.span != nil && (s.asksFor("timer-noun") || i > g.to && s.goesOn(next))) || p.zone != nil && last.zone != nil && !last.offset {
		return piece{}, 0 // "tomorrow 30 minutes of sport"; two zones
	}
	return p, next
}

// goesOn says that a list of lengths goes on at i, or that what is to be done
// follows: in 10 minutes, 20 minutes and 30 minutes to flip.
func (s *sentence) goesOn(i int) bool {
	return s.ending(i) || s.order[i] || s.Is(i, "to") || s.At("and", i) > 0 && s.At("piece", s.At("and", i)) > 0
}

// occasion says that a holiday names what is to come: christmas dinner.
func (s *sentence) occasion(p piece) bool {
	return p.day != nil && p.day.kind == holiday && p.to < len(s.Tokens) && s.Tokens[p.to].Kind == grammar.Word && !s.order[p.to] && s.At("piece", p.to)+s.At("joiner", p.to) == 0
}

// asksFor says that such a word stands among those that ask.
func (s *sentence) asksFor(category string) bool {
	for i := range s.Tokens {
		if s.order[i] && s.At(category, i) > 0 {
			return true
		}
	}
	return false
}

// rises says that somebody is to get up: five or six o'clock is in the morning.
func (s *sentence) rises() bool {
	for i := range s.Tokens {
		if s.order[i] && s.At("zh-wake", i) > 0 || s.At("zh-rise", i) > 0 {
			return true
		}
	}
	return false
}

// inside says that the token stands inside of a name, as the 1 of q1x0z, or of
// words around it.
func (s *sentence) inside(i int) bool {
	if i > 0 && s.At("around-time", i-1) > 0 {
		return true
	}
	if !s.Close(i) {
		return false
	}
	letters := func(k grammar.Kind) bool { return k == grammar.Word || k == grammar.Number }
	return letters(s.Tokens[i-1].Kind) && letters(s.Tokens[i].Kind)
}

// number reads a bare hour behind a day, "tomorrow 9 to call mum", and in a list
// of hours, "every day at 9 and 21 to take pills".
func (s *sentence) number(g group, i int) (piece, int) {
	last := g.pieces[len(g.pieces)-1]
	n := s.Num(i)
	if v, j := s.Match("nth-day", i); j > 0 && last.day != nil && last.day.kind == weekday {
		return v.(piece), j // monday 30th
	}
	joined := i > g.to && s.At("and", i-1) == i
	if d := last.day; joined && d != nil && d.kind == onDate && last.clock == nil && n > 0 && s.At("day-number", i) > 0 {
		return calendarDay(d.date.Year, int(d.date.Month), n, d.n), i + 1 // dec 10 and 11
	}
	if v, j := s.Match("ordinal-digits", i); j > 0 && joined && last.day != nil && last.day.kind == monthDay && last.day.number > 0 && last.clock == nil {
		return onDay(day{kind: monthDay, number: v.(int), n: last.day.n}), j // the 1st, 10th and 20th
	}
	if n < 0 || n > 24 || last.day == nil && last.repeat == nil && !(last.clock != nil && joined) {
		return piece{}, 0
	}
	if v, j := s.Match("dotted-hour", i); j > 0 {
		return v.(piece), j
	}
	more := s.At("and", i+1) > 0 && s.Num(i+2) >= 0 && s.Num(i+2) <= 24
	does := s.At("to-do", i+1) > 0 && (s.At("noun-before", i+2) > 0 || s.Is(i+2, "up", "off", "out", "back")) // tomorrow 6 pick up the parcel
	if i+1 < len(s.Tokens) && !s.Is(i+1, "to", ",") && !s.order[i+1] && !more && !does {
		return piece{}, 0
	}
	return written(s.Text, i, n).checked(), i + 1
}

// link says that the words at i lead to what is to be done.
func (s *sentence) link(i int) bool { return s.At("zh-link", i) > 0 && s.At("zh-word", i) == 0 }

// mark says that the token is no word, number or character.
func (s *sentence) mark(i int) bool { return s.Tokens[i].Kind == grammar.Mark }

// silent says that the token is nothing to be reminded of: a mark, or of words
// that ask.
func (s *sentence) silent(i int) bool { return s.order[i] || s.mark(i) }

// beginning says that nothing stands before i but orders.
func (s *sentence) beginning(i int) bool {
	if i > 0 && s.order[i-1] {
		return true
	}
	for i--; i >= 0; i-- {
		if !s.silent(i) && !s.Is(i, "to") {
			return false
		}
	}
	return true
}

// closes says that the words from k to j only end a sentence, or tell in a clause
// of their own why somebody wishes it.
func (s *sentence) closes(k, j int) bool {
	return s.At("particle", k) == j || s.At("zh-aside", k) == j && k > 0 && (s.Tokens[k].Gap || s.Tokens[k-1].Kind == grammar.Mark || s.order[k-1])
}

// alone says that the group is a clause of its own.
func (s *sentence) alone(g group) bool {
	return (g.from == 0 || s.clauseBegins(g.from)) && (g.to == len(s.Tokens) || s.clauseEnds(g.to) || s.clauseBegins(g.to))
}

// ending says that nothing stands from i on but orders and marks.
func (s *sentence) ending(i int) bool {
	for ; i < len(s.Tokens); i++ {
		if s.closes(i, len(s.Tokens)) {
			return true
		}
		if !s.silent(i) {
			return false
		}
	}
	return true
}

// edge says that the group stands at the beginning or the end of the sentence
// or beside an order: there people put the time of a reminder.
func (s *sentence) edge(g group) bool {
	if g.bound() && s.alone(g) {
		return true
	}
	before, after := g.from, g.to
	for before > 0 && s.mark(before-1) {
		before--
	}
	for after < len(s.Tokens) && s.mark(after) {
		after++
	}
	return after < len(s.Tokens) && s.order[after] || s.beginning(before) || s.ending(after)
}

// parse reads a text that is a time from its first to its last word.
func (s *sentence) parse() (Phrase, error) {
	for _, tail := range []string{"; next:", "；下次："} { // as Describe writes it
		if cut := strings.Index(s.Source, tail); cut >= 0 {
			s = newSentence(s.Source[:cut], s.now, s.zone)
		}
	}
	i := 0
	for i < len(s.Tokens) && s.mark(i) && !s.Is(i, "*", "@", "?", "+") {
		i++
	}
	if i == len(s.Tokens) {
		return Phrase{}, ErrNone
	}
	g, ok := s.run(i)
	if v, j := s.Match("time", i); !ok && j == len(s.Tokens) && len(v.(group).pieces) > 1 {
		g, ok = v.(group), true // 6 tomorrow evening
	}
	if all := s.groups(); ok && len(all) > 0 && all[0].from == i {
		g = all[0] // with what corrects it
	}
	if !ok {
		if all := s.groups(); len(all) > 0 {
			return Phrase{}, s.unread(0, all[0].from)
		}
		return Phrase{}, ErrNone
	}
	j := g.to
	for j < len(s.Tokens) && s.mark(j) && !s.Is(j, "+", "-", "*") {
		j++
	}
	switch err := g.failed(); {
	case j == len(s.Tokens):
		return s.finish([]group{g}, "")
	case err != nil:
		return Phrase{}, err
	case s.Tokens[j].Kind == grammar.Word && s.Is(j+1, "/") && s.Close(j+1):
		return Phrase{}, badZone("%.60q: want a name such as Asia/Shanghai, Europe/Berlin or UTC", s.Source[s.Tokens[j].From:])
	case !g.has(func(p piece) bool { return !p.asked }): // "whenever you like"
		return Phrase{}, ErrNone
	}
	return Phrase{}, s.unread(j, len(s.Tokens))
}

func (s *sentence) unread(from, to int) error {
	return fmt.Errorf("%w: not understood: %.60q", ErrInvalid, s.Cut(from, max(to, from+1)))
}

// groups are all times that the sentence holds.
func (s *sentence) groups() []group {
	if !s.grouped {
		s.grouped, s.all = true, s.readGroups()
	}
	return slices.Clone(s.all)
}

func (s *sentence) readGroups() (all []group) {
	for i := 0; i < len(s.Tokens); {
		if n := len(all); n > 0 {
			if g, ok := s.renumbered(all[n-1], i); ok {
				all[n-1], i = g, max(i+1, g.to)
				continue
			}
		}
		g, ok := s.run(i)
		if !ok {
			i = max(i+1, s.At("no-time", i))
			continue
		}
		if n := len(all); n == 0 || s.takenBack(g.from) > all[n-1].to {
			g.from = s.misspoken(g.from)
		}
		switch n := len(all); {
		case n > 0 && s.At("correction", all[n-1].to) == g.from: // at 7, no, 7:30
			all[n-1] = all[n-1].corrected(g)
		case n > 0 && s.takenBack(g.from) >= all[n-1].to && all[n-1].names()&g.names() != 0 && (s.ending(g.to) || s.asking(all[n-1].to, s.takenBack(g.from))):
			both := all[n-1].corrected(g)
			both.to = all[n-1].to
			all[n-1] = s.takingBack(both, s.takenBack(g.from), g.to)
		case n > 0 && s.asksAgain(all[n-1], g):
			g.pieces[0].listed = true
			all[n-1].pieces, all[n-1].to = append(all[n-1].pieces, g.pieces...), g.to
		default:
			all = append(all, g)
		}
		i = g.to
	}
	return all
}

// asksAgain says that only words that ask stand between two times, each of which
// is followed by them: 三点提醒我，四点再提醒我一次.
func (s *sentence) asksAgain(g, more group) bool {
	hours := hasHour | hasMore
	return more.from > g.to && s.At("zh-ask", g.to) > 0 && s.At("zh-ask", more.to) > 0 && s.asking(g.to, more.from) && g.names()&hours != 0 && more.names()&hours != 0 && !g.repeats() && !more.repeats()
}
