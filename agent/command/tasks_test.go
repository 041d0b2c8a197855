package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/agent/command"
	"magpie/agent/tasks"
	"magpie/chat"
	"magpie/internal/kv"
)

// board gives the fixture background tasks, one in each state.
func (f *fixture) board(t *testing.T) *tasks.Board {
	t.Helper()
	b := tasks.NewBoard(new(kv.Memory), func() time.Time { return noon })
	here := chat.Address{Channel: "telegram", Chat: "5"}
	for i, label := range []string{"ended", "asks", "`tool`", "thinks", "waits", "elsewhere"} {
		job := tasks.Task{ID: "id" + label, Label: label, Origin: here, At: noon.Add(time.Duration(i-10) * time.Minute)}
		if label == "elsewhere" {
			job.Origin.Thread = "9"
		}
		_, _, err := b.Open(t.Context(), job)
		if label != "waits" {
			_, begun := b.Begin(t.Context(), job)
			err = errors.Join(err, begun)
		}
		doing := map[string]string{"asks": "exec, " + tasks.Approval, "`tool`": "web_fetch, exec"}
		if what := doing[label]; what != "" {
			_, noted := b.Note(t.Context(), job, what, 2)
			err = errors.Join(err, noted)
		}
		if label == "ended" {
			_, ended := b.Finish(t.Context(), job, tasks.Report{Text: "found", Failed: false})
			err = errors.Join(err, ended)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f.set = command.New(command.Ports{Settings: f.store, Tasks: b}, &command.Options{Now: func() time.Time { return noon }})
	return b
}

func TestStatusOfTasks(t *testing.T) {
	f := newFixture(t)
	f.board(t)
	got := f.say(t, "/status")
	wantAll(t, got,
		"\n- Background task `asks` (idasks), for 9m0s: waits for your approval of `exec`"+
			"\n- Background task `tool` (id`tool`), for 8m0s: uses `web_fetch, exec`, tool calls so far: 2"+
			"\n- Background task `thinks` (idthinks), for 7m0s: thinks, tool calls so far: 0"+
			"\n- Background task `waits` (idwaits), for 6m0s: waits for a free place"+
			"\n- Conversation:")
	if strings.Contains(got, "ended") || strings.Contains(got, "elsewhere") {
		t.Errorf("too much:\n%s", got)
	}
	wantAll(t, f.say(t, "/状态"), "\n- 后台任务 `asks`（idasks），已 9m0s：等待您批准 `exec`", "正在使用 `web_fetch, exec`，已调用工具 2 次", "正在思考", "正在排队")
}

func TestStopOfTasks(t *testing.T) {
	f := newFixture(t)
	b := f.board(t)
	f.room.running = true
	wantAll(t, f.say(t, "/stop"), "Stopped. Ended 4 background tasks: `asks`, `tool`, `thinks`, `waits`.")
	if got := f.say(t, "/stop"); got != "Nothing is running." {
		t.Errorf("once more: %q", got)
	}
	left, err := b.List(t.Context(), chat.Address{Channel: "telegram", Chat: "5", Thread: "9"})
	if err != nil || len(left) != 1 {
		t.Errorf("another thread: %+v, %v", left, err)
	}
	f.board(t)
	wantAll(t, f.say(t, "/停止"), "已结束 4 个后台任务：`asks`、`tool`")
}

// lost is a board that cannot be reached.
type lost struct{}

func (lost) List(context.Context, chat.Address) ([]tasks.State, error) {
	return nil, errors.New("gone")
}

func (lost) StopAll(context.Context, chat.Address) ([]tasks.State, error) {
	return nil, errors.New("gone")
}

// What is not known is not denied.
func TestTasksNotKnown(t *testing.T) {
	f := newFixture(t)
	f.set = command.New(command.Ports{Settings: f.store, Tasks: lost{}}, nil)
	wantAll(t, f.say(t, "/status"), "Background tasks: not known just now")
	if _, _, err := f.set.Handle(t.Context(), f.delivery("/stop", "joe", ""), f.room); err == nil {
		t.Error("/stop says nothing of what it could not end")
	}
}
