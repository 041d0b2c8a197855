package when

import (
	"math"
	"slices"
	"time"

	"magpie/cron/calendar"
)

// piece is one part of a time: a day, an hour, "every monday". What a sentence
// says of a time is a row of them.
type piece struct {
	day    *day
	other  *day // which the same words may mean: 二月二
	week   *int // "next week": weeks from the running one
	clock  *clock
	more   []clock // besides
	part   part
	span   *Span // from now
	repeat *repeat
	limit  *limit
	shift  *Span // before the rest of the time, or after it
	ahead  bool  // some time before it: by then
	zone   *time.Location
	unsure *zones  // one of several
	offset bool    // the zone is only an offset: it tells the moment, not where people live
	whole  *Phrase // a cron expression: nothing else may stand with it
	later  bool    // the span counts from what was told before
	vague  bool    // the hour, or all, is chosen for the person
	nag    bool    // until it is done
	err    error   // it looks like a time and is none
	// bare pieces mean a time only at the beginning or behind "remind me": "20m
	// stretch"; weak ones only behind another piece: "tomorrow morning".
	bare, weak bool
	// listed pieces follow the one before behind "and"; either ones behind "or".
	listed, either bool
	// asked pieces have no one meaning.
	asked    bool
	from, to int // tokens
}

type dayKind uint8

const (
	inDays   dayKind = iota // n days from today
	weekday                 // the coming one, or of the week n weeks ahead
	onDate                  // a date; year 0 is the coming one, or in n years
	monthDay                // number, in n months from this one or in the coming one that has it
	nthDay                  // the number-th of week in a month: n months from this one, or date.Month
	weekend                 // of the week that is n weeks ahead, or the coming one
	holiday                 // by its key
	lunarDay                // date.Month and Day of the lunar year
)

// coming stands for an n that was not said.
const coming = -99

// lastDay is the number of the last day of a month.
const lastDay = 100

type day struct {
	kind   dayKind
	n      int // days, weeks, months or years ahead; coming
	date   calendar.Date
	digits bool // 2026-11-22: the hour beside it is of 24
	number int  // of a monthDay, 0 when it is not said ("next month"); of an nthDay, -1 is the last
	week   uint8
	key    string
	work   bool // of an nthDay: of the working days; of inDays: the first of them from then on
	early  int  // so many days before it
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
	now                  bool // the one that it is
	from, to             int  // tokens, for the question
}

// part is a part of the day.
type part uint8

const (
	noPart part = iota
	dawn
	morning
	noon
	afternoon
	dusk
	evening
	workEnd
	beforeBreakfast
	afterBreakfast
	beforeLunch
	afterLunch
	beforeDinner
)

var partNames = map[string]part{
	"dawn": dawn, "morning": morning, "noon": noon, "afternoon": afternoon, "dusk": dusk, "evening": evening, "work-end": workEnd,
	"before-breakfast": beforeBreakfast, "after-breakfast": afterBreakfast, "before-lunch": beforeLunch, "after-lunch": afterLunch, "before-dinner": beforeDinner,
}

// Span is a length of time. Calendar units keep the hour of the wall clock.
type Span struct {
	Months, Days int
	Exact        time.Duration
}

// After is the moment so much later by the wall clock of its zone.
func (s Span) After(t time.Time) time.Time {
	if s.Months != 0 || s.Days != 0 {
		t = calendar.On(t).Months(s.Months).Add(s.Days).At(t.Hour(), t.Minute(), t.Second(), t.Location())
	}
	return t.Add(s.Exact)
}

// Negative is the span to the other side.
func (s Span) Negative() Span { return Span{-s.Months, -s.Days, -s.Exact} }

func (s Span) plus(o Span) Span { return Span{s.Months + o.Months, s.Days + o.Days, s.Exact + o.Exact} }

// long is about how long it is.
func (s Span) long() time.Duration {
	return time.Duration(30*s.Months+s.Days)*24*time.Hour + s.Exact
}

// unit is about how long the longest unit is that it is so many of.
func (s Span) unit() time.Duration {
	const day = 24 * time.Hour
	for _, unit := range []time.Duration{360 * day, 30 * day, 7 * day, day, time.Hour, time.Minute} {
		if s.long()%unit == 0 {
			return unit
		}
	}
	return time.Second
}

func (s Span) calendar() bool { return s.Months != 0 || s.Days != 0 }

type frequency uint8

const (
	daily frequency = iota
	weekly
	monthly
	yearly
	fullHour // at a minute of each hour
	spaced   // every span
)

