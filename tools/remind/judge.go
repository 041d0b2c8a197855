package remind

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/cron"
	"magpie/cron/intent"
	"magpie/cron/when"
	"magpie/tools"
)

// verdict is what the person's words say of a time that the model gives.
type verdict int

const (
	agreed   verdict = iota // the words say it
	unread                  // the words say no time that could be read
	chosen                  // the words have several meanings, and this is one
	contrary                // the words say something else
)

// judge compares the times that a model has made of what a person said with the
// words themselves, of which one message may say several. It returns the times
// that the words allow.
func judge(said string, got []when.Phrase, c intent.Context) (verdict, []when.Phrase) {
	unsure, allowed := timesOf(said, c)
	if len(allowed) == 0 {
		return unread, nil
	}
	for _, g := range got {
		fits := slices.ContainsFunc(allowed, func(a when.Phrase) bool { return same(g, a, c.Now, slack(said, a, c)) })
		if !fits {
			return contrary, allowed
		}
	}
	if unsure {
		return chosen, allowed
	}
	return agreed, allowed
}

// timesOf are the times that words say, or may say when unsure.
func timesOf(text string, c intent.Context) (unsure bool, all []when.Phrase) {
	if strings.TrimSpace(text) == "" || picks.MatchString(text) {
		return false, nil
	}
	c.Command = true
	in := intent.Read(text, c)
	all = append(all, in.Times...)
	if in.Question != nil && in.Question.Missing == intent.MissTime {
		unsure, all = true, append(all, in.Question.Choices...)
	}
	if in.Op == intent.Snooze && in.Shift != (when.Span{}) {
		all = append(all, when.Phrase{At: in.Shift.After(c.Now.In(zoneOf(c))), Zone: zoneOf(c)})
	}
	found, err := when.FindAll(text, c.Now, c.Zone)
	if a, ok := errors.AsType[*when.Ambiguous](err); ok {
		return true, append(all, a.Choices...)
	}
	if err == nil {
		all = append(all, found...)
	}
	return unsure, all
}

// picks finds words that choose one of several, and are no date.
var picks = regexp.MustCompile(`(?i)^\s*(?:(?:the |number |no\.? ?|option )?(?:\d{1,2}|first|second|third|fourth|fifth|last|former|latter)(?:st|nd|rd|th)?(?: one| option)?|第?[一二两三四五六七八九十\d]+个?吧?)[\s.!。！]*$`)

func zoneOf(c intent.Context) *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// slack is how far apart two readings of words may lie: those of "in 20 minutes"
// move with the clock while a model thinks.
func slack(text string, p when.Phrase, c intent.Context) time.Duration {
	if !p.At.IsZero() && isRelative(text, p, c.Now, c.Zone) {
		return max(3*time.Minute, p.At.Sub(c.Now)/20)
	}
	return 0
}

// isRelative says whether a time of a text moves with the clock.
func isRelative(text string, p when.Phrase, now time.Time, zone *time.Location) bool {
	const step = 7*time.Minute + 13*time.Second
	found, err := when.FindAll(text, now.Add(step), zone)
	for _, f := range found {
		if err == nil && f.At.Equal(p.At.Add(step)) {
			return true
		}
	}
	return false
}

// same says whether two phrases mean the same time. What repeats is the same
// when it comes at the same moments, or as often where it is counted from now.
func same(a, b when.Phrase, now time.Time, slack time.Duration) bool {
	switch {
	case !a.At.IsZero() && !b.At.IsZero():
		return a.Nag == b.Nag && a.At.Sub(b.At).Abs() <= max(slack, time.Minute-1)
	case !a.At.IsZero() || !b.At.IsZero():
		return false
	case a.Every > 0 && b.Every > 0:
		return a.Every == b.Every
	}
	const looked = 6
	x, y := coming(a, now, looked), coming(b, now, looked)
	every := max(a.Every, b.Every)
	counted := every > 0 && every < 24*time.Hour // from another beginning
	for i := range min(len(x), len(y)) {
		if !counted && !x[i].Equal(y[i]) || counted && i > 0 && x[i].Sub(x[i-1]) != y[i].Sub(y[i-1]) {
			return false
		}
	}
	return len(x) == len(y) && len(x) > 0
}

