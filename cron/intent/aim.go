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

// one is one of several, whichever it is.
var one = Among{One: true}

// aim adds which reminders are meant. What the clause does not say of it, the
// rest of the message may.
func (s some) aim(in Intent, all some) (Intent, bool) {
	s = s.unexplained()
	strange := s.unknown()
	refs, words := s.refs()
	if len(refs) == 0 && words == "" {
		refs, words = all.refs()
	}
	whole, unnamed := all.alone(), s.unnamed(in.Op)
	switch {
	case len(refs) > 0 && len(strange) == 0:
		in.Ref, in.Maybe = refs[0], false
		in.Ref.Time = s.claimed(in)
		if len(refs) > 1 {
			in.Ref, in.And = Ref{All: true}, refs
		}
	case words != "" && len(strange) == 0:
		in.Ref = Ref{Words: words, Time: s.claimed(in)}
	case len(strange) > 0 && s.is("sure") && whole:
		from := strange[0].From
		if k := s.index(name); k >= 0 {
			from = min(from, s.marks[k].from)
		}
		in.Ref, in.Maybe = s.called(from, max(strange[len(strange)-1].To, s.lastName())), false
	case len(strange) == 1 && len(refs) == 0 && s.is("calls") && !all.has(remind) && (whole || len(s.marks) < len(all.marks)):
		in.Ref, in.Maybe = s.called(strange[0].From, strange[0].To), false
	case len(strange) == 1 && len(refs) > 0 && s.is("more-than-a-name") && !all.has(remind) && whole: // the meeting with Lena
		in.Ref, in.Maybe = s.called(min(strange[0].From, s.marks[s.index(name)].from), max(strange[0].To, s.lastName())), false
	case len(strange) > 0:
		return Intent{}, false
	case unnamed != Ref{}:
		in.Ref = unnamed
	case len(s.ones()) > 1: // 把明早那个和周五那个都取消
		in.Ref = Ref{All: true}
		for _, said := range s.ones() {
			in.And = append(in.And, Ref{Time: said, Among: one}.at(s.c))
		}
	case s.has("all"), s.has("nouns"), s.has("rest"):
		in.Ref = Ref{All: true}
	case s.one() != "":
		in.Ref = Ref{Time: s.one(), Among: one}
	case all.one() != "":
		in.Ref = Ref{Time: all.one(), Among: one}
	case s.named(in.Time) != "":
		in.Ref = Ref{Time: s.named(in.Time)}
		in.Ref.One = s.has("it") || s.has("noun-weak") || s.has("noun")
	case in.Op == Snooze || in.Op == Done:
		in.Ref = Ref{Rang: true}
	default:
		in.Ref = Ref{Last: true}
		in.Maybe = (in.Maybe || !s.has("noun")) && !s.has("it")
	}
	// "except sundays" and "only keep the morning one" name times, and no reminder.
	times := in.Part != (Part{}) && len(refs) == 0 && (in.Part.Others || !s.has("op"))
	if s.has("but") && !times || s.At("keep-only", 0) > 0 {
		in = in.except(refs)
	}
	in.Ref = in.Ref.at(s.c)
	return in, true
}

// unnamed is what words mean that name no reminder: "it", "both", the earliest.
func (s some) unnamed(op Op) (r Ref) {
	then, _ := s.rules.first("ref", s)
	for _, what := range then {
		switch what {
		case "paused":
			r.Paused = op != Once
		case "those":
			r.Those = true
		case "one":
			r.One = true
		case "all":
			r.All = true
		case "first":
			r.Order = 1
		case "final":
			r.Order = -1
		case "last":
			r.Last = true
		case "end":
			r.Number = -1
		}
	}
	return r
}

// except leaves out what "all but" names.
func (in Intent) except(refs []Ref) Intent {
	switch {
	case len(in.And) > 0:
		in.But, in.And = in.And, nil
	case len(refs) > 0:
		in.Ref, in.But = Ref{All: true}, refs
	case !in.Ref.All:
		in.Ref, in.But = Ref{All: true}, []Ref{in.Ref}
	}
	return in
}

// claimed is the time that is said of a reminder beside its name: "the 9pm
// pills", "the gym at 7". It need not be right.
func (s some) claimed(in Intent) string {
	if in.Kind != Change || in.Op == Done || in.Op == Snooze {
		return ""
	}
	for k, m := range s.marks {
		next, _ := s.next(k)
		before := s.before(k)
		beside := next == name && slices.Contains([]string{"", "op", "this", name}, before) || before == name && slices.Contains([]string{"", "op", "to"}, next)
		if said := s.Cut(m.from, m.to); beside && m.kind == clock && said != in.Time && !s.comesAgain(m.from) {
			return said
		}
	}
	return ""
}

