package calendar

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/teambition/rrule-go"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func parse(t testing.TB, text string) *Rule {
	t.Helper()
	r, err := ParseRule(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

// slots are the first few after a time, as the clock of the zone shows them.
func slots(t testing.TB, r *Rule, after time.Time, zone *time.Location, n int) string {
	t.Helper()
	var all []string
	for range n {
		next, ok := r.Next(after, zone)
		if !ok {
			all = append(all, "end")
			break
		}
		if !next.After(after) {
			t.Fatalf("%s: after %s comes %s", r, after, next)
		}
		all = append(all, next.Format("2006-01-02 15:04"))
		after = next
	}
	return strings.Join(all, ", ")
}

func TestRule(t *testing.T) {
	shanghai := zone(t, "Asia/Shanghai")
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, shanghai) // a Wednesday
	for _, c := range []struct{ rule, want string }{
		{"FREQ=DAILY;BYHOUR=9;BYMINUTE=0", "2026-11-26 09:00, 2026-11-27 09:00, 2026-11-28 09:00"},
		{"FREQ=DAILY", "2026-11-26 10:00, 2026-11-27 10:00, 2026-11-28 10:00"},
		{"FREQ=DAILY;BYHOUR=9,18;BYMINUTE=0,30", "2026-11-25 18:00, 2026-11-25 18:30, 2026-11-26 09:00"},
		{"FREQ=DAILY;INTERVAL=2", "2026-11-27 10:00, 2026-11-29 10:00, 2026-12-01 10:00"},
		{"FREQ=DAILY;COUNT=2", "2026-11-26 10:00, end"},
		{"FREQ=DAILY;UNTIL=20261127T100000", "2026-11-26 10:00, 2026-11-27 10:00, end"},
		{"FREQ=DAILY;UNTIL=20261126", "2026-11-26 10:00, end"},
		{"FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;BYHOUR=8;BYMINUTE=0", "2026-12-07 08:00, 2026-12-09 08:00, 2026-12-21 08:00"},
		{"FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO", "2026-11-29 10:00, 2026-12-07 10:00, 2026-12-13 10:00"},
		{"FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=SU,MO", "2026-12-06 10:00, 2026-12-07 10:00, 2026-12-20 10:00"},
		{"FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18;BYMINUTE=0", "2026-11-27 18:00, 2026-12-25 18:00, 2027-01-29 18:00"},
		{"FREQ=MONTHLY;BYMONTHDAY=-1", "2026-11-30 10:00, 2026-12-31 10:00, 2027-01-31 10:00"},
		{"FREQ=MONTHLY;BYMONTHDAY=31", "2026-12-31 10:00, 2027-01-31 10:00, 2027-03-31 10:00"},
		{"FREQ=MONTHLY;BYDAY=MO,-1FR;BYHOUR=9;BYMINUTE=0", "2026-11-27 09:00, 2026-11-30 09:00, 2026-12-07 09:00"},
		{"FREQ=YEARLY;BYMONTH=12;BYDAY=1MO,SU;BYHOUR=9;BYMINUTE=0", "2026-12-06 09:00, 2026-12-07 09:00, 2026-12-13 09:00"},
		{"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "2026-11-30 10:00, 2026-12-31 10:00, 2027-01-29 10:00"},
		{"FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1", "2027-02-01 10:00, 2027-05-01 10:00, 2027-08-01 10:00"},
		{"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "2028-02-29 10:00, 2032-02-29 10:00, 2036-02-29 10:00"},
		{"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "end"},
		{"FREQ=YEARLY;BYYEARDAY=-1", "2026-12-31 10:00, 2027-12-31 10:00, 2028-12-31 10:00"},
		{"FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO", "2027-01-04 10:00, 2028-01-03 10:00, 2029-01-01 10:00"},
		{"FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYMONTHDAY=5", "2028-01-05 10:00, 2030-01-05 10:00, 2032-01-05 10:00"},
		{"FREQ=MINUTELY;INTERVAL=30;BYHOUR=9,10", "2026-11-25 10:30, 2026-11-26 09:00, 2026-11-26 09:30"},
		{"FREQ=HOURLY;BYHOUR=9,10,11;BYDAY=MO,TU,WE,TH,FR", "2026-11-25 11:00, 2026-11-26 09:00, 2026-11-26 10:00"},
		{"FREQ=HOURLY;INTERVAL=5", "2026-11-25 15:00, 2026-11-25 20:00, 2026-11-26 01:00"},
		{"FREQ=HOURLY;INTERVAL=12;BYMINUTE=15", "2026-11-25 10:15, 2026-11-25 22:15, 2026-11-26 10:15"},
		{"FREQ=YEARLY;RSCALE=CHINESE;BYMONTH=8;BYMONTHDAY=15", "2027-09-15 10:00, 2028-10-03 10:00, 2029-09-22 10:00"},
		{"FREQ=YEARLY;RSCALE=CHINESE;BYMONTH=12;BYMONTHDAY=-1", "2027-02-05 10:00, 2028-01-25 10:00, 2029-02-12 10:00"},
		{"FREQ=MONTHLY;RSCALE=CHINESE;BYMONTHDAY=1,15", "2026-12-09 10:00, 2026-12-23 10:00, 2027-01-08 10:00"},
		{"FREQ=YEARLY;X-HOLIDAY=spring-festival", "2027-02-06 10:00, 2028-01-26 10:00, 2029-02-13 10:00"},
		{"FREQ=YEARLY;X-HOLIDAY=christmas;X-SHIFT=-1;BYHOUR=20;BYMINUTE=0", "2026-12-24 20:00, 2027-12-24 20:00, 2028-12-24 20:00"},
		{"FREQ=YEARLY;X-HOLIDAY=new-years-day;X-SHIFT=-1", "2026-12-31 10:00, 2027-12-31 10:00, 2028-12-31 10:00"},
		{"FREQ=YEARLY;X-HOLIDAY=easter;COUNT=2", "2027-03-28 10:00, 2028-04-16 10:00, end"},
		{"FREQ=MONTHLY;X-SHIFT=2;BYMONTHDAY=-1", "2026-12-02 10:00, 2027-01-02 10:00, 2027-02-02 10:00"},
		{"FREQ=DAILY;X-DAYS=WORK", "2026-11-26 10:00, 2026-11-27 10:00, 2026-11-30 10:00"},
		{"FREQ=DAILY;X-DAYS=REST", "2026-11-28 10:00, 2026-11-29 10:00, 2026-12-05 10:00"},
		{"FREQ=HOURLY;X-DAYS=REST;BYHOUR=8,9;BYMINUTE=0", "2026-11-28 08:00, 2026-11-28 09:00, 2026-11-29 08:00"},
	} {
		r := parse(t, "DTSTART:20261125T100000\nRRULE:"+c.rule)
		if got := slots(t, r, now, shanghai, 3); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.rule, got, c.want)
		}
	}
	for _, c := range []struct{ rule, want string }{
		{"DTSTART:20251201T090000\nRRULE:FREQ=MONTHLY;BYMONTHDAY=1,2,3,4,5,6,7,8,9,10;X-DAYS=WORK;BYSETPOS=1", "2026-01-04 09:00, 2026-02-02 09:00, 2026-03-02 09:00, 2026-04-01 09:00, 2026-05-06 09:00"},
		{"DTSTART:20251201T090000\nRRULE:FREQ=DAILY;BYMONTH=2;X-DAYS=REST", "2026-02-01 09:00, 2026-02-07 09:00, 2026-02-08 09:00, 2026-02-15 09:00, 2026-02-16 09:00"},
		{"DTSTART:20251231T090000\nRRULE:FREQ=DAILY\nEXDATE:20260101T090000,20260103\nRDATE:20260102T120000", "2026-01-02 09:00, 2026-01-02 12:00, 2026-01-04 09:00, 2026-01-05 09:00, 2026-01-06 09:00"},
		{"DTSTART:20251231T090000\nRRULE:FREQ=WEEKLY;BYDAY=SA;COUNT=2\nRRULE:FREQ=WEEKLY;BYDAY=SA,SU;BYHOUR=10;UNTIL=20260110", "2026-01-03 09:00, 2026-01-03 10:00, 2026-01-04 10:00, 2026-01-10 09:00, 2026-01-10 10:00"},
		{"DTSTART:20251231T090000\nRDATE:20260103T120000,20260102T120000", "2026-01-02 12:00, 2026-01-03 12:00, end"},
	} {
		after := time.Date(2025, 12, 31, 12, 0, 0, 0, shanghai)
		if got := slots(t, parse(t, c.rule), after, shanghai, 5); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.rule, got, c.want)
		}
	}
}

