package intent

import (
	"errors"
	"strings"
	"time"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// readRef says which reminder words mean.
func readRef(text string) Ref {
	t := theGrammar().Read(strings.TrimSpace(text))
	i, j := 0, len(t.Tokens)
	if v, _ := t.Match("ref", 0); v != nil {
		return v.(Ref)
	}
	if v, _ := t.Match("ref-number", 0); v != nil {
		return v.(Ref)
	}
	for i < j {
		k := t.At("ref-lead", i)
		if t.Tokens[i].Kind == grammar.Mark {
			k = i + 1
		}
		if k == 0 || k >= j {
			break
		}
		i = k
	}
	for changed := true; changed; {
		changed = false
		for k := i; k < j; k++ {
			if k > i && t.At("ref-tail", k) == j || k == j-1 && t.Tokens[k].Kind == grammar.Mark {
				j, changed = k, true
			}
		}
	}
	if k := t.Cut(i, j); k != text {
		u := theGrammar().Read(k)
		if v, _ := u.Match("ref", 0); v != nil {
			return v.(Ref)
		}
	}
	return timed(theGrammar().Read(t.Cut(i, j)))
}

// at turns the time that a reminder is named by into the hour or the days at
// which it comes. Words name it better.
func (r Ref) at(c Context) Ref {
	if r.Time == "" || r.Words != "" {
		return r
	}
	all, err := when.FindAll(r.Time, c.Now, c.Zone)
	if unsure, ok := errors.AsType[*when.Ambiguous](err); ok {
		all = unsure.Choices
	}
	if len(all) > 0 && all[0].Exact {
		if t := first(all[0], c); !t.IsZero() {
			r.Clock = t.In(c.zone()).Format("15:04")
		}
	}
	if from, to, ok := when.Range(r.Time, c.Now, c.Zone); ok && (r.Clock == "" || to.Sub(from) > 20*time.Hour || when.PartOfDay(r.Time, c.Now, c.Zone)) {
		r.From, r.To = from, to
		if to.Sub(from) < 20*time.Hour {
			r.Clock = ""
		}
	}
	return r
}

func (c Context) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// timed takes the time out of words that name a reminder: "the 3pm one",
// 明天的健身.
func timed(t *grammar.Text) Ref {
	r := Ref{}
	var words []string
	for i := 0; i < len(t.Tokens); {
		if v, k := t.Match("run", i); k > 0 && r.Clock == "" && r.Time == "" {
			p := v.(grammar.Part)
			r.Time = t.Cut(p.From, p.To)
			i = k
			continue
		}
		j := i + 1
		for j < len(t.Tokens) && t.At("run", j) == 0 {
			j++
		}
		for i < j && (t.At("joiner", i) > 0 && t.At("joiner", i) <= j && t.At("list-and", i) == 0 || t.Tokens[i].Kind == grammar.Mark) {
			i++
		}
		for j > i && (t.Is(j-1, "at", "on", "for", "的", "in", "of") || t.At("ref-tail", j-1) == j && i < j-1) {
			j--
		}
		if i < j {
			words = append(words, t.Cut(i, j))
		}
		i = max(j, i+1)
	}
	r.Words = strings.Join(words, " ")
	return r
}
