package app_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/cron"
	"magpie/cron/ics"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// want says something and waits for the bot's next message, which holds want;
// it returns the message.
func (w *world) want(said string, want ...string) string {
	w.t.Helper()
	n := len(w.tg.Messages(owner))
	w.say(said)
	msgs := w.wait(owner, "an answer to "+said, func(m []telegram.Message) bool { return len(m) > n })
	holds(w.t, said, msgs[n].Text, want...)
	return msgs[n].Text
}

// wantAnywhere is want where the answer may not be the next message: a reminder
// that is due soon may come before it.
func (w *world) wantAnywhere(said string, want ...string) (answer string) {
	w.t.Helper()
	n := len(w.tg.Messages(owner))
	w.say(said)
	w.wait(owner, "an answer to "+said, func(m []telegram.Message) bool {
		return slices.ContainsFunc(m[n:], func(m telegram.Message) bool {
			answer = m.Text
			return !slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(answer, part) })
		})
	})
	return answer
}

func holds(t testing.TB, said, got string, want ...string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(got, part) {
			t.Errorf("%q is answered %q, want %q in it", said, got, part)
		}
	}
}

// A model makes, lists and removes reminders by its tool; one arrives. What it
// gets wrong comes back with what is right, and stores nothing.
func TestRemindByTheModel(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	a.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if res := r.Results(); len(res) > 0 {
			return modelserver.Answer{Text: res[len(res)-1].Text}
		}
		name, args, ok := strings.Cut(r.LastUser(), " {")
		if !ok {
			return modelserver.Echo(r)
		}
		return modelserver.Answer{Calls: []modelserver.Call{{Name: name, Args: "{" + args}}}
	})
	b := a.start("bot")
	b.ready()
	for args, want := range map[string]string{
		`{"action":"add","message":"x","schedule":"tomorrow at 8"}`:              "2. ",
		`{"action":"add","message":"x","cronExpr":"61 * * * *"}`:                 "values from 0 to 59",
		`{"action":"add","message":"x","at":"2020-01-01T10:00"}`:                 "passed",
		`{"action":"add","message":"x","everySeconds":0}`:                        "every_seconds",
		`{"action":"add","message":"x","schedule":"in 1 hour","tz":"Mars/X"}`:    "Asia/Shanghai",
		`{"action":"add","message":"x","every_seconds":60,"chat_id":"1002"}`:     "only an administrator",
		`{"action":"remove","job_id":"` + strings.Repeat("a", 10) + `"}`:         "there is no reminder",
		`{"action":"add","schedule":"every day at 9am","message":" "}`:           "what shall I remind you of",
		`{"action":"add","message":"x","every_seconds":60,"cron_expr":"@daily"}`: "exactly one",
	} {
		a.want("cron "+args, want)
	}
	if jobs := a.all(); len(jobs) != 0 {
		t.Errorf("%d jobs are stored", len(jobs))
	}
	a.want(`remind {"action":"add","message":"pills","cron_expr":"0 9 * * *"}`, "every day at 09:00", "pills")
	a.want(`cron {"action":"list"}`, "1. ", "pills", "every day at 09:00")
	a.want(`cron {"action":"update","job_id":1,"schedule":"every day at 10:30"}`, "every day at 10:30", "pills")
	if jobs := a.all(); len(jobs) != 1 || jobs[0].Schedule.Cron != "30 10 * * *" {
		t.Errorf("changed: %+v", jobs)
	}
	a.want(`cron {"action":"remove","job_id":"1"}`, "Cancelled", "pills")
	if jobs := a.all(); len(jobs) != 0 {
		t.Errorf("%d jobs are left", len(jobs))
	}
	a.wantAnywhere(`cron {"action":"add","message":"喝水","schedule":"in 3 seconds","tz":"Asia/Shanghai"}`, "好的", "喝水")
	a.shownOnce("⏰ 喝水")
	clean(t, b.signal(syscall.SIGTERM))
}

// Without a model the offline assistant does the same, in both languages, and
// asks which time was meant.
func TestRemindOffline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.models = "[{name: none, provider: offline}]"
	w.extra = "timezone: Asia/Shanghai"
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.want("list reminders", "no reminders")
	w.want("每天早上9点提醒我吃药", "好的", "吃药", "每天 09:00")
	w.want("明天下午三点开会提醒我", "好的", "开会", "15:00")
	w.want("remind me tomorrow at 8 to run", "1. ", "2. ", "20:00")
	w.want("2", "OK", "run", "20:00")
	w.want("我的提醒", "1. ", "吃药", "2. ", "开会", "3. ", "run")
	w.want("取消吃药的提醒", "已取消", "吃药")
	w.want("cancel the run reminder", "Cancelled", "run")
	w.want("remind me to think", "hen") // it asks when
	w.want("thanks", "welcome")         // that is no answer
	w.want("明天8点提醒我跑步", "1. ", "2. ")
	w.want("算了", "好的")
	w.want("取消提醒9", "没有")
	clean(t, b.signal(syscall.SIGTERM))
	w.startWith(path, listen).ready()
	w.want("What reminders do I have?", "1. ", "开会")
	w.want("取消开会的提醒", "已取消", "开会")
	w.want("remember that I like tea", "I will remember")
	w.want("what do you know about me?", "I like tea")
	w.wantAnywhere("remind me in 3 seconds to stretch", "OK", "stretch")
	w.wait(owner, "the reminder", func(m []telegram.Message) bool { return count(m, "⏰ stretch") == 1 })
}

