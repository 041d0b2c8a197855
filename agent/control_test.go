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
	"magpie/internal/kv/kvtest"
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

// hang waits for the end of ctx.
func hang(ctx context.Context) { <-ctx.Done() }

// stops are turns that hang somewhere, and what is left of them after /stop.
func stops() map[string]stopCase {
	return map[string]stopCase{
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
}

type stopCase struct {
	model func(ctx context.Context, n int, q model.Question) (llm.Reply, error)
	sent  []string
	past  []string
}

func TestStop(t *testing.T) {
	for name, tt := range stops() {
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
				b.model.reply = echo
				w.command("/stop", "next")
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

// A turn that waits for a person's approval says so, for as long as it does; what
// a tool waits for otherwise is work.
func TestStatusOfATurnThatAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		decide, report := make(chan struct{}), make(chan struct{})
		wait := func(on chan struct{}) func(context.Context) error {
			return func(context.Context) error { <-on; return nil }
		}
		b := w.bot(func(ctx context.Context, n int, q model.Question) (llm.Reply, error) {
			if n == 1 {
				return calls("read", "act")
			}
			return echo(ctx, n, q)
		}, nil).tool("read", ok("x")).tool("act", func(ctx context.Context, sc tools.Scope, _ string) tools.Result {
			if err := errors.Join(sc.Caller.Ask(ctx, wait(decide)), sc.Caller.Wait(ctx, wait(report))); err != nil {
				t.Error(err)
			}
			return tools.Result{OK: true}
		})
		var seen []string
		b.ports.Commands = commander(func(ctx context.Context, _ chat.Delivery, c command.Chat) string {
			st := c.Status(ctx)
			seen = append(seen, fmt.Sprint(st.Running, " ", st.Tool, " ", st.Asks))
			return ""
		})
		b.with(nil)
		w.say("go")
		end := b.start(t.Context())
		for _, next := range []chan struct{}{decide, report} {
			synctest.Wait()
			w.command("/status")
			synctest.Wait()
			close(next)
		}
		b.mustEnd(end)
		wantEqual(t, "status", []string{"true read, act [act]", "true read, act []"}, seen)
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
		w.command("/new", "four")
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

// A command that breaks harms neither the turn that runs nor the next command.
func TestBrokenCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot(slow(func(int, model.Question) (llm.Reply, error) { return says("done") }), nil)
		b.ports.Commands = commander(func(_ context.Context, d chat.Delivery, _ command.Chat) string {
			if d.Text == "/break" {
				panic("command code is broken")
			}
			return "fine"
		})
		publish := b.ports.Publish
		b.ports.Publish = func(ctx context.Context, out chat.Outbound) error {
			if err := publish(ctx, out); err != nil || out.Text == "fine" {
				return kvtest.ErrKilled
			}
			return nil
		}
		b.with(nil)
		w.say("go")
		wait := b.start(t.Context())
		synctest.Wait()
		w.command("/break")
		w.command("/lost")
		w.command("/break")
		b.mustEnd(wait)
		wantEqual(t, "sent", []string{"done"}, w.sent())
		var got []string
		for _, o := range w.published {
			got = append(got, o.Text)
		}
		sorry := "This command could not be carried out just now; the reason is in the log."
		wantEqual(t, "commands answered", []string{sorry, "fine", sorry}, got)
		if len(w.ctl) > 0 {
			t.Errorf("%d control messages are not done", len(w.ctl))
		}
	})
}

// /stop at any moment of a turn leaves one record per message and a legal
// history.
func TestStopAtAnyMoment(t *testing.T) {
	for after := range 40 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			b := w.bot(slow(turnsOf()), nil).tool("read", func(ctx context.Context, _ tools.Scope, _ string) tools.Result {
				select {
				case <-time.After(time.Second):
					return tools.Result{OK: true, Text: "x"}
				case <-ctx.Done():
					return tools.Result{Text: "ended"}
				}
			})
			b.ports.Commands = commander(stopping)
			b.with(nil)
			w.say("go")
			wait := b.start(t.Context())
			<-time.After(time.Duration(after) * 100 * time.Millisecond)
			w.command("/stop")
			w.say("next")
			b.mustEnd(wait)
			b.run()
			var ids []string
			for _, in := range w.answered() {
				ids = append(ids, in...)
			}
			if len(ids) != 2 || len(w.ctl) > 0 {
				t.Errorf("after %d: committed %q, %d commands left", after, ids, len(w.ctl))
			}
			if err := illegal(w.past()); err != nil {
				t.Errorf("after %d: %v", after, err)
			}
			got := w.sent()
			if n := len(got); n == 0 || got[n-1] != "next" {
				t.Errorf("after %d: sent %q", after, got)
			}
		})
	}
}
