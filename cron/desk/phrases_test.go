package desk_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/cron"
	"magpie/cron/calendar"
	"magpie/cron/desk"
	"magpie/cron/intent"
)

var (
	phrases = flag.String("phrases", "", "a file of phrases to read besides those of testdata")
	show    = flag.String("show", "", "verdicts of which the phrases are shown, with commas")
)

// verdict of a phrase, the worst last.
type verdict string

const (
	right   verdict = "right"
	unheard verdict = "unheard" // nothing came of it
	asked   verdict = "asked"   // it was asked back, and is clear
	words   verdict = "words"   // at the right time, with other words
	wrong   verdict = "wrong"   // something else came of it, and nobody was asked
)

// after is what came of a phrase.
type after struct {
	said  desk.Said
	mine  bool
	err   error
	made  []cron.Job
	gone  []string // n of the world
	other []string // changed
}

var numbers = []string{"", "mum", "gym", "pills", "milk", "team", "rent"}

// tell says a phrase in a new world.
func tell(t testing.TB, p phrase) (*world, after) {
	t.Helper()
	zone := "Asia/Shanghai"
	if p.Lang == "en" {
		zone = "America/New_York"
	}
	w := worldIn(t, p.Lang, zone)
	w.Desk = desk.New(w.jobs, w.notes)
	var order []string
	for _, n := range numbers[1:] {
		order = append(order, w.known[n].ID)
	}
	if err := w.Showed(t.Context(), w.ann, order...); err != nil {
		t.Fatal(err)
	}
	if p.Op == "undo" {
		if _, err := w.Do(t.Context(), w.ann, intent.Intent{Kind: intent.Change, Op: intent.Remove, Ref: intent.Ref{Number: 2}}, desk.Message{}); err != nil {
			t.Fatal(err)
		}
	}
	before, err := w.jobs.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var a after
	a.said, a.mine, a.err = w.Say(t.Context(), w.ann, desk.Message{Text: p.Say})
	now, err := w.jobs.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range now {
		i := slices.IndexFunc(before, func(o cron.Job) bool { return o.ID == j.ID })
		switch {
		case j.Hidden:
		case i < 0:
			a.made = append(a.made, j)
		case fmt.Sprint(before[i].Schedule, before[i].Message, before[i].Name, before[i].Paused, before[i].LastSlot, before[i].Pending) != fmt.Sprint(j.Schedule, j.Message, j.Name, j.Paused, j.LastSlot, j.Pending):
			a.other = append(a.other, w.name(j.ID))
		}
	}
	for _, j := range before {
		if !slices.ContainsFunc(now, func(o cron.Job) bool { return o.ID == j.ID }) {
			a.gone = append(a.gone, w.name(j.ID))
		}
	}
	return w, a
}

func (w *world) name(id string) string {
	for n, j := range w.known {
		if j.ID == id {
			return n
		}
	}
	return id
}

func (a after) nothing() bool { return len(a.made)+len(a.gone)+len(a.other) == 0 }

// refusedOrAsked says that the person was told why nothing came of it.
func (a after) refusedOrAsked() bool {
	_, refused := errors.AsType[*desk.Refusal](a.err)
	return a.said.Asked || refused
}

// judge compares what came of a phrase with what must.
func (w *world) judge(t testing.TB, p phrase, a after) verdict {
	t.Helper()
	switch p.Class {
	case "none":
		if a.nothing() && !a.said.Asked {
			return right
		}
		if a.nothing() {
			return asked
		}
		return wrong
	case "ask":
		if !a.nothing() {
			return wrong
		}
		if !a.mine {
			return unheard
		}
		return w.offered(p, a)
	case "query":
		if !a.nothing() {
			return wrong
		}
		return heard(a, right)
	case "create":
		if a.nothing() || len(a.gone)+len(a.other) > 0 {
			if !a.nothing() {
				return wrong
			}
			return heard(a, unheard)
		}
		return w.created(p, a)
	}
	if a.nothing() && p.Op != "done" {
		return heard(a, unheard)
	}
	return w.changed(t, p, a)
}

func heard(a after, otherwise verdict) verdict {
	switch {
	case !a.mine:
		return unheard
	case a.refusedOrAsked() || a.err != nil:
		return asked
	}
	return otherwise
}

// offered says whether the readings were offered.
func (w *world) offered(p phrase, a after) verdict {
	for _, c := range p.Choices {
		if !strings.Contains(text(a), c[11:16]) {
			return words
		}
	}
	return right
}

func text(a after) string {
	if a.err != nil {
		return a.err.Error()
	}
	return a.said.Text
}

// created compares the jobs that were made.
func (w *world) created(p phrase, a after) verdict {
	if p.Vague {
		return right
	}
	var have []string
	for _, j := range a.made {
		if len(p.At) > 0 && j.Schedule.At.IsZero() {
			return wrong
		}
		have = append(have, w.times(j, 3)...)
	}
	want := append(slices.Clone(p.At), p.Next...)
	slices.Sort(have)
	if len(p.At) == 0 && len(have) > len(want) {
		have = have[:len(want)]
	}
	for i := range want {
		want[i] = full(want[i])
	}
	if !slices.Equal(want, have) {
		return wrong
	}
	if len(p.Next) > 0 && (p.End != "") != ends(a.made) {
		return wrong
	}
	for _, j := range a.made {
		if !slices.ContainsFunc(p.Text, func(t string) bool { return plain(t) == plain(j.Message) || t == "" }) {
			return words
		}
	}
	return right
}

