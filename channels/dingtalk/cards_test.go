package dingtalk

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	"magpie/internal/kv"

	fake "magpie/internal/fakes/dingtalk"
)

// studio is a robot with cards on a fake, with a clock of its own.
type studio struct {
	*world
	*Buttoned
	t   *testing.T
	mu  sync.Mutex
	now time.Time
}

func newStudio(t *testing.T, table kv.Table) *studio {
	t.Helper()
	s := &studio{world: newWorld(t, nil), t: t, now: time.Unix(1_790_000_000, 0)}
	s.cfg = withCards
	s.Buttoned = s.again(table)
	return s
}

// again is the robot after a restart.
func (s *studio) again(table kv.Table) *Buttoned {
	s.t.Helper()
	return s.world.channel(s.t, channels.Deps{Table: table, Now: func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.now
	}}).(*Buttoned)
}

func (s *studio) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *studio) typing() {
	s.t.Helper()
	if err := s.Typing(channeltest.Bounded(s.t), at(ann().Chat())); err != nil {
		s.t.Fatal(err)
	}
}

func draft(turn, text string) chat.Outbound {
	msg := outbound(ann().Chat(), text)
	msg.ID, msg.Turn, msg.Draft = "draft:"+turn, turn, true
	return msg
}

// shows checks what the private chat shows: kind, state and text of each
// message.
func (s *studio) shows(want ...string) {
	s.t.Helper()
	var got []string
	for _, m := range s.Messages(ann().Chat()) {
		got = append(got, strings.TrimSpace(m.Kind+" "+m.State+" "+m.Text))
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		s.t.Errorf("the chat shows %q, want %q", got, want)
	}
	if len(s.cards.chats) != 0 {
		s.t.Error("a lock of a chat is left")
	}
}

func (s *studio) nothingOpen() {
	s.t.Helper()
	if len(s.cards.open) != 0 {
		s.t.Errorf("cards are left open: %+v", s.cards.open)
	}
	if left, err := kv.List(context.Background(), s.deps.Table, "card"); err != nil || len(left) != 0 {
		s.t.Errorf("the table holds %v, %v", left, err)
	}
}

// The working sign, the growing reply and the answer are one card.
func TestStreaming(t *testing.T) {
	s := newStudio(t, &kv.Memory{})
	s.typing()
	s.typing() // is shown already
	s.shows("card processing")
	ref, err := s.Send(channeltest.Bounded(t), draft("t1", "Once **upon**"))
	if err != nil {
		t.Fatal(err)
	}
	s.shows("card inputing Once **upon**")
	s.typing() // the card says it
	if err := s.Edit(channeltest.Bounded(t), ref, draft("t1", "Once **upon** a time")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second is a repeat after a lost answer
		if err := s.Edit(channeltest.Bounded(t), ref, outbound(ann().Chat(), "Once **upon** a time. 完")); err != nil {
			t.Fatal(err)
		}
	}
	s.shows("card finished Once **upon** a time. 完")
	s.nothingOpen()
}

