package intent

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// ruleTable says itself how it is written.
//
//go:embed tables/wishes.rules
var ruleTable string

// rulebook is the lines of the table of rules by their names.
type rulebook map[string][]rule

type rule struct {
	all  []condition
	then []string
}

// condition is what marks must be like.
type condition func(s some) bool

var rules = sync.OnceValue(func() rulebook {
	book, name := rulebook{}, ""
	for line := range strings.Lines(ruleTable) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] != ' ':
			name = strings.TrimSuffix(line, ":")
		default:
			patterns, then, _ := strings.Cut(line, " = ")
			for pattern := range strings.SplitSeq(patterns, " | ") {
				r := rule{then: strings.Fields(then)}
				for text := range strings.FieldsSeq(pattern) {
					r.all = append(r.all, book.condition(text))
				}
				book[name] = append(book[name], r)
			}
		}
	}
	return book
})

// first is what stands behind the first line of a name that holds.
func (book rulebook) first(name string, s some) (then []string, ok bool) {
	for _, r := range book[name] {
		if !slices.ContainsFunc(r.all, func(holds condition) bool { return !holds(s) }) {
			return r.then, true
		}
	}
	return nil, false
}

// is says that a line of the name holds.
func (s some) is(name string) bool {
	_, ok := s.rules.first(name, s)
	return ok
}

// condition reads one of the conditions of a line.
func (book rulebook) condition(text string) condition {
	if one, other, ok := strings.Cut(text, "/"); ok {
		a, b := book.condition(one), book.condition(other)
		return func(s some) bool { return a(s) || b(s) }
	}
	if denied, ok := strings.CutPrefix(text, "!"); ok {
		a := book.condition(denied)
		return func(s some) bool { return !a(s) }
	}
	if name, ok := strings.CutPrefix(text, "<"); ok {
		name = strings.TrimSuffix(name, ">")
		if facts[name] != nil {
			return facts[name]
		}
		if words := " " + name + " "; strings.Contains(opening, words) {
			return func(s some) bool { return s.At(name, 0) > 0 }
		} else if strings.Contains(anywhere, words) {
			return func(s some) bool { return s.says(name) }
		}
		return func(s some) bool {
			_, ok := book.first(name, s)
			return ok
		}
	}
	if one, other, ok := strings.Cut(text, ".."); ok {
		a, b := selected(one), selected(other)
		return func(s some) bool { return s.find(a) >= 0 && s.find(a) < s.find(b) }
	}
	if one, other, ok := strings.Cut(text, "+"); ok {
		a, b := selected(one), selected(other)
		return func(s some) bool {
			i := s.find(a)
			_, k := s.next(i)
			return i >= 0 && k < len(s.marks) && b.means(s, s.marks[k])
		}
	}
	switch a := selected(text); a.kind {
	case "do":
		return func(s some) bool { return s.op(a.args...) }
	case "denied":
		return func(s some) bool { return s.denied(s.index("op", a.args...)) }
	case "no":
		return func(s some) bool { return s.no(a.args) }
	case "only":
		return func(s some) bool { return s.only(a.args) }
	default:
		return func(s some) bool { return s.find(a) >= 0 }
	}
}

// selector means marks.
type selector struct {
	place    string // where they stand: "^", "$", or anywhere
	kind     string
	args     []string // any when it is nil
	category string
}

func selected(text string) selector {
	kind := strings.TrimLeft(text, "^$")
	a := selector{place: text[:len(text)-len(kind)]}
	kind, a.category, _ = strings.Cut(kind, "@")
	kind, args, limited := strings.Cut(kind, ":")
	if a.kind = kind; limited {
		a.args = strings.Split(args, ",")
	}
	return a
}

func (a selector) means(s some, m mark) bool {
	return m.kind == a.kind && (a.args == nil || slices.Contains(a.args, m.arg)) && (a.category == "" || s.At(a.category, m.from) == m.to)
}

// find is the first mark that is meant, -1 without one.
func (s some) find(a selector) int {
	for i, m := range s.marks {
		if !a.means(s, m) || a.place == "^" && s.before(i) != "" {
			continue
		}
		if after, _ := s.next(i); a.place != "$" || after == "" {
			return i
		}
	}
	return -1
}

// What categories say of a message, at its beginning or anywhere.
const (
	opening  = " ack errand excuse ask-if no-change let-be 把 "
	anywhere = " only-then tag-question wonders asks-me begs takes-back or-time for-the-day only-word "
)

