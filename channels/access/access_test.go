package access

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/internal/kv"
)

func TestWhoIsHeard(t *testing.T) {
	press := inGroup("1", false)
	press.Press = &chat.Press{ID: "p", Data: "x"}
	strangePress := press
	strangePress.From.ID = "9"
	bot := direct("9", "hi")
	bot.From.Bot = true
	edited := inGroup("2", true)
	edited.Edited = true
	botIn := inGroup("9", true)
	botIn.From.Bot = true
	cron := direct("", "hi")
	cron.Origin = chat.FromCron
	one := []string{"1"}
	cases := []struct {
		name string
		cfg  Config
		in   chat.Inbound
		want bool
		says int
	}{
		{"allowed", Config{Allow: one}, direct("1", "hi"), true, 0},
		{"stranger", Config{Allow: one}, direct("2", "hi"), false, 0},
		{"prefix is no match", Config{Allow: []string{"11"}}, direct("1", "hi"), false, 0},
		{"everybody", Config{Allow: []string{"*"}}, direct("2", "hi"), true, 0},
		{"nobody", Config{}, direct("2", "hi"), false, 0},
		{"admin", Config{Admins: []string{"tg:5"}}, direct("5", "hi"), true, 0},
		{"admin of another channel", Config{Admins: []string{"dc:5"}}, direct("5", "hi"), false, 0},
		{"no sender", Config{Allow: []string{"*"}, Pairing: true}, direct("", "hi"), false, 0},
		{"bot among everybody", Config{Allow: []string{"*"}}, bot, false, 0},
		{"bot by name", Config{Allow: []string{"9"}}, bot, true, 0},
		{"bot gets no code", Config{Pairing: true}, bot, false, 0},
		{"job", Config{}, cron, true, 0},
		{"stranger with pairing", Config{Pairing: true}, direct("2", "hi"), false, 1},
		{"group, mentioned", Config{Allow: one}, inGroup("1", true), true, 0},
		{"group, not mentioned", Config{Allow: one}, inGroup("1", false), false, 0},
		{"group, open", Config{Allow: one, Group: "open"}, inGroup("1", false), true, 0},
		{"group, off", Config{Allow: one, Group: "off"}, inGroup("1", true), false, 0},
		{"group, bad word is strict", Config{Allow: one, Group: "opne"}, inGroup("1", false), false, 0},
		{"stranger who mentions it in a group", Config{Allow: one, Pairing: true}, inGroup("2", true), false, 1},
		{"stranger who changes such a mention", Config{Allow: one, Pairing: true}, edited, false, 0},
		{"stranger in group: silence", Config{Allow: one, Pairing: true}, inGroup("2", false), false, 0},
		{"stranger in open group: silence", Config{Pairing: true, Group: "open"}, inGroup("2", false), false, 0},
		{"group listed", Config{Allow: one, Groups: []string{"c1"}}, inGroup("1", true), true, 0},
		{"group not listed", Config{Allow: one, Groups: []string{"c2"}}, inGroup("1", true), false, 0},
		{"stranger in listed group", Config{Allow: one, Groups: []string{"c1"}}, inGroup("2", true), false, 1},
		{"stranger in group not listed", Config{Allow: one, Groups: []string{"c2"}}, inGroup("2", true), false, 0},
		{"member of a group that lets its members in", Config{Groups: []string{"c1"}, Members: []string{"c1"}}, inGroup("2", true), true, 0},
		{"such a member in another group", Config{Members: []string{"c2"}}, inGroup("2", true), false, 1},
		{"such a member in private", Config{Members: []string{"c1"}}, direct("2", "hi"), false, 0},
		{"bot in such a group", Config{Members: []string{"c1"}}, botIn, false, 0},
		{"press", Config{Allow: one}, press, true, 0},
		{"press of a stranger", Config{Allow: one}, strangePress, false, 1},
		{"press in a group that is off", Config{Allow: one, Group: "off"}, press, false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newGated(c.cfg)
			if got := g.give(t, c.in); got != c.want || len(g.said) != c.says {
				t.Errorf("came in: %v, want %v; said %d, want %d", got, c.want, len(g.said), c.says)
			}
		})
	}
}

var codeShape = regexp.MustCompile("`([A-HJ-NP-Z2-9]{8})`")