// Commands do it without a model, also while a turn runs; /tz is the zone of
// reminders made later.
func TestRemindByCommand(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	a.extra = "timezone: Europe/Berlin\ncron: {max_jobs_per_chat: 3}"
	s := a.slowOn("slow")
	b := a.start("bot")
	b.ready()
	a.say("slow")
	receive(t, s.asked, "the model asked") // a turn runs from here on
	a.want("/reminders", "no reminders", "/remind in 20 minutes")
	a.want("/remind every day at 09:00 take the pills", "take the pills", "every day at 09:00")
	pills := a.named("take the pills").ID
	a.want("/tz Asia/Tokyo", "Asia/Tokyo", "keep their own")
	a.want("/remind tomorrow at 3pm tea", "15:00", "tea")
	tea := a.named("tea").ID
	a.want("/remind tomorrow at 8 run", "1. ", "08:00", "2. ", "20:00")
	a.want("/remind never mind", "leave it")
	a.want("/remind", "/remind in 20 minutes")
	a.want("/remind yesterday at 15:00 x", "passed")
	a.want("/remnd in 1 hour x", "Did you mean /remind")
	a.want("/cron remvoe 1", "Did you mean")
	a.want("/cron task every weekday at 08:30 read the news", "read the news", "every weekday at 08:30")
	if j := a.named("read the news"); j.Mode != cron.Agent {
		t.Errorf("task %+v", j)
	}
	a.want("/remind in 1 hour x", "3 reminders already")
	a.want("/reminders", "1. ", "2. ", "3. ", "take the pills", "tea", "⚙️ read the news")
	a.want("/reminders pause "+pills, "Paused", "take the pills")
	a.want("/reminders", "paused")
	a.want("/cron resume the pills", "take the pills")
	a.want("/reminders move "+tea+" to 16:30", "16:30", "tea")
	a.want("/reminders rename "+tea+" Green", "Green")
	a.want("/reminders undo", "tea")
	if j := a.job(tea); j.Name != "" || !strings.Contains(j.Schedule.At.In(time.FixedZone("", 9*3600)).String(), "16:30") {
		t.Errorf("job %+v", j)
	}
	a.want("/lang zh", "中文")
	a.want("/提醒列表", "1. ", "每天 09:00")
	a.want("/提醒列表 删除 "+tea, "已取消", "tea")
	a.want("/定时 删除 "+tea, "没有")
	a.want("/提醒列表 删除 全部", "真的要删除全部 2 个")
	a.want("/提醒 算了", "不改了")
	a.say("/定时 执行 " + pills)
	a.wait(owner, "answer and delivery, in any order", func(m []telegram.Message) bool {
		return strings.Contains("|"+texts(m)+"|", "|⏰ take the pills|")
	})
	if r := a.ran(b, a.job(pills), 1, result(cron.Delivered)); !r.Manual {
		t.Errorf("run %+v", r)
	}
	s.letGo()
	a.wait(owner, "the turn's answer", func(m []telegram.Message) bool { return count(m, "echo: slow") == 1 })
	if len(a.all()) != 2 {
		t.Errorf("%d jobs are left", len(a.all()))
	}
	clean(t, b.signal(syscall.SIGTERM))
}

// named finds the job with that text.
func (a *agenda) named(message string) cron.Job {
	a.t.Helper()
	for _, j := range a.all() {
		if j.Message == message {
			return j
		}
	}
	a.t.Fatalf("there is no job %q: %+v", message, a.all())
	return cron.Job{}
}

// job finds a job by its id.
func (a *agenda) job(id string) cron.Job {
	a.t.Helper()
	j, err := a.jobs.Find(a.t.Context(), id)
	if err != nil {
		a.t.Fatal(err)
	}
	return j
}