func ends(jobs []cron.Job) bool {
	for _, j := range jobs {
		if r, err := calendar.ParseRule(j.Schedule.Rule); err != nil || r.Parts[0].Count == 0 && r.Parts[0].Until.IsZero() {
			return false
		}
	}
	return true
}

func full(at string) string {
	if len(at) == len("2006-01-02T15:04") {
		return at + ":00"
	}
	return at
}

// times are the next times of a job, on the wall.
func (w *world) times(j cron.Job, n int) (all []string) {
	at := w.now
	first, _ := cron.Next(j, at)
	for range n {
		next, err := cron.Next(j, at)
		if err != nil || next.IsZero() {
			break
		}
		all = append(all, next.In(w.ann.Zone).Format("2006-01-02T15:04:05"))
		j.LastSlot, at = next, next
	}
	if j.Nag > 0 && len(all) == 1 {
		for k := 1; k < n; k++ {
			all = append(all, first.Add(time.Duration(k)*j.Nag).In(w.ann.Zone).Format("2006-01-02T15:04:05"))
		}
	}
	return all
}

func plain(s string) string {
	s = strings.Map(func(r rune) rune { // an emoji is no other text
		if r >= 0x1f000 || r == 0xfe0f {
			return ' '
		}
		return r
	}, s)
	return strings.ToLower(strings.Trim(strings.Join(strings.Fields(s), " "), " .,!~。，！…“”\"'"))
}

// changed compares the reminder that was meant.
func (w *world) changed(t testing.TB, p phrase, a after) verdict {
	n, number := p.Ref.(float64)
	name := ""
	if number && n > 0 {
		name = numbers[int(n)]
	}
	j, there := w.get(t, cmp.Or(name, "mum"))
	touched := append(slices.Clone(a.other), a.gone...)
	if number && n > 0 && slices.ContainsFunc(touched, func(o string) bool { return o != name }) {
		return wrong
	}
	next := ""
	if times := w.times(j, 1); len(times) > 0 {
		next = times[0]
	}
	want := ""
	if len(p.Next) > 0 {
		want = full(p.Next[0])
	}
	ok := true
	switch p.Op {
	case "undo":
		return map[bool]verdict{true: right, false: wrong}[len(a.made) == 1 && a.made[0].ID == w.known["gym"].ID]
	case "cancel":
		ok = !there && len(a.made) == 0
	case "pause":
		ok = j.Paused
	case "resume":
		ok = !j.Paused
	case "snooze":
		if n > 0 {
			ok = next == want || slices.ContainsFunc(a.made, func(j cron.Job) bool { return slices.Contains(w.times(j, 1), want) })
		} else {
			ok = len(a.made) == 1 && (want == "" || w.times(a.made[0], 1)[0] == want) && len(touched) == 0
		}
	case "done":
		if !a.mine {
			return unheard
		}
		ok = len(a.made) == 0 && (len(touched) == 0 || number && n > 0)
		if ok && a.refusedOrAsked() {
			return asked
		}
	case "text":
		ok = there && slices.ContainsFunc(p.Text, func(t string) bool { return plain(t) == plain(j.Message) || plain(t) == plain(j.Name) })
	case "move", "repeat":
		ok = there && (want == "" || next == want || slices.ContainsFunc(a.made, func(j cron.Job) bool { return slices.Contains(w.times(j, 1), want) }))
	case "end":
		ok = there && slices.Equal(w.times(j, 100)[max(0, len(w.times(j, 100))-1):], []string{full(p.End)})
	case "skip":
		ok = there && len(touched) == 1
	case "once":
		ok = there && !j.Schedule.At.IsZero()
	case "run":
		ok = there && j.Pending != nil
	}
	return map[bool]verdict{true: right, false: wrong}[ok]
}

// TestPhrases reads what people write, and prints how much of it is understood
// by class.
func TestPhrases(t *testing.T) {
	files, err := filepath.Glob("testdata/phrases/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no phrases", err)
	}
	if *phrases != "" {
		files = []string{*phrases}
	}
	for _, file := range files {
		count := map[string]map[verdict]int{}
		for _, p := range load(t, file) {
			w, a := tell(t, p)
			v := w.judge(t, p, a)
			if count[p.Class] == nil {
				count[p.Class] = map[verdict]int{}
			}
			count[p.Class][v]++
			if strings.Contains(*show, string(v)) || *show == "all" && v != right {
				t.Logf("%s: %s/%s %q\n\t%q\n\t%v", v, p.Class, p.Tag, p.Say, text(a), w.seen(t))
			}
		}
		table(t, file, count)
	}
}
