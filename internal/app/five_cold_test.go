package app_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
)

// A message that nobody has just asked for, as a reminder is, arrives on every
// platform after a restart, hours after the last word of the chat, in private
// chats and in groups.
func TestFiveOutOfTheBlue(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	f := newFive(t, fiveOptions{now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	f.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if res := r.Results(); len(res) > 0 {
			return modelserver.Answer{Text: "result: " + res[len(res)-1].Text}
		}
		if channel, rest, ok := strings.Cut(r.LastUser(), " tell "); ok {
			to, words, _ := strings.Cut(rest, " that ")
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "message", Args: fmt.Sprintf(`{"channel":%q,"chat_id":%q,"content":%q}`, channel, to, words)}}}
		}
		return modelserver.Echo(r)
	})
	b := f.start()
	chats := map[side]string{}
	f.each(func(p side) {
		chats[p] = p.join(0)
		p.say(chats[p], "hello "+mark(0, 0))
	})
	f.each(func(p side) { f.wait(p, chats[p], "answer", has(mark(0, 0))) })
	boss := f.tg.join(1)
	f.admins = fmt.Sprintf(`"telegram:%s"`, boss)
	clean(t, b.signal(syscall.SIGTERM))
	ahead.Store(int64(6 * time.Hour))
	groups := f.groups()
	b = f.start()
	n := 0
	tell := func(p side, chat string) {
		n++
		f.tg.say(boss, fmt.Sprintf("%s tell %s that 该喝水了 %s", p.name(), chat, mark(1, n)))
		shown := f.wait(p, chat, "the message", has(mark(1, n)))
		if want := "该喝水了 " + mark(1, n); shown[len(shown)-1].text != want {
			t.Errorf("%s shows %q, want %q", p.name(), shown[len(shown)-1].text, want)
		}
	}
	f.each(func(p side) {
		tell(p, chats[p])
		tell(p, groups[p])
	})
	if used := f.qq.ActiveUsed(chats[f.qq]); used != 1 {
		t.Errorf("qq: %d active messages, want 1", used)
	}
	b.sent()
	b.kill()
	f.start()
	f.each(func(p side) { tell(p, chats[p]) })
	f.each(func(p side) { // and each is a chat as before
		p.say(chats[p], "still there? "+mark(2, 0))
		f.wait(p, chats[p], "answer", has(mark(2, 0)))
	})
}

// groups makes a group on each platform, in which nobody has spoken.
func (f *five) groups() map[side]string {
	all := map[side]string{}
	f.each(func(p side) { all[p] = p.drive().Group(1, "friends") })
	return all
}
