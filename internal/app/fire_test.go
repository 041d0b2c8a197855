package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/agent/buttons"
	"magpie/chat"
	"magpie/cron"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// A notice is delivered without a model, the job has its receipt, and the
// conversation knows of it.
func TestNoticeJoinsTheConversation(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	b := a.start("bot")
	b.ready()
	job := add(t, a.jobs, asked("**drink** water", someDay()))
	run := a.fire(b, job, result(cron.Delivered))
	shown := a.wait(owner, "the notice", func(m []telegram.Message) bool { return len(m) == 1 })[0]
	if shown.Text != "⏰ **drink** water" || len(shown.Keyboard) == 0 {
		t.Errorf("the chat shows %+v", shown)
	}
	if r := run.Receipt; r == nil || len(r.Refs) != 1 || r.Refs[0].ID != fmt.Sprint(shown.ID) || r.ID != cron.SlotID(job.ID, run.Slot) {
		t.Errorf("receipt %+v", run.Receipt)
	}
	if n := a.model.Count(); n != 0 {
		t.Errorf("the model was asked %d times for a notice", n)
	}
	a.say("done, thanks")
	a.wait(owner, "answer", func(m []telegram.Message) bool { return count(m, "echo: done") == 1 })
	heard := a.model.Requests()[0].Messages
	if len(heard) != 2 || heard[0].Role != "user" || !strings.HasPrefix(heard[0].Text, "[The chat has been shown this reminder") ||
		!strings.Contains(heard[0].Text, "<reminder>\n⏰ **drink** water\n</reminder>") {
		t.Errorf("the model was told %+v", heard)
	}
}

// The buttons under a notice: done takes them away, snooze makes one copy that
// comes in ten minutes.
func TestNoticeButtons(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	b := a.start("bot")
	b.ready()
	job := asked("该喝水了", someDay())
	job.Schedule.Zone, job.Name = "Asia/Shanghai", "water"
	job = add(t, a.jobs, job)
	press := func(n int, label string) string {
		t.Helper()
		a.fire(b, job, result(cron.Delivered))
		shown := a.wait(owner, "the notice", func(m []telegram.Message) bool { return len(m) >= n })[n-1]
		id, err := a.tg.Press(owner, owner, shown.ID, labelled(t, shown, label))
		if err != nil {
			t.Fatal(err)
		}
		told := a.notice(b, id)
		a.wait(owner, "no more buttons", func(m []telegram.Message) bool { return len(m[n-1].Keyboard) == 0 })
		return told
	}
	if got := press(1, "完成"); !strings.Contains(got, "完成") {
		t.Errorf("done is answered %q", got)
	}
	if jobs := a.list(job.Addr); len(jobs) != 1 {
		t.Errorf("done left %d jobs", len(jobs))
	}
	before := time.Now()
	press(2, "10 分钟")
	a.wait(owner, "the time of the copy", func(m []telegram.Message) bool { return len(m) == 3 })
	jobs := a.list(job.Addr)
	if len(jobs) != 2 {
		t.Fatalf("%d jobs, want the copy beside the job", len(jobs))
	}
	copied := jobs[1]
	if due := copied.Schedule.At.Sub(before); due < 10*time.Minute || due > 10*time.Minute+deadline {
		t.Errorf("the copy is due in %s", due)
	}
	if copied.Message != "该喝水了" || copied.Name != "water" || copied.Maker != job.Maker || !copied.Direct || copied.Mode != cron.Notify {
		t.Errorf("copy %+v", copied)
	}
}

// labelled is the data of the button with that label.
func labelled(t *testing.T, m telegram.Message, label string) string {
	t.Helper()
	for _, row := range m.Keyboard {
		for _, b := range row {
			if b.Text == label {
				return b.Data
			}
		}
	}
	t.Fatalf("%q has no button %q: %+v", m.Text, label, m.Keyboard)
	return ""
}

