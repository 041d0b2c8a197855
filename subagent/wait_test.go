package subagent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/tasks"
	"magpie/chat"
	"magpie/tools"
)

// wait: the report is the result of the call, and goes nowhere else.
func TestWait(t *testing.T) {
	broken := func(context.Context, model.Question) (llm.Reply, error) { return llm.Reply{}, noticed{} }
	for name, k := range map[string]struct {
		model func(context.Context, model.Question) (llm.Reply, error)
		want  tools.Result
		err   string
	}{
		"a report":  {nil, tools.Result{Text: "found it", Untrusted: true, Sources: []chat.Source{}}, ""},
		"a failure": {broken, tools.Result{Untrusted: true, Sources: []chat.Source{}}, "The task failed: the budget is used up"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if k.model != nil {
					w.model = k.model
				}
				p := w.start(nil, nil)
				for range 2 { // the second time as after a crash of the turn that waits
					done := make(chan struct{})
					go func() {
						defer close(done)
						res, err := p.spawn("dig", true)
						if d := cmp.Diff(k.want, res); d != "" || fmt.Sprint(err) != k.err && (err != nil || k.err != "") {
							t.Errorf("%v, (-want +got):\n%s", err, d)
						}
					}()
					synctest.Wait()
					if err := p.work(t.Context()); err != nil {
						t.Fatal(err)
					}
					<-done
				}
				if len(w.said()) != 0 || len(w.records) != 1 {
					t.Errorf("said %+v, %d records", w.said(), len(w.records))
				}
			})
		})
	}
}

// parked is a turn that notes whether it has given its place away.
type parked struct {
	tools.Caller
	waits atomic.Bool
}

func (p *parked) Wait(ctx context.Context, fn func(context.Context) error) error {
	p.waits.Store(true)
	defer p.waits.Store(false)
	return fn(ctx)
}

// Who cuts a turn off that waits ends its task; a turn that is handed over
// finds it again; and no turn waits for ever.
func TestEndOfAWait(t *testing.T) {
	for name, k := range map[string]struct {
		cause error
		want  tasks.Status
		err   string
		took  time.Duration
	}{
		"cut off":     {fmt.Errorf("by /stop: %w", agent.ErrStopped), tasks.Stopped, "wait for task", 0},
		"handed over": {agent.ErrLost, tasks.Waiting, "wait for task", 0},
		"too long":    {nil, tasks.Stopped, "did not end within 40m0s", 40 * time.Minute},
		"stopped":     {errors.New("the task"), tasks.Stopped, "was stopped by a person", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				p := w.start(nil, nil)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				done, began := make(chan error, 1), time.Now()
				caller := &parked{}
				go func() {
					sc := scop
					sc.Caller = caller
					_, err := p.tasks.Spawn(ctx, sc, "dig", "", true)
					done <- err
				}()
				synctest.Wait()
				if !caller.waits.Load() {
					t.Error("the turn keeps its place")
				}
				switch {
				case name == "stopped":
					if _, err := p.board.StopAll(t.Context(), room); err != nil {
						t.Fatal(err)
					}
				case k.cause != nil:
					cancel(k.cause)
				}
				if err := <-done; err == nil || !strings.Contains(err.Error(), k.err) {
					t.Errorf("err = %v", err)
				}
				// The bubble's clock moves only while all wait.
				if took := time.Since(began); took != k.took {
					t.Errorf("waited for %s, want %s", took, k.took)
				}
				state, isNew, err := p.board.Open(t.Context(), tasks.Task{ID: id(), Origin: room})
				if err != nil || isNew || state.Status != k.want {
					t.Errorf("%+v, %v, %v; want status %s", state, isNew, err, k.want)
				}
			})
		})
	}
}
