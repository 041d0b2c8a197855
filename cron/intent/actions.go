package intent

import (
	"magpie/cron/grammar"
	"magpie/cron/when"
)

// actions make the values of what the tables match.
var actions = map[string]grammar.Action{
	"sign": func(a grammar.Args) any { return mark{kind: a.Word(0), arg: a.Word(1)} },
	"sign-before": func(a grammar.Args) any { // where that follows
		if a.T.At(a.Word(1), a.To) == 0 {
			return nil
		}
		return mark{kind: a.Word(0), arg: a.Word(2)}
	},
	"word":  func(a grammar.Args) any { return a.Word(0) },
	"delta": func(a grammar.Args) any { return mark{kind: length, arg: a.Word(0), value: a.Arg(1)} },
	"place": func(a grammar.Args) any {
		var all []Ref
		for n := range 4 {
			if k := a.Num(n, 0); k != 0 && k < 1000 {
				all = append(all, Ref{Number: k})
			}
		}
		if all == nil {
			return nil
		}
		return all
	},
	"row": func(a grammar.Args) any { return row(a.Num(0, 1), a.Num(1, 1)) },
	"back": func(a grammar.Args) any { // the n-th from the end, or from it to another
		n := a.Num(0, 1)
		if to := a.Num(1, -n); n > 1 || to != -1 || a.Arg(1) == nil {
			return row(-n, to)
		}
		return nil // the last one may be the one last spoken of
	},
	"times": func(a grammar.Args) any { // next time is another word
		if n := a.Num(0, 0); n > 1 {
			return mark{kind: "times", value: n}
		}
		return nil
	},
	"units": func(a grammar.Args) any {
		if s, ok := when.Spell(a.Arg(0), a.Arg(1)); ok {
			return s
		}
		return nil
	},
}

// row are the places from one to another, below 0 from the end.
func row(from, to int) any {
	var all []Ref
	for k := from; k <= min(to, from+99); k++ {
		all = append(all, Ref{Number: k})
	}
	if all == nil {
		return nil
	}
	return all
}

// readers read what the tables cannot say.
var readers = map[string]grammar.Reader{
	"mark": {Read: func(t *grammar.Text, i int) (any, int) {
		if t.Tokens[i].Kind != grammar.Mark { // At only leaves out most others
			return nil, 0
		}
		return true, i + 1
	}, At: grammar.Marks},
}
