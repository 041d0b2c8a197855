package app_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/cron"
)

// On every platform with native buttons a person presses done and snooze under
// a reminder: the buttons go, and snooze makes one copy in ten minutes.
func TestFiveNoticeButtons(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{cards: true, markdown: true})
	a := f.agenda()
	b := f.start()
	press := func(p side, chat string, n, button int) {
		t.Helper()
		notice := func(all []line) line { // what a press is answered may stand below it
			i := slices.IndexFunc(all, func(l line) bool { return strings.Contains(l.text, mark(n, 0)) })
			return all[i]
		}
		l := notice(f.wait(p, chat, "the reminder", has(mark(n, 0))))
		if len(l.buttons) < 4 {
			t.Fatalf("%s shows the reminder with the buttons %q", p.name(), l.buttons)
		}
		if err := f.press(p, chat, l, l.buttons[button]); err != nil {
			t.Fatalf("%s: %v", p.name(), err)
		}
		f.within(deadline, "buttons gone on "+p.name(), func() bool { return notice(p.shown(chat)).buttons == nil })
	}
	chats := map[side]string{}
	before := time.Now()
	f.each(func(p side) {
		chats[p] = p.join(0)
		p.say(chats[p], "hello "+mark(0, 0)) // QQ lets a bot speak that was spoken to
		f.wait(p, chats[p], "answer", has(mark(0, 0)))
		job := add(t, a.jobs, jobOn(p, chats[p], "drink water "+mark(1, 0), someDay()))
		a.fire(b, job, result(cron.Delivered))
		press(p, chats[p], 1, 0)
		job = add(t, a.jobs, jobOn(p, chats[p], "drink tea "+mark(2, 0), someDay()))
		a.fire(b, job, result(cron.Delivered))
		press(p, chats[p], 2, 2)                                           // behind done and edit
		f.wait(p, chats[p], "when it comes again", func(all []line) bool { // QQ shows what came of the first press as well
			n := 0
			for _, l := range all {
				n += strings.Count(l.text, mark(2, 0))
			}
			return n == 2
		})
	})
	copies := map[string]int{}
	for _, j := range a.all() {
		if j.Schedule.At.IsZero() {
			continue
		}
		copies[j.Addr.Channel]++
		if due := j.Schedule.At.Sub(before); !strings.HasPrefix(j.Message, "drink tea ") || due < 10*time.Minute || j.Maker.Channel != j.Addr.Channel {
			t.Errorf("copy %+v, due in %s", j, due)
		}
	}
	f.each(func(p side) {
		if copies[p.name()] != 1 {
			t.Errorf("%s: %d copies", p.name(), copies[p.name()])
		}
	})
	clean(t, b.signal(syscall.SIGTERM))
}
