package when

import (
	"time"
)

// piece is one part of a time: a day, an hour, "every monday". What a sentence
// says of a time is a bag of them, in any order.
type piece struct {
	day    *day
	week   *int // "next week": weeks from the running one
	clock  *clock
	part   part
	span   *span
	repeat *repeat
	zone   *time.Location
	offset bool    // the zone is only an offset: it tells the moment, not where people live
	whole  *Phrase // a cron expression: nothing else may stand with it
	err    error   // it looks like a time and is none
	// weak pieces mean a time only behind another one: "tomorrow morning".
	weak bool
	// bare ones only at the beginning or behind "remind me": "20m stretch".
	bare bool
}

type dayKind uint8

const (
	inDays   dayKind = iota // n days from today
	weekday                 // the coming one
	calendar                // a date; year 0 is the coming one, or in n years
	monthDay                // number, in n months from this one or in the coming one that has it
	weekend                 // of the week that is n weeks ahead, or the coming one
)

// coming stands for an n that was not said.
const coming = -99

// lastDay is the number of the last day of a month.
const lastDay = 100

type day struct {
	kind   dayKind
	n      int // days, weeks, months or years ahead; coming
	date   date
	digits bool // 2026-11-22: the hour beside it is of 24
	number int  // of a monthDay; 0 when it is not said ("next month")
	week   time.Weekday
}

// style is how an hour was written.
type style uint8

const (
	bare     style = iota // "8": morning or evening
	colon                 // "8:30"
	full                  // "08:30", "15", "零点": of 24 hours
	fixed                 // "8pm": 24 hours, whatever part of the day is named beside it
	midnight              // the one that comes, or one of two
)

type clock struct {
	hour, minute, second int
	style                style
	part                 part
	from, to             int // tokens, for the question
}

// part is a part of the day.
type part uint8

const (
	noPart part = iota
	dawn
	morning
	noon
	afternoon
	evening
)

// span is a length of time. Calendar units keep the hour of the wall clock.
type span struct {
	months, days int
	exact        time.Duration
}

type repeatKind uint8

const (
	daily repeatKind = iota
	weekly
	monthly
	yearly
	fullHour // at a minute of each hour
	spaced   // every span
)

type repeat struct {
	kind    repeatKind
	week    uint8 // bits of the days, Sunday first
	numbers []int // days of the month
	minute  int   // of a fullHour
	work    bool  // of working days, where nobody means the night
	sure    bool  // numbers that some months lack are meant so
	apart   bool  // 每隔两天: every two days or with two days between
	span    span
}

const (
	workdays = 1<<time.Monday | 1<<time.Tuesday | 1<<time.Wednesday | 1<<time.Thursday | 1<<time.Friday
	weekends = 1<<time.Saturday | 1<<time.Sunday
)

// matcher reads the piece that begins at i, and says where it ends; 0 when
// none does.
type matcher func(ts tokens, i int) (piece, int)

// matchers in no order: the longest match counts, of equal ones the first.
var matchers = []matcher{
	isoDate, zoneName, offset, digital,
	englishClock, englishPart, englishDay, englishDate, englishMonthDay, englishSpan, englishRepeat, englishEvery, englishMonthly,
	chineseClock, chinesePart, chineseDay, chineseWeek, chineseDate, chineseMonthDay, chineseSpan, chineseRepeat, chineseEvery,
}

// match finds the longest piece at i.
func (ts tokens) match(i int) (best piece, next int) {
	for _, m := range matchers {
		if p, j := m(ts, i); j > next {
			best, next = p, j
		}
	}
	return best, next
}

func (s span) plus(o span) span {
	return span{s.months + o.months, s.days + o.days, s.exact + o.exact}
}

// unit of a span; fractions of a month are counted with 30 days.
type unit struct{ months, days, seconds int }

var (
	unitSecond = unit{seconds: 1}
	unitMinute = unit{seconds: 60}
	unitHour   = unit{seconds: 3600}
	unitDay    = unit{days: 1}
	unitWeek   = unit{days: 7}
	unitMonth  = unit{months: 1}
	unitYear   = unit{months: 12}
)

// maxUnits bounds a number of seconds to what a duration holds; calendar units
// run out earlier, with the year 9999.
const maxUnits = 1e9

// times is n units. What no duration holds is cut to the bound, which lies
// beyond every calendar.
func (u unit) times(n float64) span {
	n = min(n, maxUnits)
	whole := int(n)
	part := n - float64(whole)
	if u.seconds > 0 {
		seconds := min(n*float64(u.seconds), maxUnits*2)
		return span{exact: time.Duration(seconds*float64(time.Second) + 0.5).Round(time.Second)}
	}
	s := span{months: min(whole*u.months, maxUnits), days: min(whole*u.days, maxUnits)}
	if part > 0 && u.months > 0 {
		days := part * float64(u.months) * 30
		if u.months == 12 {
			s.months += int(part * 12)
			return s
		}
		s.days += int(days)
	}
	if part > 0 && u.days > 0 {
		s.exact = time.Duration(part * float64(u.days) * 24 * float64(time.Hour)).Round(time.Second)
	}
	return s
}
