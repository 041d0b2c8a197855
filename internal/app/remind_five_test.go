package app_test

import (
	"syscall"
	"testing"

	"magpie/cron"
	"magpie/internal/fakes/modelserver"
)

// On every platform a person makes, lists, pauses and removes reminders by
// command and through the model, in English and Chinese, and what is made
// arrives.
func TestFiveRemind(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{})
	f.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if res := r.Results(); len(res) > 0 {
			return modelserver.Answer{Text: "outcome: " + res[len(res)-1].Text}
		}
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "cron", Args: `{"action":"add","message":"` + mark(2, 0) + `","schedule":"in 3 seconds"}`}}}
	})
	a := f.agenda()
	f.extra += "\ntimezone: Asia/Shanghai\nagent: {busy: queue}"
	b := f.start()
	chats := map[side]string{}
	ask := func(p side, said string, want ...string) {
		t.Helper()
		n := len(p.shown(chats[p]))
		p.say(chats[p], said)
		shown := f.wait(p, chats[p], "an answer to "+said, func(all []line) bool { return len(all) > n })
		holds(t, p.name()+": "+said, shown[n].text, want...)
	}
	f.each(func(p side) {
		chats[p] = p.join(0)
		ask(p, "/remind every weekday at 09:00 "+mark(1, 0), mark(1, 0), "every weekday at 09:00")
		ask(p, "/提醒 明天下午三点"+mark(1, 1), "好的", "15:00", mark(1, 1))
		ask(p, "/reminders", "1. ", mark(1, 0), "2. ", mark(1, 1))
		ask(p, "/提醒列表 暂停 "+mark(1, 0), "已暂停", mark(1, 0))
		ask(p, "/提醒列表", "已暂停", mark(1, 1))
		ask(p, "/reminders remove "+mark(1, 1), "Cancelled", mark(1, 1))
		ask(p, "/tz Europe/Berlin", "Europe/Berlin")
		ask(p, "/cron task every friday at 17:00 "+mark(1, 2), mark(1, 2), "every Friday at 17:00")
		p.say(chats[p], "please remind me")
	})
	f.each(func(p side) {
		f.wait(p, chats[p], "what the model made", func(all []line) bool {
			return holding(all, "outcome: OK") == 1 && holding(all, "⏰ "+mark(2, 0)) == 1
		})
	})
	byChannel := map[string]cron.Job{}
	for _, j := range a.all() {
		if j.Message == mark(1, 0) { // the other was delivered and goes
			byChannel[j.Addr.Channel] = j
		}
	}
	f.each(func(p side) {
		j := byChannel[p.name()]
		if j.Addr.Chat != chats[p] || !j.Direct || !j.Paused || j.Maker.ID == "" || j.Maker.Channel != p.name() {
			t.Errorf("%s: job %+v", p.name(), j)
		}
	})
	clean(t, b.signal(syscall.SIGTERM))
}
