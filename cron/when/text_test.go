package when

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDescribe(t *testing.T) {
	now, zone := testNow(t)
	ny := mustZone(t, "America/New_York")
	for _, row := range []struct {
		p      Phrase
		en, zh string
	}{
		{Phrase{Cron: "0 9 * * 1-5", Zone: zone}, "every weekday at 09:00 (Asia/Shanghai); next: Tue 2026-11-24 09:00", "每周一到周五 09:00（Asia/Shanghai）；下次：2026-11-24 周二 09:00"},
		{Phrase{Cron: "30 18 * * 1,4", Zone: zone}, "every Monday and Thursday at 18:30 (Asia/Shanghai); next: Mon 2026-11-23 18:30", "每周一、周四 18:30（Asia/Shanghai）；下次：2026-11-23 周一 18:30"},
		{Phrase{Cron: "0 9,18 1,15 * *", Zone: zone}, "on the 1st and 15th of every month at 09:00 and 18:00 (Asia/Shanghai); next: Tue 2026-12-01 09:00", "每月1号、15号 09:00、18:00（Asia/Shanghai）；下次：2026-12-01 周二 09:00"},
		{Phrase{Cron: "0 9 L * *", Zone: nil}, "on the last day of every month at 09:00 (UTC); next: Mon 2026-11-30 09:00", "每月最后一天 09:00（UTC）；下次：2026-11-30 周一 09:00"},
		{Phrase{Cron: "*/5 9-17 * * 1-5", Zone: zone}, "every 5 minutes from 09:00 to 17:55, every weekday (Asia/Shanghai); next: Mon 2026-11-23 10:35", "每周一到周五从09:00到17:55每5分钟（Asia/Shanghai）；下次：2026-11-23 周一 10:35"},
		{Phrase{Cron: "bad", Zone: zone}, "cron bad (Asia/Shanghai)", "cron bad（Asia/Shanghai）"},
		{Phrase{Every: 90 * time.Minute, Zone: zone}, "every 1 hour 30 minutes; next: Mon 2026-11-23 12:00 (Asia/Shanghai)", "每1小时30分钟；下次：2026-11-23 周一 12:00（Asia/Shanghai）"},
		{Phrase{Every: 48 * time.Hour, Zone: zone}, "every 2 days; next: Wed 2026-11-25 10:30 (Asia/Shanghai)", "每2天；下次：2026-11-25 周三 10:30（Asia/Shanghai）"},
		{Phrase{At: now.Add(5 * time.Second), Zone: zone}, "Mon 2026-11-23 10:30:05 (Asia/Shanghai)", "2026-11-23 周一 10:30:05（Asia/Shanghai）"},
		{Phrase{At: time.Date(2027, 11, 7, 6, 30, 0, 0, time.UTC), Zone: ny}, "Sun 2027-11-07T01:30:00-05:00 (America/New_York)", "2027-11-07T01:30:00-05:00（America/New_York）"}, // the second of two
		{Phrase{At: now.Add(time.Hour), Zone: time.FixedZone("", 5400)}, "Mon 2026-11-23 05:00 (UTC+01:30)", "2026-11-23 周一 05:00（UTC+01:30）"},
		{Phrase{}, "", ""},
	} {
		if got := Describe(row.p, now, "en"); got != row.en {
			t.Errorf("English\n got %s\nwant %s", got, row.en)
		}
		if got := Describe(row.p, now, "zh-CN"); got != row.zh {
			t.Errorf("Chinese\n got %s\nwant %s", got, row.zh)
		}
	}
}

// What Describe says is the same time again, for every expression, duration
// and moment: an expression that is said in words may be a rule then. It has the
// same times but for the hour that a change of clocks brings twice, so that
// expressions are drawn where clocks do not change.
func TestDescribeParsesAgain(t *testing.T) {
	zones := []*time.Location{time.UTC, mustZone(t, "Asia/Shanghai"), mustZone(t, "America/New_York"), mustZone(t, "Australia/Lord_Howe"), mustZone(t, "CET"), time.FixedZone("", -9000)}
	rapid.Check(t, func(rt *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(rt, "zone")
		now := time.Unix(rapid.Int64Range(1.6e9, 2.2e9).Draw(rt, "now"), 0).In(zone)
		p := Phrase{Zone: zone}
		switch rapid.IntRange(0, 2).Draw(rt, "kind") {
		case 0:
			c, err := ParseCron(drawCron(rt))
			if err != nil {
				rt.Fatal(err)
			}
			p.Cron = c.String()
			zone = rapid.SampledFrom([]*time.Location{time.UTC, zones[1], zones[5]}).Draw(rt, "steady zone")
			now, p.Zone = now.In(zone), zone
		case 1:
			p.Every = time.Duration(rapid.Int64Range(1, 90*86400).Draw(rt, "every")) * time.Second
			if rapid.Bool().Draw(rt, "days") {
				p.Every = p.Every.Round(24*time.Hour) + 24*time.Hour
			}
		default:
			p.At = now.Add(time.Duration(rapid.Int64Range(1, 4*365*86400).Draw(rt, "ahead")) * time.Second)
		}
		for _, lang := range []string{"en", "zh"} {
			text := Describe(p, now, lang)
			q, err := Parse(text, now, zone)
			if err != nil || p.Cron != "" && slotsOf(q, now) != slotsOf(p, now) || q.Every != p.Every || !q.At.Equal(p.At) {
				rt.Fatalf("%q is understood as %s (%v), want %s", text, short(q, err), err, short(p, nil))
			}
		}
	})
}

