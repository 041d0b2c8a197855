package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
	"magpie/tools"
)

// Whoever writes while a person is asked gets a word at once, in every mode and
// in their language; the question waits on, and the message is not lost. In mode
// interrupt the person's own message ends the turn, so only others need one.
func TestAWordWhileAskedFor(t *testing.T) {
	for _, mode := range []agent.Busy{agent.Steer, agent.Queue, agent.Collect, agent.Interrupt} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				decide := make(chan struct{})
				b := w.bot(func(ctx context.Context, n int, q model.Question) (llm.Reply, error) {
					if n == 1 {
						return calls("act")
					}
					return echo(ctx, n, q)
				}, nil).tool("act", func(ctx context.Context, sc tools.Scope, _ string) tools.Result {
					err := sc.Caller.Ask(ctx, func(ctx context.Context) error {
						select {
						case <-decide:
							return nil
						case <-ctx.Done():
							return context.Cause(ctx)
						}
					})
					if err != nil {
						return tools.Result{Err: tools.Permission, Text: "stopped"}
					}
					return tools.Result{OK: true, Text: "done"}
				})
				b.with(&agent.Options{Busy: mode})
				asked := 0
				b.Update(agent.Kit{Model: b.model, Tools: b.tools, Busy: mode, Waiting: func(_ context.Context, a chat.Address, lang string) (string, error) {
					asked++
					if a != addr {
						t.Errorf("asked about %v", a)
					}
					return fmt.Sprint("waiting ", lang, " ", asked), nil
				}})
				w.say("go")
				wait := b.start(t.Context())
				synctest.Wait()
				other := said("在吗")
				other.From = chat.Sender{ID: "bob", Name: "Bob"}
				w.put(other)
				synctest.Wait()
				w.mu.Lock()
				got := append([]chat.Outbound(nil), w.published...)
				w.mu.Unlock()
				if len(got) != 1 || got[0].Text != "waiting zh 1" || got[0].Addr != addr || !strings.HasSuffix(got[0].ID, ":2:waits") {
					t.Fatalf("published %+v", got)
				}
				close(decide)
				b.mustEnd(wait)
				if all := strings.Join(w.sent(), "|"); !strings.Contains(all, "echo: 在吗") || asked != 1 {
					t.Errorf("sent %q, asked %d times", all, asked)
				}
			})
		})
	}
}
