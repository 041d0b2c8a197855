package access

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

func happens(what chat.Happening, who string) chat.Inbound {
	return chat.Inbound{From: chat.Sender{ID: who}, Happening: what}
}

// What does not address the bot goes to the room where the group is read, and
// to nobody else, whatever it says.
func TestWhatTheRoomHears(t *testing.T) {
	text := func(who, text string) chat.Inbound { return chat.Inbound{From: chat.Sender{ID: who}, Text: text} }
	bot := text("8", "beep")
	bot.From.Bot = true
	press := inGroup("1", false)
	press.Press = &chat.Press{ID: "p", Data: "x"}
	private := direct("1", "hi")
	all := Config{Allow: []string{"1"}, Context: 20}
	listed, open, off, none, members := all, all, all, all, all
	listed.Groups, open.Group, off.Group, none.Context = []string{"c2"}, "open", "off", 0
	members.Members = []string{"c1"}
	cases := []struct {
		name          string
		cfg           Config
		in            chat.Inbound
		hear, outside bool
	}{
		{"allowed", all, text("1", "hi"), true, false},
		{"stranger", all, text("2", "hi"), true, true},
		{"bot", all, bot, true, true},
		{"bot by name", Config{Allow: []string{"8"}, Context: 1}, bot, true, false},
		{"bot among members", members, bot, true, true},
		{"member", members, text("2", "hi"), true, false},
		{"nobody", all, text("", "hi"), true, true},
		{"a command that is not for it", all, text("1", "/stop"), true, false},
		{"addressed", all, inGroup("1", true), false, false},
		{"a stranger's question", all, inGroup("2", true), true, true},
		{"press", all, press, false, false},
		{"private", all, private, false, false},
		{"open group", open, text("1", "hi"), false, false},
		{"open group, stranger", open, text("2", "hi"), true, true},
		{"open group, joined", open, happens(chat.Joined, "2"), true, true},
		{"open group, recalled", open, happens(chat.Recalled, "2"), true, true},
		{"group off", off, text("1", "hi"), false, false},
		{"group not listed", listed, text("1", "hi"), false, false},
		{"none kept", none, text("1", "hi"), false, false},
		{"joined", all, happens(chat.Joined, "2"), true, true},
		{"left", all, happens(chat.Left, "1"), true, false},
		{"recalled", all, happens(chat.Recalled, "2"), true, true},
		{"joined, group off", off, happens(chat.Joined, "2"), false, false},
		{"unknown news", all, happens("renamed", "1"), false, false},
		{"added", all, happens(chat.Added, "1"), false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newGated(c.cfg)
			came := g.give(t, c.in)
			if want := c.in.Direct || c.in.Press != nil || c.in.Mentioned && c.in.From.ID == "1"; c.cfg.Group == "" && came != want {
				t.Errorf("came in: %v", came)
			}
			if (len(g.heard) == 1) != c.hear || c.hear && g.out[0] != c.outside {
				t.Errorf("heard %+v, outside %v", g.heard, g.out)
			}
		})
	}
}

// What the room could not keep comes again.
func TestRoomFails(t *testing.T) {
	g := newGated(Config{Context: 20})
	g.err = errors.New("down")
	if err := g.try(t, inGroup("1", false)); !errors.Is(err, g.err) {
		t.Errorf("err = %v", err)
	}
}

// News is never a message, whoever brings it and whatever it holds.
func TestNewsNeverComesIn(t *testing.T) {
	for _, what := range []chat.Happening{chat.Joined, chat.Left, chat.Recalled, chat.Added, "other"} {
		for _, direct := range []bool{false, true} {
			for _, origin := range []chat.Origin{"", chat.FromPerson, chat.FromCron} {
				g := newGated(Config{Allow: []string{"*"}, Group: "open", Context: 20})
				in := happens(what, "1")
				in.Text, in.Direct, in.Mentioned, in.Origin = "/stop", direct, true, origin
				if g.give(t, in) {
					t.Errorf("%s came in, direct %v", what, direct)
				}
			}
		}
	}
}

func added(lang string) chat.Inbound {
	in := happens(chat.Added, "5")
	in.From.Lang = lang
	in.Addr = chat.Address{Channel: "tg", Chat: "-100"}
	return in
}

