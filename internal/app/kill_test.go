package app_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
	"magpie/tools"
)

// TestKillAtEveryStage kills the program at each stage of a turn, by both
// signals, starts it again and counts: every message is answered, once.
func TestKillAtEveryStage(t *testing.T) {
	stages := []struct {
		name string
		// arm prepares the world and returns what tells that the stage is
		// reached.
		arm func(w *world) <-chan struct{}
		// disarm lets the next program do its work.
		disarm func(w *world)
	}{
		{"before the model is asked", armBefore, nil},
		{"while the model thinks", armHang, disarmModel},
		{"while the model writes", armStall, disarmModel},
		{"just after the model has answered", armAfter, disarmModel},
		{"while a tool runs", armTool, nil},
	}
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		for _, stage := range stages {
			t.Run(fmt.Sprintf("%v %s", sig, stage.name), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, nil)
				w.extra = "agent: {busy: queue}"
				b := w.start("bot")
				b.ready()
				w.say("warm up")
				w.wait(owner, "first answer", func(m []telegram.Message) bool { return len(m) == 1 })
				reached := stage.arm(w)
				w.say("question one")
				receive(t, reached, stage.name)
				w.stored(b)
				err := b.signal(sig)
				if sig == syscall.SIGTERM {
					clean(t, err)
				}
				if stage.disarm != nil {
					stage.disarm(w)
				}
				w.say("question two")
				w.start("bot").ready()
				w.wait(owner, "both answers", func(m []telegram.Message) bool {
					return count(m, "question one") > 0 && count(m, "question two") > 0
				})
				w.say("question three")
				msgs := w.wait(owner, "third answer", func(m []telegram.Message) bool { return count(m, "question three") > 0 })
				for _, q := range []string{"warm up", "question one", "question two", "question three"} {
					n := count(msgs, q)
					if n == 2 && sig == syscall.SIGKILL && w.sent.acrossLives("echo: "+q) {
						continue // the kill cut off a send that had arrived
					}
					if n != 1 {
						t.Errorf("%q answered %d times, want once", q, n)
					}
				}
			})
		}
	}
}

// armBefore is a stage that is reached as soon as the message is stored.
func armBefore(*world) <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func armFault(w *world, f modelserver.Fault) <-chan struct{} {
	reached := make(chan struct{}, 100)
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		reached <- struct{}{}
		a := modelserver.Echo(r)
		a.Fault = f
		return a
	})
	return reached
}

func armHang(w *world) <-chan struct{}  { return armFault(w, modelserver.Hang) }
func armStall(w *world) <-chan struct{} { return armFault(w, modelserver.Stall) }
func armAfter(w *world) <-chan struct{} { return armFault(w, modelserver.None) }
func disarmModel(w *world)              { w.model.Reply(nil) }

// armTool has the model call sleep for each message that was not slept for.
func armTool(w *world) <-chan struct{} {
	reached := make(chan struct{}, 100)
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if len(r.Results()) > 0 {
			return modelserver.Echo(r)
		}
		reached <- struct{}{}
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "sleep", Args: `{"duration": 0.5}`}}}
	})
	return reached
}

// TestKillWhileRepliesAreQueued: Telegram is down, replies wait in the queue
// over a kill, and come once each and in order when it is back.
func TestKillWhileRepliesAreQueued(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.extra = "agent: {busy: queue}"
			b := w.start("bot")
			b.ready()
			w.sent.down.Store(true)
			for i := range 5 {
				w.say(fmt.Sprintf("message %d.", i))
			}
			b.until("answers committed", func() bool { return w.model.Count() >= 5 && w.sent.refused.Load() > 0 },
				func() string { return fmt.Sprint(w.model.Count(), " model calls") })
			if err := b.signal(sig); sig == syscall.SIGTERM {
				clean(t, err)
			}
			w.sent.down.Store(false)
			w.start("bot").ready()
			msgs := w.wait(owner, "five answers", func(m []telegram.Message) bool { return len(m) >= 5 })
			for i, m := range msgs {
				if want := fmt.Sprintf("message %d.", i); !strings.Contains(m.Text, want) {
					t.Errorf("answer %d is %q, want %q", i, m.Text, want)
				}
			}
		})
	}
}

// TestAmbiguousSendRepeatsAtMostOnce: the send arrives, its answer does not,
// and the program dies. Telegram cannot recognise a repeat, so the message may
// be there twice, and not more often.
func TestAmbiguousSendRepeatsAtMostOnce(t *testing.T) {
	w := newWorld(t, nil)
	b := w.start("bot")
	b.ready()
	w.tg.Fail(telegram.Fault{Method: "sendMessage", After: true})
	w.say("hello")
	w.wait(owner, "applied send", func(m []telegram.Message) bool { return len(m) == 1 })
	b.kill()
	b = w.start("bot")
	b.ready()
	w.say("end")
	msgs := w.wait(owner, "next answer", func(m []telegram.Message) bool { return count(m, "end") == 1 })
	if n := count(msgs, "hello"); n < 1 || n > 2 {
		t.Errorf("answered %d times, want once or twice", n)
	}
}

// TestKilledAgainAndAgain kills the program at random while people write in
// many chats, and counts.
func TestKilledAgainAndAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.extra = "agent: {busy: queue, max_turns: 64}"
	report := w.chaos(context.Background(), chaosPlan{kills: chaosKills(), chats: 8})
	t.Log(report)
	if report.lost > 0 || report.doubled > 0 || report.disorder > 0 {
		t.Errorf("lost %d, doubled %d, out of order %d; want none", report.lost, report.doubled, report.disorder)
	}
	logs, table := auditOf(t, filepath.Join(w.dir, "bot"))
	audit, err := tools.VerifyAudit(t.Context(), logs, table)
	if err != nil || audit.Records == 0 || len(audit.Problems) > 0 {
		t.Errorf("the audit log after the kills: %+v, %v", audit, err)
	}
}
