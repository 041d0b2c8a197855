package command_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/agent/command"
	"magpie/agent/settings"
	"magpie/chat"
	"magpie/internal/kv"
)

// diary notes what is asked of it.
type diary struct {
	asked []string
	err   error
}

func (d *diary) note(a command.Asker, format string, args ...any) (command.Reply, error) {
	d.asked = append(d.asked, fmt.Sprintf("%s %s %s admin=%v: ", a.Delivery.From.ID, a.Zone, a.Lang, a.Admin)+fmt.Sprintf(format, args...))
	return command.Reply{Text: "done " + a.Prefix, Buttons: [][]chat.Button{{{Label: "Undo", Data: "b:1"}}}}, d.err
}

func (d *diary) Remind(_ context.Context, a command.Asker, text string, task bool) (command.Reply, error) {
	return d.note(a, "remind %q task=%v", text, task)
}

func (d *diary) List(_ context.Context, a command.Asker) (command.Reply, error) {
	return d.note(a, "list")
}

func (d *diary) Timed(_ command.Asker, text string) bool {
	return strings.ContainsAny(text, "0123456789")
}

func (d *diary) Dated(_ command.Asker, text string) bool {
	return text == "tomorrow" || text == "明天"
}

func (d *diary) Change(_ context.Context, a command.Asker, action, ref string) (command.Reply, error) {
	return d.note(a, "%s %q", action, ref)
}

func TestReminders(t *testing.T) {
	d := &diary{}
	store := settings.New(new(kv.Memory), time.UTC)
	f := newFixture(t)
	f.set = command.New(command.Ports{Settings: store, Reminders: d, Admin: func(_, sender string) bool { return sender == "boss" }}, nil)
	for _, c := range []struct{ said, asked, answer string }{
		{"/remind in 20 minutes to stretch", `remind "in 20 minutes to stretch" task=false`, "done /remind"},
		{"/REMIND@bot tomorrow\nat 3pm call，mum", `remind "tomorrow\nat 3pm call，mum" task=false`, "done"},
		{"/提醒 明天下午三点开会，带电脑", `remind "明天下午三点开会，带电脑" task=false`, "done /提醒"},
		{"/remind cancel the flat tomorrow at 15:00", `remind "cancel the flat tomorrow at 15:00" task=false`, "done"},
		{"/remind cancel 2", `remove "2"`, "done"},
		{"/remind pause abcdefgh27", `pause "abcdefgh27"`, "done"},
		{"/remind list", "list", "/reminders remove 1"},
		{"/remind", "", "/remind in 20 minutes"},
		{"/提醒", "", "/提醒 20分钟后"},
		{"/reminders", "list", "/reminders remove 1"},
		{"/提醒列表", "list", "/提醒列表 删除 1"},
		{"/reminders remove 2", `remove "2"`, "done"},
		{"/reminders tomorrow", `list "tomorrow"`, "done"},
		{"/提醒列表 明天", `list "明天"`, "done"},
		{"/reminders show tomorrow", `list "tomorrow"`, "done"},
		{"/reminders help", "", "There are list, more"},
		{"/提醒列表 帮助", "", "可用：列表"},
		{"/reminders Delete the pills", `remove "the pills"`, "done"},
		{"/提醒列表 删除2", `remove "2"`, "done"},
		{"/提醒列表 删除　2", `remove "2"`, "done"},
		{"/提醒列表 暂停 吃药", `pause "吃药"`, "done"},
		{"/cron", "list", "/cron task"},
		{"/cron ls", "list", "done"},
		{"/cron add every day at 9am the pills", `remind "every day at 9am the pills" task=false`, "done /cron add"},
		{"/cron 0 9 * * 1-5 stand-up", `remind "0 9 * * 1-5 stand-up" task=false`, "done /cron add"},
		{"/cron task every day at 9am read the news", `remind "every day at 9am read the news" task=true`, "done /cron task"},
		{"/定时 任务 每天早上9点汇总新闻", `remind "每天早上9点汇总新闻" task=true`, "done /定时 任务"},
		{"/cron run 1", `run "1"`, "done"},
		{"/cron resume 1", `resume "1"`, "done"},
		{"/定时 执行 1", `run "1"`, "done"},
		{"/cron remove", `remove ""`, "done"},
		{"/reminders move 2 to 5pm", `move "2 to 5pm"`, "done"},
		{"/提醒列表 改到 2 下午五点", `move "2 下午五点"`, "done"},
		{"/reminders snooze", `snooze ""`, "done"},
		{"/提醒列表 推迟2 10分钟", `snooze "2 10分钟"`, "done"},
		{"/reminders rename 2 Tea", `rename "2 Tea"`, "done"},
		{"/提醒列表 改名 2 茶", `rename "2 茶"`, "done"},
		{"/reminders text 2 buy oat milk", `text "2 buy oat milk"`, "done"},
		{"/reminders skip 1", `skip "1"`, "done"},
		{"/提醒列表 跳过1", `skip "1"`, "done"},
		{"/reminders undo", `undo ""`, "done"},
		{"/提醒列表 撤销", `undo ""`, "done"},
		{"/reminders export", `export ""`, "done"},
		{"/提醒列表 导出", `export ""`, "done"},
		{"/cron done 1", `done "1"`, "done"},
		{"/reminders delete all", `remove "all"`, "done"},
		{"/remind skip 2", `skip "2"`, "done"},
		{"/remind move 2 to 5pm", `remind "move 2 to 5pm" task=false`, "done"},
		{"/cron snoze 1", "", "Did you mean `snooze`"},
		{"/cron add", "", "/cron add every day"},
		{"/cron remvoe 1", "", "Did you mean `remove`"},
		{"/cron pasue 1", "", "Did you mean `pause`"},
		{"/cron lisst", "", "Did you mean `list`"},
		{"/reminders foo", "", "There are list, more,"},
		{"/提醒列表 乱写", "", "没有 `乱写` 这个操作。可用：列表、更多"},
		{"/reminders more", `more ""`, "done"},
		{"/提醒列表 更多", `more ""`, "done"},
		{"/reminders 2", `when "2"`, "done"},
		{"/reminders clear", `clear ""`, "done"},
		{"/提醒列表 清空", `clear ""`, "done"},
		{"/cron every weekday at 09:00 x", `remind "every weekday at 09:00 x" task=false`, "done"},
	} {
		d.asked = nil
		got := f.say(t, c.said)
		asked := strings.Join(d.asked, "|")
		if _, rest, _ := strings.Cut(asked, ": "); rest != c.asked || !strings.Contains(got, c.answer) {
			t.Errorf("%q asks %q and answers %q; want %q and %q", c.said, asked, got, c.asked, c.answer)
		}
	}
	wantAll(t, f.say(t, "/help"), "/remind", "/reminders", "/cron")
}