type repeat struct {
	freq    frequency
	every   int   // every so many days, weeks, months or years; 0 is 1
	week    uint8 // bits of the days, Sunday first
	nth     int   // of a monthly: which of the week; -1 the last
	also    int   // and another one
	numbers []int // days of the month
	months  []int // none: every one
	minute  int   // of a fullHour
	work    bool  // of working days, where nobody means the night
	rest    bool  // of free days
	days    bool  // work is of China's calendar, where the zone is there
	lunar   bool
	sure    bool // numbers that some months lack are meant so
	apart   bool // 每隔两天: every two days or with two days between
	often   int  // so many times a day
	loose   bool // or once on each of its days
	span    Span
	kept    calendar.Days // once the zone is known
	out     uint8         // days of the week that are left out of working days
	holiday string        // of a yearly one
	early   int           // so many days before
}

// limit bounds what repeats, or leaves something out.
type limit struct {
	kind   limitKind
	pieces pieces   // the time that is the bound; of a window the end
	start  pieces   // of a window
	week   uint8    // of an except
	spare  []pieces // of an except: days, or from one to another
	loose  bool     // of one month, which may be a day of it
	free   bool     // an except of public holidays
	span   Span     // of a lasting
	count  int
}

type limitKind uint8

const (
	until limitKind = iota
	since
	lasting
	count
	window
	except
)

const (
	workdays = 1<<time.Monday | 1<<time.Tuesday | 1<<time.Wednesday | 1<<time.Thursday | 1<<time.Friday
	weekends = 1<<time.Saturday | 1<<time.Sunday
)

// maxUnits bounds a number of seconds to what a duration holds; calendar units
// run out earlier, with the year 9999.
const maxUnits = 1e9

// unit of a span; fractions of a month are counted with 30 days.
type unit struct{ months, days, seconds int }

var units = map[string]unit{
	"second": {seconds: 1}, "minute": {seconds: 60}, "hour": {seconds: 3600}, "quarter": {seconds: 900},
	"day": {days: 1}, "week": {days: 7}, "fortnight": {days: 14}, "month": {months: 1}, "season": {months: 3}, "year": {months: 12},
}

// times is n units. What no duration holds is cut to the bound, which lies
// beyond every calendar.
func (u unit) times(n float64) Span {
	n = min(n, maxUnits)
	whole, part := math.Modf(n)
	if u.seconds > 0 {
		seconds := min(n*float64(u.seconds), maxUnits*2)
		return Span{Exact: time.Duration(seconds*float64(time.Second) + 0.5).Round(time.Second)}
	}
	s := Span{Months: int(min(whole*float64(u.months), maxUnits)), Days: int(min(whole*float64(u.days), maxUnits))}
	switch {
	case part == 0:
	case u.months%12 == 0 && u.months > 0:
		s.Months += int(part * 12)
	case u.months > 0:
		s.Days += int(part * float64(u.months) * 30)
	default:
		s.Exact = time.Duration(part * float64(u.days) * 24 * float64(time.Hour)).Round(time.Second)
	}
	return s
}

// pieces are a row of them: one time, or several.
type pieces []piece

// group is a row of pieces in a sentence.
type group struct {
	pieces
	from, to int // tokens
}

func (p piece) isZone() bool { return p.zone != nil || p.unsure != nil }

// failed is the first error of the pieces.
func (all pieces) failed() error {
	for _, p := range all {
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

func (all pieces) has(is func(p piece) bool) bool { return slices.ContainsFunc(all, is) }

func (all pieces) repeats() bool { return all.has(func(p piece) bool { return p.repeat != nil }) }

func (all pieces) parted() bool { return all.has(func(p piece) bool { return p.part != noPart }) }

// bound says that the pieces only bound or move another time.
func (all pieces) bound() bool {
	bounds := func(p piece) bool {
		return p.limit != nil || p.nag || p.shift != nil || p.isZone() && p.whole == nil
	}
	return all.has(bounds) && !all.has(func(p piece) bool {
		return !bounds(p) && (pieces{p}.names() != 0 || p.asked || p.more != nil)
	})
}

// shifts says that one is so much before or after another time.
func (all pieces) shifts() bool { return all.has(func(p piece) bool { return p.shift != nil }) }

type names uint8

const (
	hasDay names = 1 << iota
	hasHour
	hasMore
)

// names says what the pieces hold.
func (all pieces) names() names {
	var n names
	for _, p := range all {
		if p.day != nil || p.week != nil || p.repeat != nil && p.repeat.freq != spaced {
			n |= hasDay
		}
		if p.clock != nil || p.part != noPart {
			n |= hasHour
		}
		if p.span != nil || p.whole != nil || p.err != nil || p.vague || p.repeat != nil && p.repeat.freq == spaced {
			n |= hasMore
		}
	}
	return n
}
