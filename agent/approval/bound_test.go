package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/agent/approval"
	"magpie/chat"
	"magpie/tools"
)

// errStopped is how the tests say that a turn is over.
var errStopped = errors.New("stopped")

// desk is a counter that knows what the end of a turn is.
func desk(t *tables) *counter {
	c := newCounter(t)
	c.Desk = approval.New(approval.Options{
		Table: &t.approvals, Buttons: c.reg, Admins: []string{"telegram:root"},
		Over: func(cause error) bool { return errors.Is(cause, errStopped) },
		Waits: func(tools.Scope, bool) {
			if c.waiting != nil {
				c.waiting()
			}
		},
		Publish: func(_ context.Context, out chat.Outbound) error {
			c.sent <- out
			if c.sending != nil && out.Answer == nil {
				c.sending()
			}
			return nil
		},
	})
	return c
}

// machine is a tool whose calls do what stands in it at the time.
type machine struct {
	mu    sync.Mutex
	shown tools.Shown
	ran   []string
}

func (m *machine) set(command, setting, state string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown = tools.Shown{
		Parts: []tools.Part{{Name: "command", Text: command}, {Name: tools.PartEnv, Text: setting}}, Setting: setting, State: state,
	}
}

func (m *machine) now() tools.Shown {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shown
}

// executor asks the desk about every call of m.
func (m *machine) executor(t *testing.T, d tools.Approver) *tools.Executor {
	t.Helper()
	reg := &tools.Registry{}
	spec := tools.Spec{Name: "exec", Description: "d", Category: tools.Code, Effect: tools.Acts, Main: "command"}
	err := reg.Register(tools.New(spec, func(context.Context, tools.Scope, struct {
		Command string `json:"command"`
	},
	) (tools.Result, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ran = append(m.ran, m.shown.Setting)
		return tools.Result{Text: "ran"}, nil
	}, tools.WithShow(func(context.Context, tools.Scope, json.RawMessage) (tools.Shown, error) { return m.now(), nil })))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := tools.NewPolicy([]tools.Rule{{Action: tools.Ask}})
	if err != nil {
		t.Fatal(err)
	}
	return tools.NewExecutor(reg, &tools.Options{Policy: policy, Approver: d})
}

func (m *machine) run(ctx context.Context, e *tools.Executor, sc tools.Scope) chan tools.Result {
	done := make(chan tools.Result, 1)
	go func() { done <- e.Run(ctx, sc, "exec", `{"command":"git diff"}`) }()
	return done
}

// What is changed between the question and the run is asked about again; the
// old question is over, its buttons and its id decide nothing.
func TestChangedBetween(t *testing.T) {
	for name, change := range map[string]func(*machine){
		"environment": func(m *machine) { m.set("git diff", "GIT_EXTERNAL_DIFF=touch A1", "1") },
		"state":       func(m *machine) { m.set("git diff", "A=b", "2") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, m := desk(new(tables)), &machine{}
				m.set("git diff", "A=b", "1")
				done := m.run(t.Context(), m.executor(t, c), scop)
				first := <-c.sent
				change(m)
				c.press(t, "ann", first.Buttons[0][0].Data)
				if end := <-c.sent; !strings.Contains(end.Text, "Allowed by ann") {
					t.Errorf("under the first: %q", end.Text)
				}
				if end := <-c.sent; end.Answer == nil || end.Answer.Under != first.ID || !strings.Contains(end.Text, "has changed") {
					t.Errorf("under the first, then: %+v", end)
				}
				second := <-c.sent
				if second.ID == first.ID || !strings.Contains(second.Text, "has changed since") || !strings.Contains(second.Text, m.now().Setting) {
					t.Errorf("the second question: %+v", second)
				}
				synctest.Wait()
				if len(done) > 0 || len(m.ran) > 0 {
					t.Fatal("the first answer counted for something else")
				}
				id := strings.TrimPrefix(first.ID, "out:"+string(room.Session())+":ask:")
				if _, err := c.Decide(t.Context(), "telegram", scop.Sender, id, true); !errors.Is(err, approval.ErrOver) {
					t.Errorf("the old id: %v", err)
				}
				c.press(t, "ann", second.Buttons[0][0].Data)
				if res := <-done; !res.OK || len(m.ran) != 1 || m.ran[0] != m.now().Setting {
					t.Errorf("%+v, ran %q", res, m.ran)
				}
			})
		})
	}
}