// lastName is where the last name of a reminder ends.
func (s some) lastName() (to int) {
	for _, m := range s.marks {
		if m.kind == name {
			to = m.to
		}
	}
	return to
}

// unexplained are the marks before a reason that no comma divides from the name:
// "cancel the gym my knee hurts".
func (s some) unexplained() some {
	named := false
	for i, m := range s.marks {
		if named && m.kind == fill && s.At("reason", m.from) > 0 {
			return s.part(0, i)
		}
		named = m.kind == name || named && m.kind == fill && s.At("polite", m.from) > 0
	}
	return s
}

// called is a reminder that is called by words which are not understood. A time
// among them is no part of its name.
func (s some) called(from, to int) Ref {
	if v, j := s.Match("bare-place", from); j == to {
		ref := v.([]Ref)[0]
		ref.Words = s.Cut(from, to)
		return ref
	}
	for _, m := range s.marks { // the 日 of 生日
		if m.from == to && m.kind == fill && s.Tokens[m.from].Kind == grammar.Han && s.Close(m.from) && s.At("name-end", m.from) == 0 {
			to = m.to
		}
	}
	words := s.Cut(from, to)
	for _, m := range s.marks {
		if m.kind == clock && m.from > from && m.to < to {
			words = strings.Replace(words, s.Cut(m.from, m.to), " ", 1)
		}
	}
	return Ref{Words: strings.Join(strings.Fields(words), " ")}
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
		meant, unsure = s.listed(mentions)
	}
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

// listed are the reminders that a list names: "the gym, the milk and the rent".
func (s some) listed(all []mention) (meant []int, unsure bool) {
	for len(all) > 0 {
		n := 1
		for n < len(all) && s.First(all[n-1].to, all[n].from, "list-and", "zh-list") < 0 {
			n++
		}
		of, tie := s.names.meant(all[:n])
		if all = all[n:]; tie || len(of) != 1 {
			return nil, true
		}
		if !slices.Contains(meant, of[0]) {
			meant = append(meant, of[0])
		}
	}
	return meant, len(meant) < 2
}

// named is the time by which a reminder is named: the 6pm one, 周五那个.
func (s some) named(target string) string {
	for i, m := range s.marks {
		if said := s.Cut(m.from, m.to); m.kind == clock && (target == "" || !strings.Contains(target, said)) && !slices.Contains([]string{"not", "old", "to"}, s.before(i)) {
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
		switch kind, _ := s.next(i); {
		case s.stands(i):
			all = append(all, strings.TrimSuffix(s.Cut(m.from, m.to), "'s"))
		case m.kind == "this" && s.Is(m.to-1, "的") && s.At("moment", m.from) > 0 && (kind == "to" || kind == "op" || kind == length):
			all = append(all, s.Cut(m.from, m.to-1)) // 明早的改到后天
		case m.kind == clock && s.Is(m.to, "的") && (kind == "to" || kind == length || kind == "all" && s.has(length)):
			all = append(all, s.Cut(m.from, m.to)) // 晚上的推迟一小时
		}
	}
	return all
}

// at turns the time that a reminder is named by into the hour or the days at
// which it comes.
func (r Ref) at(c Context) Ref {
	if r.Time == "" {
		return r
	}
	zone := cmp.Or(c.Zone, time.UTC)
	y, mo, d := c.Now.In(zone).Date()
	early := Context{Now: time.Date(y, mo, d, 0, 0, 0, 0, zone)} // no hour has passed
	all, err := when.FindAll(r.Time, early.Now, zone)
	if unsure, ok := errors.AsType[*when.Ambiguous](err); ok {
		all = unsure.Choices
	}
	said := theGrammar().Read(r.Time) // tomorrow morning is no hour
	if part, to := said.Match("part-only", 0); to > 0 && to == len(said.Tokens) {
		r.Clock, _ = part.(string)
		return r
	}
	if said.First(0, len(said.Tokens), "clock", "zh-clock") >= 0 {
		for _, p := range all {
			if t := first(p, early); p.Exact && !t.IsZero() {
				r.Clock = strings.TrimPrefix(r.Clock+"/"+t.In(zone).Format("15:04"), "/")
			}
		}
	}
	if from, to, ok := when.Range(r.Time, c.Now, c.Zone); ok && (r.Clock == "" || to.Sub(from) > 20*time.Hour || when.PartOfDay(r.Time, c.Now, c.Zone)) {
		r.From, r.To = from, to
		if to.Sub(from) < 20*time.Hour {
			r.Clock = ""
		}
	}
	return r
}
