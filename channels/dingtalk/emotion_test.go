package dingtalk

import (
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	"magpie/internal/kv"

	fake "magpie/internal/fakes/dingtalk"
)

// workshop is a robot at work on a fake, with a clock of its own.
type workshop struct {
	*world
	*receiving
	t     *testing.T
	judge func(chat.Inbound) error
	mu    sync.Mutex
	now   time.Time
}

func newWorkshop(t *testing.T, table kv.Table, change func(*Config)) *workshop {
	t.Helper()
	s := &workshop{world: newWorld(t, nil), t: t, now: time.Unix(1_790_000_000, 0)}
	s.cfg = change
	s.again(table)
	return s
}

func (s *workshop) again(table kv.Table) {
	s.t.Helper()
	status := channels.NewStatus(nil)
	ch := s.world.channel(s.t, channels.Deps{Table: table, Status: status, Now: func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.now
	}})
	s.receiving = &receiving{Channel: ch, DingTalk: base(ch), Receiver: channeltest.Receive(s.t, ch, s.judge), status: status}
	channeltest.Eventually(s.t, "the channel connects", func() bool { return status.State().Connected })
}

func (s *workshop) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// asks lets somebody write and the bot work on it.
func (s *workshop) asks(said fake.Said) (id string) {
	s.t.Helper()
	id, _ = s.Say(said)
	in := s.Next(s.t)
	if err := s.Typing(channeltest.Bounded(s.t), in.Addr); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// The message that is answered wears a sign until the answer is there, in
// private and in groups, whether it is a text or a file.
func TestWorkingSign(t *testing.T) {
	s := newWorkshop(t, nil, nil)
	for _, said := range []fake.Said{{Chat: ann().Chat(), Text: "a"}, {Chat: crowd().Chat(), From: bob().Chat(), Text: "b", Mention: true}} {
		for _, file := range []bool{false, true} {
			id := s.asks(said)
			if got := s.Emotion(id); got != signName {
				t.Fatalf("the message wears %q", got)
			}
			if err := s.Typing(channeltest.Bounded(t), at(said.Chat)); err != nil {
				t.Fatal(err)
			}
			calls := s.Calls(fake.OpEmotion)
			msg := outbound(said.Chat, "in the middle")
			if _, err := s.Send(channeltest.Bounded(t), msg); err != nil || s.Emotion(id) == "" {
				t.Errorf("%v, and the sign is %q while the work goes on", err, s.Emotion(id))
			}
			msg.Text, msg.Final = "done", true
			var err error
			if file {
				_, err = s.SendMedia(channeltest.Bounded(t), msg, []channels.Upload{upload("file", "a.pdf", 5)})
			} else {
				_, err = s.Send(channeltest.Bounded(t), msg)
			}
			if err != nil || s.Emotion(id) != "" || s.Calls(fake.OpEmotion) != calls {
				t.Errorf("%v; the answered message wears %q; %d calls, before %d", err, s.Emotion(id), s.Calls(fake.OpEmotion), calls)
			}
		}
	}
	if left, err := kv.List(t.Context(), s.deps.Table, "sign"); err != nil || len(left) != 0 {
		t.Errorf("the table holds %v, %v", left, err)
	}
}

// Work that ends without an answer leaves no sign, nor does a crash.
func TestSignIsSwept(t *testing.T) {
	var table kv.Memory
	s := newWorkshop(t, &table, nil)
	id := s.asks(fake.Said{Chat: ann().Chat(), Text: "a"})
	s.sweepSigns(t.Context())
	if s.Emotion(id) == "" {
		t.Error("a sign that was just put is gone")
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s.again(&table)
	channeltest.Eventually(t, "the sign is found again", func() bool {
		s.signs.mu.Lock()
		defer s.signs.mu.Unlock()
		return len(s.signs.shown) == 1
	})
	s.Fail(fake.Fault{Op: fake.OpEmotionRecall, Status: 503, Page: true})
	for range 2 { // the first fails
		s.pass(2*signLife + time.Second)
		s.sweepSigns(t.Context())
	}
	if got := s.Emotion(id); got != "" {
		t.Errorf("the message wears %q for ever", got)
	}
}

// A robot that may put no signs is not asked again for a day, nor after a
// restart; trouble that passes is no refusal.
func TestSignRefused(t *testing.T) {
	var table kv.Memory
	s := newWorkshop(t, &table, nil)
	s.Fail(fake.Fault{Op: fake.OpEmotion, Status: 503, Page: true})
	s.Say(fake.Said{Chat: ann().Chat(), Text: "a"})
	a := s.Next(t).Addr
	typing := func(calls int) {
		t.Helper()
		_ = s.Typing(channeltest.Bounded(t), a)
		if n := s.Calls(fake.OpEmotion); n != calls {
			t.Errorf("%d calls, want %d", n, calls)
		}
	}
	typing(1)
	s.Fail(fake.Fault{Op: fake.OpEmotion, Status: 403, Code: "Forbidden.AccessDenied.AccessTokenPermissionDenied", Scopes: []string{"qyapi_x"}})
	typing(2)
	typing(2)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s.again(&table)
	s.Say(fake.Said{Chat: ann().Chat(), Text: "b"})
	s.Next(t)
	typing(2)
	s.pass(signRefused + time.Minute)
	typing(3)
}

// Without the sign, and where a card is the sign, no emotion is put.
func TestNoSign(t *testing.T) {
	for name, change := range map[string]func(*Config){"none": func(c *Config) { c.WorkingSign = noSign }, "card": withCards} {
		s := newWorkshop(t, nil, change)
		s.Say(fake.Said{Chat: ann().Chat(), Text: "a"})
		in := s.Next(t)
		if err := s.Channel.(channels.Typer).Typing(channeltest.Bounded(t), in.Addr); err != nil {
			t.Fatal(err)
		}
		if n := s.Calls(fake.OpEmotion); n != 0 || (s.Channel.Limits().Typing > 0) != (name == "card") {
			t.Errorf("%s: %d calls, limits %+v", name, n, s.Channel.Limits())
		}
	}
}
