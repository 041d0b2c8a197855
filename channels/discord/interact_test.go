package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
	"magpie/internal/kv"
)

var someCommands = []channels.Command{
	{Name: "status", ChineseName: "状态", About: "what goes on", Chinese: "当前状态"},
	{Name: "model", ChineseName: "模型", About: strings.Repeat("long ", 40), Chinese: "换模型", Args: true},
}

// The menu is registered when Discord has another: at first, when it has
// changed, and when somebody else has taken it away or changed it, also while
// the bot runs.
func TestCommandsAreKept(t *testing.T) {
	w := newWorld(t, nil)
	w.Fail(fake.Fault{Route: "register commands", Status: 502, Page: true}) // tried again
	var menus []string
	for i, c := range []struct {
		commands []channels.Command
		calls    int // of "register commands" in the end
	}{{someCommands, 2}, {someCommands, 2}, {someCommands[:1], 3}, {nil, 3}} {
		r := start(t, w.channel(t, channels.Deps{Commands: c.commands}), nil)
		connected(t, w, i+1)
		looks := w.Calls("get commands")
		if c.commands != nil {
			channeltest.Eventually(t, "the menu", func() bool {
				return w.Calls("register commands") >= c.calls && w.Calls("get commands") >= max(looks, 1)
			})
		}
		_ = r.Stop()
		if n := w.Calls("register commands"); n != c.calls {
			t.Errorf("round %d: registered %d times, want %d", i, n, c.calls)
		}
		menus = append(menus, w.Commands())
	}
	var got []struct {
		Name  string            `json:"name"`
		Names map[string]string `json:"name_localizations"`
		Local map[string]string `json:"description_localizations"`
	}
	if err := json.Unmarshal([]byte(menus[3]), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Name != "status" || got[0].Local["zh-CN"] != "当前状态" || got[0].Names["zh-TW"] != "状态" {
		t.Errorf("menu %+v", got)
	}
	r := start(t, w.channel(t, channels.Deps{Commands: someCommands}, func(p *pace) { p.menu = 10 * time.Millisecond }), nil)
	channeltest.Eventually(t, "the menu", func() bool { return w.Commands() == menus[0] })
	for _, theirs := range []string{"[]", menus[2], strings.Replace(menus[0], "换模型", "别的", 1)} {
		if err := w.ChangeCommands(theirs); err != nil {
			t.Fatal(err)
		}
		channeltest.Eventually(t, "the menu to be back", func() bool { return w.Commands() == menus[0] })
	}
	before := w.Calls("register commands")
	looks := w.Calls("get commands")
	channeltest.Eventually(t, "more looks", func() bool { return w.Calls("get commands") > looks+3 })
	if n := w.Calls("register commands"); n != before {
		t.Errorf("registered %d times more although nothing has changed", n-before)
	}
	_ = r.Stop()
}

// An application with an activity has a command that Discord made; without it no
// list is taken.
func TestEntryPointStays(t *testing.T) {
	w := newWorld(t, nil)
	if err := w.ChangeCommands(`[{"type":4,"name":"launch","description":"","handler":2}]`); err != nil {
		t.Fatal(err)
	}
	r := start(t, w.channel(t, channels.Deps{Commands: someCommands}, func(p *pace) { p.menu = 10 * time.Millisecond }), nil)
	channeltest.Eventually(t, "the menu", func() bool {
		return strings.Contains(w.Commands(), `"launch"`) && strings.Contains(w.Commands(), `"status"`)
	})
	looks := w.Calls("get commands")
	channeltest.Eventually(t, "more looks", func() bool { return w.Calls("get commands") > looks+3 })
	if n := w.Calls("register commands"); n != 1 {
		t.Errorf("registered %d times", n)
	}
	_ = r.Stop()
}

// A command that the sink refused comes again; Discord hears of it only then.
func TestInteractionIsStoredFirst(t *testing.T) {
	w := newWorld(t, nil)
	var tries atomic.Int32
	var early atomic.Bool
	id := make(chan string, 1)
	r := start(t, w.channel(t, channels.Deps{}), func(chat.Inbound) error {
		this := <-id
		id <- this
		early.Store(early.Load() || w.Interaction(this).Answer != 0)
		if tries.Add(1) < 3 {
			return errors.New("full")
		}
		return nil
	})
	connected(t, w, 1)
	use := w.Use(ann, annDM, "status")
	id <- use
	if in := r.Next(t); in.Text != "/status" {
		t.Errorf("got %q", in.Text)
	}
	channeltest.Eventually(t, "the answer", func() bool { return w.Interaction(use).Answer == 5 })
	if early.Load() || tries.Load() != 3 {
		t.Errorf("answered early: %v, tries %d", early.Load(), tries.Load())
	}
}

// A press is acknowledged, its notice is shown to the one who pressed, once,
// also after a restart; the token stays out of sight.
func TestPressAndNotice(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	var log bytes.Buffer
	deps := channels.Deps{Table: table, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	r := start(t, w.channel(t, deps), nil)
	connected(t, w, 1)
	msg := out(at(crowd), "1", "Sure?")
	msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "yes"}}}
	ref, err := r.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.Press(bob, crowd, ref.ID, "yes")
	if err != nil {
		t.Fatal(err)
	}
	in := r.Next(t)
	if in.Press == nil || in.Press.ID != id || in.From.ID != bob || in.Addr != at(crowd) || !in.Mentioned {
		t.Errorf("got %+v", in)
	}
	channeltest.Eventually(t, "the acknowledgement", func() bool { return w.Interaction(id).Answer == 6 })
	_ = r.Stop()
	later := w.channel(t, deps)
	notice := strings.Repeat("好", 2500)
	for range 2 {
		if err := later.AnswerPress(channeltest.Bounded(t), in.Addr, chat.Answer{Press: in.Press.ID, Message: in.Press.Message, Notice: notice}); err != nil {
			t.Error(err)
		}
	}
	if got := w.Interaction(id).Notices; len(got) != 1 || units(got[0]) != maxNotice {
		t.Errorf("%d notices", len(got))
	}
	if shown := w.Messages(crowd); len(shown[0].Buttons) != 0 || shown[0].Text != "Sure?" {
		t.Errorf("shown %+v", shown)
	}
	w.Fail(fake.Fault{Route: "follow up", Status: 404, Code: 10015, Text: "Unknown Webhook"})
	if err := put(channeltest.Bounded(t), table, pressPrefix+".7", pressed{fake.BotID, fake.Secret + "7"}, tokenKept); err != nil {
		t.Fatal(err)
	}
	if err := later.AnswerPress(channeltest.Bounded(t), in.Addr, chat.Answer{Press: "7", Notice: "late"}); err != nil {
		t.Errorf("late: %v", err)
	}
	w.Fail(fake.Fault{Route: "follow up", Drop: true})
	if err := put(channeltest.Bounded(t), table, pressPrefix+".8", pressed{fake.BotID, fake.Secret + "8"}, tokenKept); err != nil {
		t.Fatal(err)
	}
	err = later.AnswerPress(channeltest.Bounded(t), in.Addr, chat.Answer{Press: "8", Notice: "lost"})
	if err == nil || strings.Contains(err.Error(), fake.Secret) || strings.Contains(log.String(), fake.Secret) {
		t.Errorf("error %v, log\n%s", err, log.String())
	}
}