// seeds are texts with every kind of piece.
var seeds = []string{
	"remind me tomorrow at 3pm to call mum", "every weekday at 9", "每周一三五上午九点提醒我", "明天下午三点开会提醒我", "半小时后", "下个月1号", "每隔两天",
	"0 9 * * 1-5", "@every 10m", "CRON_TZ=Asia/Tokyo 0 9 L * *", "2026-11-22T15:00:00-05:00 (America/New_York)", "friday, november 28 at 10:00",
	"in an hour and a half", "1h30m", "差五分三点", "有31号的月份每月31号 09:00（Asia/Shanghai）；下次：", "every 2 weeks on monday at midnight", "９点３０分",
	"\xff\xfe明天\x80", "在", "the", "@", "*", "每", "at quarter to", "UTC+99", "Etc/GMT+8", "每年2月30日", "一二三四五六七八九十百千",
}

// check holds what is true of every text.
func check(t *testing.T, text string, now time.Time, zone *time.Location) {
	for _, read := range []reader{Parse, Find} {
		p, err := read(text, now, zone)
		var asked *Ambiguous
		all := []Phrase{p}
		switch {
		case errors.As(err, &asked):
			all = asked.Choices
		case errors.Is(err, ErrNone), errors.Is(err, ErrPast), errors.Is(err, ErrInvalid), errors.Is(err, ErrBadZone):
			continue
		case err != nil:
			t.Fatalf("%q: %v is of no kind", text, err)
		}
		for _, p := range all {
			kinds := 0
			for _, set := range []bool{p.Every > 0, p.Cron != "", !p.At.IsZero(), p.Rule != ""} {
				if set {
					kinds++
				}
			}
			switch {
			case kinds != 1 || p.Zone == nil || p.From < 0 || p.From >= p.To || p.To > len(text):
				t.Fatalf("%q: %+v", text, p)
			case !p.At.IsZero() && !p.At.After(now), p.Every%time.Second != 0:
				t.Fatalf("%q at %s: %s", text, now, short(p, nil))
			}
			again(t, p, now)
		}
	}
}

func FuzzFind(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, int64(1.79e9)+int64(i)*86400*11)
	}
	ny := mustZone(f, "America/New_York")
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		if unix < 0 || unix > 4e9 {
			unix = 1.79e9
		}
		check(t, text, time.Unix(unix, 0).In(ny), ny)
	})
}

// Pieces in any order are understood or refused, never half understood.
func TestAnyOrderOfPieces(t *testing.T) {
	words := []string{
		"tomorrow", "at 8", "3pm", "every", "monday", "and", "noon", "midnight", "in 2 hours", "next week", "on the 31st", "of every month", "to", "remind me",
		"明天", "下午", "三点", "半", "每", "周五", "一", "隔", "两", "天", "小时", "后", "提醒我", "号", "月底", "晚上", "12点", "零", "年", "2月", "30日",
		"2026-12-24", "09:30", "9:30", "UTC", "Asia/Tokyo", "+08:00", "*", "0", "5", "@daily", "friday", "weekday", "every 2 days", ",", "开会", "evening", "last day of",
	}
	now, zone := testNow(t)
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 7).Draw(rt, "words"), rapid.SampledFrom([]string{" ", ""}).Draw(rt, "gap"))
		check(t, text, now.Add(time.Duration(rapid.IntRange(0, 400*24*60).Draw(rt, "now"))*time.Minute), zone)
	})
}

// Work grows with the text at most linearly, and ends at a bound.
func TestHugeText(t *testing.T) {
	now, zone := testNow(t)
	for _, s := range []string{"every ", "每", "and ", "一", "1h", "1 ", "monday and ", "周一、", "* ", "a", "(", "三点", "明天", "remind me ", "提醒我", "1号、", "9:", "+", "the 1st and ", "\xff", "一十", "UTC ", "run 1h", "half ", "周", "号"} {
		text := strings.Repeat(s, 1<<16/len(s)) // beyond maxTokens
		_, _ = Parse(text, now, zone)
		_, _ = Find(text, now, zone)
	}
	_, _ = Find(strings.Repeat("a", 1<<22), now, zone)
	p, err := Find("remind me in 20 minutes to read "+strings.Repeat("很长的书 ", 100000)+"the end", now, zone)
	if err != nil || !strings.HasSuffix(p.Rest, "the end") || len(p.Rest) < 1300000 {
		t.Errorf("%v, rest of %d bytes", err, len(p.Rest))
	}
	if s := units["hour"].times(math.Inf(1)); s.Exact < 0 {
		t.Errorf("endless hours are %v", s.Exact)
	}
}

// Times as people say them, one after the other.
func BenchmarkFind(b *testing.B) {
	now, zone := testNow(b)
	for _, text := range []string{
		"in 20 minutes", "tomorrow at 3pm", "every weekday at 9", "next friday 9:30", "半小时后", "明天下午三点", "每周一上午九点", "下个月1号", "每隔两小时", "大后天早上8点半",
		"remind me tomorrow at 3pm to call mum", "每天早上9点提醒我吃药", "0 9 * * 1-5", "what is the capital of France, and why?",
	} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Find(text, now, zone)
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	now, zone := testNow(b)
	for _, expr := range []string{"0 9 * * 1-5", "*/5 * * * *", "0 9 29 2 *"} {
		c, err := ParseCron(expr)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(expr, func(b *testing.B) {
			for b.Loop() {
				_, _ = c.Next(now, zone)
			}
		})
	}
}
