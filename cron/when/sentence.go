package when

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// sentence is a text on its way to a phrase.
type sentence struct {
	src   string
	ts    tokens
	now   time.Time
	zone  *time.Location
	order []bool // tokens that say "remind me", "please", "提醒我"
	alone bool   // the text is a time and nothing else
	extra []group
}

// group is a run of pieces: one time.
type group struct {
	pieces   []piece
	from, to int // tokens
}

func newSentence(text string, now time.Time, zone *time.Location) *sentence {
	if zone == nil {
		zone = time.UTC
	}
	s := &sentence{src: text, ts: scan(text), now: now.In(zone), zone: zone}
	s.order = make([]bool, len(s.ts))
	for i := 0; i < len(s.ts); i++ {
		if j := s.ts.any(i, orders...); j > 0 {
			for k := i; k < j; k++ {
				s.order[k] = true
			}
			i = j - 1
		}
	}
	return s
}

// orders are the words that ask for a reminder and say nothing of what it is
// about.
var orders = []string{
	"你能不能", "能不能", "可不可以", "可以", "please", "pls", "can you", "could you", "would you", "will you", "remind me again", "remind me",
	"set me a reminder", "set a reminder", "create a reminder", "add a reminder", "set an alarm", "set a timer for", "set a timer", "timer for", "reminder",
	"notify me", "ping me", "alert me", "hey", "ok", "thanks", "thank you",
	"请你", "请", "麻烦你", "麻烦", "帮我", "帮忙", "记得", "别忘了", "提醒我一下", "提醒一下我", "提醒下我", "提醒我", "提醒一下", "提醒",
	"叫我", "喊我", "通知我", "到时候", "到时", "给我", "设个", "设一个", "设置一个", "设置", "设定", "定一个", "定个", "闹钟", "谢谢",
}

// joiners may stand between the pieces of one time.
var joiners = []string{", at", ", on", ",", "、", "of", "at", "on", "and", "&", "和", "的", "in", "the", "-", "|", "·", "is", "是"}

// run reads pieces from i on.
func (s *sentence) run(i int) (group, bool) {
	g := group{from: i}
	for j := i; len(g.pieces) < maxList; {
		p, next := s.piece(g, j)
		if next == 0 && len(g.pieces) > 0 {
			if k := s.ts.any(j, joiners...); k > 0 {
				p, next = s.piece(g, k)
			}
		}
		if next == 0 {
			break
		}
		g.pieces = append(g.pieces, p)
		g.to, j = next, next
	}
	for _, p := range g.pieces {
		if p.zone == nil || p.whole != nil {
			return g, true
		}
	}
	return g, false // a zone alone is no time
}

// piece reads one piece that may stand at i behind those of the group.
func (s *sentence) piece(g group, i int) (piece, int) {
	first := len(g.pieces) == 0
	if first && s.beginning(i) {
		if p, next := s.expression(i); next > 0 {
			return p, next
		}
	}
	p, next := s.ts.match(i)
	if next == 0 && !first {
		return s.number(g, i)
	}
	if next == 0 || first && (p.weak || p.bare && !s.beginning(i) || p.offset) {
		return piece{}, 0
	}
	if first {
		return p, next
	}
	if last := g.pieces[len(g.pieces)-1]; p.bare || p.zone != nil && last.zone != nil && !last.offset {
		return piece{}, 0 // "tomorrow 30 minutes of sport"; two zones
	}
	return p, next
}

// number reads a bare hour behind a day, "tomorrow 9 to call mum", and in a list
// of hours, "every day at 9 and 21 to take pills".
func (s *sentence) number(g group, i int) (piece, int) {
	last := g.pieces[len(g.pieces)-1]
	n := s.ts.num(i)
	listed := last.clock != nil && i > g.to && s.ts.is(i-1, lists...)
	if n < 0 || n > 24 || last.day == nil && last.repeat == nil && !listed {
		return piece{}, 0
	}
	more := s.ts.is(i+1, lists...) && s.ts.num(i+2) >= 0 && s.ts.num(i+2) <= 24
	if i+1 < len(s.ts) && !s.ts.is(i+1, "to", ",") && !s.order[i+1] && !more {
		return piece{}, 0
	}
	c := clock{hour: n, from: i, to: i + 1}
	if n == 0 || n > 12 || len(s.ts[i].text) == 2 && n < 10 {
		c.style = full
	}
	return c.checked(), i + 1
}

// lists join the hours of a list.
var lists = []string{"and", "&", "和", "、", ","}

// beginning says that nothing stands before i but orders.
func (s *sentence) beginning(i int) bool {
	if i > 0 && s.order[i-1] {
		return true
	}
	for j := range i {
		if !s.order[j] && s.ts[j].kind != mark && !s.ts.is(j, "to") {
			return false
		}
	}
	return true
}

