package intent

import (
	"maps"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// delta is so much later, or earlier with a negative sign.
type delta struct {
	when.Span
	sign int
}

// actions make the values of what the tables match.
func actions() map[string]grammar.Action {
	all := map[string]grammar.Action{
		"sign": sign,
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
		"delta": func(a grammar.Args) any { return delta{a.Arg(0).(when.Span), a.Num(1, 1)} },
		"units": func(a grammar.Args) any {
			if s, ok := when.Spell(a.Arg(0), a.Arg(1)); ok {
				return s
			}
			return nil
		},
	}
	maps.Copy(all, refs())
	return all
}

func refs() map[string]grammar.Action {
	return map[string]grammar.Action{
		"last":         func(grammar.Args) any { return Ref{Last: true} },
		"last-in-list": func(grammar.Args) any { return Ref{Number: -1} },
		"all":          func(grammar.Args) any { return Ref{All: true} },
		"all-maybe":    func(grammar.Args) any { return Ref{All: true} },
		"paused":       func(grammar.Args) any { return Ref{Paused: true} },
		"rang":         func(grammar.Args) any { return Ref{Rang: true} },
		"number": func(a grammar.Args) any {
			if n := a.Num(0, 0); n > 0 && n < 1000 {
				return Ref{Number: n}
			}
			return nil
		},
	}
}
