package when

import (
	"strings"
	"time"

	"magpie/cron/calendar"
	"magpie/cron/grammar"
)

// later says that the group is so much after another time.
func (g group) later() bool {
	return len(g.pieces) == 1 && g.pieces[0].shift != nil && g.pieces[0].part == noPart && g.pieces[0].shift.long() > 0
}

// follow makes a length of time count from the time that was said before it: call
// mum at 5 and dad an hour later.
func (s *sentence) follow(last time.Time, told group) {
	all := s.groups()
	if last.IsZero() || len(all) != 1 || len(all[0].pieces) != 1 {
		return
	}
	p := &all[0].pieces[0]
	if p.shift != nil && p.part == noPart && p.shift.long() > 0 { // half an hour after that
		p.span, p.shift, p.later = p.shift, nil, true
	}
	if p.span != nil && !p.vague && (p.later || s.Tokens[p.from].Kind != grammar.Word && told.has(piece.isHour) && s.At("in-zh", p.from) == p.to) {
		s.now = last.In(s.now.Location())
	}
}

// afterwards is a bare hour in the afternoon where it is told behind a later one: read
// at nine, go to bed at 11.
func (s *sentence) afterwards(t, last time.Time) time.Time {
	all := s.groups()
	late := t.Add(12 * time.Hour)
	if last.IsZero() || !t.Before(last) || !late.After(last) || calendar.On(late) != calendar.On(last) || len(all) != 1 || all[0].names() != hasHour || all[0].parted() || all[0].shifts() {
		return t
	}
	if c := all[0].clocks(); len(c) != 1 || c[0].style > colon {
		return t
	}
	return late
}

// eachBefore are the parts of a sentence that tells of several events and asks to be
// reminded so much before each of them.
func (s *sentence) eachBefore() []*sentence {
	all, last := s.groups(), 0
	from, _ := s.askingClause()
	for last < len(all) && all[last].to <= from && all[last].names() == hasDay|hasHour && !all[last].shifts() && !all[last].repeats() {
		last++
	}
	if last < 2 || last+1 != len(all) || !all[last].shifts() || all[last].names() != 0 || s.firstAsk() < 0 {
		return nil
	}
	events := newSentence(s.Cut(0, from), s.now, s.zone).apart()
	if len(events) != last {
		return nil
	}
	for i, e := range events {
		events[i] = newSentence(strings.TrimRight(e.Source, " ,.;，。；")+", "+s.Source[s.Tokens[from].From:], s.now, s.zone)
	}
	return events
}

// timed is how many clauses are a thing and a length at its end, where all are but
// one that only asks: 鸡蛋10分钟，米饭20分钟.
func (s *sentence) timed() (n int) {
	begins := 0
	for i := range s.Tokens {
		switch j := s.At("cn-length", i); {
		case s.clauseBegins(i):
			begins = i
		case j > 0 && i > begins && s.clauseEnds(j) && s.First(begins, i, "point") < 0:
			n++
			begins = len(s.Tokens)
		}
	}
	return n
}
