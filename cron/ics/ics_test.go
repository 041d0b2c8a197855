package ics

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/calendar"
	"magpie/cron/when"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// now is a Wednesday, 10:00 in Shanghai.
var now = time.Date(2026, 11, 25, 2, 0, 0, 0, time.UTC)

// coming is the text of an entry and when it comes, by the clock of its zone.
func coming(t *testing.T, e Entry, n int) string {
	t.Helper()
	all := []string{e.Text + " (" + e.Schedule.Zone + "):"}
	at := now
	for range n {
		next, err := cron.Next(cron.Job{Schedule: e.Schedule}, at)
		if err != nil {
			t.Fatal(err)
		}
		if next.IsZero() {
			all = append(all, "end")
			break
		}
		all, at = append(all, next.In(zone(t, e.Schedule.Zone)).Format("01-02T15:04")), next
	}
	return strings.Join(all, " ")
}

func TestReadFiles(t *testing.T) {
	for _, c := range []struct {
		file    string
		want    []string
		skipped []string
	}{
		{"google", []string{
			"Dentist, Dr. Bell (Asia/Shanghai): 12-01T22:30 end",
			"Standup (America/New_York): 11-25T09:30 12-07T09:30 12-09T09:30",
			"Standup (moved) (Asia/Shanghai): 12-03T00:00 end",
			"Bob's birthday 🎂 (America/New_York): 02-13T09:00 02-13T09:00 02-13T09:00",
		}, []string{"Long ago: it has passed", "Called off: it is done or cancelled"}},
		{"apple", []string{
			"Backup of the photos that are on the old computer in the cellar and not yet anywhere else (Europe/Berlin): 11-27T17:45 12-25T17:45 01-29T17:45",
			"Call the landlord (Asia/Shanghai): 11-29T02:00 end",
		}, []string{"Pay the bill: it is done or cancelled"}},
		{"outlook", []string{
			"Abgleich; die Zahlen (Europe/Berlin): 11-30T23:30 12-14T23:30 12-28T23:30",
		}, []string{`Somewhere: its time zone "Customized Time Zone" is not known`}},
		{"dingtalk", []string{
			"周会：进度，风险 (Asia/Shanghai): 11-30T09:45 12-07T09:45 12-14T09:45",
			"周会：进度，风险 (Asia/Shanghai): 11-30T10:55 12-07T10:55 12-14T10:55",
		}, nil},
		{"feishu", []string{
			"体检 (Asia/Shanghai): 11-27T08:00 12-04T08:00 12-11T08:00",
			"交房租 (Asia/Shanghai): 12-01T09:00 01-01T09:00 02-01T09:00",
		}, nil},
	} {
		data, err := os.ReadFile("testdata/" + c.file + ".ics")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(data), strings.ReplaceAll(string(data), "\n", "\r\n"), "\uFEFF" + strings.ReplaceAll(string(data), "\n", "\r")} {
			entries, skipped, err := Read(strings.NewReader(text), zone(t, "Asia/Shanghai"), now)
			if err != nil {
				t.Fatal(c.file, err)
			}
			var got, without []string
			for _, e := range entries {
				got = append(got, coming(t, e, 3))
			}
			for _, s := range skipped {
				without = append(without, s.Text+": "+s.Why.English)
				if s.Why.Chinese == "" {
					t.Errorf("%s has no Chinese words", s.Why.English)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: %s", c.file, d)
			}
			if d := cmp.Diff(c.skipped, without); d != "" {
				t.Errorf("%s, skipped: %s", c.file, d)
			}
		}
	}
}

// event is a file with one event.
func event(lines ...string) string {
	return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nSUMMARY:x\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
}

