package app_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"magpie/cron"
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

var jobID = regexp.MustCompile(`id: ([a-z2-7]{10})`)

// idIn is the id of the job that an answer is about.
func idIn(t testing.TB, answer string) string {
	t.Helper()
	m := jobID.FindStringSubmatch(answer)
	if m == nil {
		t.Fatalf("%q names no job", answer)
	}
	return m[1]
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
		`{"action":"remove","job_id":"` + strings.Repeat("a", 10) + `"}`:         "no such reminder",
		`{"action":"add","schedule":"every day at 9am","message":" "}`:           "what shall I remind you of",
		`{"action":"add","message":"x","every_seconds":60,"cron_expr":"@daily"}`: "exactly one",
	} {
		a.want("cron "+args, want)
	}
	if jobs := a.all(); len(jobs) != 0 {
		t.Errorf("%d jobs are stored", len(jobs))
	}
	daily := idIn(t, a.want(`remind {"action":"add","message":"pills","cron_expr":"0 9 * * *"}`, "every day at 09:00"))
	a.want(`cron {"action":"list"}`, "1 in this chat", "pills", daily)
	a.want(`cron {"action":"remove","job_id":"1"}`, "removed", "pills")
	if jobs := a.all(); len(jobs) != 0 {
		t.Errorf("%d jobs are left", len(jobs))
	}
	idIn(t, a.wantAnywhere(`cron {"action":"add","message":"喝水","schedule":"in 3 seconds","tz":"Asia/Shanghai"}`, "喝水", "（Asia/Shanghai）"))
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
	w.want("每天早上9点提醒我吃药", "到时我会提醒：吃药", "每天 09:00（Asia/Shanghai）", "下次：")
	w.want("明天下午三点开会提醒我", "开会", "15:00（Asia/Shanghai）")
	w.want("remind me tomorrow at 8 to run", "1. ", "08:00", "2. ", "20:00", "number")
	w.want("2", "run", "20:00 (Asia/Shanghai)")
	w.want("我的提醒", "共 3 个", "吃药", "开会", "run")
	w.want("取消吃药的提醒", "已删除", "吃药")
	w.want("cancel the run reminder", "removed", "run")
	w.want("remind me to think", "no time found")
	w.want("/lang en", "English")
	w.want("明天8点提醒我跑步", "“8点”: in the morning or in the evening?", "\n\nAnswer with the number.")
	w.want("取消提醒9", "That did not work: there is no such reminder")
	w.want("/lang auto")
	clean(t, b.signal(syscall.SIGTERM))
	w.startWith(path, listen).ready()
	w.want("What reminders do I have?", "1 in this chat", "开会")
	w.want("取消第一个提醒", "已删除", "开会")
	w.want("remember that I like tea", "I will remember")
	w.want("what do you know about me?", "I like tea")
	w.wantAnywhere("remind me in 3 seconds to stretch", "I will remind you: stretch", "(Asia/Shanghai)")
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
	pills := idIn(t, a.want("/remind every day at 09:00 take the pills", "take the pills", "every day at 09:00 (Europe/Berlin); next: "))
	a.want("/tz Asia/Tokyo", "Asia/Tokyo", "keep their own")
	tea := idIn(t, a.want("/remind tomorrow at 3pm tea", "15:00 (Asia/Tokyo)"))
	a.want("/remind tomorrow at 8 run", "1. /remind ", "08:00 (Asia/Tokyo) run", "2. /remind ", "20:00 (Asia/Tokyo) run")
	a.want("/remind", "/remind in 20 minutes")
	a.want("/remind yesterday at 15:00 x", "passed")
	a.want("/remind whenever", "no time found")
	a.want("/remnd in 1 hour x", "Did you mean /remind")
	a.want("/cron remvoe 1", "Did you mean")
	a.want("/cron task every weekday at 08:30 read the news", "I will do this then", "every weekday at 08:30 (Asia/Tokyo)")
	a.want("/remind in 1 hour x", "3 reminders already")
	list := a.want("/reminders", "3 in this chat", "Europe/Berlin", "Asia/Tokyo", pills, tea, "⚙️ read the news")
	a.want("/reminders pause "+pills, "paused")
	a.want("/reminders", "every day at 09:00 (Europe/Berlin) (paused)")
	a.want("/cron resume the pills", "goes on", "next: ")
	a.want("/lang zh", "中文")
	a.want("/提醒列表", "共 3 个提醒", "每天 09:00（Europe/Berlin）", "下次：")
	a.want("/提醒列表 删除 "+tea, "已删除", "tea")
	a.want("/定时 删除 "+tea, "没有这个提醒")
	a.say("/定时 执行 " + pills)
	a.wait(owner, "answer and delivery, in any order", func(m []telegram.Message) bool {
		return count(m, "现在发送：⏰ take the pills") == 1 && strings.Contains("|"+texts(m)+"|", "|⏰ take the pills|")
	})
	if r := a.ran(b, a.job(pills), 1, result(cron.Delivered)); !r.Manual {
		t.Errorf("run %+v", r)
	}
	a.want("/提醒列表", "上次：已送达")
	s.letGo()
	a.wait(owner, "the turn's answer", func(m []telegram.Message) bool { return count(m, "echo: slow") == 1 })
	if !strings.Contains(list, "\n") || len(a.all()) != 2 {
		t.Errorf("the list is %q, %d jobs are left", list, len(a.all()))
	}
	clean(t, b.signal(syscall.SIGTERM))
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
	id := idIn(t, ask(owner, "/remind every day at 09:00 stand-up", "stand-up"))
	ask(friend, "/reminders", "stand-up", "by Ada", id)
	for _, verb := range []string{"remove", "pause", "resume", "run"} {
		ask(friend, "/reminders "+verb+" "+id, "only who made a reminder, or an admin")
	}
	a.want("/reminders", "no reminders")
	a.want("/reminders remove "+id, "no such reminder")
	ask(owner, "/reminders pause 1", "paused")
	ask(admin, "/reminders resume 1", "goes on")
	if j := a.job(id); j.Paused || j.Direct || j.Maker.ID != fmt.Sprint(owner) {
		t.Errorf("job %+v", j)
	}
	ask(admin, "/reminders remove "+id, "removed")
	if n := len(a.all()); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}
