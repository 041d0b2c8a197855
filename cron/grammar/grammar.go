// Package grammar matches texts against tables of patterns, as cron/when and
// cron/intent have them for English and Chinese. It knows nothing of what the
// patterns are about: the readers and actions behind them are the caller's.
package grammar

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Grammar is tables of patterns, ready to be matched; it does not change. A
// table is a list of categories, each a name with a colon and indented lines
// of patterns:
//
//	day:
//	  today | tdy                     = in 0
//	  next <weekday>                  = week-day $1 1
//	  the? <ordinal> of next month    = month-day $1 1
//
// A pattern is a row of elements, separated by spaces:
//
//	word          the word; a/b one of several; a_b two words in a row
//	<name>        what a category matches, or a reader
//	{name}        the same; its value is not wanted
//	*             some tokens, as few as do
//	e?            e, or nothing
//	~e            e, without white space before it
//	^ $           the beginning and the end of the text
//
// Patterns separated by " | " share what stands behind " = ": the name of an
// action and its arguments: numbers, words, or $n, the n-th <name> or * of the
// pattern. Without an action the value is that of the first <name>, or true.
// Of the patterns of a category the longest match counts, of equal ones the
// first.
//
// The category "slips" has lines of wrong spellings and the right one.
type Grammar struct {
	categories map[string]*category
	actions    map[string]Action
	words      map[string]int32 // of the tables; 0 is none of them
	slips      map[int32][]slip // by the first word or character
}

// Reader reads what patterns cannot say. At and Like say with what it may begin,
// so that it is not tried in vain; neither is anything.
type Reader struct {
	// Read reads at the i-th token: a value and the token behind it, 0 when it
	// is not there.
	Read func(t *Text, i int) (value any, next int)
	At   Class
	Like string // a category
}

// Action makes the value of a match; nil means that it is none after all.
type Action func(a Args) any

// slip is a wrong word, or a wrong row of Chinese characters, and what is right,
// as long.
type slip struct {
	wrong []int32
	right Tokens
}

type category struct {
	id    int
	read  *Reader
	rules []rule
	// The rules that may begin with a word of the tables, with a token of a
	// class, or, last, with anything.
	first  map[int32][]int32
	others [classes + 1][]int32
	// What rules and the reader may begin with: words, and classes in the last
	// bits.
	may, reads [32]uint64
}

// likely says of most words that they are not in a set.
func likely(set []uint64, id, class int32) bool {
	mask := int32(len(set) - 1)
	return (set[id>>6&mask]>>(id&63)|set[class>>6&mask]>>(class&63)|set[anything>>6&mask]>>(anything&63))&1 > 0
}

func include(set []uint64, id int32) { set[int(id>>6)&(len(set)-1)] |= 1 << (id & 63) }

const anything int32 = -1 - classes

type rule struct {
	elems  []elem
	action Action
	args   []string
}

type elem struct {
	words                 [][]int32   // one of several rows of words of the tables
	begins                [4]uint64   // the first ones of words
	cats                  []*category // or one of several categories
	valued                bool        // of which the value is wanted
	wild, optional, tight bool
	start, end            bool
}

// Source is the tables of a folder, and what stands behind them.
type Source struct {
	Tables  fs.FS
	Readers map[string]Reader
	Actions map[string]Action
}

// New reads the tables of sources, of which each may name the categories of all.
// The error is that of a table.
func New(sources ...Source) (*Grammar, error) {
	g := &Grammar{categories: map[string]*category{}, actions: map[string]Action{}, words: map[string]int32{}, slips: map[int32][]slip{}}
	for _, src := range sources {
		for name, read := range src.Readers {
			g.category(name).read = &read
		}
		for name, action := range src.Actions {
			if g.actions[name] != nil {
				return nil, fmt.Errorf("two actions %q", name)
			}
			g.actions[name] = action
		}
	}
	for _, src := range sources {
		paths, err := fs.Glob(src.Tables, "*/*.txt")
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			text, err := fs.ReadFile(src.Tables, path)
			if err != nil {
				return nil, err
			}
			if err := g.load(string(text)); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	var missing []string
	for name, c := range g.categories {
		if c.read == nil && len(c.rules) == 0 && name != "slips" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("categories without patterns: %s", strings.Join(missing, ", "))
	}
	for _, c := range g.categories {
		g.index(c)
	}
	return g, nil
}

// index notes with what the rules and the reader of a category may begin.
func (g *Grammar) index(c *category) {
	c.first = map[int32][]int32{}
	begins := map[int32]bool{}
	g.beginOfReader(c, begins, map[*category]bool{c: true})
	for first := range begins {
		include(c.reads[:], first)
	}
	for n, r := range c.rules {
		begins := map[int32]bool{}
		g.begin(r.elems, begins, map[*category]bool{c: true})
		for first := range begins {
			switch {
			case first != anything && begins[anything]:
				continue
			case first < 0:
				c.others[-1-first] = append(c.others[-1-first], int32(n))
			default:
				c.first[first] = append(c.first[first], int32(n))
			}
			include(c.may[:], first)
		}
	}
}

func (g *Grammar) category(name string) *category {
	c := g.categories[name]
	if c == nil {
		c = &category{id: len(g.categories)}
		g.categories[name] = c
	}
	return c
}

// load reads a table.
func (g *Grammar) load(text string) error {
	name := ""
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t")
		switch {
		case line == "" || strings.HasPrefix(line, "# "):
		case line[0] != ' ':
			name = strings.TrimSuffix(line, ":")
			g.category(name)
		case name == "slips":
			g.slip(line)
		default:
			if err := g.rule(name, line); err != nil {
				return fmt.Errorf("line %d: %w", n+1, err)
			}
		}
	}
	return nil
}

