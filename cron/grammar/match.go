package grammar

import (
	"math/bits"
	"strconv"
	"strings"
)

// Text is a text that is being matched.
type Text struct {
	Tokens
	Source  string
	ids     []int32 // of the tokens, as words of the tables
	classes []Class // of the tokens
	grammar *Grammar
	// What is known of the categories: where theirs begins in memo, plus one; of
	// each token there, none or which one of found, plus one.
	slots, memo []int32
	found       []found
}

const none = -1

// Read cuts a text into tokens, mends slips, and makes it ready to be matched.
func (g *Grammar) Read(source string) *Text {
	t := &Text{Source: source, Tokens: Scan(source), grammar: g, slots: make([]int32, len(g.categories))}
	t.ids, t.classes = make([]int32, len(t.Tokens)), make([]Class, len(t.Tokens))
	for i, token := range t.Tokens {
		t.ids[i] = g.words[token.Text]
	}
	for i, id := range t.ids {
		for _, m := range g.slips[id] {
			if t.row(i, m.wrong) > 0 {
				for k, r := range m.right {
					t.Tokens[i+k].Text, t.ids[i+k] = r.Text, g.words[r.Text]
				}
			}
		}
		t.classes[i] = t.Tokens[i].class()
	}
	return t
}

// Cut is the source of the tokens from i up to j.
func (t *Text) Cut(i, j int) string {
	if i >= j {
		return ""
	}
	return t.Source[t.Tokens[i].From:t.Tokens[j-1].To]
}

// row is where a row of words ends that stands at i; 0 when it does not.
func (t *Text) row(i int, row []int32) int {
	if i+len(row) > len(t.ids) {
		return 0
	}
	for k, w := range row {
		if t.ids[i+k] != w {
			return 0
		}
	}
	return i + len(row)
}

// id stands for the class among words; that of no class is no word either.
func (c Class) id() int32 {
	if c == 0 {
		return 0
	}
	return -1 - int32(bits.TrailingZeros8(uint8(c)))
}

// found is a match that is remembered.
type found struct {
	value any
	next  int
}

func (t *Text) match(c *category, i int) (value any, next int) {
	if i < 0 || i >= len(t.Tokens) {
		return nil, 0
	}
	id, class := t.ids[i], t.classes[i].id()
	reads := likely(c.reads[:], id, class)
	if !reads && !likely(c.may[:], id, class) {
		return nil, 0
	}
	if t.slots[c.id] == 0 {
		t.slots[c.id] = int32(len(t.memo)) + 1
		t.memo = append(t.memo, make([]int32, len(t.Tokens))...)
	}
	cell := int(t.slots[c.id]) - 1 + i
	switch n := t.memo[cell]; {
	case n > 0:
		return t.found[n-1].value, t.found[n-1].next
	case n == none:
		return nil, 0
	}
	t.memo[cell] = none // a category that begins with itself ends here
	if reads {
		value, next = c.read.Read(t, i)
	}
	best := int32(-1)
	try := func(all []int32) {
		for _, n := range all {
			a := Args{T: t, From: i, rule: &c.rules[n]}
			v, j := a.match(a.rule.elems, i)
			if j > i && (j > next || j == next && n < best) {
				value, next, best = v, j, n
			}
		}
	}
	try(c.first[id])
	if class != 0 {
		try(c.others[-1-class])
	}
	try(c.others[classes])
	if next > 0 {
		t.found = append(t.found, found{value, next})
		t.memo[cell] = int32(len(t.found))
	}
	return value, next
}

// Match finds the longest match of a category at i; next is 0 when there is
// none.
func (t *Text) Match(name string, i int) (value any, next int) {
	return t.match(t.grammar.categories[name], i)
}

// At is where the category ends that stands at i, 0 when it does not.
func (t *Text) At(name string, i int) int {
	_, j := t.Match(name, i)
	return j
}

