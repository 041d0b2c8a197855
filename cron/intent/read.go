package intent

import (
	"embed"
	"strings"
	"sync"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

//go:embed tables/*.txt
var tables embed.FS

var theGrammar = sync.OnceValue(func() *grammar.Grammar {
	g, err := grammar.New(when.Grammar(), grammar.Source{Tables: tables, Actions: actions()})
	if err != nil {
		panic("cron/intent: " + err.Error()) // TestGrammar
	}
	return g
})

// maxWords bounds how long a message can be that changes or asks something:
// people say such things in a few words.
const maxWords = 60

// Read says what a message wants.
func Read(text string, c Context) Intent {
	text = recast(text)
	t := trimmed(text)
	if len(t.Tokens) == 0 {
		return Intent{}
	}
	asked := asks(t)
	if in, ok := conditional(t, asked); ok && !c.Command {
		return in
	}
	if !c.Command && len(t.Tokens) <= maxWords {
		if in, ok := frames(text, t, c, asked); ok {
			return in
		}
	}
	return fresh(text, t, c, asked)
}

// recast says "set a dentist reminder" and 设个交水费的提醒 as "remind me": what is to
// be done stands inside of the words that ask, which no table can say.
func recast(text string) string {
	t := theGrammar().Read(text)
	for i := range t.Tokens {
		if i > 0 && t.At("clause-mark", i-1) != i && !onlyTimes(t, i) {
			continue
		}
		from, ask, noun := t.At("make-one", i), "remind me ", "made-one"
		if from == 0 {
			from, ask, noun = t.At("zh-make-one", i), "提醒我", "zh-made-one"
		}
		if to := inside(t, noun, from); from > 0 && to > from && t.At("made-for", t.At(noun, to)) == 0 {
			return text[:t.Tokens[i].From] + ask + t.Cut(from, to) + strings.TrimPrefix(text[t.Tokens[t.At(noun, to)-1].To:], "吗")
		}
	}
	return text
}

// inside is where the category stands behind i, with something of its own
// between; 0 without it.
func inside(t *grammar.Text, category string, i int) int {
	own := false
	for j := i; j < min(i+16, len(t.Tokens)); j++ {
		if t.At(category, j) > 0 && own {
			return j
		}
		if t.Tokens[j].Kind == grammar.Mark && !t.Is(j, "-", "'") || t.At("vague-one", j) > 0 {
			return 0
		}
		own = own || !spoken(t, j) && t.At("plain-one", j) == 0
	}
	return 0
}

// stated says that a message tells something and asks for nothing.
func stated(t *grammar.Text, asked int) bool {
	return t.At("wish", 0) == 0 && (t.At("chat", 0) > 0 || t.At("past-statement", 0) > 0 || t.At("statement", 0) > 0) && (asked < 0 || !leads(t, asked) || t.Tokens[asked].Kind == grammar.Han && !onlyTimes(t, asked) && !strings.ContainsAny(t.Cut(0, asked), "，,。！!；"))
}

// fresh reads a new reminder, where the words may be of one.
func fresh(text string, t *grammar.Text, c Context, asked int) Intent {
	if !c.Command && asked < 0 && (!noted(t) || strings.ContainsAny(text, "?？吗呢\"“")) {
		return Intent{}
	}
	return create(text, t, c, asked)
}

// trimmed is the text without politeness and marks around it.
func trimmed(text string) *grammar.Text {
	t := theGrammar().Read(text)
	i, j := 0, len(t.Tokens)
	for i < j {
		k := max(t.At("polite", i), t.At("zh-polite", i))
		switch {
		case t.Tokens[i].Kind == grammar.Mark && !strings.ContainsAny(t.Tokens[i].Text, `"“#/@*+`):
			i++
		case k > i && k < j && t.At("ask-verb", i) < k && t.At("zh-ask-verb", i) < k && t.At("keep", i) == 0:
			i = k
		default:
			if end := ended(t, i, j); i > 0 || end < j {
				return theGrammar().Read(t.Cut(i, end))
			}
			return t
		}
	}
	return t
}

// ended is where the words end that begin at i, without marks and politeness.
func ended(t *grammar.Text, i, j int) int {
	for k := j - 1; k > i && j-k < 5; k-- {
		mark := k == j-1 && t.Tokens[k].Kind == grammar.Mark && !strings.ContainsAny(t.Tokens[k].Text, `"”)]`)
		if mark || t.At("polite-end", k) == j || t.At("particle", k) == j {
			j = k
		}
	}
	return j
}

// asks is where a message asks for a reminder; -1 where it does not. What stands
// before must be a time, politeness or a sentence of its own.
func asks(t *grammar.Text) int {
	for i := range t.Tokens {
		if max(t.At("ask-verb", i), t.At("zh-ask-verb", i)) > 0 {
			return i
		}
	}
	return -1
}

// frames tries what is not a new reminder.
func frames(text string, t *grammar.Text, c Context, asked int) (Intent, bool) {
	s := newSense(theGrammar().Read(text), c)
	if t.At("none", 0) > 0 && !s.all().op("undo") && s.marks[0].kind != "it" {
		return Intent{}, true
	}
	if in, ok := s.decide(asked >= 0); ok {
		if all := s.all(); in.unsure(t, asked) && !all.sure() && !all.refuses() && !(in.Op == Move && (all.op("move", "later", "earlier", "edit") || all.sets())) {
			if made := fresh(text, t, c, asked); made.Kind == Create {
				return made, true
			}
			if in.Maybe && stated(t, asked) {
				return Intent{}, true
			}
		}
		return in, true
	}
	return Intent{}, stated(t, asked) || s.all().refuses() || s.all().sure() && (!s.all().has(remind) || s.At("把", 0) > 0)
}

// sets says that the words begin with "set the" and name a reminder's new time.
func (s some) sets() bool {
	i := s.index("op", "set")
	return i >= 0 && s.has("noun") && s.has("to") && s.At("definite", s.marks[i].to) > 0
}

// refuses says that a message begins with that no reminder is wanted.
func (s some) refuses() bool {
	for i, m := range s.marks {
		if m.kind == fill || m.kind == clock {
			continue
		}
		kind, _ := s.next(i)
		return m.kind == "not" && m.arg == "" && (kind == remind || kind == "noun" || kind == "need")
	}
	return false
}

// onlyTimes says that nothing stands before i but a time and politeness.
func onlyTimes(t *grammar.Text, i int) bool {
	for j := 0; j < i; {
		k := max(t.At("run", j), t.At("order", j), t.At("joiner", j))
		if k == 0 && t.Tokens[j].Kind != grammar.Mark {
			return false
		}
		j = max(k, j+1)
	}
	return true
}

// spoken says that the token belongs to a time.
func spoken(t *grammar.Text, j int) bool {
	for i := max(0, j-8); i <= j; i++ {
		if t.At("run", i) > j {
			return true
		}
	}
	return false
}
