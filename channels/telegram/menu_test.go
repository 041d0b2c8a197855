package telegram

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/channels/channeltest"
	fake "magpie/internal/fakes/telegram"
)

func commands() []channels.Command {
	return []channels.Command{
		{Name: "help", About: "what the bot can do", Chinese: "机器人能做什么"},
		{Name: "stop", About: strings.Repeat("long ", 60), Chinese: "停止"},
	}
}

// The menu of commands is set at the start in both languages, again when it was
// taken away, and not when it is right.
func TestMenu(t *testing.T) {
	w := newWorld(t, nil)
	w.Fail(fake.Fault{Method: "setMyCommands", Code: 502, Page: true}) // no reason to stop
	r := start(t, w.channel(t, channels.Deps{Commands: commands()}))
	want := map[string][]fake.Command{
		"":   {{Command: "help", Description: "what the bot can do"}, {Command: "stop", Description: strings.Repeat("long ", 51) + "…"}},
		"zh": {{Command: "help", Description: "机器人能做什么"}, {Command: "stop", Description: "停止"}},
	}
	right := func() bool {
		return cmp.Equal(want[""], w.Menu("")) && cmp.Equal(want["zh"], w.Menu("zh"))
	}
	channeltest.Eventually(t, "the menu is set", right)
	w.Say(fake.Said{From: ann, Text: "hello"})
	r.Next(t)
	asked := w.Calls("getMyCommands")
	channeltest.Eventually(t, "it is looked at again", func() bool { return w.Calls("getMyCommands") > asked+2 })
	if n := w.Calls("setMyCommands"); n != 3 {
		t.Errorf("set %d times, want 2 and the one that failed", n)
	}
	w.ForgetMenus()
	channeltest.Eventually(t, "the menu is set again", right)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
}

// A program without commands leaves the menu alone.
func TestNoMenu(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	w.Say(fake.Said{From: ann, Text: "hello"})
	r.Next(t)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := w.Calls("getMyCommands") + w.Calls("setMyCommands"); n != 0 {
		t.Errorf("%d calls", n)
	}
}
