package desk_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
	"magpie/internal/kv"
)

// moved reads "15:04" and "friday 15:04" for something that has a time.
func moved(text string, old when.Phrase, next, now time.Time) (when.Phrase, error) {
	clock, err := time.Parse("15:04", text)
	switch {
	case text == "at 8":
		return old, &when.Ambiguous{Question: when.Text{English: "Morning or evening?", Chinese: "早上还是晚上？"}, Choices: []when.Phrase{
			{At: onClock(next, 8), Zone: old.Zone}, {At: onClock(next, 20), Zone: old.Zone},
		}}
	case err != nil:
		return when.Parse(text, now, old.Zone)
	case !old.At.IsZero():
		y, m, d := next.Date()
		old.At = time.Date(y, m, d, clock.Hour(), clock.Minute(), 0, 0, old.Zone)
	case old.Cron != "":
		fields := strings.Fields(old.Cron)
		old.Cron = clock.Format("4 15 ") + strings.Join(fields[2:], " ")
		c, err := when.ParseCron(old.Cron)
		if err != nil {
			return old, err
		}
		old.Cron = c.String()
	default:
		return old, when.ErrNone
	}
	return old, nil
}

func onClock(t time.Time, hour int) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, hour, 0, 0, 0, t.Location())
}

// world is the fixture at 10:00 on Wednesday 25 November with six reminders.
type world struct {
	*fixture
	zh    bool
	known map[string]cron.Job // by n
}

func newWorld(t testing.TB, lang string) *world {
	t.Helper()
	return worldIn(t, lang, "Asia/Shanghai")
}

func worldIn(t testing.TB, lang, place string) *world {
	t.Helper()
	f := newFixture(t)
	zone, err := time.LoadLocation(place)
	if err != nil {
		t.Fatal(err)
	}
	f.ann.Zone = zone
	store, err := cron.NewStore(f.table, &cron.StoreOptions{Now: func() time.Time { return f.now }})
	if err != nil {
		t.Fatal(err)
	}
	f.jobs, f.now = store, time.Date(2026, 11, 25, 9, 0, 0, 0, f.ann.Zone)
	f.Desk, f.ann.Lang = f.open(), lang
	w := &world{fixture: f, zh: lang == "zh", known: map[string]cron.Job{}}
	for n, a := range map[string]desk.Ask{
		"mum":    {At: "2026-11-25T18:00", Message: w.say("call mum", "给妈妈打电话")},
		"gym":    {At: "2026-11-26T07:00", Message: w.say("gym", "健身")},
		"pills":  {Cron: "0 21 * * *", Message: w.say("take my pills", "吃药")},
		"milk":   {At: "2026-11-27T17:00", Message: w.say("buy milk", "买牛奶")},
		"team":   {Cron: "0 10 * * 1", Message: w.say("team meeting", "周会")},
		"rent":   {Cron: "0 9 1 * *", Message: w.say("pay rent", "交房租")},
		"plants": {At: "2026-11-25T09:50", Message: w.say("water the plants", "浇花")},
	} {
		w.known[n] = f.add(t, f.ann, a)
	}
	if _, err := f.jobs.Pause(t.Context(), w.known["rent"].Addr, w.known["rent"].ID, cron.By{Admin: true}); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(50 * time.Minute)
	plants := w.known["plants"]
	if err := f.Rang(t.Context(), cron.Fired{Job: plants, Slot: plants.Schedule.At}); err != nil {
		t.Fatal(err)
	}
	if err := f.jobs.Remove(t.Context(), plants.Addr, plants.ID, cron.By{Admin: true}); err != nil { // as the scheduler does
		t.Fatal(err)
	}
	f.now = f.now.Add(10 * time.Minute)
	f.list(t, f.ann)
	w.spoken(t, "milk")
	return w
}

func (w *world) say(en, zh string) string {
	if w.zh {
		return zh
	}
	return en
}

// spoken makes a job "it".
func (w *world) spoken(t testing.TB, n string) {
	t.Helper()
	in := intent.Intent{Kind: intent.Query, What: intent.AskWhen, Ref: intent.Ref{Words: w.known[n].ID}}
	if _, err := w.Do(t.Context(), w.ann, in, desk.Message{}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) get(t testing.TB, n string) (cron.Job, bool) {
	t.Helper()
	j, err := w.jobs.Get(t.Context(), w.known[n].Addr, w.known[n].ID)
	if err != nil && !errors.Is(err, cron.ErrNotFound) {
		t.Fatal(err)
	}
	return j, err == nil
}

// seen is every job in words: "buy milk @ 2026-11-27T17:00", sorted.
func (w *world) seen(t testing.TB) []string {
	t.Helper()
	jobs, err := w.jobs.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, j := range jobs {
		next, err := cron.Next(j, w.now)
		if err != nil {
			t.Fatal(err)
		}
		text := j.Message + " @ " + next.In(w.ann.Zone).Format("2006-01-02T15:04")
		switch {
		case j.Hidden:
			text = "hidden: " + j.Message
		case j.Paused:
			text = j.Message + " paused"
		case j.Name != "":
			text = j.Name + ": " + text
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// difference is what is new in b, and with a minus what is gone.
func difference(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, "-"+s)
		}
	}
	for _, s := range b {
		if !slices.Contains(a, s) {
			out = append(out, "+"+s)
		}
	}
	return out
}

// store changes what the table says of a job.
func (w *world) store(t testing.TB, j cron.Job, edit func(*cron.Job)) {
	t.Helper()
	key := string(chat.Address{Channel: j.Addr.Channel, Chat: j.Addr.Chat}.Session()) + "." + j.ID
	if err := kv.Modify(t.Context(), w.table, key, 0, func(old []byte) ([]byte, error) {
		var now cron.Job
		if err := json.Unmarshal(old, &now); err != nil {
			return nil, err
		}
		edit(&now)
		return json.Marshal(now)
	}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) do(t testing.TB, in intent.Intent, m desk.Message) desk.Said {
	t.Helper()
	said, err := w.Do(t.Context(), w.ann, in, m)
	if err != nil {
		t.Fatalf("%+v: %v", in, err)
	}
	return said
}

func (w *world) hear(t testing.TB, who desk.Who, text string) desk.Said {
	t.Helper()
	said, mine, err := w.Say(t.Context(), who, desk.Message{Text: text})
	if err != nil || !mine {
		t.Fatalf("%q: mine %v, %v", text, mine, err)
	}
	return said
}

// press presses the button with this label.
func (w *world) press(t testing.TB, said desk.Said, label string) desk.Said {
	t.Helper()
	for _, row := range said.Buttons {
		for _, b := range row {
			if b.Label == label {
				now, err := w.Press(t.Context(), w.ann, b.Press, "")
				if err != nil {
					t.Fatalf("press %q: %v", label, err)
				}
				return now
			}
		}
	}
	t.Fatalf("%q has no button %q: %v", said.Text, label, said.Buttons)
	return desk.Said{}
}