// Longest is where the longest of some categories ends that stand at i, 0 when
// none does.
func (t *Text) Longest(i int, names ...string) (end int) {
	for _, name := range names {
		end = max(end, t.At(name, i))
	}
	return end
}

// First is the first token from i up to j at which one of some categories
// stands, -1 without one.
func (t *Text) First(i, j int, names ...string) int {
	for ; i < j; i++ {
		if t.Longest(i, names...) > 0 {
			return i
		}
	}
	return -1
}

// Reach is how far all from i on is of some categories.
func (t *Text) Reach(i int, names ...string) int {
	for next := t.Longest(i, names...); next > 0; next = t.Longest(i, names...) {
		i = next
	}
	return i
}

// Across says that all from i up to j is of some categories.
func (t *Text) Across(i, j int, names ...string) bool { return t.Reach(i, names...) >= j }

// After is the place after a category that may stand at i.
func (t *Text) After(name string, i int) int { return max(i, t.At(name, i)) }

// match matches elements from i on, trying what is optional both ways, and
// returns the value and where they end; 0 when they do not match, or the action
// says no.
func (a *Args) match(elems []elem, i int) (value any, next int) {
	if len(elems) == 0 {
		return a.act(i)
	}
	t, e, rest := a.T, &elems[0], elems[1:]
	if e.start || e.end {
		if e.start && i > 0 || e.end && i < len(t.Tokens) {
			return nil, 0
		}
		return a.match(rest, i)
	}
	kept := len(a.values)
	if !e.tight || i < len(t.Tokens) && !t.Tokens[i].Gap {
		for j := i + 1; e.wild && j <= len(t.Tokens); j++ {
			a.values = append(a.values[:kept], Part{i, j})
			if value, next = a.match(rest, j); next > 0 {
				return value, next
			}
		}
		for _, w := range e.words {
			if i >= len(t.ids) || !likely(e.begins[:], t.ids[i], t.ids[i]) {
				break
			}
			if j := t.row(i, w); j > 0 {
				if value, next = a.match(rest, j); next > 0 {
					return value, next
				}
			}
		}
		for _, c := range e.cats {
			if v, j := t.match(c, i); j > 0 {
				if e.valued {
					a.values = append(a.values[:kept], v)
				}
				if value, next = a.match(rest, j); next > 0 {
					return value, next
				}
			}
		}
	}
	if !e.optional {
		return nil, 0
	}
	a.values = a.values[:kept]
	if e.valued || e.wild {
		a.values = append(a.values, nil)
	}
	return a.match(rest, i)
}

// Part is what a * stands for: tokens.
type Part struct{ From, To int }

// Args is what a pattern has matched, as its action sees it.
type Args struct {
	T        *Text
	From, To int   // tokens
	values   []any // of the categories and *, nil for what is left out
	rule     *rule
}

// act makes the value of a rule that matches up to i.
func (a *Args) act(i int) (value any, next int) {
	a.To = i
	switch {
	case a.rule.action != nil:
		if value = a.rule.action(*a); value == nil {
			return nil, 0
		}
	case len(a.values) > 0:
		value = a.values[0]
	default:
		value = true
	}
	return value, i
}

// Arg is the n-th argument of the action: a value for $k, else the word; nil
// when it is left out.
func (a Args) Arg(n int) any {
	if n >= len(a.rule.args) {
		return nil
	}
	if k, ok := strings.CutPrefix(a.rule.args[n], "$"); ok {
		i, _ := strconv.Atoi(k)
		return a.values[i-1]
	}
	return a.rule.args[n]
}

// Num is the n-th argument as a number, or the default when it is left out.
func (a Args) Num(n, otherwise int) int {
	switch v := a.Arg(n).(type) {
	case int:
		return v
	case float64:
		return int(v)
	case string:
		if i, err := strconv.Atoi(v); err == nil {
			return i
		}
	}
	return otherwise
}

// Word is the n-th argument as a word, "" when it is none.
func (a Args) Word(n int) string {
	w, _ := a.Arg(n).(string)
	return w
}