// slip reads "wrong wrong = right".
func (g *Grammar) slip(line string) {
	wrong, right, _ := strings.Cut(line, " = ")
	for w := range strings.FieldsSeq(wrong) {
		row := g.literal(w)
		g.slips[row[0]] = append(g.slips[row[0]], slip{row, Scan(right)})
	}
}

func (g *Grammar) rule(name, line string) error {
	patterns, action, _ := strings.Cut(line, " = ")
	did := strings.Fields(action)
	for pattern := range strings.SplitSeq(patterns, " | ") {
		r := rule{}
		if len(did) > 0 {
			if r.action, r.args = g.actions[did[0]], did[1:]; r.action == nil {
				n, err := strconv.Atoi(did[0])
				if err != nil {
					return fmt.Errorf("there is no action %q", did[0])
				}
				r.action = func(Args) any { return n }
			}
		}
		values := 0
		for text := range strings.FieldsSeq(pattern) {
			e := g.elem(text)
			if e.wild || e.valued {
				values++
			}
			if slices.ContainsFunc(e.words, func(w []int32) bool { return len(w) == 0 }) {
				return fmt.Errorf("element %q has an empty word", text)
			}
			r.elems = append(r.elems, e)
		}
		for _, arg := range r.args {
			if n, err := strconv.Atoi(strings.TrimPrefix(arg, "$")); arg[0] == '$' && (err != nil || n < 1 || n > values) {
				return fmt.Errorf("%s: the pattern %q has no %s", name, pattern, arg)
			}
		}
		c := g.category(name)
		c.rules = append(c.rules, r)
	}
	return nil
}

func (g *Grammar) elem(text string) elem {
	e := elem{}
	if rest, ok := strings.CutPrefix(text, "~"); ok && rest != "" {
		e.tight, text = true, rest
	}
	if rest, ok := strings.CutSuffix(text, "?"); ok && rest != "" {
		e.optional, text = true, rest
	}
	switch {
	case text == "*":
		e.wild = true
	case text == "/":
		e.words = [][]int32{g.literal("/")}
	case text == "^":
		e.start = true
	case text == "$":
		e.end = true
	case len(text) > 2 && (text[0] == '<' || text[0] == '{') && !strings.Contains(text, "/"):
		e.cats, e.valued = []*category{g.category(text[1 : len(text)-1])}, text[0] == '<'
	default:
		for w := range strings.SplitSeq(text, "/") {
			if len(w) > 2 && w[0] == '{' {
				e.cats = append(e.cats, g.category(w[1:len(w)-1]))
				continue
			}
			e.words = append(e.words, g.literal(strings.ReplaceAll(w, "_", " ")))
		}
		slices.SortStableFunc(e.words, func(a, b []int32) int { return len(b) - len(a) })
	}
	for _, w := range e.words {
		if len(w) > 0 { // else New refuses it
			include(e.begins[:], w[0])
		}
	}
	return e
}

// literal is the tokens of a word of a table.
func (g *Grammar) literal(text string) (all []int32) {
	for _, t := range Scan(text) {
		if g.words[t.Text] == 0 {
			g.words[t.Text] = int32(len(g.words) + 1)
		}
		all = append(all, g.words[t.Text])
	}
	return all
}

// begin adds the words and classes with which elements may begin.
func (g *Grammar) begin(elems []elem, begins map[int32]bool, seen map[*category]bool) {
	for _, e := range elems {
		for _, c := range e.cats {
			g.beginOf(c, begins, seen)
		}
		for _, w := range e.words {
			begins[w[0]] = true
		}
		if !e.optional && !e.wild && !e.start && !e.end {
			return
		}
		if e.wild {
			break
		}
	}
	begins[anything] = true
}

func (g *Grammar) beginOf(c *category, begins map[int32]bool, seen map[*category]bool) {
	if seen[c] {
		return // it begins with what it begins with
	}
	seen[c] = true
	defer delete(seen, c)
	g.beginOfReader(c, begins, seen)
	for _, r := range c.rules {
		g.begin(r.elems, begins, seen)
	}
}

func (g *Grammar) beginOfReader(c *category, begins map[int32]bool, seen map[*category]bool) {
	if c.read == nil {
		return
	}
	for k := range int32(classes) {
		if c.read.At&(1<<k) != 0 {
			begins[-1-k] = true
		}
	}
	switch {
	case c.read.Like != "":
		g.beginOf(g.category(c.read.Like), begins, seen)
	case c.read.At == 0:
		begins[anything] = true
	}
}
