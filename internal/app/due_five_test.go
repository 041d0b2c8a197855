package app_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"magpie/chat"
	"magpie/cron"
	"magpie/internal/fakes/feishu"
)

// callsFor says whether the platform tells a person of a message that a group
// shows and that holds text.
func (f *five) callsFor(p side, group, text, id string) bool {
	switch p.name() {
	case "telegram":
		for _, m := range f.tg.Messages(chatNumber(group)) {
			if strings.Contains(m.Text, text) {
				return strings.Contains(m.Source, `<a href="tg://user?id=`+id+`">`)
			}
		}
	case "discord":
		for _, m := range f.dc.Messages(group) {
			if strings.Contains(m.Text, text) {
				return slices.Equal(m.Pings, []string{id})
			}
		}
	case "feishu":
		for _, m := range f.fs.Messages(group) {
			if strings.Contains(m.Text, text) {
				return slices.Equal(m.Mentions, []string{id})
			}
		}
	case "dingtalk":
		for _, m := range f.dt.Messages(group) {
			if strings.Contains(m.Text, text) {
				return slices.Equal(m.At, []string{id})
			}
		}
	case "qq":
		for _, m := range f.qq.Messages(group) {
			if strings.Contains(m.Text, text) {
				return strings.Contains(m.Text, `<qqbot-at-user id="`+id+`" />`)
			}
		}
	}
	return false
}

func chatNumber(id string) (n int64) {
	_, _ = fmt.Sscan(id, &n) // 0 is no chat
	return n
}

// In a group a reminder calls whom it is for, in the way of each platform, and
// no others; of those who are there only they and the admins press its buttons.
func TestFiveDueInAGroup(t *testing.T) {
	for name, native := range map[string]bool{"cards": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFive(t, fiveOptions{cards: native, markdown: native})
			groups := map[side]string{}
			var admins []string
			f.each(func(p side) {
				groups[p] = f.gather(p, 3)
				admins = append(admins, fmt.Sprintf("%q", p.name()+":"+idOf(p, 2)))
			})
			f.admins = strings.Join(admins, ", ")
			a := f.agenda()
			b := f.start()
			f.each(func(p side) {
				f.remark(p, remark{who: 1, text: "hello " + mark(0, 0), asks: true}) // by somebody else
				f.wait(p, groups[p], "answer", has(mark(0, 0)))
				for n := 1; n <= 2; n++ {
					job := jobOn(p, groups[p], "take the *bread* out "+mark(n, 0), someDay())
					job.Direct, job.Maker.Sender = false, chat.Sender{ID: idOf(p, 0), Name: "P0 <b> @everyone"}
					a.fire(b, add(t, a.jobs, job), result(cron.Delivered))
					shown := f.wait(p, groups[p], "the reminder", has(mark(n, 0)))
					i := slices.IndexFunc(shown, func(l line) bool { return strings.Contains(l.text, mark(n, 0)) })
					if called := f.callsFor(p, groups[p], mark(n, 0), idOf(p, 0)); !called && (native || p.name() != "dingtalk") {
						t.Errorf("%s calls nobody: %q", p.name(), shown[i].text)
					}
					if len(shown[i].buttons) == 0 {
						if native || p.name() != "dingtalk" && p.name() != "qq" {
							t.Errorf("%s shows no buttons: %q", p.name(), shown[i].text)
						}
						continue
					}
					f.pressedBy(p, shown[i], n)
				}
			})
			clean(t, b.signal(syscall.SIGTERM))
		})
	}
}

// pressedBy presses the first button as somebody else, and then as the maker or
// as an admin.
func (f *five) pressedBy(p side, l line, n int) {
	f.t.Helper()
	group := f.squares[p]
	press := func(who int) {
		f.t.Helper()
		if _, err := p.drive().Press(p.drive().Person(who).Chat, group, l.id, l.buttons[0]); err != nil {
			f.t.Errorf("%s: %v", p.name(), err)
		}
	}
	buttons := func() []string {
		all := p.shown(group)
		return all[slices.IndexFunc(all, func(l line) bool { return strings.Contains(l.text, mark(n, 0)) })].buttons
	}
	if p.name() != "qq" { // which greys a keyboard out whoever presses it
		press(1)
		f.remark(p, remark{who: 1, text: "after " + mark(3, n), asks: true}) // is answered behind the press
		f.wait(p, group, "answer", has(mark(3, n)))
		if len(buttons()) != len(l.buttons) {
			f.t.Errorf("%s: a press of somebody else counts", p.name())
		}
	}
	press(map[int]int{1: 0, 2: 2}[n])
	f.within(deadline, "buttons gone on "+p.name(), func() bool { return len(buttons()) == 0 })
}

// A reminder that is asked for somebody else of a group calls them.
func TestFiveForSomebody(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{cards: true, markdown: true})
	f.only = []string{"discord", "feishu"} // the others are tested by what their events say
	groups := map[side]string{}
	f.each(func(p side) { groups[p] = f.gather(p, 3) })
	b := f.start()
	f.each(func(p side) {
		if p.name() == "feishu" {
			f.fs.Say(feishu.Said{From: idOf(p, 0), Chat: groups[p], Text: "@_user_1 /remind @_user_2 in 3 seconds drink water", Mentions: []string{feishu.BotID, idOf(p, 1)}})
		} else {
			f.remark(p, remark{text: "/remind <@" + idOf(p, 1) + "> in 3 seconds drink water", asks: true})
		}
		f.wait(p, groups[p], "the confirmation", has(", for P1"))
		f.wait(p, groups[p], "the reminder", has("⏰ drink water"))
		if !f.callsFor(p, groups[p], "⏰ drink water", idOf(p, 1)) {
			t.Errorf("%s calls %+v", p.name(), p.shown(groups[p]))
		}
	})
	clean(t, b.signal(syscall.SIGTERM))
}
