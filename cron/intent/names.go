package intent

import (
	"strings"

	"magpie/cron/grammar"
	"magpie/internal/near"
)

// Known is a reminder that a message may be about.
type Known struct {
	ID   string
	Text string // its name and what it says
}

// names finds known reminders in a message.
type names struct {
	known []Known
	words [][]string // of each: its words, and its characters in rows
	vague []map[string]bool
}

func newNames(known []Known) *names {
	n := &names{known: known}
	for _, k := range known {
		t := theGrammar().Read(k.Text)
		var all []string
		vague, clear := map[string]bool{}, false
		for i, tok := range t.Tokens {
			han := tok.Kind == grammar.Han
			if !han && tok.Kind != grammar.Word || len(all) == grammar.MaxTokens/40 {
				continue
			}
			word := stem(t, i)
			if han && i > 0 && t.Tokens[i-1].Kind == grammar.Han && len(all) > 0 {
				all[len(all)-1] += word
			} else {
				all = append(all, word)
			}
			if t.At("vague-word", i) > i {
				vague[word] = true
			} else {
				clear = true
			}
		}
		if !clear {
			vague = nil // a name of nothing else: "call back"
		}
		n.words, n.vague = append(n.words, all), append(n.vague, vague)
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
		switch s {
		case "", "s", "es", "e", "ed", "d", "ing":
			return true
		}
		return false
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
	for k, words := range n.words {
		for _, w := range words {
			tells, to := 0, i+1
			switch {
			case tok.Kind == grammar.Han:
				if tells, to = n.row(t, i, k, w); tells == 0 {
					continue
				}
			case same(word, w):
				if tells = 4; n.vague[k][w] {
					tells = 1
				}
			case loose && slip(word, w) && !n.vague[k][w]:
				tells = 4
			default:
				continue
			}
			if to > m.to {
				m.to, m.of = to, map[int]int{}
			}
			if to == m.to && tells > m.of[k] {
				m.of[k] = tells
			}
		}
	}
	m.past = m.to > i && tok.Kind == grammar.Word && (word != tok.Text || strings.HasSuffix(tok.Text, "ed"))
	return m
}

// row finds the longest part of a row of characters that stands at i.
func (n *names) row(t *grammar.Text, i, k int, row string) (tells, to int) {
	rest := []rune(row)
	for from := range rest {
		j, clear := i, 0
		for j < len(t.Tokens) && j-i < len(rest)-from && t.Tokens[j].Text == string(rest[from+j-i]) {
			if !n.vague[k][t.Tokens[j].Text] {
				clear++
			}
			j++
		}
		if j > to && j > i {
			tells, to = 2*clear+min(j-i, 2)-1, j
		}
	}
	if to == i+1 && n.vague[k][t.Tokens[i].Text] {
		return 1, to
	} else if to == i+1 && strings.Count(row, t.Tokens[i].Text) < 2 && n.clear(k) > 1 {
		return 0, 0 // one character of many
	}
	return max(tells, 1+b2i(to > i+1)), to
}

func b2i(is bool) int {
	if is {
		return 1
	}
	return 0
}

// clear is how many characters of a name tell which one it is.
func (n *names) clear(k int) (count int) {
	for _, w := range n.words[k] {
		for _, r := range w {
			count += b2i(!n.vague[k][string(r)])
		}
	}
	return count
}

// meant are the reminders that mentions name: those that are told best, and
// others of which something else is told. unsure are several that are told
// equally well.
func (n *names) meant(all []mention) (meant []int, unsure bool) {
	for {
		score, best := map[int]int{}, 0
		for _, m := range all {
			for k, tells := range m.of {
				score[k] += tells
				best = max(best, score[k])
			}
		}
		var found []int
		for k := range n.known {
			if score[k] == best {
				found = append(found, k)
			}
		}
		if best < 2 {
			return meant, false
		}
		if len(found) > 1 {
			return found, true
		}
		meant = append(meant, found[0])
		var rest []mention
		for _, m := range all {
			if m.of[found[0]] == 0 {
				rest = append(rest, m)
			}
		}
		all = rest
	}
}
