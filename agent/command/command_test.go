package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/agent/buttons"
	"magpie/agent/command"
	"magpie/agent/llm"
	"magpie/agent/memory"
	"magpie/agent/model"
	"magpie/agent/settings"
	"magpie/chat"
	"magpie/internal/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// room is a held chat that notes what is done to it.
type room struct {
	status  command.Status
	running bool
	resets  int
	said    []chat.Inbound
	last    string // that the bot said
	err     error
}

func (c *room) Said(context.Context) string { return c.last }

func (c *room) Stop(context.Context) (bool, error) {
	stopped := c.running
	c.running = false
	return stopped, c.err
}

func (c *room) Reset(context.Context) error           { c.resets++; return c.err }
func (c *room) Status(context.Context) command.Status { return c.status }
func (c *room) Say(_ context.Context, in chat.Inbound) error {
	c.said = append(c.said, in)
	return c.err
}

// fixture is a Set over real settings, buttons and a ledger.
type fixture struct {
	set     *command.Set
	store   *settings.Store
	buttons *buttons.Registry
	memory  *memory.Store
	room    *room
	kept    kept
	seq     uint64
}

var noon = time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	now := func() time.Time { return noon }
	f := &fixture{store: settings.New(new(kv.Memory), time.UTC), buttons: buttons.New(new(kv.Memory), nil), room: &room{}}
	f.memory = memory.New(new(kv.Memory), now)
	f.set = command.New(command.Ports{
		Settings: f.store, Buttons: f.buttons,
		Models: func() []model.Info {
			return []model.Info{{Name: "main"}, {Name: "backup", Cooling: noon, Trouble: llm.Unauthorized}}
		},
		Tools: func(chat.Delivery) []command.Tool {
			return []command.Tool{{Name: "read_file", Category: "file", About: "Reads a file. Long story.", Calls: 3, Failures: 1, Average: 1500 * time.Microsecond, P95: 4 * time.Millisecond}, {Name: "web", Category: "network", About: strings.Repeat("长", 500)}}
		},
		Usage: model.NewLedger(new(kv.Memory), &model.LedgerOptions{Zone: time.UTC, Now: now, Budget: model.Budget{PerSenderTokensPerDay: 1000, TokensPerDay: 5000, USDPerDay: 2}}),
		Approve: func(_ context.Context, code string) (string, error) {
			switch code {
			case "ABCD2345":
				return "Ann `*x*`", nil
			case "BROKEN":
				return "", errors.New("table is gone")
			}
			return "", command.ErrNoCode
		},
		Kept:  command.Kept{Memory: f.memory, Room: &f.kept},
		Admin: func(channel, sender string) bool { return channel == "telegram" && sender == "boss" },
	}, &command.Options{Now: now})
	return f
}

func (f *fixture) delivery(text, from, lang string) chat.Delivery {
	f.seq++
	return chat.Delivery{Seq: f.seq, Inbound: chat.Inbound{
		Meta:   chat.Meta{V: 1, ID: "in-" + text, Trace: "trace", Addr: chat.Address{Channel: "telegram", Chat: "5"}},
		Origin: chat.FromPerson, From: chat.Sender{ID: from, Lang: lang}, Text: text, Direct: true, MessageID: "9",
	}}
}

func (f *fixture) handle(t *testing.T, d chat.Delivery) string {
	t.Helper()
	out, ok, err := f.set.Handle(t.Context(), d, f.room)
	if err != nil {
		t.Fatalf("%q: %v", d.Text, err)
	}
	if ok != (out.Text != "" || out.Answer != nil) {
		t.Errorf("%q: ok = %v with text %q", d.Text, ok, out.Text)
	}
	return out.Text
}

func (f *fixture) say(t *testing.T, text string) string {
	t.Helper()
	return f.handle(t, f.delivery(text, "joe", ""))
}

func wantAll(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("answer misses %q:\n%s", part, got)
		}
	}
}