// TestFirstWorkday: X-DAYS alone is a set of all days of the period.
func TestFirstWorkday(t *testing.T) {
	shanghai := zone(t, "Asia/Shanghai")
	r := parse(t, "DTSTART:20260101T090000\nRRULE:FREQ=MONTHLY;X-DAYS=WORK;BYSETPOS=1,-1")
	want := "2026-01-04 09:00, 2026-01-30 09:00, 2026-02-02 09:00, 2026-02-28 09:00, 2026-03-02 09:00, 2026-03-31 09:00"
	if got := slots(t, r, time.Date(2026, 1, 1, 0, 0, 0, 0, shanghai), shanghai, 6); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r = parse(t, "DTSTART:20260101T090000\nRRULE:FREQ=WEEKLY;X-DAYS=WORK;BYSETPOS=-1")
	want = "2026-01-04 09:00, 2026-01-09 09:00, 2026-01-16 09:00"
	if got := slots(t, r, time.Date(2026, 1, 1, 0, 0, 0, 0, shanghai), shanghai, 3); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEvery(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second:      "FREQ=SECONDLY",
		90 * time.Second: "FREQ=SECONDLY;INTERVAL=90",
		45 * time.Minute: "FREQ=MINUTELY;INTERVAL=45",
		36 * time.Hour:   "FREQ=HOURLY;INTERVAL=36",
		48 * time.Hour:   "FREQ=DAILY;INTERVAL=2",
	} {
		p := Every(d)
		if got := p.String(); got != want {
			t.Errorf("every %s is %s, want %s", d, got, want)
		}
	}
}