// The same over a restart: the answer that was given in between is for what
// would have run before.
func TestChangedOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, m := new(tables), &machine{}
		m.set("git diff", "A=b", "1")
		ctx, kill := context.WithCancel(t.Context())
		first := desk(table)
		done := m.run(ctx, m.executor(t, first), scop)
		out := <-first.sent
		synctest.Wait()
		kill()
		<-done
		first.press(t, "ann", out.Buttons[0][0].Data) // another process takes it
		<-first.sent
		m.set("git diff", "A=c", "1")
		second := desk(table)
		done = m.run(t.Context(), m.executor(t, second), scop)
		if end := <-second.sent; end.Answer == nil || end.Answer.Under != out.ID {
			t.Errorf("the old question: %+v", end)
		}
		again := <-second.sent
		if len(again.Buttons) == 0 || len(m.ran) > 0 {
			t.Fatalf("%+v, ran %q", again, m.ran)
		}
		second.press(t, "ann", again.Buttons[0][0].Data)
		if res := <-done; !res.OK || len(m.ran) != 1 {
			t.Errorf("%+v", res)
		}
	})
}

// What changes under every answer is given up.
func TestChangesForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, m := desk(new(tables)), &machine{}
		m.set("git diff", "A=b", "0")
		done := m.run(t.Context(), m.executor(t, c), scop)
		n := 0
		for len(done) == 0 {
			select {
			case out := <-c.sent:
				if len(out.Buttons) > 0 {
					n++
					m.set("git diff", "A=b", strings.Repeat("x", n))
					c.press(t, "ann", out.Buttons[0][0].Data)
				}
			default:
			}
			synctest.Wait()
		}
		if res := <-done; res.OK || !strings.Contains(res.Text, "changes whenever") || n != 5 {
			t.Errorf("%d questions: %+v", n, res)
		}
	})
}

// After /stop and after its time a question says so, and a press of its buttons
// is told that it is over.
func TestOver(t *testing.T) {
	for name, k := range map[string]struct {
		lang, words, notice string
		end                 func(cancel context.CancelCauseFunc)
	}{
		"stopped": {"en", "the turn was stopped", "over", func(cancel context.CancelCauseFunc) { cancel(errStopped) }},
		"expired": {"en", "nobody answered", "over", func(context.CancelCauseFunc) { <-time.After(11 * time.Minute) }},
		"停止":      {"zh", "对话已停止", "已经结束", func(cancel context.CancelCauseFunc) { cancel(errStopped) }},
		"过期":      {"zh", "无人回答", "已经结束", func(context.CancelCauseFunc) { <-time.After(11 * time.Minute) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := desk(new(tables))
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				sc := scop
				sc.Lang = k.lang
				out, done := c.asked(ctx, sc)
				synctest.Wait()
				k.end(cancel)
				<-done
				if end := <-c.sent; end.Answer == nil || end.Answer.Under != out.ID || !strings.Contains(end.Text, k.words) {
					t.Errorf("under the question: %+v", end)
				}
				for _, row := range out.Buttons[:2] {
					got, err := c.reg.Press(t.Context(), chat.Inbound{
						Meta: chat.Meta{ID: "press-" + row[0].Data, Addr: room}, From: chat.Sender{ID: "ann"},
						Press: &chat.Press{ID: "p", Data: row[0].Data, Message: "7"},
					}, k.lang, nil)
					if err != nil || !strings.Contains(got.Answer.Notice, k.notice) && !strings.Contains(got.Answer.Notice, "answered") && got.Answer.Notice != "已经有人选过了。" || got.Answer.Message != "7" {
						t.Errorf("a press afterwards: %+v, %v", got, err)
					}
				}
				if rules, err := c.Rules(t.Context(), room); err != nil || len(rules) > 0 {
					t.Errorf("a late press made a rule: %v, %v", rules, err)
				}
			})
		})
	}
}

// A turn that is only handed on keeps its question.
func TestHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := desk(new(tables))
		ctx, cancel := context.WithCancelCause(t.Context())
		_, done := c.asked(ctx, scop)
		synctest.Wait()
		cancel(errors.New("the program stops"))
		<-done
		if open, err := c.Open(t.Context(), room); err != nil || len(open) != 1 || len(c.sent) != 0 {
			t.Errorf("open %v, %v; %d sent", open, err, len(c.sent))
		}
	})
}

