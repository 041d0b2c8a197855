package ics

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"magpie/cron"
	"magpie/cron/when"
)

// Read reads the events and to-dos of a calendar file, one entry for each of
// their alarms, or for their start when they have none; days without an hour
// are at 9. Times that name no zone are those of zone; nil is UTC. What has
// passed, is done or cannot be understood is skipped. The error is ErrTooBig,
// ErrNotCalendar or that of the reader.
func Read(r io.Reader, zone *time.Location, now time.Time) (entries []Entry, skipped []Skipped, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read calendar: %w", err)
	}
	if len(data) > maxBytes {
		return nil, nil, ErrTooBig
	}
	text, ok := tidy(string(data))
	if !ok {
		return nil, nil, ErrNotCalendar
	}
	if zone == nil {
		zone = time.UTC
	}
	f := &file{chat: zone, now: now}
	for d := ical.NewDecoder(strings.NewReader(text)); ; {
		cal, err := d.Decode()
		if err != nil && f.zones == nil {
			return nil, nil, ErrNotCalendar
		}
		if err != nil { // the end; what was whole is taken
			return f.entries, f.skipped, nil
		}
		f.calendar(cal.Component)
	}
}

// line is what the library can read; it panics at some others.
var line = regexp.MustCompile(`^[A-Za-z0-9-]+(;[A-Za-z0-9-]+=("[^"]*"|[^";:,]*)(,("[^"]*"|[^";:,]*))*)*:`)

// tidy unfolds the lines and leaves out those that are none. False when there
// is no calendar, or one that is too deep.
func tidy(text string) (string, bool) {
	text = strings.TrimPrefix(strings.ToValidUTF8(text, "�"), "\uFEFF")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.NewReplacer("\n ", "", "\n\t", "").Replace(text)
	var b strings.Builder
	depth, found := 0, false
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.TrimSpace(l)
		name := strings.ToUpper(l[:min(len(l), 6)])
		switch {
		case !line.MatchString(l):
			continue
		case name == "BEGIN:":
			depth++
		case strings.HasPrefix(name, "END:"):
			depth--
		}
		if depth > maxDepth {
			return "", false
		}
		found = found || strings.EqualFold(l, "BEGIN:VCALENDAR")
		if found {
			b.WriteString(l + "\r\n")
		}
	}
	return b.String(), found
}

// file is what is known while one is read.
type file struct {
	chat    *time.Location // of what comes once
	home    *time.Location // of times without a zone
	now     time.Time
	repeats int
	zones   map[string]*time.Location
	moved   map[string][]*ical.Prop // by UID: slots of what repeats that have an event of their own
	entries []Entry
	skipped []Skipped
}

func (f *file) calendar(cal *ical.Component) {
	f.zones, f.moved = map[string]*time.Location{}, map[string][]*ical.Prop{}
	for _, c := range cal.Children {
		if c.Name == ical.CompTimezone {
			f.timezone(c)
		}
		if id := c.Props.Get(ical.PropRecurrenceID); id != nil {
			uid := value(c, ical.PropUID)
			f.moved[uid] = append(f.moved[uid], id)
		}
	}
	f.home = f.chat
	if zone, ok := known(value(cal, "X-WR-TIMEZONE")); ok {
		f.home = zone
	}
	for _, c := range cal.Children {
		if c.Name == ical.CompEvent || c.Name == ical.CompToDo {
			f.component(c)
		}
	}
}

// timezone finds out which zone a file means by a name of its own: one that is
// known elsewhere, or one offset all the year.
func (f *file) timezone(c *ical.Component) {
	tzid := value(c, ical.PropTimezoneID)
	for _, name := range []string{tzid, value(c, "X-LIC-LOCATION")} {
		if zone, ok := known(name); ok {
			f.zones[tzid] = zone
			return
		}
	}
	var offsets []string
	for _, part := range c.Children {
		offsets = append(offsets, value(part, ical.PropTimezoneOffsetTo))
	}
	slices.Sort(offsets)
	if offsets = slices.Compact(offsets); len(offsets) != 1 {
		return
	}
	if zone, ok := fixed(offsets[0]); ok {
		f.zones[tzid] = zone
	}
}