func TestGreeting(t *testing.T) {
	group := []string{"-100"}
	cases := []struct {
		name string
		cfg  Config
		in   chat.Inbound
		want []string // in the greeting; none: nothing is said
		not  string
	}{
		{"English", Config{Pairing: true}, added("en-GB"), []string{"/help", "mentions me", "/pair", "privately"}, "配对"},
		{"Chinese", Config{Pairing: true}, added("zh-hans"), []string{"/帮助", "@我", "配对码"}, "Hello"},
		{"language not known", Config{Pairing: true}, added(""), []string{"Hello", "大家好"}, ""},
		{"what is kept is said", Config{Context: 7}, added("en"), []string{"last 7 messages", "/context"}, ""},
		{"nothing is kept", Config{}, added("en"), []string{"whoever runs me"}, "/context"},
		{"open to all", Config{Allow: []string{"*"}, Pairing: true, Group: "open", Context: 7}, added("en"), []string{"every message", "Everybody"}, "/context"},
		{"open to some", Config{Pairing: true, Group: "open", Context: 7}, added("en"), []string{"every message", "last 7 messages", "/context", "/pair"}, "Everybody"},
		{"members", Config{Pairing: true, Groups: group, Members: group}, added("en"), []string{"Everybody"}, "/pair"},
		{"off", Config{Group: "off"}, added("en"), nil, ""},
		{"not listed", Config{Groups: []string{"-200"}}, added("en"), nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newGated(c.cfg)
			if g.give(t, c.in) {
				t.Error("it came in")
			}
			switch {
			case len(c.want) == 0 && len(g.said) > 0:
				t.Errorf("said %+v", g.said)
			case len(c.want) == 0:
				if log := g.log.String(); !strings.Contains(log, "-100") || !strings.Contains(log, "channels.tg.group") {
					t.Errorf("the log does not say how to listen there: %s", log)
				}
			case len(g.said) != 1:
				t.Errorf("%d greetings", len(g.said))
			default:
				for _, w := range c.want {
					if !strings.Contains(g.said[0].Text, w) {
						t.Errorf("%q is not in %q", w, g.said[0].Text)
					}
				}
				if c.not != "" && strings.Contains(g.said[0].Text, c.not) {
					t.Errorf("%q is in %q", c.not, g.said[0].Text)
				}
			}
		})
	}
}

// The bot greets once in a chat, also when the event comes again, after a
// restart, or when it could not be said at first; who added it is not let in by
// that.
func TestGreetingOnce(t *testing.T) {
	table := &kv.Memory{}
	g := newGatedOn(Config{}, table)
	g.err = errors.New("down")
	if err := g.try(t, added("en")); err == nil {
		t.Error("a greeting that was not said is done with")
	}
	g.err = nil
	for range 3 {
		g.give(t, added("en"))
	}
	again := newGatedOn(Config{}, table)
	again.give(t, added("en"))
	other := added("en")
	other.Addr.Chat = "-101"
	again.give(t, other)
	if len(g.said) != 1 || len(again.said) != 1 || g.said[0].ID == again.said[0].ID {
		t.Errorf("said %d times, then %d times", len(g.said), len(again.said))
	}
	if again.give(t, direct("5", "hi")) {
		t.Error("who added the bot was let in")
	}
}

func TestGreetingsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Config{})
		for i := range 1000 {
			in := added("en")
			in.Addr.Chat = fmt.Sprint(i)
			g.give(t, in)
		}
		if len(g.said) != offerBurst {
			t.Errorf("%d greetings, want %d", len(g.said), offerBurst)
		}
	})
}

// In private the offer of a code is the greeting; whoever is let in is greeted.
func TestGreetingInPrivate(t *testing.T) {
	in := added("en")
	in.Direct = true
	g := newGated(Config{Pairing: true})
	g.give(t, in)
	if len(g.said) != 1 {
		t.Error("no code is offered")
	}
	g.give(t, direct("5", "/start"))
	if len(g.said) != 1 || !codeShape.MatchString(g.said[0].Text) {
		t.Errorf("a stranger is told %+v", g.said)
	}
	g = newGated(Config{Allow: []string{"5"}})
	g.give(t, in)
	g.give(t, in)
	if len(g.said) != 1 || !strings.Contains(g.said[0].Text, "Just write to me") {
		t.Errorf("who is let in is told %+v", g.said)
	}
	g = newGated(Config{})
	g.give(t, in)
	if len(g.said) != 0 || !strings.Contains(g.log.String(), `channels.tg.allow: [\"5\"]`) {
		t.Errorf("without pairing: %+v, %s", g.said, g.log.String())
	}
}

// A stranger who asks in a group is told once a day in each how to be let in,
// and the operator's log says with which key.
func TestStrangerIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &kv.Memory{}
		g := newGatedOn(Config{Pairing: true}, table)
		ask := inGroup("9", true)
		ask.MessageID, ask.Addr = "77", chat.Address{Channel: "tg", Chat: "-100"}
		g.give(t, ask)
		g.give(t, ask)
		if len(g.said) != 1 || !strings.Contains(g.said[0].Text, "privately") || g.said[0].ReplyTo != "77" || g.said[0].Addr != ask.Addr {
			t.Fatalf("said %+v", g.said)
		}
		for _, want := range []string{"level=INFO", "sender=9", "group=-100", `channels.tg.allow: [\"9\"]`, "members: true"} {
			if !strings.Contains(g.log.String(), want) {
				t.Errorf("the log lacks %s: %s", want, g.log.String())
			}
		}
		<-time.After(2 * time.Minute)
		again := newGatedOn(Config{Pairing: true}, table)
		again.give(t, ask)
		if len(again.said) != 0 {
			t.Errorf("after a restart: %+v", again.said)
		}
		<-time.After(2 * time.Minute)
		other := ask
		other.Addr.Chat = "-200"
		again.give(t, other)
		<-time.After(toldFor)
		again.give(t, ask)
		if len(again.said) != 2 {
			t.Errorf("another group and another day: %d answers, want 2", len(again.said))
		}
		private := direct("9", "hi")
		again.give(t, private)
		if len(again.said) != 3 {
			t.Error("after the group's answer there is no code in private")
		}
	})
}

