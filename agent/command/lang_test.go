package command_test

import (
	"strings"
	"testing"
)

// A command in Latin letters, and a press, are answered in the language of the
// conversation, unless something else tells it.
func TestLanguageOfTheConversation(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct{ last, lang, text, want string }{
		{"你好！", "", "/status", "当前对话"},
		{"你好！", "", "／status", "当前对话"},
		{"你好！", "en", "/status", "Conversation"},
		{"Hello!", "", "/status", "Conversation"},
		{"", "", "/status", "Conversation"},
		{"Hello!", "", "/状态", "当前对话"},
		{"Hello!", "zh-hans", "/status", "当前对话"},
		{"你好！", "", "/lang auto", "语言现在跟随您"},
	} {
		f.room.last = c.last
		if got := f.handle(t, f.delivery(c.text, "joe", c.lang)); !strings.Contains(got, c.want) {
			t.Errorf("after %q, of %q, %s: %q, want %q", c.last, c.lang, c.text, got, c.want)
		}
	}
	f.say(t, "/lang en")
	f.room.last = "你好！"
	if got := f.say(t, "/status"); !strings.Contains(got, "Conversation") {
		t.Errorf("after /lang en: %q", got)
	}
}