func TestDaylightSaving(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	show := func(rule string, after time.Time, n int) string {
		r := parse(t, rule)
		var all []string
		for range n {
			next, ok := r.Next(after, berlin)
			if !ok {
				t.Fatal(rule)
			}
			all, after = append(all, next.Format("02 15:04 MST")), next
		}
		return strings.Join(all, ", ")
	}
	march, october := time.Date(2026, 3, 28, 12, 0, 0, 0, berlin), time.Date(2026, 10, 24, 12, 0, 0, 0, berlin)
	for _, c := range []struct {
		rule  string
		after time.Time
		want  string
	}{
		{"FREQ=DAILY;BYHOUR=2;BYMINUTE=30", march, "29 03:00 CEST, 30 02:30 CEST"},
		{"FREQ=DAILY;BYHOUR=2;BYMINUTE=0,30", march, "29 03:00 CEST, 30 02:00 CEST"},
		{"FREQ=DAILY;BYHOUR=2,3;BYMINUTE=0", march, "29 03:00 CEST, 30 02:00 CEST"},
		{"FREQ=DAILY;BYHOUR=2;BYMINUTE=30", october, "25 02:30 CEST, 26 02:30 CET"},
		{"FREQ=HOURLY", march.Add(13 * time.Hour), "29 03:00 CEST, 29 04:00 CEST"},
		{"FREQ=HOURLY", october.Add(13 * time.Hour), "25 02:00 CEST, 25 03:00 CET"},
		{"FREQ=MINUTELY;INTERVAL=30", october.Add(14*time.Hour + 30*time.Minute), "25 03:00 CET, 25 03:30 CET"},
	} {
		if got := show("DTSTART:20260101T000000\nRRULE:"+c.rule, c.after, 2); got != c.want {
			t.Errorf("%s after %s: %s, want %s", c.rule, c.after, got, c.want)
		}
	}
	// 02:45 when the clock shows it again.
	again := october.Add(15*time.Hour + 45*time.Minute)
	if got := show("DTSTART:20260101T000000\nRRULE:FREQ=SECONDLY", again, 1); got != "25 03:00 CET" {
		t.Errorf("after %s: %s", again, got)
	}
}

// randomRule is a rule that the library knows too.
func randomRule(random *rand.Rand) string {
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	freq := pick("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY")
	text := "FREQ=" + freq + pick("", "", ";INTERVAL=2", ";INTERVAL=3", ";INTERVAL=7")
	text += pick("", "", ";BYMONTH=2", ";BYMONTH=1,6,12")
	switch freq {
	case "YEARLY":
		text += pick("", ";BYDAY=1MO", ";BYDAY=-1FR", ";BYMONTHDAY=29", ";BYYEARDAY=100,-1", ";BYWEEKNO=1,53;BYDAY=MO,SU", ";BYDAY=TU")
	case "MONTHLY":
		text += pick("", ";BYDAY=2MO,-1FR", ";BYMONTHDAY=-1,15", ";BYDAY=FR;BYMONTHDAY=13")
	case "WEEKLY":
		text += pick("", ";BYDAY=SU,MO", ";WKST=SU;BYDAY=SU,MO,TH")
	default:
		text += pick("", ";BYDAY=SU,MO", ";BYMONTHDAY=1,2,-1")
	}
	if freq != "HOURLY" && freq != "MINUTELY" {
		text += pick("", ";BYHOUR=9", ";BYHOUR=9,17;BYMINUTE=0,30")
		// The library's first week begins with DTSTART, ours with its Monday.
		if strings.Contains(text, "BYDAY") && freq != "WEEKLY" {
			text += pick("", ";BYSETPOS=1", ";BYSETPOS=-1,2")
		}
	} else {
		text += pick("", ";BYMINUTE=20,40", ";BYHOUR=8,9")
	}
	return text + pick("", "", ";COUNT=5", ";UNTIL=20180301T000000Z")
}

