package cron

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"magpie/chat"
	"magpie/internal/kv"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func testStore(t testing.TB, o *StoreOptions) (*Store, *kv.Memory) {
	t.Helper()
	table := &kv.Memory{}
	if o == nil {
		o = &StoreOptions{Zone: "Asia/Shanghai"}
	}
	if o.Now == nil {
		o.Now = func() time.Time { return noon }
	}
	s, err := NewStore(table, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, table
}

func draft() Job {
	return Job{Message: "吃药", Addr: home, Maker: ann.Person, Schedule: Schedule{Every: time.Minute}}
}

func TestAddFillsInDefaults(t *testing.T) {
	s, _ := testStore(t, &StoreOptions{Zone: "Asia/Shanghai", Misfire: Misfire{Policy: Skip}})
	d := draft()
	d.Schedule = Schedule{Cron: "  0   9 * * * "}
	j, err := s.Add(t.Context(), d)
	must(t, err)
	want := d
	want.V, want.ID, want.Created, want.Mode, want.Misfire = 1, j.ID, noon, Notify, Misfire{Policy: Skip}
	want.Schedule = Schedule{Cron: "0 9 * * *", Zone: "Asia/Shanghai"}
	want.State = State{Anchor: noon, LastSlot: noon}
	if d := cmp.Diff(want, j); d != "" {
		t.Error(d)
	}
	if len(j.ID) != 10 || strings.Trim(j.ID, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("id %q", j.ID)
	}
	got, err := s.Get(t.Context(), home, j.ID)
	must(t, err)
	if d := cmp.Diff(j, got); d != "" {
		t.Errorf("stored: %s", d)
	}
}

// TestNothingIsStoredOfWhatIsWrong covers the fields; TestCheckSaysWhatIsRight
// has the schedules.
func TestNothingIsStoredOfWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name  string
		field string
		edit  func(*Job)
	}{
		{"no chat", "addr", func(j *Job) { j.Addr.Chat = "" }},
		{"no channel", "addr", func(j *Job) { j.Addr.Channel = "" }},
		{"no message", "message", func(j *Job) { j.Message = " \n" }},
		{"a message too long", "message", func(j *Job) { j.Message = strings.Repeat("药", MaxMessage+1) }},
		{"a huge message", "message", func(j *Job) { j.Message = strings.Repeat("x", 4<<20) }},
		{"a name too long", "name", func(j *Job) { j.Name = strings.Repeat("药", MaxName+1) }},
		{"a mode", "mode", func(j *Job) { j.Mode = "shout" }},
		{"a policy", "misfire", func(j *Job) { j.Misfire.Policy = "sometimes" }},
		{"a span without its policy", "misfire", func(j *Job) { j.Misfire.Within = time.Minute }},
		{"0 seconds", "schedule", func(j *Job) { j.Schedule = Schedule{} }},
		{"past", "at", func(j *Job) { j.Schedule = Schedule{At: noon.Add(-time.Minute)} }},
		{"zone", "zone", func(j *Job) { j.Schedule.Zone = "Atlantis/Nowhere" }},
		{"expression", "cron", func(j *Job) { j.Schedule = Schedule{Cron: "9 o'clock"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, table := testStore(t, nil)
			d := draft()
			c.edit(&d)
			_, err := s.Add(t.Context(), d)
			var in *InputError
			if !errors.As(err, &in) || in.Field != c.field {
				t.Errorf("got %v, want one about %s", err, c.field)
			}
			if all, _ := kv.List(t.Context(), table, ""); len(all) != 0 {
				t.Errorf("stored %v", all)
			}
		})
	}
	s, _ := testStore(t, nil)
	d := draft()
	d.Message, d.Name = strings.Repeat("药", MaxMessage), strings.Repeat("名", MaxName)
	if _, err := s.Add(t.Context(), d); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

// A zone is stored under its one name, however it was called.
func TestZoneIsStoredByItsName(t *testing.T) {
	s, _ := testStore(t, nil)
	for said, want := range map[string]string{
		"Beijing": "Asia/Shanghai", " 北京 ": "Asia/Shanghai", "asia/tokyo": "Asia/Tokyo", "UTC+8": "UTC+08:00", "Local": "Local", "Europe/Berlin": "Europe/Berlin",
	} {
		d := draft()
		d.Schedule.Zone = said
		j, err := s.Add(t.Context(), d)
		if err != nil || j.Schedule.Zone != want {
			t.Errorf("%q is stored as %q, %v, want %q", said, j.Schedule.Zone, err, want)
			continue
		}
		if stored, err := s.Get(t.Context(), j.Addr, j.ID); err != nil || stored.Schedule.Zone != want {
			t.Errorf("%q is read as %q, %v", said, stored.Schedule.Zone, err)
		}
	}
}

func TestBadDefaultsAreRefused(t *testing.T) {
	for _, o := range []StoreOptions{{Zone: "Nowhere"}, {Misfire: Misfire{Policy: "?"}}} {
		if _, err := NewStore(&kv.Memory{}, &o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestLimitPerChat(t *testing.T) {
	s, table := testStore(t, &StoreOptions{PerChat: 3})
	var wait sync.WaitGroup
	for i := range 12 {
		wait.Go(func() {
			d := draft()
			d.Addr.Thread = fmt.Sprint(i) // threads share the limit of their chat
			if _, err := s.Add(t.Context(), d); err != nil && !errors.Is(err, ErrTooMany) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for { // those that were refused together leave room
		if _, err := s.Add(t.Context(), draft()); err != nil {
			break
		}
	}
	if all, _ := kv.List(t.Context(), table, ""); len(all) != 3 {
		t.Errorf("%d jobs, want 3", len(all))
	}
	other := draft()
	other.Addr.Chat = "-200"
	if _, err := s.Add(t.Context(), other); err != nil {
		t.Errorf("another chat: %v", err)
	}
}

func TestOwnership(t *testing.T) {
	for name, c := range map[string]struct {
		by   By
		want error
	}{
		"maker":                       {ann, nil},
		"admin":                       {By{Admin: true}, nil},
		"another":                     {By{Person: Person{Channel: "telegram", Sender: chat.Sender{ID: "2"}}}, ErrNotYours},
		"the same id elsewhere":       {By{Person: Person{Channel: "qq", Sender: chat.Sender{ID: "1"}}}, ErrNotYours},
		"nobody":                      {By{Person: Person{Channel: "telegram"}}, ErrNotYours},
		"somebody of the same name":   {By{Person: Person{Channel: "telegram", Sender: chat.Sender{Name: "Ann"}}}, ErrNotYours},
		"the maker without a channel": {By{Person: Person{Sender: chat.Sender{ID: "1"}}}, ErrNotYours},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := testStore(t, nil)
			j, err := s.Add(t.Context(), draft())
			must(t, err)
			_, err = s.Pause(t.Context(), home, j.ID, c.by)
			check(t, "pause", err, c.want)
			_, err = s.Resume(t.Context(), home, j.ID, c.by)
			check(t, "resume", err, c.want)
			_, err = s.RunNow(t.Context(), home, j.ID, c.by)
			check(t, "run", err, c.want)
			check(t, "remove", s.Remove(t.Context(), home, j.ID, c.by), c.want)
		})
	}
}

func check(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func TestAJobThatIsNotThere(t *testing.T) {
	s, table := testStore(t, nil)
	j, err := s.Add(t.Context(), draft())
	must(t, err)
	elsewhere := chat.Address{Channel: "telegram", Chat: "-200"}
	for _, c := range []struct {
		a  chat.Address
		id string
	}{{elsewhere, j.ID}, {home, "nothing"}, {home, ""}, {home, "a.b"}, {home, strings.Repeat("长", 10000)}} {
		_, err := s.Get(t.Context(), c.a, c.id)
		check(t, "get", err, ErrNotFound)
		_, err = s.Pause(t.Context(), c.a, c.id, By{Admin: true})
		check(t, "pause", err, ErrNotFound)
		check(t, "remove", s.Remove(t.Context(), c.a, c.id, By{Admin: true}), ErrNotFound)
		must(t, s.Report(t.Context(), c.a, c.id, noon, chat.Receipt{}))
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
	if all, _ := kv.List(t.Context(), table, ""); len(all) != 1 {
		t.Errorf("%d entries, want 1", len(all))
	}
	found, err := s.Find(t.Context(), j.ID)
	if err != nil || found.Addr != home {
		t.Errorf("find: %+v %v", found.Addr, err)
	}
	_, err = s.Find(t.Context(), "nothing")
	check(t, "find", err, ErrNotFound)
}

func TestResumeOfAOneShotWhoseTimePassed(t *testing.T) {
	now := noon
	s, _ := testStore(t, &StoreOptions{Now: func() time.Time { return now }})
	d := draft()
	d.Schedule = Schedule{At: noon.Add(time.Hour)}
	j, err := s.Add(t.Context(), d)
	must(t, err)
	_, err = s.Pause(t.Context(), home, j.ID, ann)
	must(t, err)
	now = noon.Add(2 * time.Hour)
	_, err = s.Resume(t.Context(), home, j.ID, ann)
	check(t, "resume", err, ErrOver)
	if got, err := s.Get(t.Context(), home, j.ID); err != nil || !got.Paused || got.Over() {
		t.Errorf("%+v %v, want it paused as it was", got, err)
	}
}

func TestReport(t *testing.T) {
	s, table := testStore(t, nil)
	j, err := s.Add(t.Context(), draft())
	must(t, err)
	// A receipt that is faster than the process which fired settles the claim.
	slot := noon.Add(time.Minute)
	_, err = s.change(t.Context(), key(home, j.ID), func(j *Job) error {
		j.Pending = &Pending{Slot: slot, Claimed: noon, Attempts: 1}
		return nil
	})
	must(t, err)
	dead := chat.Receipt{ID: SlotID(j.ID, slot), Err: strings.Repeat("满", 10000), Refs: make([]chat.MessageRef, 500)}
	must(t, s.Report(t.Context(), home, j.ID, slot, dead))
	got, err := s.Get(t.Context(), home, j.ID)
	must(t, err)
	if got.Pending != nil || len(got.Runs) != 1 || got.Runs[0].Result != Failed || !got.LastSlot.Equal(slot) {
		t.Fatalf("after a dead letter: %+v", got.State)
	}
	if r := got.Runs[0]; len([]rune(r.Err)) != maxErr || len(r.Receipt.Refs) != maxRefs {
		t.Errorf("%d runes of error, %d references", len([]rune(r.Err)), len(r.Receipt.Refs))
	}
	// It was sent again by hand; that counts, and nothing afterwards does.
	must(t, s.Report(t.Context(), home, j.ID, slot, chat.Receipt{Refs: []chat.MessageRef{{ID: "5"}}}))
	must(t, s.Report(t.Context(), home, j.ID, slot, dead))
	must(t, s.Report(t.Context(), home, j.ID, slot.Add(time.Minute), dead))
	got, err = s.Get(t.Context(), home, j.ID)
	must(t, err)
	if len(got.Runs) != 1 || got.Runs[0].Result != Delivered || got.Runs[0].Err != "" || got.Runs[0].Receipt.Refs[0].ID != "5" {
		t.Errorf("runs %+v", got.Runs)
	}
	e, err := table.Get(t.Context(), key(home, j.ID))
	must(t, err)
	if len(e.Value) > 4096 {
		t.Errorf("the entry has %d bytes", len(e.Value))
	}
}

func TestTwentyRunsAreKept(t *testing.T) {
	var j Job
	for i := range MaxRuns + 5 {
		j.remember(Run{Slot: noon.Add(time.Duration(i) * time.Minute)})
	}
	if len(j.Runs) != MaxRuns || !j.Runs[MaxRuns-1].Slot.Equal(noon.Add((MaxRuns+4)*time.Minute)) {
		t.Errorf("%d runs, the last of %s", len(j.Runs), j.Runs[len(j.Runs)-1].Slot)
	}
}

// TestDamageIsSeen: whatever is changed in an entry, it is either refused or
// still the same job.
func TestDamageIsSeen(t *testing.T) {
	s, table := testStore(t, nil)
	j, err := s.Add(t.Context(), draft())
	must(t, err)
	at := key(home, j.ID)
	e, err := table.Get(t.Context(), at)
	must(t, err)
	for name, edit := range map[string]func(m map[string]any){
		"newer version":   func(m map[string]any) { m["v"] = 2 },
		"unknown field":   func(m map[string]any) { m["colour"] = "blue" },
		"other id":        func(m map[string]any) { m["id"] = "zzzzzzzzzz" },
		"other chat":      func(m map[string]any) { m["addr"] = chat.Address{Channel: "qq", Chat: "1"} },
		"no last slot":    func(m map[string]any) { delete(m, "last_slot") },
		"no anchor":       func(m map[string]any) { delete(m, "anchor") },
		"no schedule":     func(m map[string]any) { delete(m, "schedule") },
		"unknown zone":    func(m map[string]any) { m["schedule"] = Schedule{Every: time.Minute, Zone: "X"} },
		"unknown mode":    func(m map[string]any) { m["mode"] = "shout" },
		"unknown misfire": func(m map[string]any) { m["misfire"] = Misfire{} },
		"wrong type":      func(m map[string]any) { m["paused"] = "yes" },
	} {
		var m map[string]any
		must(t, json.Unmarshal(e.Value, &m))
		edit(m)
		value, err := json.Marshal(m)
		must(t, err)
		if _, _, err := decode(at, value, time.LoadLocation); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, value := range []string{"", "null", "{}", "[]", string(e.Value[:len(e.Value)/2]), string(e.Value) + "{}"} {
		if _, _, err := decode(at, []byte(value), time.LoadLocation); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%.40q: %v", value, err)
		}
	}
}

func TestAddOverADamagedChatSaysSo(t *testing.T) {
	s, table := testStore(t, &StoreOptions{PerChat: 1})
	_, err := table.Create(t.Context(), key(home, "damaged"), []byte("?"), 0)
	must(t, err)
	_, err = s.Add(t.Context(), draft())
	check(t, "add", err, ErrTooMany)
	e, err := table.Get(t.Context(), key(home, "damaged"))
	must(t, err)
	if string(e.Value) != "?" {
		t.Errorf("the entry became %q", e.Value)
	}
}

func TestMisfireText(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := Misfire{Policy: rapid.SampledFrom([]Policy{RunOnce, Skip, RunIfWithin}).Draw(r, "policy")}
		if m.Policy == RunIfWithin {
			m.Within = time.Duration(rapid.IntRange(1, 1e6).Draw(r, "within")) * time.Second
		}
		if back, err := ParseMisfire(" " + m.String() + " "); err != nil || back != m {
			r.Fatalf("%q became %+v, %v", m, back, err)
		}
	})
	if m, err := ParseMisfire(""); err != nil || m != (Misfire{}) {
		t.Errorf("empty: %+v %v", m, err)
	}
	for _, bad := range []string{"always", "skip:10m", "run_if_within", "run_if_within:", "run_if_within:-1m", "run_if_within:soon", "run_once:1h", ":1m", "跳过"} {
		var in *InputError
		if _, err := ParseMisfire(bad); !errors.As(err, &in) || !strings.Contains(in.Text, "run_if_within:10m") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestOneShotsThatAreOverLeaveRoom(t *testing.T) {
	now := noon
	s, _ := testStore(t, &StoreOptions{PerChat: 1, Now: func() time.Time { return now }})
	d := draft()
	d.Schedule = Schedule{At: noon.Add(time.Minute)}
	j, err := s.Add(t.Context(), d)
	must(t, err)
	_, err = s.Add(t.Context(), draft())
	check(t, "while it waits", err, ErrTooMany)
	_, err = s.change(t.Context(), key(home, j.ID), func(j *Job) error {
		j.Pending = &Pending{Slot: j.Schedule.At}
		j.settle(now, Failed, "no such chat")
		return nil
	})
	must(t, err)
	if _, err = s.Add(t.Context(), draft()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
