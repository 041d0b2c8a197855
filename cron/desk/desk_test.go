package desk_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
	"magpie/internal/kv"
)

// fixture is a desk at 10:30 on a Monday in Shanghai.
type fixture struct {
	*desk.Desk
	jobs  *cron.Store
	table *kv.Memory
	notes *kv.Memory
	words *desk.Reader
	now   time.Time
	ann   desk.Who
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{table: new(kv.Memory), notes: new(kv.Memory), now: time.Date(2026, 11, 23, 10, 30, 0, 0, shanghai)}
	f.jobs, err = cron.NewStore(f.table, &cron.StoreOptions{Now: func() time.Time { return f.now }, PerChat: 4})
	if err != nil {
		t.Fatal(err)
	}
	f.words = &desk.Reader{
		Read: func(string, intent.Context) intent.Intent { return intent.Intent{} },
		Reply: func(string, intent.Context, string, intent.Context) (intent.Intent, bool) {
			return intent.Intent{}, false
		},
		Moved: moved,
	}
	f.Desk = f.open()
	f.ann = desk.Who{Addr: chat.Address{Channel: "telegram", Chat: "5"}, Sender: chat.Sender{ID: "ann", Name: "Ann"}, Direct: true, Zone: shanghai}
	return f
}

// open is a desk as another process has it.
func (f *fixture) open() *desk.Desk { return desk.NewWith(f.jobs, f.notes, f.words) }

func (f *fixture) count(t testing.TB) int {
	t.Helper()
	jobs, err := f.jobs.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(jobs, func(j cron.Job) bool { return j.Hidden }))
}

func (f *fixture) add(t testing.TB, w desk.Who, a desk.Ask) cron.Job {
	t.Helper()
	j, text, err := f.Add(t.Context(), w, a)
	if err != nil || j.ID == "" || strings.Contains(text, j.ID) {
		t.Fatalf("%+v: %q, %v", a, text, err)
	}
	return j
}