func value(c *ical.Component, name string) string {
	if p := c.Props.Get(name); p != nil {
		return p.Value
	}
	return ""
}

// why is why something is skipped.
type why when.Text

func (w why) Error() string { return w.English }

var (
	whyPast      = why{English: "it has passed", Chinese: "已经过去"}
	whyDone      = why{English: "it is done or cancelled", Chinese: "已完成或已取消"}
	whyNoTime    = why{English: "it has no time", Chinese: "没有时间"}
	whyNoText    = why{English: "it has no title", Chinese: "没有标题"}
	whyPaused    = why{English: "it is paused", Chinese: "已暂停"}
	whyTooMany   = why{English: fmt.Sprintf("there are more than %d", maxEntries), Chinese: fmt.Sprintf("超过%d条", maxEntries)}
	whyBadAlarm  = why{English: "its alarm is not understood", Chinese: "提醒时间看不懂"}
	whyBadTime   = why{English: "its time is not understood", Chinese: "时间看不懂"}
	whyBadRepeat = why{English: "how it repeats is not understood", Chinese: "重复方式看不懂"}
)

func badZone(tzid string) why {
	return why{English: fmt.Sprintf("its time zone %q is not known", clip(tzid)), Chinese: fmt.Sprintf("不认识时区“%s”", clip(tzid))}
}

func clip(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return text
}

func (f *file) component(c *ical.Component) {
	text := unescape(value(c, ical.PropSummary))
	if text == "" {
		text = unescape(value(c, ical.PropDescription))
	}
	if r := []rune(text); len(r) > cron.MaxMessage {
		text = string(r[:cron.MaxMessage])
	}
	schedules, err := f.schedules(c)
	if err == nil && text == "" {
		err = whyNoText
	}
	name := unescape(value(c, propName))
	if len([]rune(name)) > cron.MaxName {
		name = ""
	}
	for _, s := range schedules {
		if err == nil && len(f.entries) == maxEntries {
			err = whyTooMany
		}
		if err == nil {
			f.entries = append(f.entries, Entry{Text: text, Name: name, Schedule: s})
		}
	}
	if err != nil {
		w, ok := errors.AsType[why](err)
		if !ok {
			w = whyBadTime
		}
		f.skipped = append(f.skipped, Skipped{Text: clip(text), Why: when.Text(w)})
	}
}

// schedules are when an event asks to be reminded of, each alarm once; those
// that have passed are left out unless all have.
func (f *file) schedules(c *ical.Component) (all []cron.Schedule, err error) {
	status := strings.ToUpper(value(c, ical.PropStatus))
	start := c.Props.Get(ical.PropDateTimeStart)
	if start == nil {
		start = c.Props.Get(ical.PropDue)
	}
	switch {
	case status == "CANCELLED" || status == "COMPLETED" || c.Props.Get(ical.PropCompleted) != nil:
		return nil, whyDone
	case value(c, propPaused) != "":
		return nil, whyPaused
	case start == nil:
		return nil, whyNoTime
	}
	from, err := f.moment(start, f.home)
	if err != nil {
		return nil, err
	}
	alarms, err := f.alarms(c, from)
	if err != nil {
		return nil, err
	}
	for _, a := range alarms {
		s := cron.Schedule{At: a.at, Zone: f.chat.String()}
		if a.at.IsZero() {
			if s, err = f.schedule(c, from, a.after); err != nil {
				return nil, err
			}
		}
		if !f.ahead(s) {
			continue
		}
		if err := s.Check(f.now); err != nil {
			return nil, whyBadTime
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, whyPast
	}
	return all, nil
}

// ahead says whether a schedule still comes.
func (f *file) ahead(s cron.Schedule) bool {
	next, err := cron.Next(cron.Job{Schedule: s}, f.now)
	return err != nil || !next.IsZero()
}