func TestPairing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Config{Pairing: true})
		g.give(t, direct("7", "hello"))
		g.give(t, direct("7", "hello?"))
		if len(g.said) != 1 {
			t.Fatalf("%d answers within a minute, want one", len(g.said))
		}
		m := codeShape.FindStringSubmatch(g.said[0].Text)
		if m == nil || !strings.Contains(g.said[0].Text, "10 min") || g.said[0].Addr.Chat != "c1" {
			t.Fatalf("said %+v", g.said[0])
		}
		<-time.After(61 * time.Second)
		g.give(t, direct("7", "你好"))
		if len(g.said) != 2 || !strings.Contains(g.said[1].Text, m[1]) || !strings.Contains(g.said[1].Text, "配对码") {
			t.Fatalf("second answer: %+v", g.said[1:])
		}
		_, waiting, err := g.pairs.List(t.Context())
		if err != nil || len(waiting) != 1 || waiting[0].Code != m[1] {
			t.Errorf("waiting %+v, %v", waiting, err)
		}
		p, err := g.pairs.Approve(t.Context(), " "+strings.ToLower(m[1][:4]+"-"+m[1][4:]))
		if err != nil || p.Sender.ID != "7" || p.Addr.Channel != "tg" {
			t.Fatalf("approved %+v, %v", p, err)
		}
		if _, err := g.pairs.Approve(t.Context(), m[1]); !errors.Is(err, ErrCode) {
			t.Errorf("a code works twice: %v", err)
		}
		if w := Welcome(p); w.Addr != p.Addr || w.Text == "" || w.ID == "" {
			t.Errorf("welcome %+v", w)
		}
		if !g.give(t, direct("7", "hi")) {
			t.Error("approved, but not heard")
		}
		other := direct("7", "hi")
		other.Addr = chat.Address{Channel: "dc", Chat: "c1"}
		if g.give(t, other) {
			t.Error("approved on every channel")
		}
		if allowed, waiting, err := g.pairs.List(t.Context()); err != nil || len(allowed) != 1 || len(waiting) != 0 {
			t.Errorf("allowed %+v, waiting %+v, %v", allowed, waiting, err)
		}
		if found, err := g.pairs.Revoke(t.Context(), "tg", "7"); !found || err != nil {
			t.Errorf("revoke: %v, %v", found, err)
		}
		if g.give(t, direct("7", "hi")) {
			t.Error("revoked, but heard")
		}
	})
}

func TestCodeExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Config{Pairing: true, CodeLife: 5 * time.Minute})
		g.give(t, direct("7", "hello"))
		code := codeShape.FindStringSubmatch(g.said[0].Text)[1]
		<-time.After(5 * time.Minute)
		if _, err := g.pairs.Approve(t.Context(), code); !errors.Is(err, ErrCode) {
			t.Errorf("err = %v", err)
		}
		g.give(t, direct("7", "hello"))
		if next := codeShape.FindStringSubmatch(g.said[1].Text)[1]; next == code {
			t.Error("the same code again")
		}
		for _, bad := range []string{"", "ABC", "ABCDEFGHJ", "ABCDEFG1", "ask.tg.7", "ÄÖÜÄ"} {
			if _, err := g.pairs.Approve(t.Context(), bad); !errors.Is(err, ErrCode) {
				t.Errorf("Approve(%q) = %v", bad, err)
			}
		}
	})
}

// A crowd of strangers cannot make the bot talk without end.
func TestOffersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Config{Pairing: true})
		for i := range 1000 {
			g.give(t, direct(fmt.Sprint(i), "hi"))
		}
		if len(g.said) != offerBurst {
			t.Errorf("%d answers, want %d", len(g.said), offerBurst)
		}
	})
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Config{Allow: []string{"*"}, PerSender: "3/1m"})
		count := func(n int, id string) (in int) {
			for range n {
				if g.give(t, direct(id, "hi")) {
					in++
				}
			}
			return in
		}
		if n := count(10, "1"); n != 3 || len(g.said) != 1 {
			t.Errorf("%d came in, told %d times; want 3 and once", n, len(g.said))
		}
		if n := count(3, "2"); n != 3 || len(g.said) != 1 {
			t.Errorf("another sender: %d came in", n)
		}
		if !g.give(t, direct("1", "/stop")) || g.give(t, direct("1", "/stopped")) {
			t.Error("what is urgent does not get through, or too much does")
		}
		press := direct("1", "")
		press.Press = &chat.Press{ID: "p"}
		if !g.give(t, press) {
			t.Error("a press does not get through")
		}
		<-time.After(time.Minute)
		if n := count(4, "1"); n != 3 || len(g.said) != 2 {
			t.Errorf("next window: %d came in, told %d times", n, len(g.said))
		}
	})
}

