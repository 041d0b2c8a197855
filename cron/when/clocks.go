package when

import (
	"magpie/cron/grammar"
)

var clockActions = map[string]grammar.Action{
	"clock": func(a grammar.Args) any {
		c := clock{hour: a.Num(0, 0), minute: a.Num(1, 0), from: a.From, to: a.To, style: fixed}
		if a.Word(2) != "fixed" && a.Word(2) != "" {
			c.style = midnight
		}
		return piece{clock: &c}
	},
	"same-hour": func(grammar.Args) any { return piece{clock: &clock{style: fixed, now: true}, weak: true} },
	"part": func(a grammar.Args) any {
		if p, ok := a.Arg(0).(part); ok {
			return piece{part: p}
		}
		return piece{part: partNames[a.Word(0)]}
	},
	"lunch":   func(grammar.Args) any { return piece{part: noon} },
	"digital": func(a grammar.Args) any { c := a.Arg(0).(clock); return c.with(a.Word(1)) },
	"hour": func(a grammar.Args) any {
		return spokenClock(a, a.Num(0, 0), max(a.Num(1, 0), 0)).with(a.Word(2))
	},
	"lone-hour": func(a grammar.Args) any {
		if countsOn(a.T, a.To) {
			return nil
		}
		return spokenClock(a, a.Num(0, 0), 0).checked()
	},
	"hour-24": func(a grammar.Args) any {
		c := spokenClock(a, a.Num(0, 0), a.Num(1, 0))
		c.style = full
		return c.checked()
	},
	"military": func(a grammar.Args) any {
		n := a.Num(0, 0)
		c := spokenClock(a, n/100, n%100)
		c.style = full
		return c.checked()
	},
	"hour-part": func(a grammar.Args) any {
		c := spokenClock(a, a.Num(0, 0), max(a.Num(1, 0), 0))
		p := c.checked()
		p.part, _ = a.Arg(2).(part)
		if a.T.Is(a.To-2, "this") || a.T.Is(a.To-1, "tonight") {
			p.day = &day{kind: inDays}
		}
		return p
	},
	"past": func(a grammar.Args) any { return pastHour(a, a.Num(0, 0)).with(a.Word(2)) },
	"past-to": func(a grammar.Args) any {
		if n := a.Num(0, 0); n%5 > 0 && a.T.At("unit", a.To-3) == 0 && a.Word(2) == "" || a.T.Is(a.From-1, "from", "between") {
			return nil // from 9 to 5
		}
		return pastHour(a, -a.Num(0, 0)).with(a.Word(2))
	},
	"past-part": func(a grammar.Args) any {
		p := pastHour(a, a.Num(0, 0)).checked()
		p.part, _ = a.Arg(2).(part)
		return p
	},
	"zh-hour": func(a grammar.Args) any {
		c := a.Arg(0).(clock)
		c.minute, c.to = max(a.Num(1, 0), 0), a.To
		return c.checked()
	},
	"either-hour": func(a grammar.Args) any { // 三四点
		first, last := a.Num(0, 0), a.Num(1, 0)
		if last != first+1 {
			return nil
		}
		return piece{more: []clock{spokenClock(a, first, 0), spokenClock(a, last, 0)}, either: true}
	},
	"zh-before": func(a grammar.Args) any {
		c := a.Arg(0).(clock)
		if c.hour--; c.hour < 0 {
			c.hour = 23
		}
		c.minute, c.to = 60-a.Num(1, 0), a.To
		if c.minute < 1 {
			return nil
		}
		return c.checked()
	},
	"zh-night": func(a grammar.Args) any {
		c := a.Arg(0).(clock)
		c.minute, c.to = max(a.Num(1, 0), 0), a.To
		p := c.checked()
		p.part = evening
		return p
	},
}

func spokenClock(a grammar.Args, h, m int) clock {
	c := clock{hour: h, minute: m, from: a.From, to: a.To, style: bare}
	if h == 0 || h > 12 {
		c.style = full
	}
	return c
}

// pastHour is "half past 9", "quarter to ten".
func pastHour(a grammar.Args, minutes int) clock {
	c := spokenClock(a, a.Num(1, 0), minutes)
	if minutes < 0 {
		c.hour, c.minute = (c.hour+11)%12, minutes+60
		if c.hour == 0 {
			c.hour = 12
		}
	}
	return c
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

// with is the clock with am or pm, or without.
func (c clock) with(half string) piece {
	if half == "" {
		return c.checked()
	}
	if c.hour > 12 && half == "pm" && c.hour < 24 {
		c.style = fixed // "15:00 pm" is clear
		return c.checked()
	}
	if c.hour > 12 || c.hour == 0 && half == "pm" {
		return invalidPiece("%d %s; write 1 to 12 with am or pm, or 0 to 23 without", c.hour, half)
	}
	c.hour %= 12
	if half == "pm" {
		c.hour += 12
	}
	c.style = fixed
	return c.checked()
}