// A draft that DingTalk did not take for now leaves its card to the answer, when
// that is there first.
func TestAnswerBeforeItsDraft(t *testing.T) {
	for _, sign := range []bool{true, false} {
		s := newStudio(t, &kv.Memory{})
		if sign {
			s.typing()
		}
		s.Fail(fake.Fault{Op: fake.OpCardStream, Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", Message: "发送速度太快而限流"})
		if _, err := s.Send(channeltest.Bounded(t), draft("t1", "Once")); channels.KindOf(err) != channels.RateLimited {
			t.Fatalf("the draft failed with %v", err)
		}
		if _, err := s.Send(channeltest.Bounded(t), outbound(ann().Chat(), "Once upon a time. 完")); err != nil {
			t.Fatal(err)
		}
		s.shows("card finished Once upon a time. 完")
		s.nothingOpen()
	}
}

// An answer without a draft goes into the working sign; without that it is an
// ordinary message, and so are the further parts of a long one.
func TestAnswerIntoSign(t *testing.T) {
	s := newStudio(t, &kv.Memory{})
	s.typing()
	for _, text := range []string{"part one", "part two"} {
		if _, err := s.Send(channeltest.Bounded(t), outbound(ann().Chat(), text)); err != nil {
			t.Fatal(err)
		}
	}
	s.shows("card finished part one", "markdown  part two")
	s.nothingOpen()
}

// Where the answer is a file the working sign ends too.
func TestSignEndsWithFile(t *testing.T) {
	s := newStudio(t, &kv.Memory{})
	s.typing()
	if _, err := s.SendMedia(channeltest.Bounded(t), outbound(ann().Chat(), ""), []channels.Upload{upload(chat.File, "a.pdf", 5)}); err != nil {
		t.Fatal(err)
	}
	s.shows("card finished 📎 a.pdf", "file")
	s.nothingOpen()
}

// A turn that ends without an answer, or is stopped, leaves no card that says
// "thinking".
func TestUnanswered(t *testing.T) {
	s := newStudio(t, &kv.Memory{})
	s.typing()
	s.cards.sweep(channeltest.Bounded(t))
	s.shows("card processing")
	s.pass(s.pace.orphan + time.Second)
	s.cards.sweep(channeltest.Bounded(t))
	s.shows("card finished ✓")
	ref, err := s.Send(channeltest.Bounded(t), draft("t1", "I was about to"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Delete(channeltest.Bounded(t), ref); err != nil {
			t.Error(err)
		}
	}
	s.shows("card finished ✓", "card finished "+cardMoved)
	s.nothingOpen()
}

// A card that a killed process leaves is found again: by the one who knows it,
// or by the clock.
func TestCrash(t *testing.T) {
	var table kv.Memory
	s := newStudio(t, &table)
	ref, err := s.Send(channeltest.Bounded(t), draft("t1", "half a"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Send(channeltest.Bounded(t), draft("t2", "another"))
	if err != nil {
		t.Fatal(err)
	}
	s.Buttoned = s.again(&table)
	s.cards.restore(channeltest.Bounded(t))
	if _, err := s.Send(channeltest.Bounded(t), outbound(ann().Chat(), "not into a card of before")); err != nil {
		t.Fatal(err)
	}
	if err := s.Edit(channeltest.Bounded(t), ref, outbound(ann().Chat(), "half a loaf")); err != nil {
		t.Fatal(err)
	}
	s.pass(s.pace.orphan + time.Second)
	s.cards.sweep(channeltest.Bounded(t))
	s.shows("card finished half a loaf", "card failed "+cardBroke, "markdown  not into a card of before")
	s.nothingOpen()
	if err := s.Delete(channeltest.Bounded(t), other); err != nil {
		t.Error(err)
	}
}

// Whatever fails about cards, the answer is there once, as a message if need
// be, and no card is left open.
func TestCardFailures(t *testing.T) {
	refused := fake.Fault{Code: "param.error"}
	for name, c := range map[string]struct {
		faults []fake.Fault
		want   string
	}{
		"streaming is refused":       {[]fake.Fault{{Op: fake.OpCardStream, Code: refused.Code}}, "card failed " + cardBroke + "|markdown  the answer"},
		"streaming is forbidden":     {[]fake.Fault{{Op: fake.OpCardStream, Status: 403, Code: "Forbidden.AccessDenied.AccessTokenPermissionDenied"}}, "card failed " + cardBroke + "|markdown  the answer"},
		"no answer, nothing done":    {[]fake.Fault{{Op: fake.OpCardStream, Drop: true}}, "card failed " + cardBroke + "|markdown  the answer"},
		"the server fails":           {[]fake.Fault{{Op: fake.OpCardStream, Status: 502, Page: true}}, "card failed " + cardBroke + "|markdown  the answer"},
		"too fast":                   {[]fake.Fault{{Op: fake.OpCardStream, Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForApi", Times: 4}}, "card finished the answer"},
		"too fast for long":          {[]fake.Fault{{Op: fake.OpCardStream, Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForApi"}}, "card finished " + cardMoved + "|markdown  the answer"},
		"the card was never created": {nil, "markdown  the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStudio(t, &kv.Memory{})
			if name == "too fast for long" {
				s.DingTalk.pace.settle = 0
			}
			if name == "the card was never created" {
				s.Fail(fake.Fault{Op: fake.OpCardCreate, Drop: true})
				if err := s.Typing(channeltest.Bounded(t), at(ann().Chat())); channels.KindOf(err) != channels.Ambiguous {
					t.Errorf("typing: %v", err)
				}
			} else {
				s.typing()
			}
			for _, f := range c.faults {
				s.Fail(f)
			}
			answer := outbound(ann().Chat(), "the answer")
			_, err := s.Send(channeltest.Bounded(t), answer)
			switch kind := channels.KindOf(err); {
			case err == nil:
			case kind == channels.Ambiguous, kind == channels.RateLimited, kind == channels.Temporary: // dispatch does it again
				_, err = s.Send(channeltest.Bounded(t), answer)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.cards.sweep(channeltest.Bounded(t))
			s.shows(strings.Split(c.want, "|")...)
			s.nothingOpen()
		})
	}
}

// A message that a card took although no answer came is not sent twice.
func TestLostAnswerOfCard(t *testing.T) {
	s := newStudio(t, &kv.Memory{})
	answer := outbound(ann().Chat(), "shall I?")
	answer.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}}
	for _, op := range []string{fake.OpCardCreate} {
		s.Fail(fake.Fault{Op: op, After: true, Drop: true})
		if _, err := s.Send(channeltest.Bounded(t), answer); channels.KindOf(err) != channels.Ambiguous || err == nil {
			t.Fatalf("%s: %v", op, err)
		}
	}
	if _, err := s.Send(channeltest.Bounded(t), answer); err != nil {
		t.Fatal(err)
	}
	s.shows("card finished shall I?")
}

// A draft is never sent as an ordinary message, which could not be edited; the
// final answer is.
func TestDraftFails(t *testing.T) {
	for name, f := range map[string]fake.Fault{
		"create": {Op: fake.OpCardCreate, Code: "param.templateNotExist"},
		"stream": {Op: fake.OpCardStream, Status: 500, Code: "system.error"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStudio(t, &kv.Memory{})
			s.Fail(f)
			if _, err := s.Send(channeltest.Bounded(t), draft("t1", "some")); err == nil {
				t.Fatal("no error")
			}
			if _, err := s.Send(channeltest.Bounded(t), outbound(ann().Chat(), "some more")); err != nil {
				t.Fatal(err)
			}
			want := "markdown  some more"
			if name == "stream" {
				want = "card finished some more" // the card that was made is used
			}
			s.shows(want)
			s.nothingOpen()
		})
	}
}

// An answer that its card does not take becomes a refusal after some tries,
// upon which dispatch gives the card up and sends a message.
func TestFinalEditFails(t *testing.T) {
	s := newStudio(t, &kv.Memory{})
	ref, err := s.Send(channeltest.Bounded(t), draft("t1", "some"))
	if err != nil {
		t.Fatal(err)
	}
	s.Fail(fake.Fault{Op: fake.OpCardStream, Status: 503, Page: true, Times: cardTries + 1})
	answer := outbound(ann().Chat(), "some more")
	for try := 1; ; try++ {
		err := s.Edit(channeltest.Bounded(t), ref, answer)
		if channels.KindOf(err) == channels.Rejected {
			break
		}
		if err == nil || try == cardTries {
			t.Fatalf("try %d: %v", try, err)
		}
	}
	if err := s.Delete(channeltest.Bounded(t), ref); err != nil { // does not hold the answer up
		t.Fatal(err)
	}
	if _, err := s.Send(channeltest.Bounded(t), answer); err != nil {
		t.Fatal(err)
	}
	s.shows("card inputing some", "markdown  some more")
	s.cards.sweep(channeltest.Bounded(t))
	s.shows("card finished "+cardMoved, "markdown  some more")
	s.nothingOpen()
}

func TestCardLimits(t *testing.T) {
	s := newStudio(t, &kv.Memory{})
	for _, unit := range []string{"a", "好", "😀"} {
		full := strings.Repeat(unit, maxText)
		ref, err := s.Send(channeltest.Bounded(t), draft(unit, full))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Edit(channeltest.Bounded(t), ref, outbound(ann().Chat(), full)); err != nil {
			t.Error(err)
		}
		if _, err := s.Send(channeltest.Bounded(t), draft(unit, full+unit)); channels.KindOf(err) != channels.TooLong {
			t.Errorf("draft: %v", err)
		}
		if err := s.Edit(channeltest.Bounded(t), ref, outbound(ann().Chat(), full+unit)); channels.KindOf(err) != channels.TooLong {
			t.Errorf("edit: %v", err)
		}
	}
	if err := s.Edit(channeltest.Bounded(t), chat.MessageRef{Chat: ann().Chat(), ID: "pqk1"}, outbound(ann().Chat(), "x")); channels.KindOf(err) != channels.Rejected {
		t.Errorf("an ordinary message was edited: %v", err)
	}
	if err := s.Typing(channeltest.Bounded(t), at(out().Chat())); err != nil {
		t.Error(err)
	}
	if _, err := s.Send(channeltest.Bounded(t), chat.Outbound{Meta: chat.Meta{Addr: at(out().Chat())}, Text: "x", Draft: true}); channels.KindOf(err) != channels.Rejected {
		t.Errorf("a draft to an outsider: %v", err)
	}
}

// Many chats at once have a card each.
func TestCardsAtOnce(t *testing.T) {
	s := newStudio(t, &kv.Memory{})
	var wg sync.WaitGroup
	for i := range 16 {
		p := fake.Person{StaffID: fmt.Sprintf("many%02d", i), Name: fmt.Sprint("P", i)}
		s.AddPerson(p)
		wg.Go(func() {
			_ = s.Typing(channeltest.Bounded(t), at(p.Chat()))
			msg := outbound(p.Chat(), "start")
			msg.Draft = true
			ref, err := s.Send(channeltest.Bounded(t), msg)
			for n := range 5 {
				if err == nil {
					err = s.Edit(channeltest.Bounded(t), ref, chat.Outbound{Meta: msg.Meta, Text: fmt.Sprint("start ", n), Draft: n < 4})
				}
			}
			if err != nil {
				t.Error(err)
			}
			if m := s.Messages(p.Chat()); len(m) != 1 || m[0].State != fake.Finished || m[0].Text != "start 4" {
				t.Errorf("%s shows %+v", p.Chat(), m)
			}
		})
	}
	wg.Wait()
	s.nothingOpen()
}