func TestIsStop(t *testing.T) {
	for text, want := range map[string]bool{
		"/stop": true, "/STOP@my_bot now": true, "／stop": true, "/停止": true, "/停": true, "/cancel": true,
		"/stopped": false, "stop": false, "/status": false, "": false,
	} {
		if got := command.IsStop(text); got != want {
			t.Errorf("IsStop(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"/help": true, "/HELP": true, "  /Help me\nplease": true, "/help@magpie_bot": true, "／help": true, "／ｈｅｌｐ": true, "/help?": true,
		"/帮助": true, "／停止": true, "/新对话": true, "/状态": true, "/停止。": true, "/start": true, "/tz UTC+8": true,
		"：/help": true, "， /停止": true, ", /status": true, "\u200b/help": true, "。/help": false, "、": false, ":/": false,
		"/hepl": true, "/staus": true, "/sotp": true, "/modle": true, "/usgae x": true, "/ne": true, "/statusss": true, "/新队话": true,
		"": false, "/": false, "／": false, "/ help": false, "help": false, "停止": false, "//help": false,
		"/etc/hosts": false, "/etc": false, "/tmp": false, "/usr/bin": false, "/shrug": false, "/shrug oh well": false, "/home": false, "/post": false,
		"/list": false, "/me": false, "/t": false, "/help/me": false, "/h3lp": false, "/@bot": false, "/你好": false, "/帮忙": false, "/opt": false,
		"please /stop": false, "\xff": false, "/\xff": false, "/" + strings.Repeat("a", 1<<20): false, "/remind me": true, "/reminders": true, "/提醒 明天": true, "/cron": true, "/定时": true, "/remnid x": true,
	} {
		if got := command.Is(text); got != want {
			t.Errorf("Is(%.40q) = %v, want %v", text, got, want)
		}
	}
}

func FuzzIs(f *testing.F) {
	for _, s := range []string{"/help", "／帮助 x", "/etc/hosts", "/cmd@bot", "/\xff@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fx := newFixture(t)
		_, ok, err := fx.set.Handle(t.Context(), fx.delivery(text, "joe", ""), fx.room)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if is := command.Is(text); is != ok {
			t.Errorf("%q: Is says %v, Handle answers: %v", text, is, ok)
		}
	})
}

func TestOutboundIsAddressed(t *testing.T) {
	f := newFixture(t)
	d := f.delivery("/help", "joe", "")
	d.Direct = false
	first, _, err := f.set.Handle(t.Context(), d, f.room)
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := f.set.Handle(t.Context(), d, f.room)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("handled again it differs: %s", diff)
	}
	want := chat.Meta{V: 1, ID: "out:" + string(d.Addr.Session()) + ":1:0", Trace: "trace", At: noon, Addr: d.Addr}
	if diff := cmp.Diff(want, first.Meta); diff != "" {
		t.Error(diff)
	}
	if first.ReplyTo != "9" || !first.Final {
		t.Errorf("in a group it answers message %q, final %v", first.ReplyTo, first.Final)
	}
	d.Direct = true
	if out, _, _ := f.set.Handle(t.Context(), d, f.room); out.ReplyTo != "" {
		t.Errorf("in a private chat it answers message %q", out.ReplyTo)
	}
}

func TestHelp(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/help"), "`/help`", "`/tz [zone]`", "`/pair CODE`", "stop what I am doing")
	wantAll(t, f.say(t, "/帮助"), "`/停止`", "`/时区 [zone]`", "停止当前任务")
	bare := command.New(command.Ports{Settings: f.store}, nil)
	out, _, err := bare.Handle(t.Context(), f.delivery("/help", "joe", ""), f.room)
	if err != nil || strings.Contains(out.Text, "/pair") || !strings.Contains(out.Text, "/stop") {
		t.Errorf("help without ports: %v\n%s", err, out.Text)
	}
	out, _, err = bare.Handle(t.Context(), f.delivery("/usage", "joe", ""), f.room)
	if err != nil || !strings.Contains(out.Text, "not available") {
		t.Errorf("a command without its port: %q, %v", out.Text, err)
	}
}

func TestNearMiss(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/hepl"), "/hepl", "/help?")
	wantAll(t, f.handle(t, f.delivery("/staus", "joe", "zh")), "/staus", "/状态")
	if f.room.resets != 0 {
		t.Errorf("a suggestion did something")
	}
}