// Where the bot does not listen nothing is said, and the operator's log names the
// group and the key, once in a while.
func TestAddressedWhereItDoesNotListen(t *testing.T) {
	for want, cfg := range map[string]Config{"channels.tg.group: mention": {Allow: []string{"9"}, Group: "off"}, `channels.tg.groups: [\"-100\"]`: {Groups: []string{"-200"}}} {
		g := newGated(cfg)
		in := inGroup("9", true)
		in.Addr = chat.Address{Channel: "tg", Chat: "-100"}
		other := in
		other.Mentioned = false
		g.give(t, other)
		if g.log.Len() > 0 {
			t.Errorf("talk is logged: %s", g.log.String())
		}
		heard := 0
		for range 2 {
			if g.give(t, in) {
				heard++
			}
		}
		if heard > 0 || len(g.said) > 0 || len(g.heard) > 0 {
			t.Errorf("it was heard: %+v", g.said)
		}
		if log := g.log.String(); strings.Count(log, "level=INFO") != 1 || !strings.Contains(log, want) || !strings.Contains(log, "sender=9") {
			t.Errorf("the log is %s, want %s", log, want)
		}
	}
}

func TestStrangerIsToldHow(t *testing.T) {
	for _, c := range []struct {
		pairing bool
		text    string
		want    string
	}{{true, "hi", "privately"}, {false, "hi", "ask whoever runs me"}, {true, "你好", "私聊"}, {false, "你好", "管理员"}} {
		g := newGated(Config{Pairing: c.pairing})
		in := inGroup("9", true)
		in.Text = c.text
		g.give(t, in)
		if len(g.said) != 1 || !strings.Contains(g.said[0].Text, c.want) {
			t.Errorf("pairing %v, %q: %+v", c.pairing, c.text, g.said)
		}
	}
	g := newGated(Config{})
	g.err = errors.New("down")
	in := inGroup("9", true)
	if err := g.try(t, in); err == nil {
		t.Error("what was not said is done with")
	}
	g.err = nil
	if g.give(t, in); len(g.said) != 1 {
		t.Error("it is not said when the message comes again")
	}
}

// Who opens a chat, or sends a command, on a platform that tells no language is
// answered in both.
func TestStrangersLanguage(t *testing.T) {
	for _, c := range []struct {
		text, lang       string
		english, chinese bool
	}{
		{"", "", true, true},
		{"/start", "", true, true},
		{"？", "", true, true},
		{"👋", "", true, true},
		{"hi", "", true, false},
		{"你好", "", false, true},
		{"/start", "en", true, false},
		{"/start", "zh-hans", false, true},
		{"/帮助", "", false, true},
	} {
		for _, private := range []bool{true, false} {
			g := newGated(Config{Pairing: true})
			in := inGroup("9", true)
			if private {
				in = direct("9", "")
			}
			in.Text, in.From.Lang = c.text, c.lang
			g.give(t, in)
			if len(g.said) != 1 {
				t.Fatalf("%+v: %d answers", c, len(g.said))
			}
			said := g.said[0].Text
			if strings.Contains(said, "whoever runs me") != c.english || strings.Contains(said, "管理员") != c.chinese {
				t.Errorf("%+v, private %v: %q", c, private, said)
			}
		}
	}
	g := newGated(Config{Pairing: true})
	in := happens(chat.Added, "9")
	in.Direct = true
	if g.give(t, in); len(g.said) != 1 || !strings.Contains(g.said[0].Text, "配对码") || !strings.Contains(g.said[0].Text, "pairing code") {
		t.Errorf("who opens a private chat is told %+v", g.said)
	}
}

func TestStrangersAreToldWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Config{})
		for i := range 1000 {
			g.give(t, inGroup(fmt.Sprint(i), true))
		}
		if len(g.said) != offerBurst {
			t.Errorf("%d answers, want %d", len(g.said), offerBurst)
		}
		g = newGated(Config{})
		for i := range 30 {
			in := inGroup("9", true)
			in.Addr = chat.Address{Channel: "tg", Chat: fmt.Sprint(-i)}
			g.give(t, in)
		}
		if len(g.said) != 1 {
			t.Errorf("one person in many groups gets %d answers at once", len(g.said))
		}
	})
}

func TestLetIn(t *testing.T) {
	g := newGated(Config{Allow: []string{"1"}, Members: []string{"-100"}, Context: 1})
	for group, want := range map[string]bool{"-100": true, "-200": false} {
		if ok, err := g.LetIn(t.Context(), chat.Address{Channel: "tg", Chat: group}, chat.Sender{ID: "2"}); ok != want || err != nil {
			t.Errorf("in %s: %v, %v", group, ok, err)
		}
	}
	if !g.Reads() {
		t.Error("it does not read")
	}
}