// What is asked for is repeated with absolute time and zone, in the language
// of the chat, and stored as it was said.
func TestAdd(t *testing.T) {
	const sh = "Asia/Shanghai"
	for _, c := range []struct {
		ask      desk.Ask
		lang     string
		schedule cron.Schedule
		message  string
		says     []string
	}{
		{desk.Ask{Schedule: "in 20 minutes to stretch"}, "en", cron.Schedule{At: at("2026-11-23T10:50:00+08:00"), Zone: sh}, "stretch", []string{"OK, {soon}: stretch."}},
		{desk.Ask{Schedule: "remind me every weekday at 9 to drink water"}, "en", cron.Schedule{Cron: "0 9 * * 1-5", Zone: sh}, "drink water", []string{"OK, {words}: drink water. Next: {next}."}},
		{desk.Ask{Schedule: "每天早上9点提醒我吃药"}, "zh", cron.Schedule{Cron: "0 9 * * *", Zone: sh}, "吃药", []string{"好的，{words} 提醒你：吃药。下次：{next}"}},
		{desk.Ask{Schedule: "明天下午三点开会提醒我"}, "zh", cron.Schedule{At: at("2026-11-24T15:00:00+08:00"), Zone: sh}, "开会", []string{"好的，{soon} 提醒你：开会"}},
		{desk.Ask{Schedule: "every 10m", Message: "look"}, "en", cron.Schedule{Every: 10 * time.Minute, Zone: sh}, "look", []string{"OK, {words}: look. Next: {next}."}},
		{desk.Ask{Schedule: "every 10 seconds", Message: "look"}, "en", cron.Schedule{Every: 10 * time.Second, Zone: sh}, "look", []string{"OK, {words}: look."}},
		{desk.Ask{Cron: "5/10 * * * * *", Message: "look"}, "en", cron.Schedule{Cron: "5,15,25,35,45,55 * * * * *", Zone: sh}, "look", []string{"Next: {next}."}},
		{desk.Ask{Cron: "30 0 9 * * *", Message: "look"}, "en", cron.Schedule{Cron: "30 0 9 * * *", Zone: sh}, "look", []string{"OK, {words}: look."}},
		{desk.Ask{Every: 90 * time.Second, Message: "look"}, "en", cron.Schedule{Every: 90 * time.Second, Zone: sh}, "look", []string{"OK, {words}: look."}},
		{desk.Ask{Cron: "30 9 * * mon-fri", Message: "x", Zone: "Europe/Berlin"}, "en", cron.Schedule{Cron: "30 9 * * 1-5", Zone: "Europe/Berlin"}, "x", []string{"OK, {words}: x. Next: {next}."}},
		{desk.Ask{Cron: "@daily", Message: "x", Zone: "UTC+2"}, "en", cron.Schedule{Cron: "0 0 * * *", Zone: "UTC+02:00"}, "x", []string{"OK, {words}: x."}},
		{desk.Ask{Cron: "@every 2h", Message: "x"}, "en", cron.Schedule{Every: 2 * time.Hour, Zone: sh}, "x", []string{"OK, {words}: x."}},
		{desk.Ask{Schedule: "0 9 L * *", Message: "x"}, "en", cron.Schedule{Cron: "0 9 L * *", Zone: sh}, "x", []string{"OK, {words}: x."}},
		{desk.Ask{At: "2026-11-24T15:00", Message: "x"}, "en", cron.Schedule{At: at("2026-11-24T15:00:00+08:00"), Zone: sh}, "x", []string{"OK, {soon}: x."}},
		{desk.Ask{At: "2026-11-24T15:00:00Z", Message: "x"}, "en", cron.Schedule{At: at("2026-11-24T23:00:00+08:00"), Zone: sh}, "x", []string{"OK, {soon}: x."}},
		{desk.Ask{At: "2026-11-24T15:00", Message: "x", Zone: "America/New_York"}, "zh", cron.Schedule{At: at("2026-11-24T15:00:00-05:00"), Zone: "America/New_York"}, "x", []string{"好的，{soon}（纽约时间周二15:00）提醒你：x"}},
		{desk.Ask{Schedule: "every day at 9am", Message: "report", Mode: "Agent", Misfire: "skip"}, "en", cron.Schedule{Cron: "0 9 * * *", Zone: sh}, "report", []string{"OK, I will do this {words}: report. Next: {next}."}},
	} {
		t.Run(c.ask.Schedule+c.ask.Cron+c.ask.At, func(t *testing.T) {
			f := newFixture(t)
			w := f.ann
			w.Lang = c.lang
			j, text, err := f.Add(t.Context(), w, c.ask)
			if err != nil {
				t.Fatal(err)
			}
			s := j.Schedule
			if !s.At.Equal(c.schedule.At) || s.Every != c.schedule.Every || s.Cron != c.schedule.Cron || s.Zone != c.schedule.Zone {
				t.Errorf("schedule %+v, want %+v", s, c.schedule)
			}
			if j.Message != c.message || j.Maker.ID != "ann" || j.Maker.Channel != "telegram" || !j.Direct || j.Addr != w.Addr {
				t.Errorf("job %+v", j)
			}
			if want := map[bool]cron.Mode{true: cron.Agent, false: cron.Notify}[c.ask.Mode != ""]; j.Mode != want || c.ask.Misfire != "" && j.Misfire.Policy != cron.Skip {
				t.Errorf("mode %s, misfire %s", j.Mode, j.Misfire)
			}
			for _, says := range c.says {
				if says = f.filled(says, j, w.Lang); !strings.Contains(text, says) {
					t.Errorf("says %q, want %q", text, says)
				}
			}
			if f.count(t) != 1 {
				t.Error("not stored")
			}
		})
	}
}

