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
	"magpie/agent/command"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
	"magpie/tools"
)

// commander answers control messages by what fn does.
type commander func(ctx context.Context, d chat.Delivery, c command.Chat) string

func (f commander) Handle(ctx context.Context, d chat.Delivery, c command.Chat) (chat.Outbound, bool, error) {
	text := f(ctx, d, c)
	return chat.Outbound{Text: text}, text != "", nil
}

// stopping is a commander that knows /stop, /new and /status.
func stopping(ctx context.Context, d chat.Delivery, c command.Chat) string {
	switch d.Text {
	case "/stop":
		stopped, err := c.Stop(ctx)
		return fmt.Sprint("stopped ", stopped, err)
	case "/new":
		return fmt.Sprint("new ", c.Reset(ctx))
	case "/status":
		s := c.Status(ctx)
		return fmt.Sprintf("%t %q queued %d, %d messages, %s", s.Running, s.Tool, s.Queued, s.Messages, s.Model)
	}
	return ""
}

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
		agent.Collect: {[]string{"a", "b+c"}, [][]string{{"in:1"}, {"in:2", "in:3"}}, 4,
			"a|→read|x|a|b|c|→read|x"},
		agent.Interrupt: {[]string{"thinking 1", "thinking 2", "c"}, [][]string{{"in:1"}, {"in:2"}, {"in:4"}}, 4,
			"a|thinking 1\n\n[interrupted by the person's next message]|b|thinking 2\n\n[interrupted by the person's next message]|c|→read|x"},
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

func TestStop(t *testing.T) {
	hang := func(ctx context.Context) { <-ctx.Done() }
	tests := map[string]struct {
		model func(ctx context.Context, n int, q model.Question) (llm.Reply, error)
		sent  []string
		past  []string
	}{
		"while the model writes": {
			func(ctx context.Context, n int, q model.Question) (llm.Reply, error) {
				q.OnText("从前")
				hang(ctx)
				return llm.Reply{}, ctx.Err()
			},
			[]string{"从前"},
			[]string{"user: go", "assistant: 从前\n\n[stopped by the person]"},
		},
		"before the model writes": {
			func(ctx context.Context, n int, q model.Question) (llm.Reply, error) {
				hang(ctx)
				return llm.Reply{}, &llm.Error{Err: ctx.Err()}
			},
			[]string{},
			[]string{"user: go", "assistant: [stopped by the person]"},
		},
		"while a tool runs": {
			func(ctx context.Context, n int, q model.Question) (llm.Reply, error) {
				return calls("read", "hang", "act")
			},
			[]string{},
			[]string{
				"user: go", "assistant: →read→hang→act", "tool: x",
				"tool: stopped by the person before it was done; do not go on with it unless asked\nhalf",
				"tool: stopped by the person before it was done; do not go on with it unless asked",
				"assistant: [stopped by the person]",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				b := w.bot(tt.model, nil).tool("read", ok("x")).tool("act", ok("acted"))
				b.tool("hang", func(ctx context.Context, _ tools.Scope, _ string) tools.Result {
					hang(ctx)
					return tools.Result{Text: "half"}
				})
				b.ports.Commands = commander(stopping)
				b.with(nil)
				w.say("go")
				wait := b.start(t.Context())
				pass(time.Second)
				w.command("/status")
				synctest.Wait()
				began := time.Now()
				w.command("/stop")
				b.model.reply = echo
				w.say("next")
				b.mustEnd(wait)
				if d := time.Since(began); d > 0 {
					t.Errorf("stopping took %v", d)
				}
				wantEqual(t, "answered", [][]string{{"in:1"}, {"in:4"}}, w.answered())
				wantEqual(t, "sent", append(tt.sent, "echo: next"), w.sent())
				wantEqual(t, "history", append(tt.past, "user: next", "assistant: echo: next"), lines(w.past()))
				var said []string
				for _, o := range w.published {
					said = append(said, o.ID+" "+o.Text)
				}
				if len(said) != 2 || !strings.Contains(said[0], "true") || !strings.HasSuffix(said[1], "stopped true <nil>") {
					t.Errorf("commands answered %q", said)
				}
				if len(w.ctl) > 0 {
					t.Errorf("%d control messages are not done", len(w.ctl))
				}
			})
		})
	}
}

