package cron

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRuleSlots(t *testing.T) {
	p := planOf(t, Schedule{Rule: "DTSTART:20261101T090000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=2", Zone: "Asia/Shanghai"}, "2026-11-01T00:00:00Z")
	got := strings.Join(slots(p, at(t, "2026-11-01T00:00:00Z"), 3), " ")
	if want := "2026-11-27T09:00:00+08:00 2026-12-25T09:00:00+08:00 none"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p = planOf(t, Schedule{Rule: "DTSTART:20160101T000000\nRRULE:FREQ=MINUTELY"}, "2026-11-01T00:00:00Z")
	first, last, count := p.overdue(at(t, "2020-01-01T00:00:30Z"), at(t, "2026-01-01T00:00:30Z"))
	if !first.Equal(at(t, "2020-01-01T00:01:00Z")) || !last.Equal(at(t, "2026-01-01T00:00:00Z")) || count != maxCounted {
		t.Errorf("overdue %s, %s, %d", first, last, count)
	}
}

func TestRuleIsCheckedAndWrittenOneWay(t *testing.T) {
	s, _ := testStore(t, nil)
	for text, want := range map[string]string{
		"RRULE:FREQ=DAILY": "DTSTART",
		"DTSTART:20261121T100000\nRRULE:FREQ=DAILY;BYHOUR=25":                 "between 0 and 23",
		"DTSTART:20261121T100000\nRRULE:FREQ=DAILY;UNTIL=20261121T190000":     "no time after",
		"DTSTART:20261121T100000\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30":  "no time after",
		"DTSTART:20261121T100000\nEXDATE:" + strings.Repeat("20261121,", 300): "2000 bytes",
	} {
		d := draft()
		d.Schedule = Schedule{Rule: text}
		var in *InputError
		if _, err := s.Add(t.Context(), d); !asInput(err, &in) || in.Field != "rule" || !strings.Contains(in.Text, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	d := draft()
	d.Schedule = Schedule{Rule: " dtstart:20261121T100000\r\nrrule:freq=weekly;byday=we,mo;interval=1"}
	j, err := s.Add(t.Context(), d)
	must(t, err)
	if want := "DTSTART:20261121T100000\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE"; j.Schedule.Rule != want {
		t.Errorf("stored %q, want %q", j.Schedule.Rule, want)
	}
	d.Schedule.Every = time.Minute
	if _, err := s.Add(t.Context(), d); err == nil {
		t.Error("a rule and an interval together are stored")
	}
}

// TestEntriesOfBefore: what was stored before there were rules goes on, and is
// written as it was.
func TestEntriesOfBefore(t *testing.T) {
	for _, entry := range []string{
		`{"v":1,"id":"abcdefghij","name":"pills","message":"take them","addr":{"channel":"telegram","chat":"-100","thread":"7"},"maker":{"channel":"telegram","id":"1","name":"Ann"},"schedule":{"cron":"0 9 * * *","zone":"Asia/Shanghai"},"mode":"notify","misfire":{"policy":"run_once"},"created":"2026-11-21T12:00:00Z","anchor":"2026-11-21T12:00:00Z","last_slot":"2026-11-22T01:00:00Z","pending":{"slot":"2026-11-23T01:00:00Z","late":true,"claimed":"2026-11-23T01:00:01Z","attempts":1},"runs":[{"slot":"2026-11-22T01:00:00Z","fired":"2026-11-22T01:00:00.1Z","result":"delivered","receipt":{"id":"cron:abcdefghij:2026-11-22T01:00:00Z","at":"2026-11-22T01:00:01Z"}}]}`,
		`{"v":1,"id":"abcdefghij","message":"x","addr":{"channel":"telegram","chat":"-100","thread":"7"},"maker":{"channel":"telegram","id":"1"},"direct":true,"schedule":{"at":"2026-11-24T01:00:00Z","zone":"UTC"},"mode":"agent","misfire":{"policy":"run_if_within","within":600000000000},"created":"2026-11-21T12:00:00Z","anchor":"2026-11-21T12:00:00Z","last_slot":"2026-11-21T12:00:00.5Z","paused":true}`,
		`{"v":1,"id":"abcdefghij","message":"x","addr":{"channel":"telegram","chat":"-100","thread":"7"},"maker":{"channel":"telegram","id":"1"},"schedule":{"every":3600000000000,"zone":"UTC"},"mode":"notify","misfire":{"policy":"skip"},"created":"2026-11-21T12:00:00Z","anchor":"2026-11-21T12:00:00Z","last_slot":"2026-11-21T12:00:00Z"}`,
	} {
		j, p, err := decode(key(home, "abcdefghij"), []byte(entry), zoneOf)
		must(t, err)
		value, err := encode(j)
		must(t, err)
		var before, after any
		must(t, json.Unmarshal([]byte(entry), &before))
		must(t, json.Unmarshal(value, &after))
		if a, b := asJSON(t, before), asJSON(t, after); a != b {
			t.Errorf("\n%s\nis written as\n%s", a, b)
		}
		if next := p.next(j.LastSlot); next.IsZero() || j.Over() {
			t.Errorf("%s has no next slot", j.Schedule.shown(j.LastSlot))
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// TestRuleFiresAndEnds: each slot once; after the last one is delivered the job
// goes, as a one-shot does.
func TestRuleFiresAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		s, stop := w.start()
		defer stop()
		j := w.add(Job{Schedule: Schedule{Rule: "DTSTART:20261121T100100\nRRULE:FREQ=MINUTELY;INTERVAL=2;COUNT=3\nEXDATE:20261121T100300"}})
		w.pass(10 * time.Minute)
		want(t, w, "11-21 10:01:00", "11-21 10:05:00")
		if got := w.get(j); !got.Over() || s.timers.count() != 0 {
			t.Errorf("not over: %+v, %d timers", got.State, s.timers.count())
		}
		if next, err := Next(w.get(j), w.clock.Now()); err != nil || !next.IsZero() {
			t.Errorf("next %s, %v", next, err)
		}
		_, err := w.store.Pause(w.ctx, home, j.ID, ann)
		check(t, "pausing what is over", err, ErrOver)
		for _, f := range w.sink.all() {
			w.pass(2 * reconcileEvery)
			w.get(j) // it stays until the last one is delivered
			must(t, w.store.Report(w.ctx, home, j.ID, f.Slot, receiptOf(f)))
		}
		w.pass(reconcileEvery + time.Second)
		_, err = w.store.Get(w.ctx, home, j.ID)
		check(t, "a rule that is over and delivered", err, ErrNotFound)
	})
}

// TestRuleThatWasDown: several slots passed; one delivery stands for them.
func TestRuleThatWasDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		w.add(Job{Schedule: Schedule{Rule: "DTSTART:20261121T100100\nRRULE:FREQ=MINUTELY;INTERVAL=2;COUNT=3"}})
		w.pass(10 * time.Minute)
		_, stop := w.start()
		defer stop()
		w.pass(time.Second)
		want(t, w, "11-21 10:05:00 late +2")
	})
}
