// Package when reads times as people write them, in English and Chinese:
// "in 20 minutes", "every weekday at 9", "明天下午三点", "每隔两小时", ISO dates,
// cron expressions. It is pure: no clock of its own, no goroutines, nothing
// kept between calls; what is now, and in which zone, is told by the caller.
//
// It does not guess. A text with more than one plausible meaning is answered
// with an *[Ambiguous] that asks back and holds every meaning as a complete
// [Phrase]. The conventions it does apply:
//
//   - A day without an hour means 09:00; morning 09:00, noon 12:00, afternoon
//     15:00, evening and night 20:00.
//   - "friday", "周五" is the coming one, today included while the hour is still
//     ahead. "next friday", "下周五" is the Friday of the next week, "this
//     friday", "这周五" of the running one; weeks begin on Monday.
//   - A bare hour ("at 8", "8点") is taken when only one of its two readings
//     lies between 07:00 and 22:59 (07:00 and 18:59 on working days), or when
//     only one is still ahead today; else it is asked. "9:30" is a 24-hour
//     time, but "3:30" is asked. "09:30" and "15" are always 24-hour times.
//   - "10m" is once, in ten minutes; "every 10m" repeats.
//   - An offset beside a time (15:00+02:00, UTC+9) tells the moment; a zone by
//     its name (Asia/Tokyo) is the zone of the phrase; where it is another day now
//     it is asked whose "tomorrow" is meant. What repeats needs a name.
//   - "31st of every month" is asked: only where there is one, or the last day?
//   - "every 2 days" counts from now in hours; with an hour of the day it is asked.
//   - "in 2 days" keeps the hour of the wall clock, "in 48 hours" does not.
//   - A local time that daylight saving skips is the next valid minute; one
//     that it doubles is the first of the two.
package when

import (
	"errors"
	"fmt"
	"time"

	"magpie/cron/calendar"
	"magpie/cron/grammar"
)

// Phrase is a time that was understood. Exactly one of Every, Cron, At and
// Rule is set.
type Phrase struct {
	// Every repeats from the moment at which it was said; whole seconds.
	Every time.Duration
	// Cron is an expression that [ParseCron] reads, in its canonical form: five
	// fields, or six with seconds.
	Cron string
	// At is a moment after now, in whole seconds, in Zone.
	At time.Time
	// Rule is a recurrence that calendar.ParseRule reads; for what neither Every
	// nor Cron can say.
	Rule string
	// Zone is what the text names, else what the caller gave. Cron is meant in
	// it.
	Zone *time.Location
	// Rest is what Find left: the thing to be reminded of, without the time and
	// without "remind me to". Empty after Parse.
	Rest string
	// From and To are the bytes of the text in which the time stands.
	From, To int
	// Vague says that the hour was chosen for the person: "later today".
	Vague bool
	// Exact says that an hour or a length of time was said, not only a day.
	Exact bool
	// Nag is how often it is meant to come again until it is done; 0 = never.
	Nag time.Duration
	// And are the other times of a sentence that names several.
	And []Phrase
}

// Errors of Parse and Find, to be compared with [errors.Is]. What wraps them
// says more, in English.
var (
	// ErrNone: the text holds no time.
	ErrNone = errors.New(`no time found: say for example "in 20 minutes", "tomorrow at 3pm", "every weekday at 09:00"`)
	// ErrPast: the time has passed.
	ErrPast = errors.New("this time has passed")
	// ErrInvalid: it looks like a time, but there is no such time: "25:00",
	// "every 0 minutes", "2026-02-30", a bad cron expression.
	ErrInvalid = errors.New("no such time")
	// ErrBadZone: the text names a time zone that does not exist.
	ErrBadZone = errors.New("unknown time zone")
)

// Ambiguous says that a text has several meanings, and asks which one.
type Ambiguous struct {
	// Question is for the person.
	Question Text
	// Choices are the meanings, each complete with Rest: show them with
	// [Words] and use the one that was chosen. Empty when they cannot be
	// listed.
	Choices []Phrase
	// Past says that the hour was said of today, and has passed; the choices
	// are those of tomorrow.
	Past bool
}

// Error asks in English and lists the choices.
func (a *Ambiguous) Error() string {
	text := "ambiguous time: " + a.Question.English
	for i, c := range a.Choices {
		text += fmt.Sprintf(" (%d) %s", i+1, Words(c, "en"))
	}
	return text
}

// Parse reads a text that is a time and nothing else. A nil zone means UTC.
// The error is ErrNone, ErrPast, ErrInvalid, ErrBadZone or an *Ambiguous.
func Parse(text string, now time.Time, zone *time.Location) (Phrase, error) {
	return newSentence(text, now, zone).parse()
}

// Find reads the time inside a sentence, such as "remind me tomorrow at 3pm to
// call mum" or "每天早上9点提醒我吃药", and gives the rest of it. Of several
// times it takes the one that stands at the edge of the sentence or beside
// "remind me"; an hour that stands apart from its day is joined with it. Text
// that is only a day or an hour inside a sentence is found too: it is for the
// caller to know that a reminder is wanted. Errors as Parse.
func Find(text string, now time.Time, zone *time.Location) (Phrase, error) {
	return newSentence(text, now, zone).find()
}

// FindAll is Find for a sentence that may name several times: one phrase for
// each, with its own Rest.
func FindAll(text string, now time.Time, zone *time.Location) ([]Phrase, error) {
	return FindIn(theGrammar().Read(text), now, zone)
}

// FindIn is FindAll for a text that a grammar with the tables of [Grammar] has
// read.
func FindIn(t *grammar.Text, now time.Time, zone *time.Location) ([]Phrase, error) {
	p, err := sentenceOf(t, now, zone).find()
	if err != nil {
		return nil, err
	}
	return p.All(), nil
}

// All is the phrase and those of And.
func (p Phrase) All() []Phrase {
	all := append([]Phrase{p}, p.And...)
	all[0].And = nil
	return all
}

// Next is when the phrase comes first after a moment; false when it does not.
func (p Phrase) Next(after time.Time) (time.Time, bool) {
	zone := located(p.Zone)
	switch {
	case !p.At.IsZero():
		return p.At, p.At.After(after)
	case p.Every > 0:
		return after.Add(p.Every).In(zone), true
	case p.Rule != "":
		r, err := calendar.ParseRule(p.Rule)
		if err != nil {
			return time.Time{}, false
		}
		return r.Next(after, zone)
	}
	c, err := ParseCron(p.Cron)
	if err != nil {
		return time.Time{}, false
	}
	return c.Next(after, zone)
}
