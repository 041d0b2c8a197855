package app_test

import (
	"strings"
	"syscall"
	"testing"
)

// TestFiveLanguage: where the platform tells no language, a command in Latin
// letters is answered in that of the conversation, over a kill too; before there
// is one, in English.
func TestFiveLanguage(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{})
	b := f.start()
	chats := f.people(2)
	asks := func(p side, chat, want string) {
		before := len(p.shown(chat))
		p.say(chat, "/status")
		shown := f.wait(p, chat, "the status", func(all []line) bool { return len(all) > before })
		if got := shown[before].text; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", p.name(), got, want)
		}
	}
	f.each(func(p side) {
		if p.name() == "telegram" || p.name() == "discord" {
			return
		}
		chinese, english := chats[p][0], chats[p][1]
		asks(p, english, "Conversation")
		p.say(english, "hello")
		p.say(chinese, "你好")
		f.wait(p, english, "the answer", has("echo: hello"))
		f.wait(p, chinese, "the answer", has("echo: 你好"))
		asks(p, english, "Conversation")
		asks(p, chinese, "当前对话")
	})
	b.kill()
	b = f.start()
	f.each(func(p side) {
		if p.name() != "telegram" && p.name() != "discord" {
			asks(p, chats[p][0], "当前对话")
		}
	})
	clean(t, b.signal(syscall.SIGTERM))
}