// facts are what the rules cannot say.
var facts = map[string]condition{
	"rang": func(s some) bool { return s.names.just(Rang) },
	"set":  func(s some) bool { return s.names.just(Set) },
	"bare": some.bare,
	"since": func(s some) bool {
		from, rest := s.since()
		return !from.IsZero() && rest.target() != ""
	},
	"two-changes": func(s some) bool { // cancel the gym and pause the rent
		done, times, words := map[string]bool{}, map[string]bool{}, false
		for i, m := range s.marks {
			kind, k := s.next(i)
			if m.kind == length && s.before(i) == name {
				times[s.Cut(m.from, m.to)] = true // the gym an hour and the milk two
			}
			if before := s.before(i); m.kind == "to" && kind == clock && (before == name || before == place) {
				times[s.Cut(s.marks[k].from, s.marks[k].to)] = true // the gym to 8 and the milk to 9
			}
			if words && (m.kind == "to" && kind == clock || m.kind == clock && s.before(i) == stop) {
				return true // 健身改成跑步，时间改到六点
			}
			words = words || m.kind == "to" && s.before(i) == name && (kind == unknown || kind == name || kind == "op")
			if (kind == name || kind == place || kind == "it") && selected("op:remove,pause,resume,skip,snooze,move,later,earlier,run,repeat,once,text").means(s, m) && !s.denied(i) {
				if done[m.arg] = true; m.arg == "text" {
					break // the rest is new words
				}
			}
		}
		return len(done) > 1 || len(times) > 1
	},
	"asked":       func(s some) bool { return s.asked },
	"question":    func(s some) bool { return s.asks },
	"next-one":    func(s some) bool { return s.At("next-one", 0) >= max(1, len(s.Tokens)-1) },
	"one-unknown": func(s some) bool { return len(s.unknown()) == 1 },
	"one":         func(s some) bool { return s.one() != "" },
	"time":        func(s some) bool { return s.target() != "" },
	"no-time":     func(s some) bool { _, lead := s.noTime(); return lead >= 0 },
	"text":        func(s some) bool { text, _ := s.text(); return text != "" },
	"span":        func(s some) bool { return s.span() != when.Span{} },
	"mine": func(s some) bool {
		return !slices.ContainsFunc(s.marks, func(m mark) bool { return m.kind == fill && s.At("my", m.from) == 0 })
	},
	"whole": func(s some) bool { return len(s.marks) == len(s.sense.marks) },
	"repeats": func(s some) bool {
		return slices.ContainsFunc(s.marks, func(m mark) bool { return m.kind == clock && s.comesAgain(m.from) })
	},
	"past":        func(s some) bool { return slices.ContainsFunc(s.mentions(), func(m mention) bool { return m.past }) },
	"has-done":    func(s some) bool { return s.At("has-done", s.marks[0].from) > 0 },
	"asks-if":     func(s some) bool { return s.Longest(s.marks[0].from, "ask-if", "does") > 0 },
	"only-an-end": some.onlyEnd,
	"so-long":     func(s some) bool { return s.starts("for-so-long") },
	"adds":        func(s some) bool { return s.starts("adds") },
	"awhile":      func(s some) bool { return s.starts("awhile") },
	"was":         func(s some) bool { return s.starts("was") },
	"also":        func(s some) bool { return s.First(0, len(s.Tokens), "also-word") >= 0 },
	"may": func(s some) bool { // could my gym be at 8
		return s.At("may-it", 0) > 0 && slices.ContainsFunc(s.marks, func(m mark) bool {
			return m.kind == clock && (s.At("be-at", m.from-1) == m.from || s.At("be-at", m.from-2) == m.from)
		})
	},
	"others":  func(s some) bool { return s.At("others-deed", 0) > 0 && s.At("my-deed", 0) == 0 },
	"whether": some.whether,
	"ended":   some.ends,
	"off": func(s some) bool { // no pills until monday; 周一之前不用吃药
		for i, m := range s.marks {
			until := s.Is(m.from-1, "until", "till", "til", "before") || s.Is(m.from, "until", "till", "til", "before")
			if before := s.part(0, i); m.kind == clock && (until && (before.op("remove", "pause") || before.has("not")) || s.Is(m.to-1, "前") && (s.has("not") || s.op("remove"))) {
				return true
			}
		}
		return false
	},
	"bound": func(s some) bool {
		return slices.ContainsFunc(s.marks, func(m mark) bool { return m.kind == clock && s.At("bounds", m.from) > 0 })
	},
	"alone": func(s some) bool { return s.alone() },
	"not-把": func(s some) bool { // 先别把健身改到周五
		return slices.ContainsFunc(s.marks, func(m mark) bool {
			return (m.kind == "not" || m.kind == "op") && s.Is(m.to-1, "别", "要", "用", "必") && s.At("把", m.to) > 0
		})
	},
	"telling": func(s some) bool { return s.has(length, "again") && s.all().telling() },
	"always": func(s some) bool { // 以后每周五
		return slices.ContainsFunc(s.marks, func(m mark) bool {
			v, j := s.Match("sign", m.from)
			sign, ok := v.(mark)
			return ok && sign.kind == "always" && (m.kind == "always" || m.kind == clock && (s.comesAgain(j) || s.First(j, m.to, "clock", "zh-clock") >= 0 && s.First(j, m.to, "day", "zh-day", "weekday") < 0))
		})
	},
	"reminded": func(s some) bool { // 明天你要提醒我些什么
		_, k := s.next(s.index(remind))
		end, _ := s.next(k)
		return s.has(remind) && k < len(s.marks) && s.marks[k].arg == "what" && (end == "" || end == stop)
	},
	"definite": func(s some) bool { return s.At("definite", s.marks[max(0, s.index("op", "set"))].to) > 0 },
	"the":      func(s some) bool { return s.At("definite", s.marks[0].from) > 0 },
	"short":    func(s some) bool { return s.has("noun") && len(s.marks) < 5 },
	"repeated": func(s some) bool { return s.target() != "" && s.moving() == Repeat },
	"days": func(s some) bool {
		return slices.ContainsFunc(s.marks, func(m mark) bool {
			return m.kind == clock && len(when.Days(s.Cut(m.from, m.to), s.c.Now, s.c.Zone)) > 1
		})
	},
	"corrects": func(s some) bool { return s.all().has("correct") },
	"han":      func(s some) bool { return s.Tokens[0].Kind == grammar.Han },
	"brief":    func(s some) bool { return len(s.clauses()) < 3 },
}