// filled puts the words of package when into a text: {soon} of a single job,
// {words} of one that repeats, without the zone of the chat, and {next}.
func (f *fixture) filled(text string, j cron.Job, lang string) string {
	zone, err := when.Zone(j.Schedule.Zone)
	if err != nil {
		panic(err)
	}
	words := when.Words(when.Phrase{Every: j.Schedule.Every, Cron: j.Schedule.Cron, At: j.Schedule.At, Zone: zone}, lang)
	next, err := cron.Next(j, f.now)
	if err != nil {
		panic(err)
	}
	soon := func(t time.Time) string {
		text := when.Soon(t, f.now, f.ann.Zone, lang)
		if t.Sub(f.now) >= 2*time.Minute {
			text = regexp.MustCompile(`(\d\d:\d\d):\d\d`).ReplaceAllString(text, "$1")
		}
		return text
	}
	return strings.NewReplacer("{soon}", soon(j.Schedule.At), "{next}", soon(next),
		"{words}", strings.NewReplacer(" (Asia/Shanghai)", "", "（Asia/Shanghai）", "").Replace(words)).Replace(text)
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// What cannot be is refused with what would be right, in both languages, and
// nothing is stored.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		ask    desk.Ask
		kind   desk.Kind
		en, zh string
	}{
		{desk.Ask{Schedule: "tomorrow at 8 to run"}, desk.Unsure, "1. ", "2. "},
		{desk.Ask{Schedule: "whenever you like", Message: "x"}, desk.Wrong, "in 20 minutes", "20分钟后"},
		{desk.Ask{Schedule: "in 20 minutes"}, desk.Unsure, "remind me in 20 minutes to stretch", "20分钟后提醒我休息一下"},
		{desk.Ask{Schedule: "3 days ago", Message: "x"}, desk.Wrong, "passed", "已经过去"},
		{desk.Ask{Schedule: "2026-11-22 10:00", Message: "x"}, desk.Wrong, "passed", "已经过去"},
		{desk.Ask{Schedule: "25:00", Message: "x"}, desk.Wrong, "no such time", "没有这样的时间"},
		{desk.Ask{Schedule: "every 0 minutes", Message: "x"}, desk.Wrong, "no such time", "没有这样的时间"},
		{desk.Ask{Cron: "61 * * * *", Message: "x"}, desk.Wrong, "values from 0 to 59", "cron 表达式"},
		{desk.Ask{Cron: "* * * *", Message: "x"}, desk.Wrong, "want 5", "cron 表达式"},
		{desk.Ask{At: "every day at 9am", Message: "x"}, desk.Wrong, "single time", "单个时间"},
		{desk.Ask{At: "2026-11-24T15:00", Message: "x", Zone: "Mars/Olympus"}, desk.Wrong, "Asia/Shanghai", "Asia/Shanghai"},
		{desk.Ask{Every: -time.Second, Message: "x"}, desk.Wrong, "at least 10 seconds", "至少 10 秒"},
		{desk.Ask{Every: 9 * time.Second, Message: "x"}, desk.Wrong, "at least 10 seconds", "至少 10 秒"},
		{desk.Ask{Schedule: "every 0.5 seconds", Message: "x"}, desk.Wrong, "at least 10 seconds", "至少 10 秒"},
		{desk.Ask{Schedule: "每隔五秒", Message: "x"}, desk.Wrong, "at least 10 seconds", "至少 10 秒"},
		{desk.Ask{Schedule: "@every 1s", Message: "x"}, desk.Wrong, "at least 10 seconds", "至少 10 秒"},
		{desk.Ask{Cron: "* * * * * *", Message: "x"}, desk.Wrong, "at least 10 seconds", "至少 10 秒"},
		{desk.Ask{Cron: "0,5 0 9 1 1 *", Message: "x"}, desk.Wrong, "at least 10 seconds", "至少 10 秒"},
		{desk.Ask{Cron: "4,55 * * * * *", Message: "x"}, desk.Wrong, "at least 10 seconds", "至少 10 秒"},
		{desk.Ask{Every: 100 * 366 * 24 * time.Hour, Message: "x"}, desk.Wrong, "10 years", "10 年"},
		{desk.Ask{Message: "x"}, desk.Wrong, "exactly one", "只用一种"},
		{desk.Ask{Message: "x", Every: time.Hour, Cron: "0 9 * * *"}, desk.Wrong, "exactly one", "只用一种"},
		{desk.Ask{Schedule: "in 1 hour", Message: strings.Repeat("长", cron.MaxMessage+1)}, desk.Wrong, "8000", "8000"},
		{desk.Ask{Schedule: "in 1 hour", Message: "x", Name: strings.Repeat("长", 101)}, desk.Wrong, "100", "100"},
		{desk.Ask{Schedule: "in 1 hour", Message: "x", Mode: "shout"}, desk.Wrong, "notify or agent", "notify"},
		{desk.Ask{Schedule: "in 1 hour", Message: "x", Misfire: "twice"}, desk.Wrong, "run_once", "run_once"},
	} {
		for lang, want := range map[string]string{"en": c.en, "zh": c.zh} {
			f := newFixture(t)
			w := f.ann
			w.Lang = lang
			_, _, err := f.Add(t.Context(), w, c.ask)
			var r *desk.Refusal
			if !errors.As(err, &r) || r.Kind != c.kind || !strings.Contains(r.Text, want) {
				t.Errorf("%.80v in %s: %v, want kind %d with %q", c.ask, lang, err, c.kind, want)
			} else if len(r.Text) > 1000 {
				t.Errorf("%.80v: %d bytes", c.ask, len(r.Text))
			}
			if f.count(t) != 0 {
				t.Errorf("%.80v: stored", c.ask)
			}
		}
	}
}