// Whoever is over the limit is told in each chat, in their language, with the
// time that is left; a group hears it a few times for all who are in it.
func TestWhoIsTooFastIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Config{Allow: []string{"*"}, Group: "open", PerSender: "1/1h30m"})
		in := func(chatID string, m chat.Inbound) chat.Inbound {
			m.Addr = chat.Address{Channel: "tg", Chat: chatID}
			m.MessageID = "7"
			return m
		}
		g.give(t, in("a", direct("1", "hi")))
		<-time.After(30*time.Minute + 300*time.Millisecond)
		for range 2 {
			g.give(t, in("a", direct("1", "hi")))
			g.give(t, in("b", direct("1", "你好")))
			g.give(t, in("team", inGroup("1", false)))
		}
		var said []string
		for _, out := range g.said {
			said = append(said, out.Addr.Chat+" "+out.ReplyTo+": "+out.Text)
		}
		want := []string{
			"a : Too fast: at most 1 messages in 1h30m. I do not read this message and those of the next 1h; please send them again after that.",
			"b : 消息太快了：每 1 小时 30 分钟最多 1 条。这条消息以及接下来 1 小时内的消息我都不会处理，请过后重新发送。",
			"team 7: Too fast: at most 1 messages in 1h30m from one person; I do not read what is more. Please send this message again in 1h.",
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("said (-want +got):\n%s", diff)
		}
		g.said = nil
		for i := range 200 {
			for range 3 {
				g.give(t, in("crowd", inGroup(fmt.Sprint("p", i), true)))
			}
		}
		if len(g.said) != groupNotices {
			t.Errorf("a crowd is told %d times, want %d", len(g.said), groupNotices)
		}
	})
}

// A message that comes again counts once, and one that could not be handed on
// does not count.
func TestRepeatsDoNotCount(t *testing.T) {
	g := newGated(Config{Allow: []string{"*"}, PerSender: "2/1h"})
	down := errors.New("the store is down")
	var taken []string
	sink := g.Wrap(func(_ context.Context, in chat.Inbound) error {
		if down != nil {
			return down
		}
		taken = append(taken, in.ID)
		return nil
	})
	give := func(id string) error {
		in := direct("1", "hi")
		in.ID, in.Origin = id, chat.FromPerson
		return sink(t.Context(), in)
	}
	for range 5 {
		if err := give("one"); !errors.Is(err, down) {
			t.Fatal(err)
		}
	}
	down = nil
	for _, id := range []string{"one", "one", "two", "one", "three", "two", "four"} {
		if err := give(id); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(taken, " "); got != "one one two one two" || len(g.said) != 1 {
		t.Errorf("taken %q, told %d times", got, len(g.said))
	}
}

// What could not be said is an error, so that the platform sends it again.
func TestSayFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Config{Pairing: true, PerSender: "1/1m", Allow: []string{"1"}})
		g.err = errors.New("bus is down")
		g.give(t, direct("1", "hi"))
		for _, in := range []chat.Inbound{direct("9", "hi"), direct("1", "hi")} {
			if err := g.try(t, in); !errors.Is(err, g.err) {
				t.Errorf("err = %v", err)
			}
		}
		g.err = nil
		if g.give(t, direct("9", "hi")) || g.give(t, direct("1", "hi")) || len(g.said) != 2 {
			t.Errorf("said %d, want both", len(g.said))
		}
	})
}

func TestUpdate(t *testing.T) {
	g := newGated(Config{})
	if g.give(t, direct("1", "hi")) {
		t.Error("nobody is allowed")
	}
	g.Update(Config{Allow: []string{"1"}})
	if !g.give(t, direct("1", "hi")) {
		t.Error("the new list is not used")
	}
}

func TestManyAtOnce(t *testing.T) {
	g := New(Config{Allow: []string{"1"}, Pairing: true, PerSender: "50/1h"}, Deps{
		Pairs: NewPairs(&kv.Memory{}), Say: func(context.Context, chat.Outbound) error { return nil },
	})
	var mu sync.Mutex
	in := 0
	sink := g.Wrap(func(context.Context, chat.Inbound) error { mu.Lock(); in++; mu.Unlock(); return nil })
	var wg sync.WaitGroup
	for c := range 8 {
		wg.Go(func() {
			for i := range 20 {
				for _, id := range []string{"1", fmt.Sprint("s", c, i)} {
					m := direct(id, "hi")
					m.Origin = chat.FromPerson
					if err := sink(t.Context(), m); err != nil {
						t.Error(err)
					}
				}
				g.Update(Config{Allow: []string{"1"}, Pairing: true, PerSender: "50/1h"})
			}
		})
	}
	wg.Wait()
	if in != 50 {
		t.Errorf("%d came in, want 50", in)
	}
}

func TestConfigCheck(t *testing.T) {
	good := []Config{{}, {Group: "open", PerSender: "20/1m", Admins: []string{"tg:1"}, CodeLife: time.Minute}}
	for _, c := range good {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	bad := Config{Group: "x", PerSender: "0/1m", Admins: []string{"tg", "tg:"}, CodeLife: -1}
	if err := bad.Check(); err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("want all five problems, got %v", err)
	}
	for _, s := range []string{"x", "1", "1/", "/1m", "-1/1m", "1/0s", "1/x", "99999999999999999999/1m"} {
		if _, _, err := ParseLimit(s); err == nil {
			t.Errorf("ParseLimit(%q) is no error", s)
		}
	}
	n, per, err := ParseLimit(" 20 / 1m ")
	if diff := cmp.Diff([]any{20, time.Minute}, []any{n, per}); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
