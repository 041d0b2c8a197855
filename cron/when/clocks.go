package when

import (
	"cmp"
	"time"

	"magpie/cron/grammar"
)

var clockActions = map[string]grammar.Action{
	"clock": func(a grammar.Args) any { return spokenClock(a, 0, a.Num(1, 0)).with(a.Arg(2)) },
	"same-hour": func(a grammar.Args) any {
		p := piece{clock: &clock{style: fixed, now: true}, weak: true}
		if n := a.Num(0, 0); n > 0 {
			p.day, p.weak = &day{kind: inDays, n: n}, false
		}
		return p
	},
	"late-hour": func(a grammar.Args) any { // 19h, where it is no length
		c := spokenClock(a, 0, 0)
		if c.style = full; c.hour < 13 || a.To < len(a.T.Tokens) && a.T.Longest(a.To, "day", "behind-minutes") == 0 || a.T.Is(a.From-1, "for", "of", "after", "within", "every", "another", "next", "than", "over", "fast", "fasting", "sleep", "slept", "drive", "flight", "shift", "work", "worked") {
			return nil
		}
		return c.checked()
	},
	"part":    func(a grammar.Args) any { return piece{part: partOf(a.Arg(0))} },
	"digital": func(a grammar.Args) any { return a.Arg(0).(clock).with(a.Arg(1)) },
	"hour": func(a grammar.Args) any {
		p := spokenClock(a, 0, a.Num(1, 0)).with(a.Arg(2))
		if a.T.Is(a.To-2, "this") || a.T.Is(a.To-1, "tonight") {
			p.day = &day{kind: inDays}
		}
		return p
	},
	"lone-hour": func(a grammar.Args) any {
		if countsOn(a.T, a.To) {
			return nil
		}
		return spokenClock(a, 0, 0).checked()
	},
	"military": func(a grammar.Args) any {
		n := a.Num(0, 0)
		if n%100 > 59 {
			return nil
		}
		return clock{hour: n / 100, minute: n % 100, style: full, from: a.From, to: a.To}.checked()
	},
	"past": func(a grammar.Args) any { return pastHour(a, a.Num(0, 0)).with(a.Arg(2)) },
	"hours-to": func(a grammar.Args) any { // 9-10am: at nine
		to := spokenClock(a, 1, 0).with(a.Arg(2))
		from := spokenClock(a, 0, 0)
		if to.clock == nil || from.hour > 12 {
			return nil
		}
		if from.hour, from.style = from.hour%12, fixed; from.hour+12 < to.clock.hour {
			from.hour += 12
		}
		return from.checked()
	},
	"past-to": func(a grammar.Args) any {
		if n := a.Num(0, 0); n%5 > 0 && a.T.At("unit", a.To-3) == 0 && a.T.At("unit", a.To-4) == 0 || a.T.Is(a.From-1, "from", "between") {
			return nil // from 9 to 5
		}
		return pastHour(a, -a.Num(0, 0)).with(a.Arg(2))
	},
	"zh-before": func(a grammar.Args) any {
		c := spokenClock(a, 0, 60-a.Num(1, 0))
		if c.hour--; c.hour < 0 {
			c.hour = 23
		}
		if c.minute < 1 {
			return nil
		}
		return c.checked()
	},
	"hours-minutes": func(a grammar.Args) any {
		return Span{Exact: time.Duration(60*a.Num(0, 0)+a.Num(1, 0)) * time.Minute}
	},
	"either-hour": func(a grammar.Args) any { // 三四点
		first, last := spokenClock(a, 0, 0), spokenClock(a, 1, 0)
		if last.hour != first.hour+1 {
			return nil
		}
		return piece{more: []clock{first, last}, either: true}
	},
	"hours-parted": func(a grammar.Args) any { // 早八晚八
		p := piece{}
		for n := 0; a.Word(n) != ""; n += 2 {
			h, ok := partNames[a.Word(n)].hour(a.Num(n+1, 0))
			if !ok || h > 23 || a.T.Is(a.To, "课", "班", "节", "的", "个") {
				return nil
			}
			p.more = append(p.more, clock{hour: h, style: fixed})
		}
		return p
	},
	"hours": func(a grammar.Args) any {
		p := piece{}
		for n := 0; a.Word(n) != ""; n++ {
			p.more = append(p.more, clock{hour: a.Num(n, 0), style: fixed})
		}
		return p
	},
}

// spokenClock is the n-th argument, an hour, with minutes.
func spokenClock(a grammar.Args, n, minutes int) clock {
	c, read := a.Arg(n).(clock)
	if !read {
		c = clock{hour: a.Num(n, 0), from: a.From}
		if c.hour == 0 || c.hour > 12 {
			c.style = full
		}
	}
	c.minute, c.to = max(minutes, 0), a.To
	return c
}

// pastHour is "half past 9", "quarter to ten".
func pastHour(a grammar.Args, minutes int) clock {
	c := spokenClock(a, 1, minutes)
	if minutes < 0 {
		c.hour, c.minute = (c.hour+10)%12+1, minutes+60
	}
	return c
}

// partOf is a part of the day by itself, by its name, or of a piece.
func partOf(v any) part {
	switch v := v.(type) {
	case part:
		return v
	case string:
		return partNames[v]
	case piece:
		return v.part
	}
	return noPart
}

// countsOn says that the number before j counts something, or goes on.
func countsOn(t *grammar.Text, j int) bool {
	if t.Is(j, "%", "$", "€", "°", "/", ":", "-", ".", ",") && t.Close(j) && j+1 < len(t.Tokens) && t.Close(j+1) {
		return true
	}
	return t.At("unit", j) > 0 || t.Is(j, "%", "°", "st", "nd", "rd", "th", "people", "percent", "per", "degrees", "dollars", "euros", "times", "x", "of")
}

// checked is the clock as a piece, or the error that no clock shows this.
func (c clock) checked() piece {
	if c.hour > 24 || c.minute > 59 || c.second > 59 || c.hour == 24 && c.minute+c.second > 0 {
		return invalidPiece("no clock shows %d:%02d; the hours are 0 to 23", c.hour, c.minute)
	}
	return piece{clock: &c}
}

var styles = map[string]style{"full": full, "fixed": fixed, "midnight": midnight}

// with is the clock with am or pm, with a part of the day, in a style, or
// without.
func (c clock) with(v any) piece {
	half, _ := v.(string)
	switch {
	case half != "am" && half != "pm":
		c.style = cmp.Or(styles[half], c.style)
		p := c.checked()
		p.part = partOf(v)
		return p
	case c.hour > 12 && half == "pm" && c.hour < 24: // "15:00 pm" is clear
	case c.hour > 12 || c.hour == 0 && half == "pm":
		return invalidPiece("%d %s; write 1 to 12 with am or pm, or 0 to 23 without", c.hour, half)
	default:
		if c.hour %= 12; half == "pm" {
			c.hour += 12
		}
	}
	c.style = fixed
	return c.checked()
}
