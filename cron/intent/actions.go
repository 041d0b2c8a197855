package intent

import (
	"magpie/cron/grammar"
	"magpie/cron/when"
)

// actions make the values of what the tables match.
var actions = map[string]grammar.Action{
	"sign":  func(a grammar.Args) any { return mark{kind: a.Word(0), arg: a.Word(1)} },
	"word":  func(a grammar.Args) any { return a.Word(0) },
	"delta": func(a grammar.Args) any { return mark{kind: length, arg: a.Word(0), value: a.Arg(1)} },
	"place": func(a grammar.Args) any {
		var all []Ref
		for n := range 4 {
			if k := a.Num(n, 0); k > 0 && k < 1000 {
				all = append(all, Ref{Number: k})
			}
		}
		if all == nil {
			return nil
		}
		return all
	},
	"units": func(a grammar.Args) any {
		if s, ok := when.Spell(a.Arg(0), a.Arg(1)); ok {
			return s
		}
		return nil
	},
}

// readers read what the tables cannot say.
var readers = map[string]grammar.Reader{
	"mark": {Read: func(_ *grammar.Text, i int) (any, int) { return true, i + 1 }, At: grammar.Marks},
}