// TestLikeTheLibrary compares rules that began long ago with what the library
// says of them from their beginning.
func TestLikeTheLibrary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		text := randomRule(random)
		start := time.Date(2016, time.Month(1+random.IntN(12)), 1+random.IntN(28), random.IntN(24), random.IntN(60), 0, 0, time.UTC)
		rule, err := ParseRule("DTSTART:" + start.Format(layout) + "\nRRULE:" + strings.TrimSuffix(text, "Z"))
		if err != nil {
			if strings.Contains(err.Error(), "never meets") {
				continue
			}
			t.Fatalf("%s: %v", text, err)
		}
		o, err := rrule.StrToROption(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Dtstart = start
		old, err := rrule.NewRRule(*o)
		if err != nil {
			t.Fatal(err)
		}
		after := start.AddDate(0, 0, random.IntN(1000))
		for range 4 {
			want := old.After(after, false)
			got, ok := rule.Next(after, time.UTC)
			if want.Year() > 2057 && !ok { // farther than is looked
				break
			}
			if ok == want.IsZero() || ok && !got.Equal(want) {
				t.Fatalf("%s from %s: after %s comes %s (%v), want %s", text, start, after, got, ok, want)
			}
			if !ok {
				break
			}
			after = got
		}
	}
}

func TestRuleRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "want DTSTART:",
		"RRULE:FREQ=DAILY":                       "DTSTART is missing",
		"DTSTART:20261125T100000":                "RRULE is missing",
		"DTSTART:20261125T100000Z":               "no local time",
		"DTSTART:19001125T100000":                "year 1900",
		"DTSTART;TZID=UTC:20261125":              "without parameters",
		"DTSTART:20260230T000000":                "no local time",
		"FREQ=FORTNIGHTLY":                       "FREQ=FORTNIGHTLY",
		"INTERVAL=2":                             "FREQ is missing",
		"FREQ=DAILY;FREQ=DAILY":                  "twice",
		"FREQ=DAILY;INTERVAL=0":                  "from 1 to",
		"FREQ=DAILY;COUNT=1001":                  "from 1 to 1000",
		"FREQ=DAILY;BYHOUR=24":                   "between 0 and 23",
		"FREQ=DAILY;BYMINUTE=-1":                 "between 0 and 59",
		"FREQ=MONTHLY;BYMONTHDAY=32":             "-1 and -31",
		"FREQ=MONTHLY;BYDAY=6MO":                 "from -5 to 5",
		"FREQ=WEEKLY;BYDAY=1MO":                  "FREQ=MONTHLY",
		"FREQ=MONTHLY;BYDAY=MO,-1FR;COUNT=3":     "one RRULE for each",
		"FREQ=WEEKLY;BYDAY=XX":                   "undefined weekday: XX",
		"FREQ=WEEKLY;BYMONTHDAY=1":               "FREQ=MONTHLY",
		"FREQ=DAILY;BYEASTER=0":                  "not known",
		"FREQ=DAILY;WKST=WE":                     "MO or SU",
		"FREQ=DAILY;COUNT=1;UNTIL=20270101":      "one of them",
		"FREQ=DAILY;X-DAYS=SOME":                 "WORK or REST",
		"FREQ=YEARLY;X-HOLIDAY=nope":             "christmas",
		"FREQ=DAILY;X-HOLIDAY=easter":            "FREQ=YEARLY",
		"FREQ=DAILY;RSCALE=CHINESE":              "YEARLY or MONTHLY",
		"FREQ=DAILY;RSCALE=HEBREW":               "CHINESE or GREGORIAN",
		"FREQ=HOURLY;BYSETPOS=1":                 "do not go",
		"FREQ=HOURLY;INTERVAL=2;BYHOUR=9":        "never meets",
		"FREQ=MINUTELY;INTERVAL=1440;BYMINUTE=5": "never meets",
		"FREQ=DAILY;":                            "NAME=VALUE",
	} {
		if strings.HasPrefix(text, "FREQ") || strings.HasPrefix(text, "INTERVAL") {
			text = "DTSTART:20261125T100000\nRRULE:" + text
		}
		if _, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want something with %q", text, err, want)
		}
	}
}