// coming are the next times of what repeats.
func coming(p when.Phrase, now time.Time, n int) (all []time.Time) {
	j := cron.Job{Schedule: cron.Schedule{Every: p.Every, Cron: p.Cron, Rule: p.Rule, Zone: p.Zone.String()}}
	j.Anchor = now.Truncate(time.Second)
	for t := now; len(all) < n; {
		next, err := cron.Next(j, t)
		if err != nil || next.IsZero() {
			break
		}
		all, t = append(all, next), next
	}
	return all
}

// judged refuses times that contradict the person's words; else it returns what
// the model has to say back, "" nothing.
func (a asking) judged(got []when.Phrase) (note string, err error) {
	if a.sc.Said == "" { // no person has begun the turn
		return "", nil
	}
	v, allowed := judge(a.sc.Said, got, a.context())
	return a.verdict(v, got, allowed)
}

func (a asking) verdict(v verdict, got, allowed []when.Phrase) (note string, err error) {
	switch v {
	case agreed:
		return "", nil
	case contrary:
		return "", tools.Errorf(tools.InvalidArgs, "nothing was done: the person's words say %s, but this call says %s. Call again with the time as the person said it; ask the person if neither fits",
			wordsOf(allowed, " or "), wordsOf(got, " and "))
	}
	return "the person did not say this time in words that can be checked; tell them the date and the weekday: " + wordsOf(got, " and "), nil
}

// wordsOf writes times with date, weekday and zone, and how they nag.
func wordsOf(all []when.Phrase, between string) string {
	var words []string
	for _, p := range all {
		text := when.Words(p, "en")
		if p.Nag > 0 {
			text += fmt.Sprintf(", every %d minutes until I say done", int(p.Nag.Minutes()))
		}
		words = append(words, text)
	}
	return strings.Join(words, between)
}

// judgedMove is judged for the new time of a job: what neither the words nor the
// model say stays as it was.
func (a asking) judgedMove(ctx context.Context, text string) (note string, err error) {
	now := a.desk.Now()
	job, err := a.meant(ctx)
	old, next := phraseOf(job), now
	if t, err := cron.Next(job, now); err == nil && !t.IsZero() {
		next = t
	}
	got, wrong := when.Moved(text, old, next, now)
	if err != nil || wrong != nil || a.sc.Said == "" { // the desk asks which one, or says what is wrong with the time
		return "", nil
	}
	v, allowed := judge(a.sc.Said, []when.Phrase{got}, a.context())
	if read := intent.Read(a.sc.Said, a.context()); v == contrary && read.Time != "" {
		moved, err := when.Moved(read.Time, old, next, now)
		if err == nil && same(got, moved, now, slack(read.Time, moved, a.context())) {
			v = agreed
		} else if err == nil {
			allowed = []when.Phrase{moved}
		}
	}
	return a.verdict(v, []when.Phrase{got}, allowed)
}

func phraseOf(j cron.Job) when.Phrase {
	zone, err := when.Zone(j.Schedule.Zone)
	if err != nil {
		zone = time.UTC
	}
	return when.Phrase{Every: j.Schedule.Every, Cron: j.Schedule.Cron, At: j.Schedule.At, Rule: j.Schedule.Rule, Zone: zone}
}

// meant is the one job that a call names.
func (a asking) meant(ctx context.Context) (cron.Job, error) {
	ref := strings.TrimSpace(a.in.JobID)
	if ref == "" {
		ref = a.message(ctx, "").Reply
	}
	return a.desk.Find(ctx, a.who, ref)
}
