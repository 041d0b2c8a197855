package agent_test

import (
	"context"
	"errors"
	"testing"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
	"magpie/tools"
)

// When no model can tell of a report it is shown as it is.
func TestReportWithoutAModel(t *testing.T) {
	w := newWorld(t)
	b := w.bot(func(context.Context, int, model.Question) (llm.Reply, error) {
		return llm.Reply{}, errors.New("down")
	}, nil)
	w.put(chat.Inbound{From: chat.Sender{ID: "7", Name: "dig", Lang: "en"}, Text: "found **it**", Origin: chat.FromSystem})
	b.run()
	wantEqual(t, "sent", []string{"I could not reach a model just now. Your message is kept: write \"again\" to try once more." +
		"\n\nThe background task \"dig\" has ended. Its report, as it is:\n\nfound **it**"}, w.sent())
}

// The turn of a report is run for who asked, who is not named like the task,
// and counts as a job's when a job has begun the task.
func TestScopeOfAReport(t *testing.T) {
	for _, job := range []bool{false, true} {
		w := newWorld(t)
		b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
			if n == 1 {
				return calls("act")
			}
			return says("done")
		}, nil).tool("act", ok("did"))
		w.put(chat.Inbound{From: chat.Sender{ID: "7", Name: "dig", Job: job}, Text: "found", Origin: chat.FromSystem})
		b.run()
		sc := b.tools.calls[0]
		if sc.Sender.ID != "7" || sc.Sender.Name != "" || sc.FromJob != job || sc.Depth != 0 {
			t.Errorf("job %v: scope %+v", job, sc)
		}
	}
}

// A tool learns from its context whether a person has cut the turn off or
// somebody else will repeat the call.
func TestWhyACallEnds(t *testing.T) {
	for name, stop := range map[string]bool{"/stop": true, "handed over": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.bot(func(_ context.Context, n int, _ model.Question) (llm.Reply, error) {
				if n == 1 {
					return calls("act")
				}
				return says("done")
			}, nil)
			began, ended := make(chan struct{}), make(chan error, 1)
			b.tool("act", func(ctx context.Context, _ tools.Scope, _ string) tools.Result {
				close(began)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return tools.Result{Err: tools.Failed, Text: "ended"}
			})
			b.ports.Commands = commander(stopping)
			b.with(nil)
			w.say("go")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			wait := b.start(ctx)
			<-began
			if stop {
				w.command("/stop")
			} else {
				cancel(agent.ErrLost)
			}
			if why := <-ended; errors.Is(why, agent.ErrStopped) != stop {
				t.Errorf("the call ended because of %v", why)
			}
			if err := wait(); stop && err != nil {
				t.Error(err)
			}
		})
	}
}