// TestNextIsFast: ten years after the start, and for what has no slot.
func TestNextIsFast(t *testing.T) {
	for _, c := range []struct {
		rule  string
		bound time.Duration
	}{
		{"FREQ=MINUTELY;INTERVAL=5", time.Millisecond},
		{"FREQ=SECONDLY", time.Millisecond},
		{"FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", time.Millisecond},
		{"FREQ=YEARLY;RSCALE=CHINESE;BYMONTH=8;BYMONTHDAY=15", time.Millisecond},
		{"FREQ=DAILY;COUNT=1000", time.Millisecond},
		{"FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", time.Second},
		{"FREQ=DAILY;BYSETPOS=2", time.Second},
		{"FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30", time.Second},
		{"FREQ=HOURLY;BYDAY=SA;X-DAYS=WORK", time.Second},
		{"FREQ=SECONDLY;INTERVAL=86399;BYMONTH=2;BYMONTHDAY=29;BYHOUR=3;BYMINUTE=4;BYSECOND=5", 2 * time.Second},
	} {
		r := parse(t, "DTSTART:20160101T100000\nRRULE:"+c.rule)
		from := time.Now()
		r.Next(time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC), time.UTC)
		if took := time.Since(from); took > 10*c.bound {
			t.Errorf("%s took %s", c.rule, took)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, text := range []string{
		"DTSTART:20261125T100000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0\nEXDATE:20261225T090000,20261226",
		"DTSTART:20261125T100000\nRRULE:FREQ=YEARLY;RSCALE=CHINESE;BYMONTH=12;BYMONTHDAY=-1;COUNT=3",
		"DTSTART:20261125T100000\nRRULE:FREQ=YEARLY;X-HOLIDAY=easter;X-SHIFT=-2;BYHOUR=8,20",
		"DTSTART:20261125T100000\nRRULE:FREQ=MONTHLY;X-DAYS=WORK;BYSETPOS=1,-1;UNTIL=20270101\nRDATE:20261201T000000",
		"DTSTART:20261125T100000\nRRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10;WKST=SU",
		"DTSTART:20261125T100000\nRRULE:FREQ=YEARLY;BYWEEKNO=53,-1;BYDAY=MO\nRRULE:FREQ=YEARLY;BYYEARDAY=366,-366;BYDAY=-53MO",
	} {
		f.Add(text)
	}
	berlin := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err != nil {
			return
		}
		written := r.String()
		if len(written) > maxRule {
			return
		}
		again, err := ParseRule(written)
		if err != nil || again.String() != written {
			t.Fatalf("%q is written as %q, which is read as %q, %v", text, written, again, err)
		}
		after := time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC)
		for range 3 {
			next, ok := r.Next(after, berlin)
			other, same := again.Next(after, berlin)
			if ok != same || ok && (!next.After(after) || !next.Equal(other)) {
				t.Fatalf("%q: after %s comes %s (%v), but %s (%v)", text, after, next, ok, other, same)
			}
			if !ok {
				return
			}
			after = next
		}
	})
}

func BenchmarkNext(b *testing.B) {
	shanghai := zone(b, "Asia/Shanghai")
	after := time.Date(2026, 11, 25, 10, 0, 0, 0, shanghai)
	for _, text := range []string{
		"FREQ=DAILY;BYHOUR=9", "FREQ=MONTHLY;BYDAY=-1FR", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10",
		"FREQ=YEARLY;RSCALE=CHINESE;BYMONTH=8;BYMONTHDAY=15", "FREQ=YEARLY;X-HOLIDAY=easter", "FREQ=MONTHLY;X-DAYS=WORK;BYSETPOS=1", "FREQ=DAILY;COUNT=1000",
	} {
		b.Run(text, func(b *testing.B) {
			r := parse(b, "DTSTART:20161125T100000\nRRULE:"+text)
			for b.Loop() {
				r.Next(after, shanghai)
			}
		})
	}
}

func BenchmarkParseRule(b *testing.B) {
	for _, text := range []string{"FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9", "FREQ=DAILY;COUNT=10", "FREQ=DAILY;COUNT=1000"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				parse(b, "DTSTART:20161125T100000\nRRULE:"+text)
			}
		})
	}
}
