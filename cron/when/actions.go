package when

import (
	"fmt"
	"maps"
	"time"

	"magpie/cron/grammar"
)

// actions make the values of what the tables match; their names and arguments
// are those behind the = of a line.
func actions() map[string]grammar.Action {
	all := map[string]grammar.Action{
		"key":  func(a grammar.Args) any { return a.Word(0) },
		"am":   func(grammar.Args) any { return "am" },
		"pm":   func(grammar.Args) any { return "pm" },
		"unit": func(a grammar.Args) any { return units[a.Word(0)] },
		"term": func(a grammar.Args) any {
			s := term(a)
			if s.Months >= 12*1900 && s.Months < 12*2200 && a.T.Is(a.To-1, "年") {
				return nil // 2018年 is a year
			}
			return s
		},
		"unless":  func(a grammar.Args) any { return only(a.T.At(a.Word(0), a.To) == 0) }, // what follows
		"if":      func(a grammar.Args) any { return only(a.T.At(a.Word(0), a.To) > 0) },
		"minutes": minutes,
		"nothing": func(grammar.Args) any { return piece{} },
		"asked":   func(a grammar.Args) any { return piece{asked: true, weak: a.Word(0) == "weak"} },
		"ago":     func(a grammar.Args) any { return piece{err: ErrPast, bare: a.Word(0) == "bare"} },
		"nag":     func(grammar.Args) any { return piece{nag: true} },
		"nag-end": func(a grammar.Args) any {
			for i := a.From; i < a.To-1; i++ {
				if a.T.Is(i, ",", ";", "。") {
					return nil // the longest match would hold what is to be done
				}
			}
			return piece{nag: true}
		},
		"weak": func(a grammar.Args) any {
			p := a.Arg(0).(piece)
			p.weak = true
			return p
		},
		"from-now": func(a grammar.Args) any {
			s := span(a)
			return piece{span: &s, bare: a.Word(1) == "bare", later: a.Word(1) == "later"}
		},
		"vague": func(a grammar.Args) any {
			s := Span{Exact: time.Duration(a.Num(0, 30)) * time.Minute}
			return piece{span: &s, vague: true}
		},
		"vague-today": func(grammar.Args) any { return piece{day: &day{kind: inDays}, vague: true} },
		"early-late": func(a grammar.Args) any {
			p := a.Arg(1).(piece)
			p.part = a.Arg(0).(piece).part
			return p
		},
	}
	for name, p := range partNames {
		all[name] = func(grammar.Args) any { return p }
	}
	for _, more := range []map[string]grammar.Action{dayActions, clockActions, zoneActions, repeatActions, limitActions} {
		maps.Copy(all, more)
	}
	return all
}

// only is a value where something holds.
func only(holds bool) any {
	if holds {
		return true
	}
	return nil
}

// minutes is a number that can only be of minutes: in 20, and not in 2, in 24 or in
// 2027.
func minutes(a grammar.Args) any {
	n, many := a.Num(0, 0), a.T.At("number", a.T.Skip(a.To, "to", "-")) > 0
	if n < 5 || n > 90 || n%24 == 0 || many || a.To < len(a.T.Tokens) && a.T.At("behind-minutes", a.To) == 0 {
		return nil
	}
	return piece{span: &Span{Exact: time.Duration(n) * time.Minute}}
}

// span is a length, or what term takes.
func span(a grammar.Args) Span {
	if s, ok := a.Arg(0).(Span); ok {
		return s
	}
	return term(a)
}

// term is so many of a unit, and a part of it more.
func term(a grammar.Args) Span {
	n, more := 0.0, 0.0
	switch v := a.Arg(0).(type) {
	case int:
		n = float64(v)
	case float64:
		n = v
	case string:
		fmt.Sscan(v, &n)
	}
	u, ok := a.Arg(1).(unit)
	if !ok {
		u = units[a.Word(1)]
	}
	fmt.Sscan(a.Word(2), &more)
	return u.times(n + more)
}

// Spell is so many of a unit, as a grammar that holds times has read them.
func Spell(n, u any) (Span, bool) {
	amount, isAmount := n.(float64)
	of, isUnit := u.(unit)
	if !isAmount || !isUnit {
		return Span{}, false
	}
	return of.times(amount), true
}