// Two who press at once: one counts, and the question names that one.
func TestTwoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := desk(new(tables))
		out, done := c.asked(t.Context(), scop)
		synctest.Wait()
		id := strings.TrimPrefix(out.ID, "out:"+string(room.Session())+":ask:")
		errs := make(chan error, 2)
		for who, allow := range map[string]bool{"ann": true, "root": false} {
			go func() {
				_, err := c.Decide(t.Context(), "telegram", chat.Sender{ID: who}, id, allow)
				errs <- err
			}()
		}
		a, b := <-errs, <-errs
		if (a == nil) == (b == nil) || !errors.Is(errors.Join(a, b), approval.ErrDecided) {
			t.Errorf("%v and %v", a, b)
		}
		err := <-done
		end := <-c.sent
		if allowed := strings.Contains(end.Text, "Allowed by ann"); allowed != (err == nil) || !allowed && !strings.Contains(end.Text, "Denied by root") || len(c.sent) > 0 {
			t.Errorf("%v, and the question says %q", err, end.Text)
		}
	})
}

// A standing permission is for exactly this call, in this chat and setting, for
// the turns of who gave it; one of an administrator for everybody's.
func TestAlways(t *testing.T) {
	for _, k := range []struct {
		name, by string
		change   func(*machine, *tools.Scope)
		asks     bool
	}{
		{"the same", "ann", func(*machine, *tools.Scope) {}, false},
		{"another state", "ann", func(m *machine, _ *tools.Scope) { m.set("git diff", "A=b", "2") }, false},
		{"another environment", "ann", func(m *machine, _ *tools.Scope) { m.set("git diff", "A=c", "1") }, true},
		{"another chat", "ann", func(_ *machine, sc *tools.Scope) { sc.Addr.Chat = "-200" }, true},
		{"another person", "ann", func(_ *machine, sc *tools.Scope) { sc.Sender.ID = "bob" }, true},
		{"another person, by an admin", "root", func(_ *machine, sc *tools.Scope) { sc.Sender.ID = "bob" }, false},
		{"nobody's turn", "ann", func(_ *machine, sc *tools.Scope) { sc.Sender.ID = "" }, true},
	} {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table, m := new(tables), &machine{}
				c := desk(table)
				m.set("git diff", "A=b", "1")
				done := m.run(t.Context(), m.executor(t, c), scop)
				out := <-c.sent
				synctest.Wait()
				if k.by == "ann" {
					c.press(t, "ann", out.Buttons[1][0].Data)
				} else if _, err := c.Always(t.Context(), "telegram", chat.Sender{ID: k.by, Name: "Root"}, strings.TrimPrefix(out.ID, "out:"+string(room.Session())+":ask:")); err != nil {
					t.Fatal(err)
				}
				if res := <-done; !res.OK {
					t.Fatalf("%+v", res)
				}
				if end := <-c.sent; !strings.Contains(end.Text, "always") {
					t.Errorf("under the question: %q", end.Text)
				}
				c = desk(table) // a restart in between
				sc := scop
				sc.CallID = "s:2:0.0"
				k.change(m, &sc)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done = m.run(ctx, m.executor(t, c), sc)
				synctest.Wait()
				if asks := len(c.sent) > 0; asks != k.asks || !asks && len(done) != 1 {
					t.Errorf("asks %v, want %v", asks, k.asks)
				}
				cancel()
				<-done
			})
		})
	}
}

// A permission can be taken back by who gave it and by administrators.
func TestRevoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, m := desk(new(tables)), &machine{}
		m.set("git diff", "", "")
		e := m.executor(t, c)
		done := m.run(t.Context(), e, scop)
		c.press(t, "ann", (<-c.sent).Buttons[1][0].Data)
		<-done
		<-c.sent
		rules, err := c.Rules(t.Context(), room)
		if err != nil || len(rules) != 1 || rules[0].Tool != "exec" || !strings.Contains(rules[0].What, "git diff") {
			t.Fatalf("%+v, %v", rules, err)
		}
		if err := c.Revoke(t.Context(), "telegram", chat.Sender{ID: "eve"}, rules[0]); !errors.Is(err, approval.ErrForeign) {
			t.Errorf("somebody else: %v", err)
		}
		if err := c.Revoke(t.Context(), "telegram", chat.Sender{ID: "ann"}, rules[0]); err != nil {
			t.Error(err)
		}
		sc := scop
		sc.CallID = "s:2:0.0"
		ctx, cancel := context.WithCancel(t.Context())
		done = m.run(ctx, e, sc)
		if out := <-c.sent; len(out.Buttons) == 0 {
			t.Errorf("%+v", out)
		}
		cancel()
		<-done
	})
}
