package intent

import (
	"maps"
	"slices"
	"strings"

	"magpie/cron/grammar"
	"magpie/internal/near"
)

// Known is a reminder that a message may be about.
type Known struct {
	ID   string
	Text string // its name and what it says
	Just Event  // what the bot has told of it right before
}

// Event is what the bot tells of a reminder.
type Event string

// The events: without a name, "in an hour" is about what has just rang, and "make it
// 9:30" about what was just set.
const (
	Rang Event = "rang"
	Set  Event = "set"
)

// names finds known reminders in a message.
type names struct {
	known []Known
	words []words // of each
}

// just says that the bot has just told this of one.
func (n *names) just(e Event) bool {
	return slices.ContainsFunc(n.known, func(k Known) bool { return k.Just == e })
}

// words are those of a reminder, and its characters in rows.
type words struct {
	rows  []string
	vague map[string]bool // what tells little of it
	clear int             // how many characters tell more
}

func newNames(known []Known) *names {
	n := &names{known: known}
	for _, k := range known {
		t := theGrammar().Read(k.Text)
		w := words{vague: map[string]bool{}}
		for i, tok := range t.Tokens {
			han := tok.Kind == grammar.Han
			if !han && tok.Kind != grammar.Word || len(w.rows) == grammar.MaxTokens/40 {
				continue
			}
			word := stem(t, i)
			if han && i > 0 && t.Tokens[i-1].Kind == grammar.Han && len(w.rows) > 0 {
				w.rows[len(w.rows)-1] += word
			} else {
				w.rows = append(w.rows, word)
			}
			if t.At("vague-word", i) > i {
				w.vague[word] = true
			} else {
				w.clear++
			}
		}
		if w.clear == 0 {
			w.vague, w.clear = nil, len(t.Tokens) // a name of nothing else: "call back"
		}
		n.words = append(n.words, w)
	}
	return n
}

// stem is the word that a token is a form of, without its possessive.
func stem(t *grammar.Text, i int) string {
	if v, j := t.Match("stem", i); j == i+1 {
		return v.(string)
	}
	return strings.TrimSuffix(t.Tokens[i].Text, "'s")
}

// same says that a word is a form of one of a name: calling of call, plant of
// plants.
func same(a, b string) bool {
	if a == b {
		return true
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	ending := func(s string) bool {
		if n > 0 && len(s) > 3 && s[0] == a[n-1] {
			s = s[1:] // running
		}
		return slices.Contains([]string{"", "s", "es", "e", "ed", "d", "ing"}, s)
	}
	return n >= 3 && ending(a[n:]) && ending(b[n:]) && b[n:] != "ing" // no meeting is meant by "let's meet"
}

// slip says that a is b with a wrong letter.
func slip(a, b string) bool {
	return len(a) >= 5 && len(b) >= 5 && len(a) <= 30 && near.Distance(a, b) <= 1+min(len(b), 9)/9
}

// mention is a part of a name in a message.
type mention struct {
	from, to int
	of       map[int]int // reminder: how much the part tells of it
	past     bool        // "called"
}

// at reads the words of names at the i-th token. loose takes slips too.
func (n *names) at(t *grammar.Text, i int, loose bool) mention {
	m := mention{from: i, to: i, of: map[int]int{}}
	tok := t.Tokens[i]
	if tok.Kind != grammar.Word && tok.Kind != grammar.Han {
		return m
	}
	word := stem(t, i)
	for k, w := range n.words {
		for _, row := range w.rows {
			tells, to := 0, i+1
			switch {
			case tok.Kind == grammar.Han:
				tells, to = w.longest(t, i, row)
			case same(word, row) && w.vague[row]:
				tells = 1
			case same(word, row), loose && slip(word, row) && !w.vague[row]:
				tells = 4
			}
			if tells > 0 && to > m.to {
				m.to, m.of = to, map[int]int{}
			}
			if tells > 0 && to == m.to {
				m.of[k] = max(tells, m.of[k])
			}
		}
	}
	m.past = m.to > i && tok.Kind == grammar.Word && (word != tok.Text || strings.HasSuffix(tok.Text, "ed"))
	return m
}

// longest finds the longest part of a row of characters that stands at i, and
// how much it tells.
func (w words) longest(t *grammar.Text, i int, row string) (tells, to int) {
	rest := []rune(row)
	for from := range rest {
		j, clear := i, 0
		for j < len(t.Tokens) && j-i < len(rest)-from && t.Tokens[j].Text == string(rest[from+j-i]) {
			if !w.vague[t.Tokens[j].Text] {
				clear++
			}
			j++
		}
		if j > to && j > i {
			tells, to = 2*clear+min(j-i, 2)-1, j
		}
	}
	switch {
	case to > i+1:
		return max(tells, 2), to
	case to > i && w.vague[t.Tokens[i].Text]:
		return 1, to
	case to > i && strings.Count(row, t.Tokens[i].Text) < 2 && w.clear > 1:
		return 0, 0 // one character of many
	}
	return tells, to
}

// meant are the reminders that mentions name: those that are told best, and
// others of which something else is told. unsure are several that are told
// equally well.
func (n *names) meant(all []mention) (meant []int, unsure bool) {
	for all = slices.Clone(all); ; {
		score, best := map[int]int{}, 0
		for _, m := range all {
			for k, tells := range m.of {
				score[k] += tells
				best = max(best, score[k])
			}
		}
		if best < 2 {
			return meant, false
		}
		maps.DeleteFunc(score, func(_, tells int) bool { return tells < best })
		found := slices.Sorted(maps.Keys(score))
		if len(found) > 1 {
			return found, true
		}
		meant = append(meant, found[0])
		all = slices.DeleteFunc(all, func(m mention) bool { return m.of[found[0]] > 0 })
	}
}