func TestStopAndNew(t *testing.T) {
	f := newFixture(t)
	f.room.running = true
	wantAll(t, f.say(t, "/STOP"), "Stopped.")
	wantAll(t, f.say(t, "/停止"), "没有正在进行")
	wantAll(t, f.say(t, "/new"), "new conversation")
	if f.room.resets != 1 || len(f.room.said) != 0 {
		t.Errorf("resets %d, said %v", f.room.resets, f.room.said)
	}
	d := f.delivery("/new 你好\n第二行", "joe", "")
	d.Attachments = []chat.Attachment{{Kind: chat.Image, Ref: "r"}}
	f.handle(t, d)
	if f.room.resets != 2 || len(f.room.said) != 1 || f.room.said[0].Text != "你好\n第二行" || len(f.room.said[0].Attachments) != 1 || f.room.said[0].ID == d.ID {
		t.Errorf("resets %d, said %+v", f.room.resets, f.room.said)
	}
	f.room.err = errors.New("lease is lost")
	for _, text := range []string{"/stop", "/new", "/new x"} {
		if _, ok, err := f.set.Handle(t.Context(), f.delivery(text, "joe", ""), f.room); !errors.Is(err, f.room.err) || ok {
			t.Errorf("%s: %v, %v; want the chat's error", text, ok, err)
		}
	}
}

func TestStatus(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/status"), "Idle", "0 messages", "`main`", "04:00 (UTC)")
	f.room.status = command.Status{Running: true, Since: noon.Add(-12 * time.Second), Tool: "exec`", Queued: 2, Messages: 7, Tokens: 345, Model: "backup"}
	wantAll(t, f.say(t, "/status"), "for 12s", "`exec`", "wait: 2", "7 messages, about 345", "`backup`")
	wantAll(t, f.say(t, "/状态"), "12s", "等待处理的消息：2", "模型：`backup`")
	f.room.status.Asks = []string{"exec`", "message"}
	asks := f.say(t, "/status")
	wantAll(t, asks, "**Waiting for approval** of `exec`, `message`; the turn began 12s ago", "/approve", "/deny", "/stop", "wait: 2")
	if strings.Contains(asks, "Working") {
		t.Errorf("a turn that waits for a person works: %s", asks)
	}
	wantAll(t, f.say(t, "/状态"), "**等待批准** `exec`、`message`", "12s", "/批准", "/拒绝", "/停止")
}

func TestModel(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/model"), "`main` **(in use)**", "`backup` – in trouble: key or balance")
	wantAll(t, f.say(t, "/model BACKUP"), "uses `backup`")
	wantAll(t, f.say(t, "/模型"), "`backup` **（当前）**", "密钥")
	wantAll(t, f.say(t, "/model `nope`"+strings.Repeat("长", 1000)), "没有 `nope长", "…", "`main`")
	group := f.delivery("/model main", "joe", "")
	group.Direct = false
	wantAll(t, f.handle(t, group), "only an admin")
	if set, _ := f.store.Load(t.Context(), group.Addr.Session()); set.Model != "backup" {
		t.Errorf("model is %q", set.Model)
	}
	group.From.ID = "boss"
	wantAll(t, f.handle(t, group), "uses `main`")
	wantAll(t, f.say(t, "/model default"), "default model again")
	if set, _ := f.store.Load(t.Context(), group.Addr.Session()); set.Model != "" {
		t.Errorf("model is %q", set.Model)
	}
}

func TestTools(t *testing.T) {
	got := newFixture(t).say(t, "/tools")
	wantAll(t, got, "2 tools here; calls since the start: 3, failed: 1.", "**file** (3/1)", "**file**", "`read_file` – Reads a file (calls: 3, failed: 1, average 2ms, p95 4ms)", strings.Repeat("长", 100)+"…")
	if strings.Contains(got, "Long story") || strings.Contains(got, strings.Repeat("长", 101)) {
		t.Errorf("more than a sentence:\n%s", got)
	}
}

func TestUsage(t *testing.T) {
	f := newFixture(t)
	got := f.say(t, "/usage")
	wantAll(t, got, "2026-11-21", "this chat: 0 calls", "you: 0 calls", "(limit 1000 tokens)")
	if strings.Contains(got, "in all") {
		t.Errorf("everybody sees the bot's account:\n%s", got)
	}
	wantAll(t, f.handle(t, f.delivery("/usage", "boss", "zh")), "总计", "（上限 5000 tokens）", "（上限 $2.00）")
}

