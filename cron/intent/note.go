package intent

import (
	"errors"
	"strings"
	"unicode"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

// notes says that a message without "remind me" notes something to come: a few
// words and a time, without a subject that does it, or one that has to do it.
func (r request) notes() bool {
	n, task := 0, r.task()
	order := r.orders(task)
	tells, leads := r.At("telling", task) > 0, r.First(0, task, "run") >= 0
	open := order && tells && leads // clauses of its own may follow, of which the time is not
	for i := 0; i < len(r.Tokens); i++ {
		tok := r.Tokens[i]
		if i > 0 && tok.Text == "(" {
			break // an aside
		}
		if tok.Kind != grammar.Mark {
			n++
		}
		open = open || order && i > task && (leads || !tells) && r.At("conjunction", i) > 0 || r.meanwhile(i)
		if j := r.At("wish", i); j > 0 {
			i = j - 1
		} else if r.At("subject", i) > 0 && !r.spoken(i) && !(open && i > task) || strings.ContainsAny(tok.Text, "\"“") {
			return false
		}
	}
	return n <= 24
}

// meanwhile says that only what is then may follow a time, clauses of its own too:
// "midnight tonight: the auction ends", "call Ann at 5, when she is home".
func (r request) meanwhile(i int) bool {
	if i == 0 || i >= len(r.Tokens) || r.spoken(i) || !r.spoken(i-1) || r.First(i, len(r.Tokens), "back-then") >= 0 {
		return false
	}
	return r.Is(i, ":") && r.First(i, len(r.Tokens), "speaker") < 0 && r.Across(0, i, "run", "order", "joiner", "mark") || r.At("meanwhile", i) > 0 && r.At("run", 0) < i
}

// task is where a message tells what to do: "ring the vet", behind no more than
// a time; -1 where it does not.
func (r request) task() int {
	i := r.First(0, len(r.Tokens), "task")
	if i < 0 || r.At("not-task", i) > 0 || !r.Across(0, i, beforeAsking...) {
		return -1
	}
	return i
}

// orders says that what is to be done may hold clauses of its own: "tell Marta
// the viewing is at 5". Not so "call was boring".
func (r request) orders(task int) bool {
	if task < 0 {
		return false
	}
	i := r.At("task", task)
	return max(r.At("object", i), r.At("object", i-1)) > 0 || r.At("telling", task) > 0 && r.At("subject", i) == 0
}

// dated says that a message tells what to do, and a time at its beginning or
// end, or behind the time: "dentist tomorrow at 3, bring the card".
func (r request) dated() bool {
	task, first := r.task(), true
	for i := 0; i < len(r.Tokens); i++ {
		j := r.At("run", i)
		if j == 0 {
			continue
		}
		if i < task || task >= 0 && j == len(r.Tokens) || r.At("meanwhile", j) > 0 && r.meanwhile(j) || i > 0 && first && r.detailed(i, j) {
			return r.At("undated", i)+r.At("undated", i-1) == 0
		}
		i, first = j-1, false
	}
	return false
}

// detailed says that a time between two tokens stands before a detail of what is
// noted: "meeting friday at 10 (room 12)".
func (r request) detailed(i, j int) bool {
	k := j
	if r.Is(j, ",", ";", "(", "-", "–") {
		k++
	}
	return r.First(i, j, "clock") >= 0 && r.First(i, j, "repeat") < 0 && (r.At("detail", k) > 0 || r.At("task", k) > 0 && r.At("not-task", k) == 0)
}

// worth says that a note is one: it tells something, at a time that is said as
// only times are said, or that it has to be done. One at a time that cannot be
// is asked about.
func (r request) worth(in Intent, err error) bool {
	task := r.task() >= 0
	if task && errors.Is(err, when.ErrPast) || (task || r.At("date", 0) > 0) && errors.Is(err, when.ErrInvalid) {
		return true
	}
	if unsure, ok := errors.AsType[*when.Ambiguous](err); ok && unsure.Past && !task {
		return false
	}
	all := in.Times
	if in.Question != nil {
		all = in.Question.Choices
	}
	if len(all) == 0 || !all[0].Exact && (err == nil && all[0].Vague || !r.dated()) {
		return false
	}
	return tells(in.Text) || err == nil && in.Timer
}

// tells says that there are letters, or pictures of more than a mood.
func tells(s string) bool {
	return strings.ContainsFunc(s, unicode.IsLetter) || s != "" && s[0] >= 0xf0 && theGrammar().Read(s).At("emoji", 0) == 0
}