// bare says that nothing is said but a time, and that it corrects one or puts
// off: "no, tomorrow", "not now, in an hour".
func (s some) bare() bool {
	around := []string{"amend", "amend-end", "put-off", "polite", "zh-polite", "particle", "mark"}
	if s.At("no-correction", 0) > 0 || s.asks && s.First(0, len(s.Tokens), "amend", "amend-end", "put-off") < 0 {
		return false // "also friday", "tomorrow?"
	}
	for i := 0; i < len(s.Tokens); {
		k := slices.IndexFunc(s.marks, func(m mark) bool {
			return m.from == i && slices.Contains([]string{clock, length, "dir", "busy"}, m.kind)
		})
		if k >= 0 {
			i = s.marks[k].to
		} else if i = s.Longest(i, around...); i == 0 {
			return false
		}
	}
	return true
}

// says says that a category stands anywhere in the message.
func (s some) says(category string) bool { return s.First(0, len(s.Tokens), category) >= 0 }

// starts says that a category stands where a mark begins.
func (s some) starts(category string) bool {
	return slices.ContainsFunc(s.marks, func(m mark) bool { return s.At(category, m.from) > 0 })
}

// whether says that the message asks if something has been done: 周会取消了吗.
func (s some) whether() bool {
	end := len(s.Tokens)
	for end > 0 && s.Tokens[end-1].Kind == grammar.Mark {
		end--
	}
	begs := slices.ContainsFunc(s.Tokens, func(t grammar.Token) bool {
		return t.Kind == grammar.Han && strings.Contains("能可请帮把烦", t.Text)
	})
	return s.Is(end-1, "吗", "么", "没") && s.Is(end-2, "了") && !begs
}

// telling says that a clause names a thing, and nobody who does it: 再过二十分钟叫我，
// 锅里炖着汤.
func (s some) telling() bool {
	return slices.ContainsFunc(s.clauses(), func(c some) bool {
		who := slices.ContainsFunc(c.marks, func(m mark) bool {
			return m.kind != unknown && m.kind != fill && m.kind != name && m.kind != "need" || s.At("subject", m.from) > 0
		})
		return !who && len(c.unknown()) > 0
	})
}
