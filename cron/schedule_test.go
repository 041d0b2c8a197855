package cron

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func at(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func planOf(t testing.TB, s Schedule, anchor string) plan {
	t.Helper()
	p, err := s.plan(at(t, anchor), zoneOf)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// slots lists the first n slots after a time, as their zone's clock shows them.
func slots(p plan, after time.Time, n int) []string {
	var all []string
	for range n {
		if after = p.next(after); after.IsZero() {
			return append(all, "none")
		}
		all = append(all, after.In(p.zone).Format(time.RFC3339))
	}
	return all
}

func TestSlots(t *testing.T) {
	for _, c := range []struct {
		name, cron, zone, after string
		want                    []string
	}{
		{"every day", "0 9 * * *", "Asia/Shanghai", "2026-11-21T00:00:00Z", []string{"2026-11-21T09:00:00+08:00", "2026-11-22T09:00:00+08:00"}},
		{"the slot itself is not after itself", "0 9 * * *", "UTC", "2026-11-21T09:00:00Z", []string{"2026-11-22T09:00:00Z"}},
		{"a fraction before the slot", "0 9 * * *", "UTC", "2026-11-21T08:59:59.999999999Z", []string{"2026-11-21T09:00:00Z"}},
		{"seconds", "*/20 * * * * *", "UTC", "2026-11-21T09:00:00Z", []string{"2026-11-21T09:00:20Z", "2026-11-21T09:00:40Z", "2026-11-21T09:01:00Z"}},
		{"weekdays", "30 9 * * 1-5", "UTC", "2026-11-20T10:00:00Z", []string{"2026-11-23T09:30:00Z"}},
		{"@daily is local midnight", "@daily", "America/New_York", "2026-11-21T12:00:00Z", []string{"2026-11-22T00:00:00-05:00"}},
		{"29 February", "0 0 29 2 *", "UTC", "2026-11-21T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		{"day 31", "0 0 31 * *", "UTC", "2026-11-21T00:00:00Z", []string{"2026-12-31T00:00:00Z", "2027-01-31T00:00:00Z", "2027-03-31T00:00:00Z"}},

		{"skipped: the next valid minute", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", []string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"skipped many: once", "*/10 2 * * *", "America/New_York", "2026-03-08T06:00:00Z", []string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"}},
		{"skipped and the minute after it: once", "0 2,3 * * *", "America/New_York", "2026-03-08T06:00:00Z", []string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"}},
		{"doubled: the first", "30 1 * * *", "America/New_York", "2026-11-01T00:00:00-04:00", []string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}},
		{"doubled, asked in the second hour", "30 1 * * *", "America/New_York", "2026-11-01T01:10:00-05:00", []string{"2026-11-02T01:30:00-05:00"}},
		{"after the doubled hour", "0 2 * * *", "America/New_York", "2026-11-01T01:30:00-05:00", []string{"2026-11-01T02:00:00-05:00"}},
		{"Berlin, both changes", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"2026-03-29T03:00:00+02:00"}},
		{"Berlin, doubled", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"half an hour is skipped", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", []string{"2026-10-04T02:30:00+11:00"}},
		{"half an hour is doubled", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", []string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"}},
		{"midnight is skipped", "@daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z", []string{"2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"the last day of the month", "0 9 L * *", "UTC", "2027-01-31T12:00:00Z", []string{"2027-02-28T09:00:00Z", "2027-03-31T09:00:00Z"}},
		{"an offset for a zone", "0 9 * * *", "UTC+08:00", "2026-11-21T00:00:00Z", []string{"2026-11-21T09:00:00+08:00"}},
		{"every hour goes on through the doubled one", "30 * * * *", "America/New_York", "2026-11-01T01:00:00-04:00", []string{"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00"}},
		{"a whole day is skipped", "0 9 * * *", "Pacific/Apia", "2011-12-29T20:00:00Z", []string{"2011-12-31T00:00:00+14:00", "2011-12-31T09:00:00+14:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(t, Schedule{Cron: c.cron, Zone: c.zone}, "2011-01-01T00:00:00Z")
			after, err := time.Parse(time.RFC3339Nano, c.after)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, slots(p, after, len(c.want))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEveryIsAlignedToItsAnchor(t *testing.T) {
	p := planOf(t, Schedule{Every: 7 * time.Minute}, "2026-11-21T10:00:03Z")
	for after, want := range map[string]string{
		"0001-01-01T00:00:00Z": "2026-11-21T10:07:03Z",
		"2026-11-21T10:00:03Z": "2026-11-21T10:07:03Z",
		"2026-11-21T10:07:02Z": "2026-11-21T10:07:03Z",
		"2026-11-21T10:07:03Z": "2026-11-21T10:14:03Z",
		"2026-11-21T11:00:00Z": "2026-11-21T11:03:03Z",
		"2046-11-21T10:00:00Z": "2046-11-21T10:01:03Z", // 20 years later still no drift
	} {
		if got := p.next(at(t, after)); !got.Equal(at(t, want)) {
			t.Errorf("after %s: %s, want %s", after, got, want)
		}
	}
}

func TestNextOfAJob(t *testing.T) {
	j := Job{Schedule: Schedule{Cron: "0 9 * * *", Zone: "UTC"}, State: State{Anchor: at(t, "2026-11-01T00:00:00Z"), LastSlot: at(t, "2026-11-23T09:00:00Z")}}
	next := func() time.Time {
		t.Helper()
		got, err := Next(j, at(t, "2026-11-21T00:00:00Z"))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := next(); !got.Equal(at(t, "2026-11-24T09:00:00Z")) {
		t.Errorf("got %s, want the first slot that is not dealt with", got)
	}
	j.Paused = true
	if got := next(); !got.IsZero() {
		t.Errorf("a paused job has %s", got)
	}
	j.Schedule.Zone = "Mars/Olympus"
	if _, err := Next(j, j.Anchor); err == nil {
		t.Error("no error for a zone that is not known")
	}
}

func TestCheckSaysWhatIsRight(t *testing.T) {
	now := at(t, "2026-11-21T10:00:00Z")
	for _, c := range []struct {
		name  string
		s     Schedule
		field string
		says  string
	}{
		{"nothing", Schedule{}, "schedule", "exactly one"},
		{"two", Schedule{Every: time.Minute, Cron: "* * * * *"}, "schedule", "exactly one"},
		{"0 seconds", Schedule{Every: 0}, "schedule", "at least 1 second"},
		{"less than a second", Schedule{Every: time.Millisecond}, "every", "1 second"},
		{"negative", Schedule{Every: -time.Minute}, "every", "1 second"},
		{"half seconds", Schedule{Every: 1500 * time.Millisecond}, "every", "whole seconds"},
		{"too long", Schedule{Every: maxEvery + time.Second}, "every", "10 years"},
		{"blank", Schedule{Cron: "  "}, "cron", "5 fields"},
		{"four fields", Schedule{Cron: "* * * *"}, "cron", "5 fields"},
		{"seven fields", Schedule{Cron: "0 0 0 * * * 2026"}, "cron", "5 fields"},
		{"minute 60", Schedule{Cron: "60 * * * *"}, "cron", "5 fields"},
		{"words", Schedule{Cron: "每天早上九点"}, "cron", "5 fields"},
		{"step 0", Schedule{Cron: "*/0 * * * *"}, "cron", "5 fields"},
		{"never", Schedule{Cron: "0 0 30 2 *"}, "cron", "no month has this day"},
		{"huge", Schedule{Cron: strings.Repeat("1,", 1000) + "1 * * * *"}, "cron", "longer than"},
		{"zone inside", Schedule{Cron: "CRON_TZ=UTC 0 9 * * *"}, "cron", "as the zone"},
		{"zone that breaks the parser", Schedule{Cron: "TZ=0"}, "cron", "as the zone"},
		{"@every", Schedule{Cron: "@every 10m"}, "cron", "as every"},
		{"past", Schedule{At: now.Add(-time.Second)}, "at", "has passed"},
		{"now", Schedule{At: now}, "at", "has passed"},
		{"in 200 years", Schedule{At: now.AddDate(200, 0, 0)}, "at", "100 years"},
		{"unknown zone", Schedule{Every: time.Minute, Zone: "Atlantis/Nowhere"}, "zone", "Asia/Shanghai"},
		{"zone out of the database", Schedule{Every: time.Minute, Zone: "../../etc/passwd"}, "zone", "IANA"},
		{"huge zone", Schedule{Every: time.Minute, Zone: strings.Repeat("长", 1<<20)}, "zone", "IANA"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.s.Check(now)
			var in *InputError
			if !errors.As(err, &in) || in.Field != c.field || !strings.Contains(in.Text, c.says) {
				t.Errorf("got %v, want one about %s that says %q", err, c.field, c.says)
			} else if len(in.Text) > 1000 {
				t.Errorf("the text has %d bytes", len(in.Text))
			}
		})
	}
	for _, s := range []Schedule{
		{Every: time.Second},
		{Every: maxEvery, Zone: "UTC"},
		{Cron: "@weekly"},
		{Cron: "0 0 9 * * *"},
		{Cron: "0 9 ? * MON-FRI"},
		{At: now.Add(time.Second), Zone: "Local"},
	} {
		if err := s.Check(now); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestOverdueIsWhatWalkingFinds compares with the slow way over spans in which
// there may be far more slots than are walked through.
func TestOverdueIsWhatWalkingFinds(t *testing.T) {
	zones := []string{"UTC", "America/New_York", "Asia/Shanghai", "Australia/Lord_Howe"}
	exprs := []string{"* * * * * *", "* * * * *", "*/7 3 * * *", "* * 3 * * 1", "0 9 1 * *", "30 2 * * *", "59 59 23 31 12 *"}
	rapid.Check(t, func(r *rapid.T) {
		s := Schedule{Zone: rapid.SampledFrom(zones).Draw(r, "zone"), Cron: rapid.SampledFrom(exprs).Draw(r, "cron")}
		if rapid.Bool().Draw(r, "every") {
			s.Cron, s.Every = "", time.Duration(rapid.IntRange(1, 10000).Draw(r, "seconds"))*time.Second
		}
		p := planOf(t, s, "2026-01-01T00:00:00Z")
		after := at(t, "2026-02-20T00:00:00Z").Add(time.Duration(rapid.IntRange(0, 30*86400).Draw(r, "after")) * time.Second)
		now := after.Add(time.Duration(rapid.IntRange(0, 20000).Draw(r, "span")) * time.Second)
		var want []time.Time
		for n := p.next(after); !n.IsZero() && !n.After(now); n = p.next(n) {
			want = append(want, n)
		}
		first, last, count := p.overdue(after, now)
		if len(want) == 0 {
			if count != 0 {
				r.Fatalf("%d slots, want none", count)
			}
			return
		}
		if !first.Equal(want[0]) || !last.Equal(want[len(want)-1]) || count != min(len(want), maxCounted) {
			r.Fatalf("%s … %s (%d), want %s … %s (%d)", first, last, count, want[0], want[len(want)-1], len(want))
		}
	})
}

func TestOverdueOverFiftyYearsIsQuick(t *testing.T) {
	for _, s := range []Schedule{{Cron: "* * * * * *"}, {Cron: "* * * * 1"}, {Cron: "0 0 29 2 *"}, {Cron: "* * * 1 *"}, {Every: time.Second}} {
		p := planOf(t, s, "1976-01-01T00:00:00Z")
		now := at(t, "2026-11-21T10:00:00Z")
		_, last, count := p.overdue(p.anchor, now)
		next := p.next(last)
		if last.IsZero() || count == 0 || last.After(now) || !next.After(now) {
			t.Errorf("%+v: last %s, then %s, want those around %s", s, last, next, now)
		}
	}
}

func TestSlotIDs(t *testing.T) {
	slot := at(t, "2026-11-21T17:00:00+08:00")
	id := SlotID("abc", slot)
	if id != "cron:abc:2026-11-21T09:00:00Z" {
		t.Errorf("got %q", id)
	}
	if job, back, ok := ParseSlotID(id); !ok || job != "abc" || !back.Equal(slot) {
		t.Errorf("read back %q %s %v", job, back, ok)
	}
	for _, bad := range []string{"", "cron:", "cron:abc", "cron::2026-11-21T09:00:00Z", "cron:abc:soon", "cron:abc:2026-11-21T17:00:00+08:00", "out:abc:2026-11-21T09:00:00Z"} {
		if _, _, ok := ParseSlotID(bad); ok {
			t.Errorf("%q is taken for a slot", bad)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add("30 9 * * 1-5", "Asia/Shanghai", int64(1700000000))
	f.Add("TZ=0", "", int64(0))
	f.Add("*/0 * * * * *", "America/New_York", int64(-1))
	f.Add("@every 1s", "Local", int64(1<<40))
	f.Fuzz(func(t *testing.T, expr, zone string, unix int64) {
		now := time.Unix(unix%(1<<33), 0)
		s := Schedule{Cron: expr, Zone: zone}
		if s.Check(now) != nil {
			return
		}
		p, err := s.plan(now, time.LoadLocation)
		if err != nil {
			t.Fatalf("checked, then %v", err)
		}
		for after := now; ; {
			next := p.next(after)
			if next.IsZero() {
				return
			}
			if !next.After(after) {
				t.Fatalf("%q in %q: %s is not after %s", expr, zone, next, after)
			}
			if after = next; after.Sub(now) > 3600*time.Second {
				return
			}
		}
	})
}

func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"a"}`))
	f.Add([]byte(`{"v":1,"id":"a","message":"喝水","addr":{"channel":"c","chat":"d"},"schedule":{"every":1000000000},"mode":"notify","misfire":{"policy":"skip"},"anchor":"2026-01-01T00:00:00Z","last_slot":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, value []byte) {
		j, p, err := decode("a.b", value, time.LoadLocation)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("not marked as damaged: %v", err)
			}
			return
		}
		decide(j, p, at(t, "2026-11-21T10:00:00Z"), time.Time{})
	})
}