// edge says that the group stands at the beginning or the end of the sentence
// or beside an order: there people put the time of a reminder.
func (s *sentence) edge(g group) bool {
	before, after := g.from, g.to
	for before > 0 && s.ts[before-1].kind == mark {
		before--
	}
	for after < len(s.ts) && s.ts[after].kind == mark {
		after++
	}
	if after < len(s.ts) && s.order[after] || before > 0 && s.order[before-1] || s.beginning(before) {
		return true
	}
	for ; after < len(s.ts); after++ {
		if !s.order[after] && s.ts[after].kind != mark {
			return false
		}
	}
	return true
}

// whole is the time that the text is, from its first to its last word.
func (s *sentence) whole() (group, bool, error) {
	for _, tail := range []string{"; next:", "；下次："} { // as Describe writes it
		if cut := strings.Index(s.src, tail); cut >= 0 {
			*s = *newSentence(s.src[:cut], s.now, s.zone)
		}
	}
	i := 0
	for i < len(s.ts) && s.ts[i].kind == mark && !s.ts.is(i, "*", "@", "?", "+") {
		i++
	}
	if i == len(s.ts) {
		return group{}, false, nil
	}
	g, ok := s.run(i)
	if !ok {
		if g, ok, _ := s.find(); ok {
			return g, false, s.unread(0, g.from)
		}
		return g, false, nil
	}
	for j := g.to; j < len(s.ts); j++ {
		if s.ts[j].kind != mark || s.ts.is(j, "+", "-", "*") {
			if err := g.failed(); err != nil {
				return g, false, err
			}
			if s.ts[j].kind == word && s.ts.is(j+1, "/") && s.ts.close(j+1) {
				return g, false, fmt.Errorf("%w %.60q: want a name such as Asia/Shanghai, Europe/Berlin or UTC", ErrBadZone, s.src[s.ts[j].from:])
			}
			return g, false, s.unread(j, len(s.ts))
		}
	}
	return g, true, nil
}

func (s *sentence) unread(from, to int) error {
	text := s.src[s.ts[from].from:s.ts[to-1].to]
	return fmt.Errorf("%w: not understood: %.60q", ErrInvalid, text)
}

// failed is the first error of the pieces.
func (g group) failed() error {
	for _, p := range g.pieces {
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

// find chooses the time among all that the sentence holds, and joins an hour
// with its day when they stand apart.
func (s *sentence) find() (group, bool, error) {
	var all []group
	for i := 0; i < len(s.ts); {
		g, ok := s.run(i)
		if !ok {
			i++
			continue
		}
		all = append(all, g)
		i = g.to
	}
	best, rank := -1, 0
	for i, g := range all {
		err := g.failed()
		r := 1
		switch {
		case s.edge(g) && !errors.Is(err, ErrPast):
			r = 3
		case err == nil:
			r = 2
		}
		if r > rank {
			best, rank = i, r
		}
	}
	if best < 0 {
		return group{}, false, nil
	}
	g := all[best]
	for i, other := range all {
		if i != best && s.edge(other) && completes(g, other) {
			g.pieces = append(g.pieces, other.pieces...)
			s.extra = append(s.extra, other)
		}
	}
	if err := s.strangeZone(g); err != nil {
		return group{}, false, err
	}
	return g, true, s.beyond(g, all)
}

// completes says that one group names the day and the other the hour.
func completes(g, other group) bool {
	a, b := g.names(), other.names()
	return a == hasDay && b == hasHour || a == hasHour && b == hasDay
}

type names uint8

const (
	hasDay names = 1 << iota
	hasHour
	hasMore
)

func (g group) names() names {
	var n names
	for _, p := range g.pieces {
		if p.day != nil || p.week != nil || p.repeat != nil && p.repeat.kind != spaced {
			n |= hasDay
		}
		if p.clock != nil || p.part != noPart {
			n |= hasHour
		}
		if p.span != nil || p.whole != nil || p.err != nil || p.repeat != nil && p.repeat.kind == spaced {
			n |= hasMore
		}
	}
	return n
}

// finish resolves the group, and adds the rest of the sentence.
func (s *sentence) finish(g group) (Phrase, error) {
	b, err := g.bag(s)
	if err != nil {
		return Phrase{}, err
	}
	a, err := b.resolve()
	if err != nil {
		return Phrase{}, err
	}
	rest := ""
	if !s.alone {
		rest = s.rest(g)
	}
	for i := range a.phrases {
		p := &a.phrases[i]
		p.Zone, p.Rest, p.From, p.To = b.shown, rest, s.ts[g.from].from, s.ts[g.to-1].to
		if !p.At.IsZero() {
			p.At = p.At.In(p.Zone)
		}
	}
	if len(a.phrases) == 1 && !a.open {
		return a.phrases[0], nil
	}
	return Phrase{}, &Ambiguous{Question: a.question, Choices: a.phrases}
}
