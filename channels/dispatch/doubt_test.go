package dispatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

// knowing is a platform that recognises a repeat for as long as its limits say,
// and that can be out of reach, before or after it has taken a message.
type knowing struct {
	full
	seen  map[string]int       // number of the message, by id
	since map[string]time.Time // when it came
	out   func() (away, deaf bool)
}

func newKnowing(lim channels.Limits, out func() (away, deaf bool)) *knowing {
	return &knowing{newFull(lim), map[string]int{}, map[string]time.Time{}, out}
}

func (c *knowing) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	away, deaf := c.out()
	if away {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = c.begin("send", "lost")
		return chat.MessageRef{}, failure(channels.Ambiguous)
	}
	c.mu.Lock()
	n, known := c.seen[msg.ID]
	known = known && time.Since(c.since[msg.ID]) < c.limits.RepeatKnown
	c.mu.Unlock()
	ref := c.minimal.ref(n)
	if !known {
		var err error
		if ref, err = c.full.Send(ctx, msg); err != nil {
			return ref, err
		}
		c.mu.Lock()
		c.seen[msg.ID], c.since[msg.ID] = len(c.chat)-1, time.Now()
		c.mu.Unlock()
	}
	if deaf {
		return chat.MessageRef{}, failure(channels.Ambiguous)
	}
	return ref, nil
}

// until is an outage that begins now: calls are lost, or only their answers.
func until(d time.Duration, deaf bool) func() (bool, bool) {
	end := time.Now().Add(d)
	return func() (bool, bool) {
		out := time.Now().Before(end)
		return out && !deaf, out && deaf
	}
}

// An outage costs no answer and, where the platform recognises repeats, doubles
// none; where it does not, one of a second or two is outlasted as well.
func TestOutage(t *testing.T) {
	for _, c := range []struct {
		name  string
		known time.Duration
		lasts time.Duration
		deaf  bool
		want  int // messages
	}{
		{"short", time.Hour, 2 * time.Second, false, 1},
		{"short, answers lost", time.Hour, 2 * time.Second, true, 1},
		{"minutes", time.Hour, 8 * time.Minute, true, 1},
		{"longer than the patience", time.Hour, 11 * time.Minute, false, 0},
		{"over the time of repeats", time.Minute, 3 * time.Minute, false, 0},
		{"just over the time of repeats", time.Minute, 58 * time.Second, false, 1},
		{"not recognised", 0, 2 * time.Second, false, 1},
		{"not recognised, answers lost", 0, 2 * time.Second, true, 2},
		{"not recognised, minutes", 0, time.Minute, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch := newKnowing(channels.Limits{Resend: true, RepeatKnown: c.known}, until(c.lasts, c.deaf))
				err := New(ch, nil).Deliver(t.Context(), message("a", "text"))
				if _, dead := errors.AsType[*Undeliverable](err); dead != (c.want == 0) || !dead && err != nil {
					t.Errorf("err = %v", err)
				}
				if n := len(ch.visible()); n != c.want {
					t.Errorf("%d messages, want %d", n, c.want)
				}
			})
		})
	}
}

// A restart between two tries changes nothing about how many there are.
func TestDoubtSurvivesRestart(t *testing.T) {
	for name, c := range map[string]struct {
		known time.Duration
		away  time.Duration // the program
		tries int
		dead  bool
	}{
		"recognised":                {time.Hour, time.Minute, 4, false},
		"recognised, but no longer": {time.Hour, 2 * time.Hour, 2, true},
		"not recognised":            {0, time.Minute, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch, kept := newFull(channels.Limits{Resend: true, RepeatKnown: c.known}), &store{}
				ch.fail("send", failure(channels.Ambiguous), failure(channels.Ambiguous), failure(channels.Ambiguous))
				opt := &Options{Receipts: &kept.receipts, Drafts: &kept.drafts}
				ctx, cancel := context.WithCancel(t.Context())
				killed := make(chan error)
				go func() { killed <- New(ch, opt).Deliver(ctx, message("a", "text")) }()
				synctest.Wait() // it waits for the second try
				cancel()
				if err := <-killed; err == nil || ch.log("send") != 1 {
					t.Fatalf("%d tries, %v", ch.log("send"), err)
				}
				<-time.After(c.away)
				err := New(ch, opt).Deliver(t.Context(), message("a", "text"))
				if _, dead := errors.AsType[*Undeliverable](err); dead != c.dead || !dead && err != nil {
					t.Errorf("err = %v", err)
				}
				if n := ch.log("send"); n != c.tries {
					t.Errorf("%d tries, want %d", n, c.tries)
				}
				// A dead letter that is put back begins anew.
				if c.dead {
					if err := New(ch, opt).Deliver(t.Context(), message("a", "text")); err != nil {
						t.Errorf("resubmitted: %v", err)
					}
				}
				if left, err := kv.List(t.Context(), &kept.drafts, ""); err != nil || len(left) != 0 {
					t.Errorf("left over: %v, %v", left, err)
				}
			})
		})
	}
}