// A /stop that is handled before its message could be begun stops it all the
// same, and says so.
func TestStopBeforeTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.slot = make(chan struct{})
		b := w.bot(echo, nil)
		b.ports.Commands = commander(stopping)
		b.with(nil)
		w.say("go")
		wait := b.start(t.Context())
		w.command("/stop")
		w.say("later")
		synctest.Wait()
		close(w.slot)
		b.mustEnd(wait)
		wantEqual(t, "sent", []string{"Stopped, before I began with this message.", "echo: later"}, w.sent())
		wantEqual(t, "answered", [][]string{{"in:1"}, {"in:3"}}, w.answered())
	})
}

// What steering has taken in after the /stop goes to the next turn.
func TestStopIsAPlaceInTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		b := w.bot(func(ctx context.Context, n int, q model.Question) (llm.Reply, error) {
			switch n {
			case 1:
				<-release
				return calls("read")
			case 2:
				<-ctx.Done()
				return llm.Reply{}, ctx.Err()
			}
			return echo(ctx, n, q)
		}, nil).tool("read", ok("x"))
		held := make(chan struct{})
		b.ports.Commands = commander(func(ctx context.Context, d chat.Delivery, c command.Chat) string {
			<-held // a control message that is slow to be handled
			return stopping(ctx, d, c)
		})
		b.with(nil)
		w.say("go")
		wait := b.start(t.Context())
		synctest.Wait()
		w.say("and this")
		w.command("/stop")
		w.say("after")
		close(release)
		synctest.Wait() // both have joined; the model is asked again
		close(held)
		b.mustEnd(wait)
		wantEqual(t, "answered", [][]string{{"in:1", "in:2"}, {"in:4"}}, w.answered())
		wantEqual(t, "history", []string{
			"user: go", "assistant: →read", "tool: x", "user: and this", "assistant: [stopped by the person]",
			"user: after", "assistant: echo: after",
		}, lines(w.past()))
	})
}

func TestNewConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot(echo, nil)
		b.ports.Commands = commander(stopping)
		b.with(nil)
		w.say("one")
		b.run()
		w.command("/new")
		b.run()
		w.say("two")
		b.run()
		wantEqual(t, "request after /new", []string{"user: two"}, lines(b.model.request(2).Messages))

		// While a turn runs, /new stops it.
		b.model.reply = slow(func(int, model.Question) (llm.Reply, error) { return says("late") })
		w.say("three")
		wait := b.start(t.Context())
		pass(500 * time.Millisecond)
		w.command("/new")
		w.say("four")
		b.mustEnd(wait)
		reqs := b.model.requests()
		wantEqual(t, "request after the second /new", []string{"user: four"}, lines(reqs[len(reqs)-1].Messages))
		// Another process sees the same.
		other := w.bot(echo, nil)
		w.say("five")
		other.run()
		wantEqual(t, "request elsewhere", []string{"user: four", "assistant: late", "user: five"}, lines(other.model.request(1).Messages))
	})
}

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot(slow(turnsOf()), nil).tool("read", func(ctx context.Context, _ tools.Scope, _ string) tools.Result {
			<-time.After(time.Second)
			return tools.Result{OK: true, Text: "x"}
		})
		b.ports.Commands = commander(stopping)
		b.with(&agent.Options{Busy: agent.Queue})
		w.say("one")
		wait := b.start(t.Context())
		pass(1500 * time.Millisecond)
		w.say("two")
		w.say("three")
		w.command("/status")
		b.mustEnd(wait)
		w.command("/status")
		b.run()
		var got []string
		for _, o := range w.published {
			got = append(got, o.Text)
		}
		wantEqual(t, "status", []string{
			`true "read" queued 2, 0 messages, scripted`,
			`false "" queued 0, 12 messages, `,
		}, got)
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
