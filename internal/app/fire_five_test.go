package app_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
	"magpie/cron"
	"magpie/internal/fakes/qq"
)

// jobOn is a reminder of person 0 for a chat of a platform.
func jobOn(p side, addr, message string, s cron.Schedule) cron.Job {
	return cron.Job{
		Addr: chat.Address{Channel: p.name(), Chat: addr}, Direct: true, Message: message, Schedule: s,
		Maker: cron.Person{Channel: p.name(), Sender: chat.Sender{ID: "p0", Name: "P0"}},
	}
}

// Reminders arrive on every platform after a restart, hours after the last
// word of the chat, in private chats and in groups, without a message that
// they could answer.
func TestFiveReminded(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	f := newFive(t, fiveOptions{now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	a := f.agenda()
	b := f.start()
	chats := map[side]string{}
	f.each(func(p side) {
		chats[p] = p.join(0)
		p.say(chats[p], "hello "+mark(0, 0))
	})
	f.each(func(p side) { f.wait(p, chats[p], "answer", has(mark(0, 0))) })
	clean(t, b.signal(syscall.SIGTERM))
	ahead.Store(int64(6 * time.Hour))
	groups := f.groups()
	n := 0
	f.each(func(p side) {
		add(t, a.jobs, jobOn(p, chats[p], "该喝水了 "+mark(1, n), in(time.Second)))
		group := jobOn(p, groups[p], "该喝水了 "+mark(2, n), in(time.Second))
		group.Direct = false
		add(t, a.jobs, group)
		n++
	})
	b = f.start()
	n = 0
	f.each(func(p side) {
		for who, to := range map[int]string{1: chats[p], 2: groups[p]} {
			shown := f.wait(p, to, "the reminder", has(mark(who, n)))
			for _, one := range shown { // Discord's new group is greeted too, before or after
				if strings.Contains(one.text, mark(who, n)) && !strings.HasPrefix(withoutCall(one.text), "⏰ 该喝水了 "+mark(who, n)) {
					t.Errorf("%s shows %q", p.name(), one.text)
				}
			}
		}
		n++
	})
	if used := f.qq.ActiveUsed(chats[f.qq]); used != 1 {
		t.Errorf("qq: %d active messages, want 1", used)
	}
	b.until("receipts of all", func() bool { return len(a.all()) == 0 }, func() string { return fmt.Sprintf("%+v", a.all()) })
	// The conversation goes on and knows of it.
	f.each(func(p side) {
		p.say(chats[p], "done "+mark(3, 0))
		f.wait(p, chats[p], "answer", has(mark(3, 0)))
	})
	if known := f.reminded(); known != 5 {
		t.Errorf("%d of 5 conversations know of the reminder", known)
	}
	clean(t, b.signal(syscall.SIGTERM))
	f.each(func(p side) {
		for _, to := range []string{chats[p], groups[p]} {
			if n := holding(p.shown(to), "该喝水了"); n != 1 {
				t.Errorf("%s shows the reminder %d times: %q", p.name(), n, p.shown(to))
			}
		}
	})
}

// withoutCall is a text without the person of jobOn, who is called in groups.
func withoutCall(text string) string { return callOfP0.ReplaceAllString(text, "") }

var callOfP0 = regexp.MustCompile(`^(?:P0: |@?P0 |@p0 |<@p0> |@unknown-user |<qqbot-at-user id="p0" /> )`)

// reminded counts the requests in which a person answers a reminder that the
// model knows of.
func (f *five) reminded() (known int) {
	for _, r := range f.model.Requests() {
		for _, m := range r.Messages {
			if strings.Contains(m.Text, "<reminder>\n⏰ 该喝水了") && strings.Contains(r.LastUser(), "done ") {
				known++
			}
		}
	}
	return known
}

// agenda lets the programs of a world work on a server of its own.
func (f *five) agenda() *agenda {
	f.t.Helper()
	url := bustest.External(f.t)
	f.extra = fmt.Sprintf("bus: {url: %q}", url)
	a := &agenda{world: &world{t: f.t}, bus: bustest.Open(f.t, bus.Options{URL: url})}
	a.jobs = openJobs(f.t, a.bus)
	return a
}

// QQ alone says when there are no more messages that nobody asked for: then a
// reminder fails with that reason, and its person is told at the next contact.
func TestFiveQuotaOfQQ(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{})
	f.only = []string{"qq"}
	a := f.agenda()
	b := f.start()
	to := f.qq.join(0)
	job := add(t, a.jobs, jobOn(f.qq, to, "drink water", someDay()))
	const reminders = 6
	for range reminders {
		a.fire(b, job, result(cron.Delivered))
	}
	f.qq.Fail(qq.Fault{Status: 400, Code: 40034100, Text: "主动消息发送超过频控限制"})
	run := a.fire(b, job, result(cron.Failed))
	if !strings.Contains(run.Err, "QQ takes no active messages for this chat now") || !strings.Contains(run.Err, "told when the person writes next") {
		t.Errorf("the job says %q", run.Err)
	}
	if n := holding(f.qq.shown(to), "drink water"); n != reminders || f.qq.ActiveUsed(to) != reminders {
		t.Errorf("%d reminders, %d active messages", n, f.qq.ActiveUsed(to))
	}
	f.qq.say(to, "hi "+mark(0, 0))
	f.wait(f.qq, to, "answer", has("hi "+mark(0, 0)))
	f.wait(f.qq, to, "what was missed", func(all []line) bool { return holding(all, "1 messages could not be delivered earlier:") == 1 })
	if n := holding(f.qq.shown(to), "drink water"); n != reminders+1 {
		t.Errorf("the chat shows %q", f.qq.shown(to))
	}
}