func TestReadEvents(t *testing.T) {
	alarm := func(trigger string) string {
		return "BEGIN:VALARM\r\nACTION:DISPLAY\r\n" + trigger + "\r\nEND:VALARM"
	}
	for _, c := range []struct {
		name, text, want string
	}{
		{"floating", event("DTSTART:20261126T090000"), "x (Asia/Shanghai): 11-26T09:00 end"},
		{"UTC", event("DTSTART:20261126T090000Z"), "x (Asia/Shanghai): 11-26T17:00 end"},
		{"a day", event("DTSTART;VALUE=DATE:20261126"), "x (Asia/Shanghai): 11-26T09:00 end"},
		{"a prefix before the zone", event("DTSTART;TZID=/citadel.org/20210210_1/Europe/London:20261126T090000"), "x (Asia/Shanghai): 11-26T17:00 end"},
		{"UTC that repeats", event("DTSTART:20261126T090000Z", "RRULE:FREQ=DAILY;COUNT=2"), "x (UTC): 11-26T09:00 11-27T09:00 end"},
		{"an alarm the day before on the last of a month", event("DTSTART:20261101T090000", "RRULE:FREQ=MONTHLY;BYMONTHDAY=1", alarm("TRIGGER:-P1D")), "x (Asia/Shanghai): 11-30T09:00 12-31T09:00 01-31T09:00"},
		{"an hour that DTSTART has", event("DTSTART:20261101T090000", "RRULE:FREQ=DAILY;BYHOUR=9;BYMINUTE=0", alarm("TRIGGER:-PT30M")), "x (Asia/Shanghai): 11-26T08:30 11-27T08:30 11-28T08:30"},
		{"hours without an alarm", event("DTSTART:20261101T090000", "RRULE:FREQ=DAILY;BYHOUR=9,12"), "x (Asia/Shanghai): 11-25T12:00 11-26T09:00 11-26T12:00"},
		{"hours and an alarm", event("DTSTART:20261101T090000", "RRULE:FREQ=DAILY;BYHOUR=9,12", alarm("TRIGGER:-PT30M")), "its alarm is not understood"},
		{"until in UTC", event("DTSTART:20261101T090000", "RRULE:FREQ=DAILY;UNTIL=20261127T010000Z"), "x (Asia/Shanghai): 11-26T09:00 11-27T09:00 end"},
		{"until a day", event("DTSTART;VALUE=DATE:20261101", "RRULE:FREQ=DAILY;UNTIL=20261127"), "x (Asia/Shanghai): 11-26T09:00 11-27T09:00 end"},
		{"until with an alarm", event("DTSTART:20261101T090000", "RRULE:FREQ=DAILY;UNTIL=20261127T090000", alarm("TRIGGER:-PT1H")), "x (Asia/Shanghai): 11-26T08:00 11-27T08:00 end"},
		{"exceptions in UTC and days", event("DTSTART:20261101T090000", "RRULE:FREQ=DAILY", "EXDATE:20261126T010000Z", "EXDATE;VALUE=DATE:20261127", alarm("TRIGGER:-PT1H")), "x (Asia/Shanghai): 11-28T08:00 11-29T08:00 11-30T08:00"},
		{"two alarms, one over", event("DTSTART:20261125T103000", alarm("TRIGGER:-PT1H"), alarm("TRIGGER:-PT15M")), "x (Asia/Shanghai): 11-25T10:15 end"},
		{"the same alarm twice", event("DTSTART:20261126T103000", alarm("TRIGGER:-PT1H"), alarm("TRIGGER;VALUE=DURATION:-PT60M")), "x (Asia/Shanghai): 11-26T09:30 end"},
		{"after the end", event("DTSTART:20261126T103000", "DURATION:PT2H", alarm("TRIGGER;RELATED=END:PT10M")), "x (Asia/Shanghai): 11-26T12:40 end"},
		{"past", event("DTSTART:20261125T100000"), "it has passed"},
		{"a rule that is over", event("DTSTART:20260101T100000", "RRULE:FREQ=DAILY;COUNT=5"), "it has passed"},
		{"no time", event("UID:1"), "it has no time"},
		{"no such time", event("DTSTART:20261131T100000"), "its time is not understood"},
		{"an unknown rule", event("DTSTART:20261126T100000", "RRULE:FREQ=SOMETIMES"), "how it repeats is not understood"},
		{"an unknown calendar", event("DTSTART:20261126T100000", "RRULE:RSCALE=HEBREW;FREQ=YEARLY"), "how it repeats is not understood"},
		{"an alarm years before", event("DTSTART:20281126T100000", alarm("TRIGGER:-P900D")), "its alarm is not understood"},
		{"a line that is none", event("DTSTART:20261126T100000", "and so on", "X;A=b", `X;A="b"c:d`), "x (Asia/Shanghai): 11-26T10:00 end"},
		{"no end", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261126T100000\nSUMMARY:x", ErrNotCalendar.Error()},
		{"text", "remind me at 5", ErrNotCalendar.Error()},
		{"too deep", "BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:VEVENT\n", 1000), ErrNotCalendar.Error()},
		{"too big", strings.Repeat("x", maxBytes+1), ErrTooBig.Error()},
	} {
		entries, skipped, err := Read(strings.NewReader(c.text), zone(t, "Asia/Shanghai"), now)
		var got []string
		for _, e := range entries {
			got = append(got, coming(t, e, 3))
		}
		for _, s := range skipped {
			got = append(got, s.Why.English)
		}
		if err != nil {
			got = append(got, err.Error())
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\n")
	for i := range 600 {
		fmt.Fprintf(&b, "BEGIN:VEVENT\nSUMMARY:%d\nDTSTART:20261126T100000\nEND:VEVENT\n", i)
	}
	for range maxRepeats + 100 {
		b.WriteString("BEGIN:VEVENT\nSUMMARY:past\nDTSTART:20260101T100000\nRRULE:FREQ=DAILY;COUNT=2\nEND:VEVENT\n")
	}
	b.WriteString("END:VCALENDAR\n")
	entries, skipped, err := Read(strings.NewReader(b.String()), nil, now)
	if err != nil || len(entries) != maxEntries || len(skipped) != 100+maxRepeats+100 ||
		skipped[0].Why != when.Text(whyTooMany) || skipped[100].Why != when.Text(whyPast) || skipped[100+maxRepeats].Why != when.Text(whyTooMany) {
		t.Errorf("%d entries, %d skipped, %v", len(entries), len(skipped), err)
	}
}

func job(id string, s cron.Schedule) cron.Job {
	return cron.Job{
		ID: id, Message: "吃药; two\nlines, and a backslash \\ " + strings.Repeat("很长", 40), Name: "pills",
		Addr: chat.Address{Channel: "web", Chat: "1"}, Schedule: s, State: cron.State{Anchor: now, LastSlot: now},
	}
}

// TestWriteAndRead: what was written is read with the same times and words.
func TestWriteAndRead(t *testing.T) {
	for name, s := range map[string]cron.Schedule{
		"once":            {At: now.Add(time.Hour), Zone: "Asia/Shanghai"},
		"every":           {Every: 90 * time.Minute, Zone: "Asia/Shanghai"},
		"every week":      {Every: 7 * 24 * time.Hour, Zone: "Asia/Shanghai"},
		"every second":    {Every: time.Second, Zone: "Asia/Shanghai"},
		"daily":           {Cron: "30 9 * * *", Zone: "Europe/Berlin"},
		"weekdays":        {Cron: "30 9 * * 1-5", Zone: "Europe/Berlin"},
		"monthly":         {Cron: "0 9 1,15 * *", Zone: "America/New_York"},
		"the last day":    {Cron: "0 9 L * *", Zone: "America/New_York"},
		"yearly":          {Cron: "0 9 25 12 *", Zone: "America/New_York"},
		"hourly":          {Cron: "*/20 9-17 * * *", Zone: "Asia/Shanghai"},
		"minutely":        {Cron: "* * * * *", Zone: "Asia/Shanghai"},
		"seconds":         {Cron: "*/20 * * * * *", Zone: "Asia/Shanghai"},
		"offset":          {Cron: "0 9 * * *", Zone: "UTC+08:00"},
		"rule":            {Rule: "DTSTART:20261101T180000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=5\nEXDATE:20261225", Zone: "Europe/Berlin"},
		"but for UTC":     {Rule: "DTSTART:20261101T080000\nRRULE:FREQ=DAILY\nRDATE:20261203T120000\nEXDATE:20261201T080000,20261203T080000", Zone: "UTC"},
		"until":           {Rule: "DTSTART:20261101T180000\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;UNTIL=20270101T180000", Zone: "Asia/Shanghai"},
		"lunar":           {Rule: "DTSTART:20261101T080000\nRRULE:FREQ=MONTHLY;RSCALE=CHINESE;BYMONTHDAY=1,15", Zone: "Asia/Shanghai"},
		"working days":    {Rule: "DTSTART:20261101T080000\nRRULE:FREQ=DAILY;X-DAYS=WORK", Zone: "Asia/Shanghai"},
		"before a feast":  {Rule: "DTSTART:20261101T080000\nRRULE:FREQ=YEARLY;X-HOLIDAY=christmas;X-SHIFT=-1", Zone: "America/New_York"},
		"dates":           {Rule: "DTSTART:20261101T080000\nRDATE:20261201T080000,20261203T120000", Zone: "Asia/Shanghai"},
		"either kind day": {Cron: "0 9 13 * 5", Zone: "Asia/Shanghai"},
	} {
		j := job("abc", s)
		var b strings.Builder
		if err := Write(&b, []cron.Job{j}, now); err != nil {
			t.Fatal(name, err)
		}
		for _, line := range strings.SplitAfter(b.String(), "\r\n") {
			if len(line) > 77 || strings.Contains(strings.TrimSuffix(line, "\r\n"), "\n") {
				t.Errorf("%s: line %q", name, line)
			}
		}
		entries, skipped, err := Read(strings.NewReader(b.String()), zone(t, "Asia/Shanghai"), now)
		if err != nil || len(entries) != 1 || len(skipped) != 0 {
			t.Errorf("%s: %d entries, %v, %v\n%s", name, len(entries), skipped, err, b.String())
			continue
		}
		e := entries[0]
		if e.Text != j.Message || e.Name != j.Name {
			t.Errorf("%s: text %q, name %q", name, e.Text, e.Name)
		}
		for i, from := 0, now; i < 12; i++ {
			want, err := cron.Next(j, from)
			if err != nil {
				t.Fatal(err)
			}
			got, err := cron.Next(cron.Job{Schedule: e.Schedule}, from)
			if err != nil || !got.Equal(want) {
				t.Errorf("%s: after %s comes %s (%v), want %s\n%s", name, from, got, err, want, b.String())
				break
			}
			if want.IsZero() {
				break
			}
			from = want
		}
	}
}

func TestWriteFile(t *testing.T) {
	paused := job("p", cron.Schedule{Every: time.Hour, Zone: "UTC"})
	paused.Paused = true
	over := job("o", cron.Schedule{At: now.Add(-time.Hour), Zone: "UTC"})
	two := job("t", cron.Schedule{Rule: "DTSTART:20261101T080000\nRRULE:FREQ=WEEKLY;BYDAY=MO\nRRULE:FREQ=WEEKLY;BYDAY=TU;BYHOUR=9", Zone: "Europe/Berlin"})
	two.Message, two.Name = "x", ""
	var b strings.Builder
	if err := Write(&b, []cron.Job{paused, over, two}, now); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for part, n := range map[string]int{
		"BEGIN:VEVENT\r\n": 3, "BEGIN:VALARM\r\n": 2, "X-MAGPIE-PAUSED:TRUE\r\n": 1, "BEGIN:VTIMEZONE\r\n": 1, "UID:t-2@magpie\r\n": 1,
		"DTSTART;TZID=Europe/Berlin:20261102T080000\r\n": 1, "RRULE:FREQ=WEEKLY;BYDAY=TU;BYHOUR=9\r\n": 1, "DTSTAMP:20261125T020000Z\r\n": 3,
		"BEGIN:DAYLIGHT\r\nDTSTART:20270328T020000\r\nTZNAME:CEST\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nEND:DAYLIGHT\r\n": 1,
	} {
		if got := strings.Count(text, part); got != n {
			t.Errorf("%q is there %d times, want %d", part, got, n)
		}
	}
	if _, skipped, _ := Read(strings.NewReader(text), nil, now); len(skipped) != 1 || skipped[0].Why.English != "it is paused" {
		t.Errorf("skipped %v", skipped)
	}
	if err := Write(&b, []cron.Job{over}, now); !errors.Is(err, ErrEmpty) {
		t.Errorf("nothing to write: %v", err)
	}
}

func TestWindowsZonesAreKnown(t *testing.T) {
	for name := range windows() {
		if _, ok := known(name); !ok {
			t.Error(name)
		}
	}
	for _, name := range []string{"", "Local", "/", "../etc/passwd", "Nowhere/At All"} {
		if z, ok := known(name); ok {
			t.Errorf("%q is %s", name, z)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"google", "apple", "outlook", "dingtalk", "feishu"} {
		data, err := os.ReadFile("testdata/" + name + ".ics")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add(event("DTSTART:20261126T100000", `X;A="b"c:d`, "X;A=b", "RRULE:FREQ=DAILY;X-SHIFT=3"))
	f.Fuzz(func(t *testing.T, text string) {
		entries, _, err := Read(strings.NewReader(text), nil, now)
		if err != nil {
			return
		}
		var jobs []cron.Job
		for i, e := range entries {
			if e.Text == "" {
				t.Fatalf("entry without a text: %+v", e)
			}
			if err := e.Schedule.Check(now); err != nil {
				t.Fatalf("%+v: %v", e, err)
			}
			if r := e.Schedule.Rule; r != "" {
				if _, err := calendar.ParseRule(r); err != nil {
					t.Fatal(err)
				}
			}
			jobs = append(jobs, cron.Job{ID: fmt.Sprint(i), Message: e.Text, Schedule: e.Schedule, State: cron.State{Anchor: now, LastSlot: now}})
		}
		var b strings.Builder
		if err := Write(&b, jobs, now); err != nil && (len(jobs) > 0 || !errors.Is(err, ErrEmpty)) {
			t.Fatalf("%+v: %v", entries, err)
		}
	})
}
