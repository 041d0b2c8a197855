package intent

import (
	"maps"
	"slices"
	"strings"
)

// readings is what can stand at i. Of equally long ones the first counts.
func (s *sense) readings(i int, told map[int]bool, asks bool) (all []mark) {
	add := func(m mark, to int) {
		if m.to = to; to > i {
			all = append(all, m)
		}
	}
	match := func(kind, category string) {
		v, to := s.Match(category, i)
		m, signed := v.(mark)
		if !signed {
			m = mark{kind: kind, value: v}
		}
		add(m, to)
	}
	last := mark{}
	if len(s.marks) > 0 {
		last = s.marks[len(s.marks)-1]
	}
	if s.At("by-number", i) > 0 && (s.all().op("later", "earlier", "snooze") || s.all().has("dir")) {
		match(length, "by-number") // delay it by 5
	}
	match(length, "delta")
	if s.all().op("skip") {
		match("", "so-often")
	}
	time := s.newTime(i, last)
	if s.At("sign", i) == 0 {
		add(mark{kind: clock}, time) // "to noon", whatever is called so
	}
	if i == 0 {
		match("", "command")
	}
	m := s.nameAt(i)
	maps.DeleteFunc(m.of, func(k, tells int) bool { return tells == 1 && !told[k] })
	if len(m.of) > 0 {
		add(mark{kind: name, value: m}, m.to)
	}
	for _, category := range s.places(i, last, asks) {
		match(place, category)
	}
	match("", "sign")
	match(remind, "remind")
	if len(m.of) == 0 { // "the run reminder" is that of a run
		add(mark{kind: remind, arg: "order"}, s.order(i))
	}
	add(mark{kind: clock}, time)
	match(length, "span")
	if v, _ := s.Match("sign", i); v != (mark{kind: "noun"}) || !s.Is(i+1, "for") { // and not "reminder for tomorrow"
		add(mark{kind: clock}, s.upToIt(i, s.Longest(i, "moment", "days")))
	}
	if asks || s.all().op("skip", "remove", "pause") || s.all().has("not", "") {
		match(clock, "range")
	}
	match(fill, "filler")
	return all
}

// newTime is where a time ends behind a word that leads to one.
func (s *sense) newTime(i int, last mark) int {
	leads := last.kind == "to" || last.arg == "set" || last.kind == "old" || last.kind == "not" ||
		i > 0 && i+1 == len(s.Tokens) && (s.names.just(Set) || s.names.just(Rang)) && s.Across(0, i, "amend", "mark") // no, 9
	if !leads || s.At("ender", i) > 0 && s.At("moment", i) == 0 { // I want the pills to stop after friday
		return 0
	}
	end := s.At("when", i)
	if k := s.At("moment", i); k > 0 && strings.ContainsAny(s.Cut(i, end), ",，") && s.At("午", k+1) != end {
		end = k
	}
	return s.upToIt(i, end)
}

// places are the categories of numbers of the list that can stand at i.
func (s *sense) places(i int, last mark, asks bool) (all []string) {
	if k := s.At("place", i); (!s.Is(k-1, ":") || !s.Close(k)) && !s.Is(k, "am", "pm", "a.m", "p.m", "o'clock") && !(s.Is(i, "no") && s.At("clock", i+1) > k) { // sorry, 9:30; alarm 7am; no 7:30
		all = append(all, "place")
	}
	if !asks && (s.all().only([]string{stop, "it"}) || last.kind == "op") && s.At("moment", s.At("号", i)) == 0 {
		all = append(all, "号") // 删掉4号, and not a date
	}
	if s.Is(i-1, "把") || last.kind == "op" && slices.Contains([]string{"remove", "pause", "resume", "skip", "run"}, last.arg) {
		all = append(all, "to-place")
	}
	return all
}

// upToIt is where a time ends that goes on behind 那个, 明早那个和周五那个, or takes
// the place of one that is denied: "not today, tomorrow"; or before "from now on".
func (s *sense) upToIt(i, end int) int {
	denied := len(s.marks) > 0 && slices.Contains([]string{"not", "old"}, s.marks[len(s.marks)-1].kind)
	for k := i + 1; k < end; k++ {
		if denied && s.Is(k, ",", "，", "是") || s.At("same-time", s.After("at", k)) == end || s.Is(k, "from") && s.Is(k+1, "now") && s.Is(k+2, "on") || s.Is(k, "那") && s.Is(k+1, "个", "条") {
			return k
		}
	}
	return end
}

// order is where words end that ask for a reminder without "remind me".
func (s *sense) order(i int) int {
	if s.Longest(i, "not-order", "remind") > 0 {
		return 0
	}
	return s.Longest(i, "ask-verb", "zh-ask-verb")
}
