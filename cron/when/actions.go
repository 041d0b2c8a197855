package when

import (
	"fmt"
	"maps"

	"magpie/cron/grammar"
)

// actions make the values of what the tables match; their names and arguments
// are those behind the = of a line.
func actions() map[string]grammar.Action {
	all := map[string]grammar.Action{
		"key":        func(a grammar.Args) any { return a.Word(0) },
		"am":         func(grammar.Args) any { return "am" },
		"pm":         func(grammar.Args) any { return "pm" },
		"unit":       func(a grammar.Args) any { return units[a.Word(0)] },
		"term":       term,
		"few":        func(a grammar.Args) any { return a.Arg(0).(unit).times(3) },
		"half-month": func(grammar.Args) any { return Span{Days: 15} },
		"nothing":    func(grammar.Args) any { return piece{} },
		"asked":      func(grammar.Args) any { return piece{asked: true} },
		"ago":        func(grammar.Args) any { return piece{err: ErrPast} },
		"bare-ago":   func(grammar.Args) any { return piece{err: ErrPast, bare: true} },
		"nag":        func(grammar.Args) any { return piece{nag: true} },
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
		"from-now": func(a grammar.Args) any { s := a.Arg(0).(Span); return piece{span: &s} },
		"days-on":  func(a grammar.Args) any { return piece{span: &Span{Days: a.Num(0, 1)}} },
		"bare-from-now": func(a grammar.Args) any {
			s := a.Arg(0).(Span)
			return piece{span: &s, bare: true}
		},
		"vague": func(a grammar.Args) any {
			s := unit{seconds: 60}.times(float64(a.Num(0, 30)))
			return piece{span: &s, vague: true}
		},
		"vague-today": func(grammar.Args) any { return piece{day: &day{kind: inDays}, vague: true} },
		"zone":        func(a grammar.Args) any { return namedZone(a.Word(0)) },
		"early-late": func(a grammar.Args) any {
			p, c := a.Arg(0).(piece), a.Arg(1).(piece)
			c.part = p.part
			return c
		},
		"zone-place": func(a grammar.Args) any { return namedZone(a.Word(0)) },
		"often-zh":   oftenChinese,
	}
	for name, p := range partNames {
		all[name] = func(grammar.Args) any { return p }
	}
	for _, more := range []map[string]grammar.Action{dayActions, clockActions, repeatActions, limitActions} {
		maps.Copy(all, more)
	}
	return all
}

func term(a grammar.Args) any {
	n := 0.0
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
	more := 0.0
	fmt.Sscan(a.Word(2), &more)
	return u.times(n + more)
}

// oftenChinese is 一天三次, 每天两次.
func oftenChinese(a grammar.Args) any {
	n := a.Num(0, 0)
	if n < 1 {
		return nil
	}
	return many(n)
}

func namedZone(name string) piece {
	if sign, hours := 1, 0; len(name) > 4 && name[:3] == "UTC" {
		if name[3] == '-' {
			sign = -1
		}
		fmt.Sscan(name[4:], &hours)
		return piece{zone: fixedZone(name[3:4], hours, 0, sign*hours*3600), offset: true}
	}
	return loadZone(name)
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