// A time with several meanings is answered with all of them, and what is
// offered can be said as it stands.
func TestChoicesCanBeSaid(t *testing.T) {
	for _, c := range []struct{ said, message, lang string }{
		{"tomorrow at 8 call mum", "", "en"}, {"tomorrow at 8", "call mum", "en"}, {"明天8点给妈妈打电话", "", "zh"}, {"31st of every month at 10:00 pay rent", "", "en"}, {"每月31号上午10点交房租", "", "zh"},
	} {
		f := newFixture(t)
		w := f.ann
		w.Lang = c.lang
		_, _, err := f.Add(t.Context(), w, desk.Ask{Schedule: c.said, Message: c.message, Prefix: "/remind"})
		var r *desk.Refusal
		if !errors.As(err, &r) || len(r.Choices) < 2 {
			t.Fatalf("%q: %v, want a question with choices", c.said, err)
		}
		offered := regexp.MustCompile("`/remind ([^`]+)`").FindAllStringSubmatch(r.Text, -1)
		if len(offered) != len(r.Choices) {
			t.Fatalf("%q offers %q", c.said, r.Text)
		}
		seen := map[string]bool{}
		for i, o := range offered {
			j := f.add(t, w, desk.Ask{Schedule: o[1]})
			k := f.add(t, w, desk.Ask{Schedule: r.Choices[i], Message: "x"})
			if !j.Schedule.At.Equal(k.Schedule.At) || j.Schedule.Cron != k.Schedule.Cron {
				t.Errorf("%q and %q are different: %+v, %+v", o[1], r.Choices[i], j.Schedule, k.Schedule)
			}
			if want := c.message; want != "" && j.Message != want || j.Message == "" {
				t.Errorf("%q: message %q", o[1], j.Message)
			}
			seen[j.Schedule.At.String()+j.Schedule.Cron] = true
		}
		if len(seen) != len(offered) {
			t.Errorf("%q: the choices are not different: %q", c.said, r.Text)
		}
	}
}

// The same request again, as after a crash, is the same job, also when its
// time has come meanwhile.
func TestTheSameRequestIsTheSameJob(t *testing.T) {
	f := newFixture(t)
	one := f.add(t, f.ann, desk.Ask{Schedule: "in 20 minutes", Message: "stretch", Key: "telegram:7"})
	f.now = f.now.Add(5 * time.Minute)
	two := f.add(t, f.ann, desk.Ask{Schedule: "in 20 minutes", Message: "stretch", Key: "telegram:7"})
	other := f.add(t, f.ann, desk.Ask{Schedule: "in 20 minutes", Message: "stretch", Key: "telegram:8"})
	if two.ID != one.ID || !two.Schedule.At.Equal(one.Schedule.At) || other.ID == one.ID || f.count(t) != 2 {
		t.Errorf("%s, %s, %s and %d jobs", one.ID, two.ID, other.ID, f.count(t))
	}
	if ok, _ := regexp.MatchString(`^[a-z2-7]{10}$`, one.ID); !ok {
		t.Errorf("id %q", one.ID)
	}
}

func TestLimit(t *testing.T) {
	f := newFixture(t)
	for range 4 {
		f.add(t, f.ann, desk.Ask{Schedule: "in 1 hour", Message: "x"})
	}
	_, _, err := f.Add(t.Context(), f.ann, desk.Ask{Schedule: "in 1 hour", Message: "x"})
	if err == nil || !strings.Contains(err.Error(), "4 reminders already") || f.count(t) != 4 {
		t.Errorf("the fifth: %v, %d jobs", err, f.count(t))
	}
}

// Whatever is asked for is stored and described, or refused in words.
func TestAnyRequest(t *testing.T) {
	words := []string{"", "at 8", "tomorrow", "每天", "9点", "in 2 hours", "to", "开会", "0 9 * * *", "2026-11-24T15:00", "@every", "10m", "friday", "UTC+8", "`", "\n"}
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		say := func(name string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(rt, name), " ")
		}
		a := desk.Ask{Schedule: say("schedule"), Message: say("message"), Cron: say("cron"), Zone: rapid.SampledFrom([]string{"", "UTC", "x"}).Draw(rt, "zone"), Prefix: "/remind"}
		w := f.ann
		w.Lang = rapid.SampledFrom([]string{"en", "zh"}).Draw(rt, "lang")
		j, text, err := f.Add(rt.Context(), w, a)
		var r *desk.Refusal
		switch {
		case err == nil && (text == "" || j.ID == "" || f.count(t) == 0):
			rt.Fatalf("%+v: %q", a, text)
		case err != nil && (!errors.As(err, &r) || r.Text == "" || f.count(t) != 0):
			rt.Fatalf("%+v: %v", a, err)
		}
	})
}
