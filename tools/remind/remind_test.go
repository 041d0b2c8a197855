package remind_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/internal/kv"
	"magpie/tools"
	"magpie/tools/remind"
	"magpie/tools/tooltest"
)

// bench is the tool behind an executor, at 10:30 on a Monday in Shanghai.
type bench struct {
	t    *testing.T
	exec *tools.Executor
	jobs *cron.Store
	n    int
}

var (
	now = time.Date(2026, 11, 23, 2, 30, 0, 0, time.UTC)
	ann = tools.Scope{
		Addr: chat.Address{Channel: "qq", Chat: "group:1", Thread: "t"}, Sender: chat.Sender{ID: "ann", Name: "安"}, Lang: "en",
		Zone: time.FixedZone("UTC+08:00", 8*3600),
	}
)

func newBench(t *testing.T, o *remind.Options) *bench {
	t.Helper()
	b := &bench{t: t, jobs: store(t)}
	reg := &tools.Registry{}
	if err := reg.Register(remind.Tool(newDesk(b.jobs), o)); err != nil {
		t.Fatal(err)
	}
	b.exec = tools.NewExecutor(reg, nil)
	return b
}

func store(t *testing.T) *cron.Store {
	t.Helper()
	s, err := cron.NewStore(new(kv.Memory), &cron.StoreOptions{Now: func() time.Time { return now }, PerChat: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run calls the tool and checks kind and text; it returns the text.
func (b *bench) run(sc tools.Scope, args string, kind tools.ErrorKind, want ...string) string {
	b.t.Helper()
	b.n++
	if sc.CallID == "" {
		sc.CallID = fmt.Sprintf("turn:%d", b.n)
	}
	res := b.exec.Run(b.t.Context(), sc, "cron", args)
	for _, w := range append(want, "") {
		if res.Err != kind || !strings.Contains(res.Text, w) {
			b.t.Errorf("%s = %s %q, want %s %q", args, res.Err, res.Text, kind, w)
		}
	}
	return res.Text
}

func (b *bench) all() []cron.Job {
	b.t.Helper()
	jobs, err := b.jobs.All(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return jobs
}

// made calls the tool and returns the id of the only job that is new.
func (b *bench) made(sc tools.Scope, args string, want ...string) string {
	b.t.Helper()
	before := b.all()
	b.run(sc, args, "", want...)
	for _, j := range b.all() {
		if !slices.ContainsFunc(before, func(old cron.Job) bool { return old.ID == j.ID }) {
			return j.ID
		}
	}
	b.t.Fatalf("%s makes no job", args)
	return ""
}

// The row of the tool in the contract: every parameter, its aliases and the
// camelCase spelling, and what becomes of it.
func TestAdd(t *testing.T) {
	for args, want := range map[string]cron.Job{
		`{"action":"add","message":"drink","every_seconds":90}`:                                  {Schedule: cron.Schedule{Every: 90 * time.Second, Zone: "UTC+08:00"}},
		`{"action":"add","text":"drink","everySeconds":"90"}`:                                    {Schedule: cron.Schedule{Every: 90 * time.Second, Zone: "UTC+08:00"}},
		`{"action":"add","message":"drink","cronExpr":"30 9 * * 1-5","tz":"Asia/Tokyo"}`:         {Schedule: cron.Schedule{Cron: "30 9 * * 1-5", Zone: "Asia/Tokyo"}},
		`{"action":"add","message":"drink","cron_expr":"@daily","timezone":"utc"}`:               {Schedule: cron.Schedule{Cron: "0 0 * * *", Zone: "UTC"}},
		`{"action":"add","message":"drink","at":"2026-11-24T15:00"}`:                             {Schedule: cron.Schedule{At: now.Add(28*time.Hour + 30*time.Minute), Zone: "UTC+08:00"}},
		`{"action":"add","message":"drink","at":"2026-11-24T15:00:00Z"}`:                         {Schedule: cron.Schedule{At: now.Add(36*time.Hour + 30*time.Minute), Zone: "UTC+08:00"}},
		`{"action":"add","message":"drink","schedule":"every 10m"}`:                              {Schedule: cron.Schedule{Every: 10 * time.Minute, Zone: "UTC+08:00"}},
		`{"action":"add","content":"drink","when":"每周一上午九点"}`:                                    {Schedule: cron.Schedule{Cron: "0 9 * * 1", Zone: "UTC+08:00"}},
		`{"action":"add","schedule":"remind me in 20 minutes to drink"}`:                         {Schedule: cron.Schedule{At: now.Add(20 * time.Minute), Zone: "UTC+08:00"}},
		`{"action":"add","message":"drink","schedule":"in 1 hour","name":"Tea","mode":"notify"}`: {Name: "Tea", Schedule: cron.Schedule{At: now.Add(time.Hour), Zone: "UTC+08:00"}},
		`{"action":"add","message":"drink","schedule":"in 1 hour","mode":"agent"}`:               {Mode: cron.Agent, Schedule: cron.Schedule{At: now.Add(time.Hour), Zone: "UTC+08:00"}},
		`{"action":"add","message":"drink","schedule":"in 1 hour","misfire":"run_if_within:5m"}`: {Misfire: cron.Misfire{Policy: cron.RunIfWithin, Within: 5 * time.Minute}, Schedule: cron.Schedule{At: now.Add(time.Hour), Zone: "UTC+08:00"}},
	} {
		b := newBench(t, nil)
		id := b.made(ann, args, "drink")
		jobs := b.all()
		if len(jobs) != 1 || jobs[0].ID != id {
			t.Fatalf("%s: %q, %+v", args, id, jobs)
		}
		got := jobs[0]
		want.Mode = map[bool]cron.Mode{true: cron.Notify, false: want.Mode}[want.Mode == ""]
		if want.Misfire == (cron.Misfire{}) {
			want.Misfire.Policy = cron.RunOnce
		}
		if got.Schedule.Every != want.Schedule.Every || got.Schedule.Cron != want.Schedule.Cron || !got.Schedule.At.Equal(want.Schedule.At) || got.Schedule.Zone != want.Schedule.Zone {
			t.Errorf("%s: schedule %+v, want %+v", args, got.Schedule, want.Schedule)
		}
		if got.Message != "drink" || got.Name != want.Name || got.Mode != want.Mode || got.Misfire != want.Misfire || got.Addr != ann.Addr || got.Maker.ID != "ann" || got.Maker.Channel != "qq" {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	for args, want := range map[string]string{
		`{"action":"shout"}`:             "list",
		`{}`:                             "action",
		`{"action":"add","message":"x"}`: "every_seconds",
		`{"action":"add","message":"x","every_seconds":0}`:                           "1",
		`{"action":"add","message":"x","every_seconds":-5}`:                          "1",
		`{"action":"add","message":"x","every_seconds":1.5}`:                         "integer",
		`{"action":"add","message":"x","cron_expr":"* * * *"}`:                       "5",
		`{"action":"add","message":"x","cron_expr":" "}`:                             "exactly one",
		`{"action":"add","message":"x","at":"2020-01-01T00:00"}`:                     "passed",
		`{"action":"add","message":"x","at":"blah"}`:                                 "in 20 minutes",
		`{"action":"add","message":"x","schedule":"in 1 hour","tz":"Mars/X"}`:        "Asia/Shanghai",
		`{"action":"add","message":"x","schedule":"in 1 hour","at":"2027-01-01"}`:    "exactly one",
		`{"action":"add","message":"x","schedule":"tomorrow at 8"}`:                  "2. Tue 2026-11-24 20:00 (UTC+08:00)",
		`{"action":"add","schedule":"in 1 hour"}`:                                    "what shall I remind you of",
		`{"action":"add","message":"x","schedule":"in 1 hour","mode":"loud"}`:        "notify",
		`{"action":"add","message":"x","schedule":"in 1 hour","misfire":"sometime"}`: "run_once",
		`{"action":"remove"}`:                                "which one",
		`{"action":"list","channel":"telegram"}`:             "chat_id",
		`{"action":"add","message":"x","every_minutes":"1"}`: "every_seconds",
	} {
		b := newBench(t, nil)
		b.run(ann, args, tools.InvalidArgs, want)
		if n := len(b.all()); n != 0 {
			t.Errorf("%s: %d jobs are stored", args, n)
		}
	}
}

func TestListAndChange(t *testing.T) {
	b := newBench(t, &remind.Options{Admin: func(channel, sender string) bool { return channel == "qq" && sender == "boss" }})
	b.run(ann, `{"action":"list"}`, "", "no reminders")
	id := b.made(ann, `{"action":"add","message":"drink","every_seconds":60}`)
	zh := ann
	zh.Lang = "zh"
	b.run(zh, `{"action":"list"}`, "", "1. ", "：drink（每分钟）")
	elsewhere := ann
	elsewhere.Addr.Thread = ""
	b.run(elsewhere, `{"action":"list"}`, "", "drink (every minute)") // the threads of a chat share a list
	b.run(ann, `{"action":"pause","id":"`+id+`"}`, "", "Paused", "drink")
	b.run(ann, `{"action":"resume","jobId":"1"}`, "", "drink")
	if b.all()[0].Paused {
		t.Error("it is paused still")
	}
	b.run(ann, `{"action":"update","job_id":"1","schedule":"every 2 hours","message":"drink tea"}`, "", "drink tea")
	if j := b.all()[0]; j.Schedule.Every != 2*time.Hour || j.Message != "drink tea" {
		t.Errorf("the job is %+v", j)
	}
	b.run(ann, `{"action":"undo"}`, "")
	b.run(ann, `{"action":"undo"}`, "")
	if j := b.all()[0]; j.Schedule.Every != time.Minute || j.Message != "drink" {
		t.Errorf("taken back the job is %+v", j)
	}
	bob, boss := ann, ann
	bob.Sender.ID, boss.Sender.ID = "bob", "boss"
	for _, action := range []string{"remove", "pause", "resume", "run"} {
		b.run(bob, `{"action":"`+action+`","job_id":"`+id+`"}`, tools.Permission, "is the reminder of 安")
	}
	other := ann
	other.Addr.Chat = "group:2"
	b.run(other, `{"action":"list"}`, "", "no reminders")
	b.run(other, `{"action":"remove","job_id":"`+id+`"}`, tools.NotFound, "there is no reminder")
	b.run(boss, `{"action":"run","job_id":"`+id+`"}`, "", "drink")
	b.run(boss, `{"action":"remove","job_id":"`+id+`"}`, "", "Cancelled", "drink")
	if n := len(b.all()); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}

// Another chat's jobs are for whom the program allows it.
func TestElsewhere(t *testing.T) {
	args := `{"action":"add","message":"x","every_seconds":60,"channel":"telegram","chatId":"5"}`
	b := newBench(t, nil)
	b.run(ann, args, tools.Permission, "leave out channel and chat_id")
	b = newBench(t, &remind.Options{Elsewhere: func(_ context.Context, sc tools.Scope, to chat.Address) error {
		if sc.Sender.ID != "boss" {
			return errors.New("only an administrator may")
		}
		return nil
	}})
	b.run(ann, args, tools.Permission, "only an administrator may")
	if n := len(b.all()); n != 0 {
		t.Fatalf("%d jobs are stored", n)
	}
	boss := ann
	boss.Sender.ID, boss.Direct = "boss", true
	b.run(boss, args, "", "x")
	j := b.all()[0]
	if j.Addr != (chat.Address{Channel: "telegram", Chat: "5"}) || j.Maker.Channel != "qq" || j.Maker.ID != "boss" || j.Direct {
		t.Errorf("job %+v", j)
	}
	b.run(boss, `{"action":"list"}`, "", "no reminders")
	b.run(boss, `{"action":"list","channel":"telegram","to":"5"}`, "", "1. ", "– x")
	b.run(boss, `{"action":"remove","channel":"telegram","chat_id":"5","job_id":"1"}`, "", "Cancelled")
	if n := len(b.all()); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}

// A job cannot make jobs, nor keep itself going; it may end them.
func TestTurnOfAJob(t *testing.T) {
	b := newBench(t, nil)
	b.made(ann, `{"action":"add","message":"drink","every_seconds":60}`)
	job := ann
	job.FromJob = true
	b.run(job, `{"action":"add","message":"again","every_seconds":60}`, tools.Permission, "a job may not add jobs")
	b.run(job, `{"action":"run","job_id":"1"}`, tools.Permission, "may not run")
	b.run(job, `{"action":"list"}`, "", "drink")
	b.run(job, `{"action":"pause","job_id":"1"}`, "", "Paused")
	b.run(job, `{"action":"resume","job_id":"1"}`, tools.Permission, "may not resume")
	if n := len(b.all()); n != 1 {
		t.Errorf("%d jobs", n)
	}
	b.run(job, `{"action":"remove","job_id":"1"}`, "", "Cancelled")
	if n := len(b.all()); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}

// A call that is repeated after a crash makes no second job.
func TestRepeatedCall(t *testing.T) {
	b := newBench(t, nil)
	same := ann
	same.CallID = "turn:0.0"
	first := b.run(same, `{"action":"add","message":"drink","every_seconds":60}`, "")
	if again := b.run(same, `{"action":"add","message":"drink","every_seconds":60}`, ""); again != first || len(b.all()) != 1 {
		t.Errorf("%q, then %q, %d jobs", first, again, len(b.all()))
	}
}

// In a turn that has read text from outside, a task for later is asked about;
// words for the current chat are not.
func TestStays(t *testing.T) {
	s := remind.Tool(newDesk(store(t)), nil).(tools.Stayer)
	for args, want := range map[string]bool{
		`{"action":"list"}`: true, `{"action":"remove","job_id":"1"}`: true,
		`{"action":"add","message":"x","every_seconds":60}`:                     true,
		`{"action":"add","message":"x","every_seconds":60,"chat_id":"group:1"}`: true,
		`{"action":"add","message":"x","every_seconds":60,"mode":"agent"}`:      false,
		`{"action":"add","message":"x","every_seconds":60,"chat_id":"5"}`:       false,
		`{"action":"list","channel":"telegram","chat_id":"5"}`:                  false,
		`[]`: false,
	} {
		if got := s.Stays(ann, []byte(args)); got != want {
			t.Errorf("Stays(%s) = %v", args, got)
		}
	}
}

func TestConformance(t *testing.T) {
	tooltest.Run(t, remind.Tool(newDesk(store(t)), nil), &tooltest.Options{Mends: true, Good: []string{
		`{"action":"list"}`,
		`{"action":"add","message":"drink","every_seconds":60,"tz":"UTC"}`,
		`{"action":"add","message":"drink","schedule":"tomorrow at 3pm"}`,
		`{"action":"add","message":"drink","cron_expr":"0 9 * * 1-5"}`,
	}})
}

func newDesk(jobs *cron.Store) *desk.Desk { return desk.New(jobs, new(kv.Memory)) }

// What a reminder will say is guarded when a turn makes it that has read text
// from outside, wherever in the call it stands.
func TestRemindersAreGuarded(t *testing.T) {
	for _, args := range []string{
		`{"action":"add","message":"see evil.com","every_seconds":90}`, `{"action":"add","message":"see evil.com","name":"see evil.com","schedule":"in 1 hour"}`,
		`{"action":"add","schedule":"remind me in 20 minutes to see evil.com"}`,
	} {
		b, sc := newBench(t, nil), ann
		sc.Sources = []chat.Source{{Kind: chat.SourcePage}}
		sc.Guard = func(text string) string { return strings.ReplaceAll(text, "evil.com", "nothing") }
		b.made(sc, args)
		if j := b.all()[0]; j.Message != "see nothing" || strings.Contains(j.Name, "evil") {
			t.Errorf("%s: %q, %q", args, j.Message, j.Name)
		}
	}
}
