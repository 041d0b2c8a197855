package intent

import (
	"maps"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// nothing is a frame that wants nothing of the reminders; asks says that it
// still does when the message asks for a reminder behind it.
type nothing struct{ unlessAsked bool }

// actions make intents of what the tables match.
func actions() map[string]grammar.Action {
	all := queries()
	for _, more := range []map[string]grammar.Action{changes(), snoozes(), refs()} {
		maps.Copy(all, more)
	}
	return all
}

func queries() map[string]grammar.Action {
	statement := func(grammar.Args) any { return nothing{unlessAsked: true} }
	return map[string]grammar.Action{
		"statement": statement, "world": statement,
		"undo":          func(grammar.Args) any { return Intent{Kind: Change, Op: Undo} },
		"list":          query(AskList, false),
		"list-maybe":    query(AskList, true),
		"list-time":     query(AskList, true),
		"list-maybe-zh": query(AskList, true),
		"next":          query(AskNext, false),
		"missed":        query(AskMissed, false),
		"left":          about(AskLeft, true),
		"left-last":     func(grammar.Args) any { return Intent{Kind: Query, What: AskLeft, Ref: Ref{Last: true}} },
		"when":          about(AskWhen, true),
		"when-maybe":    about(AskWhen, true),
		"next-or-when":  query(AskNext, false),
	}
}

func changes() map[string]grammar.Action {
	return map[string]grammar.Action{
		"move":       change(Move, false),
		"move-maybe": change(Move, true),
		"make":       change(Repeat, false),
		"make-maybe": change(Repeat, true),
		"make-it": func(a grammar.Args) any {
			in := aimed(a, 0, Repeat, true)
			in.Time = cut(a, grammar.Part{From: a.From, To: a.To})
			return in
		},
		"move-last": func(a grammar.Args) any {
			return Intent{Kind: Change, Op: Move, Ref: Ref{Last: true}, Time: cut(a, a.Arg(0)), Maybe: true}
		},
		"shift": func(a grammar.Args) any {
			in := aimed(a, 0, Move, false)
			in.Shift = shifted(a, 1, a.Num(2, 1))
			return in
		},
		"shift-last": func(a grammar.Args) any {
			return Intent{Kind: Change, Op: Move, Ref: Ref{Last: true}, Shift: shifted(a, 0, a.Num(1, 1)), Maybe: true}
		},
		"shift-named": func(a grammar.Args) any {
			in := aimed(a, 0, Move, false)
			in.Shift = shifted(a, 1, 1)
			if a.T.At("提前", a.From) > 0 {
				in.Shift = in.Shift.Negative()
			}
			return in
		},
		"text":       change(Text, false),
		"text-maybe": change(Text, true),
		"text-last": func(a grammar.Args) any {
			return Intent{Kind: Change, Op: Text, Ref: Ref{Last: true}, Text: cut(a, a.Arg(0)), Maybe: true}
		},
		"text-last-3": func(a grammar.Args) any {
			return Intent{Kind: Change, Op: Text, Ref: Ref{Last: true}, Text: cut(a, a.Arg(0)), Maybe: true}
		},
		"text-missing":   func(a grammar.Args) any { in := aimed(a, 0, Text, false); return in },
		"move-missing":   func(a grammar.Args) any { in := aimed(a, 0, Move, true); return in },
		"do":             do(false),
		"do-maybe":       do(true),
		"do-named":       do(true),
		"do-strict":      do(true),
		"once-of":        func(a grammar.Args) any { return aimed(a, 0, Once, true) },
		"unremind":       func(a grammar.Args) any { return aimed(a, 0, Remove, true) },
		"skip-or-remove": func(a grammar.Args) any { return aimed(a, 0, Skip, true) },
		"skip-guard":     func(a grammar.Args) any { return aimed(a, 0, Skip, true) },
		"done-guard":     func(a grammar.Args) any { return nil },
		"done":           func(grammar.Args) any { return Intent{Kind: Change, Op: Done, Ref: Ref{Rang: true}, Maybe: true} },
		"stated":         func(a grammar.Args) any { return aimed(a, 0, Done, true) },
		"bare-remove":    func(grammar.Args) any { return Intent{Kind: Change, Op: Remove, Maybe: true} },
		"all-but":        func(a grammar.Args) any { return Intent{Kind: Change, Op: Remove, Ref: Ref{All: true}} },
	}
}

func snoozes() map[string]grammar.Action {
	return map[string]grammar.Action{
		"snooze":       func(a grammar.Args) any { return snoozed(a, 0, Ref{Rang: true}) },
		"snooze-of":    func(a grammar.Args) any { return snoozed(a, 1, ref(a, 0)) },
		"snooze-maybe": func(a grammar.Args) any { in := snoozed(a, 1, ref(a, 0)).(Intent); in.Maybe = true; return in },
		"snooze-plain": func(a grammar.Args) any { return Intent{Kind: Change, Op: Snooze, Ref: Ref{Rang: true}} },
		"snooze-when": func(a grammar.Args) any {
			return Intent{Kind: Change, Op: Snooze, Ref: Ref{Rang: true}, Time: cut(a, a.Arg(0))}
		},
		"snooze-when-of": func(a grammar.Args) any {
			return Intent{Kind: Change, Op: Snooze, Ref: ref(a, 0), Time: cut(a, a.Arg(1))}
		},
		"snooze-when-maybe": func(a grammar.Args) any {
			return Intent{Kind: Change, Op: Snooze, Ref: ref(a, 0), Time: cut(a, a.Arg(1)), Maybe: true}
		},
		"snooze-units": func(a grammar.Args) any {
			s, ok := when.Spell(a.Arg(0), a.Arg(1))
			if !ok {
				return nil
			}
			return Intent{Kind: Change, Op: Snooze, Ref: Ref{Rang: true}, Shift: s}
		},
	}
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

func cut(a grammar.Args, v any) string {
	p, ok := v.(grammar.Part)
	if !ok {
		return ""
	}
	return a.T.Cut(p.From, p.To)
}

func query(what string, maybe bool) grammar.Action {
	return func(grammar.Args) any { return Intent{Kind: Query, What: what, Maybe: maybe} }
}

// about is a query about the reminder that the first * names.
func about(what string, maybe bool) grammar.Action {
	return func(a grammar.Args) any { return Intent{Kind: Query, What: what, Ref: ref(a, 0), Maybe: maybe} }
}

// aimed is a change of what the n-th argument names.
func aimed(a grammar.Args, n int, op Op, maybe bool) Intent {
	return Intent{Kind: Change, Op: op, Ref: ref(a, n), Maybe: maybe}
}

// change is a change with the second argument as its time or text.
func change(op Op, maybe bool) grammar.Action {
	return func(a grammar.Args) any {
		in := aimed(a, 0, op, maybe)
		if op == Text {
			in.Text = cut(a, a.Arg(1))
		} else {
			in.Time = cut(a, a.Arg(1))
		}
		return in
	}
}

// do is the operation that the second argument names.
func do(maybe bool) grammar.Action {
	return func(a grammar.Args) any { return aimed(a, 0, Op(a.Word(1)), maybe) }
}

func shifted(a grammar.Args, n, sign int) when.Span {
	s, _ := a.Arg(n).(when.Span)
	if sign < 0 {
		return s.Negative()
	}
	return s
}

func snoozed(a grammar.Args, n int, r Ref) any {
	s, _ := a.Arg(n).(when.Span)
	return Intent{Kind: Change, Op: Snooze, Ref: r, Shift: s}
}

// ref is what the n-th argument says, to be read by readRef.
func ref(a grammar.Args, n int) Ref { return Ref{Words: cut(a, a.Arg(n))} }