// The port learns the chat's zone and language and who is an admin; /tz says
// that it is about later reminders.
func TestRemindersKnowTheChat(t *testing.T) {
	d := &diary{}
	f := newFixture(t)
	f.set = command.New(command.Ports{Settings: f.store, Reminders: d, Admin: func(channel, sender string) bool { return channel == "telegram" && sender == "boss" }}, nil)
	wantAll(t, f.say(t, "/tz Asia/Tokyo"), "Reminders that exist keep")
	f.say(t, "/lang zh")
	f.say(t, "/remind in 1 hour tea")
	f.handle(t, f.delivery("/reminders", "boss", ""))
	if len(d.asked) != 2 || !strings.HasPrefix(d.asked[0], "joe Asia/Tokyo zh admin=false: ") || !strings.HasPrefix(d.asked[1], "boss Asia/Tokyo zh admin=true: ") {
		t.Errorf("asked %q", d.asked)
	}
	d.err = errors.New("the store is gone")
	for _, said := range []string{"/remind in 1 hour tea", "/reminders", "/cron remove 1"} {
		if _, _, err := f.set.Handle(t.Context(), f.delivery(said, "joe", ""), f.room); !errors.Is(err, d.err) {
			t.Errorf("%s: %v", said, err)
		}
	}
}

func TestButtonsUnderAReply(t *testing.T) {
	f := newFixture(t)
	f.set = command.New(command.Ports{Settings: f.store, Reminders: &diary{}}, nil)
	for _, said := range []string{"/remind in 1 hour tea", "/reminders", "/reminders remove 1", "/cron task in 1 hour tea"} {
		out, _, err := f.set.Handle(t.Context(), f.delivery(said, "joe", ""), f.room)
		if err != nil || len(out.Buttons) != 1 || out.Buttons[0][0].Label != "Undo" {
			t.Errorf("%s: %+v, %v", said, out, err)
		}
	}
}

func TestRemindersThatAreNotThere(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/remind in 1 hour tea"), "not available here")
	if strings.Contains(f.say(t, "/help"), "/remind") {
		t.Error("/help shows what is not there")
	}
}
