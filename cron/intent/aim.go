package intent

import (
	"slices"
	"strings"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// aim adds which reminders are meant. What the clause does not say of it, the
// rest of the message may.
func (s some) aim(in Intent, all some) (Intent, bool) {
	part := s
	if in.Op == Text {
		part = s.until(in.Text)
	}
	strange := part.unknown()
	refs, words := part.refs()
	if len(refs) == 0 && words == "" {
		refs, words = all.refs()
	}
	switch {
	case len(refs) > 0 && len(strange) == 0:
		in.Ref = refs[0]
		if len(refs) > 1 {
			in.Ref, in.And = Ref{All: true}, refs
		}
		in.Maybe = false
	case words != "" && len(strange) == 0:
		in.Ref = Ref{Words: words}
	case len(strange) > 0 && part.sure() && len(all.clauses()) == 1:
		in.Ref, in.Maybe = readRef(part.called(min(strange[0].From, part.firstName()), strange[len(strange)-1].To)), false
	case len(strange) > 0 && part.has("noun") && part.lastStrong(func(m mark) bool { return m.kind == "op" && s.At("sure-op", m.from) == m.to }) && part.firstName() < len(s.Tokens) && all.single():
		in.Ref, in.Maybe = readRef(part.called(min(strange[0].From, part.firstName()), strange[len(strange)-1].To)), false // 妈妈生日的提醒取消掉
	case len(strange) == 1 && len(refs) == 0 && part.strong() && !s.has("not") && !all.has(remind) && (len(all.clauses()) == 1 || len(s.marks) < len(all.marks)):
		in.Ref, in.Maybe = readRef(s.Cut(strange[0].From, strange[0].To)), false
	case len(strange) > 0:
		return Intent{}, false
	case part.has("paused") && in.Op != Once:
		in.Ref = Ref{Paused: true}
	case part.has("end-of-list"):
		in.Ref = Ref{Number: -1}
	case part.has("op", "remove-all"):
		in.Ref = Ref{All: true}
	case len(part.ones()) > 1: // 把明早那个和周五那个都取消
		in.Ref = Ref{All: true}
		for _, said := range part.ones() {
			in.And = append(in.And, Ref{Time: said, One: true}.at(s.c))
		}
	case part.has("all") || part.has("nouns") || part.has("rest"):
		in.Ref = Ref{All: true}
	case part.one() != "":
		in.Ref = Ref{Time: part.one(), One: true}
	case all.one() != "" && !part.has("all"):
		in.Ref = Ref{Time: all.one(), One: true}
	case part.named(in.Time) != "":
		in.Ref = Ref{Time: part.named(in.Time), One: part.has("it") || part.has("noun-weak") || part.has("noun")}
	case in.Op == Snooze || in.Op == Done:
		in.Ref = Ref{Rang: true}
	default:
		in.Ref = Ref{Last: true}
		in.Maybe = (in.Maybe || !part.has("noun")) && !part.has("it")
	}
	if in.Ref.All && part.has("but") {
		in.But, in.And = in.And, nil
	} else if part.has("but") && len(refs) > 0 {
		in.Ref, in.But = Ref{All: true}, refs
	}
	in.Ref = in.Ref.at(s.c)
	return in.timed(s.c), true
}

// until are the marks before the new words.
func (s some) until(text string) some {
	for i, m := range s.marks {
		if (m.arg == "says" || m.kind == "to" || m.arg == "text" || m.kind == "is" || m.kind == stop) && strings.HasPrefix(strings.TrimLeft(s.Source[s.Tokens[m.to-1].To:], " :：“\"「‘'"), text) {
			return some{s.sense, s.marks[:i]}
		}
	}
	return s
}

// sure says that the words begin with an operation that is of nothing but
// reminders, or end with it: 把…删掉.
func (s some) sure() bool {
	is := func(m mark) bool { return m.kind == "op" && s.At("sure-op", m.from) == m.to }
	for _, m := range s.marks {
		if m.kind != fill {
			return is(m) || s.At("把", 0) > 0 && s.lastStrong(is)
		}
	}
	return false
}

// single says that one clause says all: the others are politeness.
func (s some) single() bool {
	full := 0
	for _, c := range s.clauses() {
		if slices.ContainsFunc(c.marks, func(m mark) bool { return m.kind != fill }) {
			full++
		}
	}
	return full < 2
}

// called are the words from one token to another, with what follows and says
// nothing but belongs to them: the 日 of 生日.
func (s some) called(from, to int) string {
	for _, m := range s.marks {
		if m.from == to && m.kind == fill && s.Tokens[m.from].Kind == grammar.Han && s.Close(m.from) && s.At("ref-tail", m.from) == 0 && !s.Is(m.from, "的", "给", "都", "也", "就", "先", "了", "吧") {
			to = m.to
		}
	}
	return s.Cut(from, to)
}

// firstName is the first token that names a reminder.
func (s some) firstName() int {
	for _, m := range s.marks {
		if m.kind == name {
			return m.from
		}
	}
	return len(s.Tokens)
}

// strong says that the words begin with an operation, or end with it: what else
// is said is the name of something.
func (s some) strong() bool {
	if s.has(clock) && !s.has("to") && !s.op("snooze", "skip") || s.has(remind) {
		return false // it may be something to do at that time
	}
	strong := func(m mark) bool {
		aimed, _ := s.next(s.index("to"))
		return (s.At("weak-op", m.from) != m.to || (m.arg != "set" || s.has("noun")) && s.has("to") && aimed == clock) && m.kind == "op" && m.arg != "done" && m.arg != "says" && m.arg != "wording" && m.arg != "once" && m.arg != "repeat"
	}
	for _, m := range s.marks {
		if m.kind != fill {
			if strong(m) {
				return true
			}
			break
		}
	}
	if i := max(s.index("to"), s.index(length, "later", "earlier")); i > 0 && (s.has(clock) || s.has(length)) && s.Tokens[0].Kind == grammar.Han {
		return true // 剪头发那个改到下午五点
	}
	return s.At("把", 0) > 0 || s.At("filler", 0) > 0 && s.At("把", s.At("filler", 0)) > 0 || s.Tokens[0].Kind == grammar.Han && s.lastStrong(strong)
}

func (s some) lastStrong(strong func(mark) bool) bool {
	for i := len(s.marks) - 1; i >= 0; i-- {
		if s.marks[i].kind != fill {
			return strong(s.marks[i])
		}
	}
	return false
}

// refs are the reminders that the marks name, and words that name several.
func (s some) refs() (all []Ref, words string) {
	for _, m := range s.marks {
		if m.kind == place {
			all = append(all, m.value.([]Ref)...)
		}
	}
	mentions := s.mentions()
	meant, unsure := s.names.meant(mentions)
	if unsure {
		var parts []string
		for _, m := range mentions {
			parts = append(parts, s.Cut(m.from, m.to))
		}
		return all, strings.Join(parts, " ")
	}
	for _, k := range meant {
		all = append(all, Ref{ID: s.names.known[k].ID})
	}
	return all, ""
}

// named is the time by which a reminder is named: the 6pm one, 周五那个.
func (s some) named(target string) string {
	for i, m := range s.marks {
		if said := s.Cut(m.from, m.to); m.kind == clock && said != target && s.before(i) != "not" && s.before(i) != "old" {
			return said
		}
	}
	return ""
}

// one is the time before a word that stands for a reminder: the 6pm one.
func (s some) one() string {
	if all := s.ones(); len(all) > 0 {
		return all[0]
	}
	return ""
}

// ones are all of them.
func (s some) ones() (all []string) {
	for i, m := range s.marks {
		if kind, k := s.next(i); m.kind == clock && k == i+1 && (kind == "it" || kind == "noun-weak" || kind == "noun") && s.before(i) != "to" {
			all = append(all, s.Cut(m.from, m.to))
		} else if m.kind == "this" && s.Is(m.to-1, "的") && s.At("moment", m.from) > 0 && (kind == "to" || kind == "op" || kind == length) {
			all = append(all, s.Cut(m.from, m.to-1)) // 明早的改到后天
		}
	}
	return all
}

// timed tells a new time from a new repetition.
func (in Intent) timed(c Context) Intent {
	if in.Time == "" || in.Op != Move && in.Op != Repeat {
		return in
	}
	if p, err := when.Parse(in.Time, c.Now, c.Zone); err == nil {
		if in.Op = Repeat; !p.At.IsZero() {
			in.Op = Move
		}
	}
	return in
}