// The buttons of an earlier version, which stand under notices of yesterday,
// work as they did.
func TestButtonsOfEarlierNotices(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	b := a.start("bot")
	b.ready()
	a.ask("hello")
	reg := buttons.New(a.bus.Table("buttons"), &buttons.Options{Actions: map[string]buttons.Action{
		"notice": func(context.Context, buttons.Pressed) (buttons.Result, error) { return buttons.Result{}, nil },
	}})
	to := chat.Address{Channel: "telegram", Chat: fmt.Sprint(owner)}
	for i, c := range []struct{ payload, told, said string }{
		{`{"lang":"zh","maker":{"channel":"","id":""}}`, "好的，已完成。", ""},
		{`{"lang":"en","message":"drink","maker":{"channel":"telegram","id":"1001","name":"Ada"},"direct":true,"zone":"Asia/Shanghai"}`, "In 10 minutes.", "💤 I say it again at "},
	} {
		made, err := reg.Make(t.Context(), buttons.Spec{Addr: to, Once: true, Action: "notice"}, []buttons.Choice{{Label: "old", Payload: c.payload}})
		if err != nil {
			t.Fatal(err)
		}
		old := chat.Outbound{Meta: chat.Meta{V: chat.Version, ID: fmt.Sprint("old:", i), Addr: to}, Text: fmt.Sprint("notice ", i), Buttons: [][]chat.Button{made}, Final: true}
		if err := a.bus.PublishOutbound(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		msgs := a.wait(owner, "the notice", func(m []telegram.Message) bool { return count(m, old.Text) == 1 })
		shown := msgs[slices.IndexFunc(msgs, func(m telegram.Message) bool { return m.Text == old.Text })]
		id, err := a.tg.Press(owner, owner, shown.ID, labelled(t, shown, "old"))
		if err != nil {
			t.Fatal(err)
		}
		if got := a.notice(b, id); got != c.told {
			t.Errorf("the press is answered %q, want %q", got, c.told)
		}
		if c.said != "" {
			a.wait(owner, "what the chat is told", func(m []telegram.Message) bool { return strings.Contains(texts(m), c.said) })
		}
	}
	if jobs := a.list(to); len(jobs) != 1 || jobs[0].Message != "drink" || jobs[0].Schedule.Zone != "Asia/Shanghai" || jobs[0].Maker.ID != "1001" {
		t.Errorf("jobs %+v", jobs)
	}
}

func (a *agenda) list(addr chat.Address) []cron.Job {
	a.t.Helper()
	jobs, err := a.jobs.List(a.t.Context(), addr)
	if err != nil {
		a.t.Fatal(err)
	}
	return jobs
}

// In a group only the maker and admins press.
func TestNoticeButtonsInAGroup(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	const group, friend, admin = -100500, 1002, 1003
	a.tg.AddPerson(telegram.Person{ID: friend, Name: "Bob"})
	a.tg.AddPerson(telegram.Person{ID: admin, Name: "Cat"})
	a.tg.AddGroup(telegram.Group{ID: group, Title: "kitchen"})
	path, listen := a.config("bot")
	replaceIn(t, path, `security: {`, fmt.Sprintf(`security: {admins: ["telegram:%d"], `, admin))
	b := a.startWith(path, listen)
	b.ready()
	job := asked("take the bread out", someDay())
	job.Addr.Chat, job.Direct = fmt.Sprint(group), false
	job = add(t, a.jobs, job)
	for n, who := range []int64{owner, admin} {
		a.fire(b, job, result(cron.Delivered))
		shown := a.wait(group, "the notice", func(m []telegram.Message) bool { return len(m) > n })[n]
		press := func(by int64) string {
			id, err := a.tg.Press(by, group, shown.ID, shown.Keyboard[0][0].Data)
			if err != nil {
				t.Fatal(err)
			}
			return a.notice(b, id)
		}
		if got := press(friend); !strings.Contains(got, "not for you") {
			t.Errorf("a friend's press is answered %q", got)
		}
		if got := press(who); !strings.HasPrefix(got, "Done") {
			t.Errorf("the press of %d is answered %q", who, got)
		}
	}
}

// A task is marked as a job, not as its maker speaking, its maker pays, and
// the job has the receipt of the answer.
func TestTaskIsMarkedAsAJob(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	path, listen := a.config("bot")
	replaceIn(t, path, `security: {`, `security: {budget: {per_sender_tokens_per_day: 13000}, `)
	b := a.startWith(path, listen)
	b.ready()
	job := asked("check the mail", someDay())
	job.Mode = cron.Agent
	job = add(t, a.jobs, job)
	a.model.Reply(func(r modelserver.Request) modelserver.Answer {
		return modelserver.Answer{Text: "No mail.", Usage: modelserver.Usage{Input: 4000, Output: 900}}
	})
	run := a.fire(b, job, result(cron.Delivered))
	msgs := a.tg.Messages(owner)
	if texts(msgs) != "No mail." || run.Receipt == nil || run.Receipt.Refs[0].ID != fmt.Sprint(msgs[0].ID) {
		t.Errorf("the chat shows %q, the job says %+v", texts(msgs), run)
	}
	heard := a.model.Requests()[0].LastUser()
	if !strings.HasPrefix(heard, "[A scheduled job of this chat is due; nobody has written") || !strings.HasSuffix(heard, "\ncheck the mail") {
		t.Errorf("the model was told %q", heard)
	}
	// The budget of the maker is spent by now, for jobs and for words, and a
	// job does not wait for it as it would for a model.
	run = a.fire(b, job, result(cron.Failed))
	if !strings.Contains(run.Err, "no model") {
		t.Errorf("the job says %+v", run)
	}
	if got := a.ask("and me?"); !strings.Contains(got, "13000 tokens") {
		t.Errorf("the maker is answered %q", got)
	}
	if n := a.model.Count(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if got := a.ask("/usage"); !strings.Contains(got, "you: 1 calls, 4000 tokens in, 900 out") {
		t.Errorf("the maker's account: %q", got)
	}
}

// A job that has nothing to say shows nothing at all: no draft, no typing, no
// message, also when the model thought aloud between its calls.
func TestSilentTask(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	a.door = `allow: ["*"], stream: true`
	b := a.start("bot")
	b.ready()
	const aloud = "Let me have a look at the time before I say anything about it."
	ended := make(chan struct{}, 10)
	a.model.Reply(func(r modelserver.Request) modelserver.Answer {
		switch {
		case !strings.Contains(r.LastUser(), "look at the clock"):
			return modelserver.Echo(r)
		case len(r.Results()) == 0:
			return modelserver.Answer{Text: aloud, Pieces: modelserver.Pieces{N: 8, Pause: 200 * time.Millisecond}, Calls: []modelserver.Call{{Name: "current_time", Args: "{}"}}}
		}
		ended <- struct{}{}
		return modelserver.Answer{Text: " [Silent]\n", Pieces: modelserver.Pieces{N: 4, Pause: 200 * time.Millisecond}}
	})
	job := asked("look at the clock", someDay())
	job.Mode = cron.Agent
	job = add(t, a.jobs, job)
	run := a.fire(b, job, result(cron.Done))
	receive(t, ended, "the job's turn")
	if n := a.tg.Calls("sendChatAction"); n != 0 { // a slow answer to the person may be announced
		t.Errorf("%d signs of typing", n)
	}
	a.ask("hello") // after the job's turn, which it waits for
	if texts(a.tg.Messages(owner)) != "echo: hello" || a.tg.Calls("sendMessage") != 1 || a.tg.Calls("deleteMessage") != 0 {
		t.Errorf("the chat shows %q after %d messages", texts(a.tg.Messages(owner)), a.tg.Calls("sendMessage"))
	}
	if got := a.get(job).Runs; len(got) != 1 || got[0].Receipt != nil || got[0].Err != "" {
		t.Errorf("runs %+v, first %+v", got, run)
	}
	// What the person asks for is shown whatever it looks like.
	a.model.Reply(func(modelserver.Request) modelserver.Answer { return modelserver.Answer{Text: "[silent]"} })
	if got := a.ask("say it"); got != "[silent]" {
		t.Errorf("a person is answered %q", got)
	}
}