// In a group everybody sees the reminders, and only who made one, or an admin,
// changes it. No other chat sees it.
func TestRemindInAGroup(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	const group, friend, admin = -100501, 1002, 1003
	a.tg.AddPerson(telegram.Person{ID: friend, Name: "Bob"})
	a.tg.AddPerson(telegram.Person{ID: admin, Name: "Cat"})
	a.tg.AddGroup(telegram.Group{ID: group, Title: "kitchen"})
	a.door = `allow: ["*"], stream: false, group: open`
	path, listen := a.config("bot")
	replaceIn(t, path, `security: {`, fmt.Sprintf(`security: {admins: ["telegram:%d"], `, admin))
	a.startWith(path, listen).ready()
	ask := func(from int64, said string, want ...string) string {
		t.Helper()
		n := len(a.tg.Messages(group))
		a.tg.Say(telegram.Said{From: from, Chat: group, Text: said})
		got := a.wait(group, "an answer to "+said, func(m []telegram.Message) bool { return len(m) > n })[n].Text
		holds(t, said, got, want...)
		return got
	}
	ask(owner, "/remind every day at 09:00 stand-up", "stand-up")
	id := a.named("stand-up").ID
	ask(friend, "/reminders", "stand-up", "for Ada")
	for _, verb := range []string{"remove", "pause", "resume", "run", "skip", "move"} {
		ask(friend, "/reminders "+verb+" "+id+map[string]string{"move": " 10:00"}[verb], "is the reminder of Ada")
	}
	a.want("/reminders", "no reminders")
	a.want("/reminders remove "+id, "there is no")
	ask(owner, "/reminders pause 1", "Paused")
	ask(admin, "/reminders resume 1", "stand-up")
	if j := a.job(id); j.Paused || j.Direct || j.Maker.ID != fmt.Sprint(owner) {
		t.Errorf("job %+v", j)
	}
	ask(admin, "/reminders remove "+id, "Cancelled")
	if n := len(a.all()); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}

// The reminders of a chat can be had as a calendar file.
func TestExportedReminders(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	b := a.start("bot")
	b.ready()
	a.want("/reminders export", "no reminders")
	add(t, a.jobs, asked("drink water", cron.Schedule{Cron: "0 9 * * 1-5", Zone: "Asia/Shanghai"}))
	a.say("/提醒列表 导出")
	msgs := a.wait(owner, "the file", func(m []telegram.Message) bool { return len(m) > 1 && m[len(m)-1].File != nil })
	file := msgs[len(msgs)-1].File
	entries, skipped, err := ics.Read(bytes.NewReader(file.Data), time.UTC, time.Now())
	if err != nil || len(skipped) != 0 || len(entries) != 1 || entries[0].Text != "drink water" || file.Name != "reminders.ics" {
		t.Errorf("%s holds %+v, without %+v, %v:\n%s", file.Name, entries, skipped, err, file.Data)
	}
	clean(t, b.signal(syscall.SIGTERM))
}

// What is said next answers the question of a command, or of a button, without
// the model, which knows nothing of it; also after a restart. Anything else goes
// to the model.
func TestAnswersToCommandsAndButtons(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	path, listen := a.config("bot")
	b := a.startWith(path, listen)
	b.ready()
	a.want("/remind tomorrow at 8 run", "1. ", "2. ")
	a.want("hello there", "echo: hello there")
	clean(t, b.signal(syscall.SIGTERM))
	b = a.startWith(path, listen)
	b.ready()
	n := a.model.Count()
	a.want("2", "OK", "run", "20:00")
	if got := a.named("run").Schedule.At.In(time.UTC).Format("15:04"); got != "20:00" {
		t.Errorf("it comes at %s", got)
	}
	job := add(t, a.jobs, asked("drink water", someDay()))
	a.fire(b, job, result(cron.Delivered))
	msgs := a.wait(owner, "the reminder", func(m []telegram.Message) bool { return count(m, "⏰ drink water") == 1 })
	shown := msgs[len(msgs)-1]
	if _, err := a.tg.Press(owner, owner, shown.ID, labelled(t, shown, "Edit")); err != nil {
		t.Fatal(err)
	}
	a.wait(owner, "the question", func(m []telegram.Message) bool { return count(m, "What shall become of “drink water”?") == 1 })
	a.want("every day at 7am", "drink water", "07:00")
	if got := a.job(job.ID).Schedule.Cron; got != "0 7 * * *" {
		t.Errorf("the schedule is %q", got)
	}
	if asked := a.model.Count() - n; asked != 0 {
		t.Errorf("the model was asked %d times", asked)
	}
	a.want("2", "echo: 2") // nothing is open any more
	// No order to remove anything.
	for said, want := range map[string]string{"cancel": "leave it", "stop": "leave it", "取消": "不改", "不用": "不改"} {
		a.want("/remind tomorrow at 8 walk", "1. ", "2. ")
		a.want(said, want)
	}
	clean(t, b.signal(syscall.SIGTERM))
}
