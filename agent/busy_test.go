package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
)

// slow answers after a second, or ends with ctx.
func slow(reply func(n int, q model.Question) (llm.Reply, error)) func(context.Context, int, model.Question) (llm.Reply, error) {
	return func(ctx context.Context, n int, q model.Question) (llm.Reply, error) {
		q.OnText(fmt.Sprintf("thinking %d", n))
		select {
		case <-time.After(time.Second):
			return reply(n, q)
		case <-ctx.Done():
			return llm.Reply{}, ctx.Err()
		}
	}
}

// start holds the chat beside the test; the function returned waits for the
// end.
func (b *bot) start(ctx context.Context) (wait func() error) {
	done := make(chan error, 1)
	mb := b.w.hold()
	go func() { done <- b.Own(ctx, addr.Session(), mb) }()
	return func() error { return <-done }
}

func (b *bot) mustEnd(wait func() error) {
	b.w.t.Helper()
	if err := wait(); err != nil {
		b.w.t.Error(err)
	}
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// A turn calls a tool first and answers then, a second each; a message comes in
// the middle of the first call.
func TestBusyModes(t *testing.T) {
	tests := map[agent.Busy]struct {
		sent     []string
		answered [][]string
		asked    int
		last     string // the last request
	}{
		agent.Steer: {[]string{"a+b+c"}, [][]string{{"in:1", "in:2", "in:3"}}, 2, "a|→read|x|b|c"},
		agent.Queue: {[]string{"a", "b", "c"}, [][]string{{"in:1"}, {"in:2"}, {"in:3"}}, 6, "a|→read|x|a|b|→read|x|b|c|→read|x"},
		agent.Collect: {
			[]string{"a", "b+c"},
			[][]string{{"in:1"}, {"in:2", "in:3"}},
			4,
			"a|→read|x|a|b|c|→read|x",
		},
		agent.Interrupt: {
			[]string{"thinking 1", "thinking 2", "c"},
			[][]string{{"in:1"}, {"in:2"}, {"in:4"}},
			4,
			"a|thinking 1\n\n[interrupted by the person's next message]|b|thinking 2\n\n[interrupted by the person's next message]|c|→read|x",
		},
	}
	for mode, tt := range tests {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				b := w.bot(slow(turnsOf()), nil).tool("read", ok("x"))
				b.with(&agent.Options{Busy: mode})
				w.say("a")
				wait := b.start(t.Context())
				pass(300 * time.Millisecond)
				w.say("b")
				pass(300 * time.Millisecond)
				w.say("c")
				b.mustEnd(wait)
				wantEqual(t, "sent", tt.sent, w.sent())
				wantEqual(t, "answered", tt.answered, w.answered())
				if n := len(b.model.requests()); n != tt.asked {
					t.Errorf("asked %d times, want %d", n, tt.asked)
				}
				var last []string
				for _, l := range lines(b.model.request(tt.asked).Messages) {
					_, text, _ := strings.Cut(l, ": ")
					last = append(last, text)
				}
				wantEqual(t, "last request", tt.last, strings.Join(last, "|"))
			})
		})
	}
}

// turnsOf calls read when a turn begins and answers with what the person has
// said in it once there is a result.
func turnsOf() func(int, model.Question) (llm.Reply, error) {
	return func(_ int, q model.Question) (llm.Reply, error) {
		var said []string
		result := false
		for _, m := range q.Request.Messages {
			switch {
			case m.Role == llm.Assistant && len(m.Calls) == 0:
				said, result = nil, false
			case m.Role == llm.Tool:
				result = true
			case m.Role == llm.User:
				said = append(said, m.Text)
			}
		}
		if !result {
			return calls("read")
		}
		return says(strings.Join(said, "+"))
	}
}

// Another person's message, a job's and a report wait for a turn of their own,
// and nothing overtakes them.
func TestOnlyTheSamePersonJoins(t *testing.T) {
	for _, mode := range []agent.Busy{agent.Steer, agent.Queue, agent.Collect, agent.Interrupt} {
		w := newWorld(t)
		b := w.bot(echo, &agent.Options{Busy: mode})
		w.put(chat.Inbound{From: ann, Text: "a"})
		w.put(chat.Inbound{From: bob, Text: "b"})
		w.put(chat.Inbound{From: ann, Text: "job", Origin: chat.FromCron})
		w.put(chat.Inbound{From: ann, Text: "report", Origin: chat.FromSystem})
		w.put(chat.Inbound{From: ann, Text: "c"})
		b.run()
		wantEqual(t, string(mode), [][]string{{"in:1"}, {"in:2"}, {"in:3"}, {"in:4"}, {"in:5"}}, w.answered())
		wantEqual(t, string(mode)+": unasked", []bool{false, false, true, true, false}, w.unasked())
	}
}

func TestDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot(func(_ context.Context, _ int, q model.Question) (llm.Reply, error) {
			return says(strings.Join(lines(q.Request.Messages), "|"))
		}, &agent.Options{Busy: agent.Queue, Debounce: 2 * time.Second})
		w.say("a")
		wait := b.start(t.Context())
		for _, text := range []string{"b", "c"} {
			pass(1500 * time.Millisecond)
			w.say(text)
		}
		b.mustEnd(wait)
		wantEqual(t, "sent", []string{"user: a|user: b|user: c"}, w.sent())

		// Who never stops is answered all the same.
		w.say("0")
		began := time.Now()
		wait = b.start(t.Context())
		stop := make(chan struct{})
		typed := make(chan struct{})
		go func() {
			defer close(typed)
			for i := 1; i < 15; i++ {
				select {
				case <-time.After(1100 * time.Millisecond):
					w.say(fmt.Sprint(i))
				case <-stop:
					return
				}
			}
		}()
		b.mustEnd(wait)
		close(stop)
		<-typed
		if d := w.records[1].At.Sub(began); d != 10*time.Second {
			t.Errorf("the turn waited %v, want five times the debounce time", d)
		}
	})
}

func TestDoublesAndCorrections(t *testing.T) {
	w := newWorld(t)
	b := w.bot(func(_ context.Context, _ int, q model.Question) (llm.Reply, error) {
		return says(strings.Join(lines(q.Request.Messages), "|"))
	}, &agent.Options{Busy: agent.Queue})
	w.put(chat.Inbound{Meta: chat.Meta{ID: "x"}, From: ann, Text: "helo", MessageID: "m1", Direct: true})
	w.put(chat.Inbound{Meta: chat.Meta{ID: "x"}, From: ann, Text: "helo", MessageID: "m1", Direct: true})
	w.put(chat.Inbound{Meta: chat.Meta{ID: "x:e"}, From: ann, Text: "hello", MessageID: "m1", Edited: true, Direct: true})
	w.put(chat.Inbound{Meta: chat.Meta{ID: "y"}, From: ann, Text: "other", MessageID: "m2", Direct: true})
	w.put(chat.Inbound{Meta: chat.Meta{ID: "x"}, From: ann, Text: "helo", MessageID: "m1", Direct: true})
	b.run()
	wantEqual(t, "answered", [][]string{{"x", "x", "x:e"}, {"y"}, {"x"}}, w.answered())
	wantEqual(t, "first request", []string{"user: hello"}, lines(b.model.request(1).Messages))
	if n := len(b.model.requests()); n != 2 {
		t.Errorf("asked %d times, want 2: a double was answered", n)
	}
	w.put(chat.Inbound{From: ann, Text: "hello!", MessageID: "m1", Edited: true, Direct: true})
	b.run()
	last := lines(b.model.request(3).Messages)
	if got := last[len(last)-1]; got != "user: [The person has changed an earlier message. It reads now:]\nhello!" {
		t.Errorf("a late correction reads %q", got)
	}
}

func TestLostChatIsDroppedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot(slow(func(int, model.Question) (llm.Reply, error) { return says("mine") }), nil)
		w.say("go")
		ctx, cancel := context.WithCancelCause(t.Context())
		wait := b.start(ctx)
		pass(100 * time.Millisecond)
		cancel(agent.ErrLost)
		began := time.Now()
		if err := wait(); !errors.Is(err, agent.ErrLost) || time.Since(began) > 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		w.crash()

		// A zombie that only learns of it at its commit.
		wait = b.start(t.Context())
		pass(100 * time.Millisecond)
		w.hold()
		if err := wait(); !errors.Is(err, agent.ErrLost) {
			t.Errorf("the zombie got %v", err)
		}
		wantEqual(t, "sent", []string{}, w.sent())
	})
}

// The end of ctx hands the chat over at once; nothing is lost.
func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot(slow(func(int, model.Question) (llm.Reply, error) { return says("done") }), &agent.Options{Busy: agent.Queue})
		w.say("go")
		w.say("not begun")
		ctx, cancel := context.WithCancel(t.Context())
		wait := b.start(ctx)
		pass(100 * time.Millisecond)
		cancel()
		began := time.Now()
		if err := wait(); !errors.Is(err, context.Canceled) || time.Since(began) > 0 {
			t.Errorf("Own returned %v after %v", err, time.Since(began))
		}
		wantEqual(t, "sent", []string{}, w.sent())
		b.run()
		wantEqual(t, "sent in the end", []string{"done", "done"}, w.sent())
	})
}