func TestZone(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/tz"), "`UTC`", "04:00")
	wantAll(t, f.say(t, "/tz asia/shanghai"), "`Asia/Shanghai`", "12:00")
	wantAll(t, f.say(t, "/时区 UTC-3:30"), "`UTC-03:30`", "00:30")
	wantAll(t, f.say(t, "/tz Mars"), "do not know", "`Mars`", "UTC+8")
	wantAll(t, f.say(t, "/tz"), "`UTC-03:30`")
	wantAll(t, f.say(t, "/tz default"), "`UTC`")
}

func TestLang(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/lang zh"), "现在这里使用中文")
	wantAll(t, f.handle(t, f.delivery("/stop", "joe", "en")), "没有正在进行") // the choice is stronger than the platform's tag
	wantAll(t, f.say(t, "/lang klingon"), "可以选择")
	wantAll(t, f.say(t, "/语言 英文"), "I speak English")
	wantAll(t, f.say(t, "/停止"), "Nothing is running")
	wantAll(t, f.say(t, "/lang auto"), "follows you")
	wantAll(t, f.say(t, "/停止"), "没有正在进行")
}

func TestPair(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/pair ABCD2345"), "Only an admin")
	boss := func(text string) string { return f.handle(t, f.delivery(text, "boss", "")) }
	wantAll(t, boss("/pair abcd2345"), "`Ann *x*` may talk")
	wantAll(t, boss("/pair ZZZZ"), "no such code")
	wantAll(t, boss("/pair"), "/pair CODE")
	wantAll(t, boss("/配对 A B"), "/配对")
	if _, _, err := f.set.Handle(t.Context(), f.delivery("/pair broken", "boss", ""), f.room); err == nil {
		t.Errorf("a failure is hidden")
	}
}

func TestPress(t *testing.T) {
	f := newFixture(t)
	d := f.delivery("", "joe", "zh")
	made, err := f.buttons.Make(t.Context(), buttons.Spec{Addr: d.Addr, Once: true, Action: buttons.SayAction}, []buttons.Choice{{Label: "好"}})
	if err != nil {
		t.Fatal(err)
	}
	d.Press = &chat.Press{ID: "p", Data: made[0].Data, Message: "77"}
	for range 2 { // delivered twice
		out, ok, err := f.set.Handle(t.Context(), d, f.room)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if diff := cmp.Diff(&chat.Answer{Press: "p", Notice: "好", Message: "77"}, out.Answer); diff != "" {
			t.Error(diff)
		}
	}
	if len(f.room.said) != 1 || f.room.said[0].Text != "好" {
		t.Errorf("said %+v", f.room.said)
	}
	bare := command.New(command.Ports{Settings: f.store}, nil)
	out, ok, err := bare.Handle(t.Context(), d, f.room)
	if err != nil || !ok || out.Answer == nil || out.Answer.Notice != "这个按钮已过期。" {
		t.Errorf("without a registry: %+v, %v, %v", out.Answer, ok, err)
	}
}

// gone is a settings store that cannot be read.
type gone struct{ *settings.Store }

func (gone) Load(context.Context, chat.SessionKey) (settings.Settings, error) {
	return settings.Settings{}, errors.New("gone")
}

func TestStopWorksWithoutSettings(t *testing.T) {
	f := newFixture(t)
	f.room.running = true
	out, ok, err := command.New(command.Ports{Settings: gone{f.store}}, nil).Handle(t.Context(), f.delivery("/stop", "joe", ""), f.room)
	if err != nil || !ok || out.Text != "Stopped." {
		t.Errorf("%q, %v, %v", out.Text, ok, err)
	}
}

// TestEveryTypingErrorIsNoticed makes every single mistake in every command of
// four letters and more.
func TestEveryTypingErrorIsNoticed(t *testing.T) {
	for _, name := range []string{"help", "stop", "status", "model", "tools", "usage", "lang", "pair"} {
		for i := range name {
			wrongs := []string{name[:i] + name[i+1:], name[:i] + "x" + name[i+1:], name[:i] + "x" + name[i:]}
			if i > 0 {
				wrongs = append(wrongs, name[:i-1]+name[i:i+1]+name[i-1:i]+name[i+1:])
			}
			for _, wrong := range wrongs {
				if !command.Is("/" + wrong) {
					t.Errorf("/%s is not taken for /%s", wrong, name)
				}
			}
		}
	}
}

func BenchmarkIs(b *testing.B) {
	for name, text := range map[string]string{"text": "how are you?", "command": "/status", "path": "/etcetera and so on"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				command.Is(text)
			}
		})
	}
}