// The answer to the first sending of a draft is lost: the chat shows the reply
// once and whole, whatever comes next.
func TestDraftInDoubt(t *testing.T) {
	lim := streaming
	lim.Resend, lim.RepeatKnown = true, time.Hour
	for name, c := range map[string]struct {
		lasts time.Duration // the outage
		deaf  bool
		then  time.Duration // until the answer
		end   string
		crash bool
		want  []string
	}{
		"asked again":                {2 * time.Second, true, 10 * time.Second, sentence, false, []string{sentence}},
		"answer comes before":        {2 * time.Second, true, time.Second, sentence + "more", false, []string{sentence + "more"}},
		"answer outlasts the outage": {time.Minute, true, time.Second, sentence + "more", false, []string{sentence + "more"}},
		"never arrived":              {2 * time.Second, false, time.Second, sentence + "more", false, []string{sentence + "more"}},
		"after a crash":              {2 * time.Second, true, time.Second, "the end", true, []string{"the end"}},
		"no text":                    {2 * time.Second, true, time.Second, "", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch, kept := newKnowing(lim, until(c.lasts, c.deaf)), &store{}
				opt := &Options{Receipts: &kept.receipts, Drafts: &kept.drafts, Stream: true}
				d := New(ch, opt)
				stop := start(t, d)
				d.Event(event(chat.TurnDelta, sentence[:len(sentence)-6]))
				pass(900 * time.Millisecond)
				d.Event(event(chat.TurnDelta, sentence))
				pass(c.then)
				if c.crash {
					stop()
					d = New(ch, opt)
					stop = start(t, d)
				}
				defer func() { stop() }()
				if err := d.Deliver(t.Context(), final("a", c.end)); err != nil {
					t.Fatal(err)
				}
				pass(time.Hour)
				if diff := cmp.Diff(c.want, texts(ch.visible())); diff != "" {
					t.Error(diff)
				}
				if left, err := kv.List(t.Context(), &kept.drafts, ""); err != nil || len(left) != 0 {
					t.Errorf("left over: %v, %v", left, err)
				}
			})
		})
	}
}

// A draft in doubt whose turn ends without an answer goes as well, also when
// only the next process finds it.
func TestDraftInDoubtGoes(t *testing.T) {
	lim := streaming
	lim.Resend, lim.RepeatKnown = true, time.Hour
	for _, crash := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ch, drafts := newKnowing(lim, until(time.Second, true)), &kv.Memory{}
			opt := &Options{Drafts: drafts, Stream: true}
			d := New(ch, opt)
			stop := start(t, d)
			d.Event(event(chat.TurnDelta, sentence))
			pass(900 * time.Millisecond)
			if len(ch.visible()) != 1 {
				t.Fatal("no draft")
			}
			if crash {
				stop()
				d = New(ch, opt)
				stop = start(t, d)
			} else {
				d.Event(event(chat.TurnEnded, ""))
			}
			defer func() { stop() }()
			pass(15 * time.Minute)
			if all := ch.visible(); len(all) != 0 {
				t.Errorf("left behind: %+v", all)
			}
		})
	}
}
