package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/agent/tasks"
	"magpie/chat"
	"magpie/internal/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	room  = chat.Address{Channel: "telegram", Chat: "-100", Thread: "6"}
	other = chat.Address{Channel: "telegram", Chat: "-100"}
)

func task(id string) tasks.Task {
	return tasks.Task{
		ID: id, Label: "l" + id, Text: "first line\n{\"id\":\"x\"}\n第二", Origin: room, From: chat.Sender{ID: "7"}, Lang: "zh",
		Trace: "tr", At: time.Unix(1000, 0).UTC(), Wait: true, Job: true, Sources: []chat.Source{{Kind: chat.SourcePage}}, Direct: true,
	}
}

func TestMessageHoldsTheWholeTask(t *testing.T) {
	want := task("a")
	in, err := want.Message()
	if err != nil || in.ID != "task:a" || in.Origin != chat.FromTask || in.Addr != (chat.Address{Channel: "system", Chat: "a"}) {
		t.Fatalf("%+v, %v", in, err)
	}
	got, err := tasks.Parse(in)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for name, spoil := range map[string]func(*chat.Inbound){
		"another mailbox": func(in *chat.Inbound) { in.Addr.Chat = "b" },
		"a chat":          func(in *chat.Inbound) { in.Addr = room },
		"no head":         func(in *chat.Inbound) { in.Text = "do it" },
		"nobody's":        func(in *chat.Inbound) { in.Text = `{"id":"a"}` },
	} {
		bad := in
		spoil(&bad)
		if _, err := tasks.Parse(bad); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

func TestID(t *testing.T) {
	if a, b := tasks.ID("s:1:0.0"), tasks.ID("s:1:0.1"); a == b || a != tasks.ID("s:1:0.0") || len(a) != 10 || strings.ToLower(a) != a {
		t.Errorf("ids %q and %q", a, b)
	}
}

func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		b := tasks.NewBoard(&kv.Memory{}, nil)
		job := task("a")
		want := func(err error, s tasks.State, status tasks.Status, calls int, spent time.Duration) {
			t.Helper()
			if err != nil || s.Status != status || s.Calls != calls || s.Spent != spent || s.Text != "" || s.Label != "la" {
				t.Fatalf("%+v, %v; want %s, %d calls, %s", s, err, status, calls, spent)
			}
		}
		s, isNew, err := b.Open(ctx, job)
		want(err, s, tasks.Waiting, 0, 0)
		if !isNew {
			t.Error("not new")
		}
		<-time.After(time.Hour)
		s, err = b.Begin(ctx, job)
		want(err, s, tasks.Running, 0, 0)
		<-time.After(time.Minute)
		s, err = b.Note(ctx, job, "exec", 1)
		want(err, s, tasks.Running, 1, time.Minute)
		<-time.After(time.Hour)
		s, err = b.Begin(ctx, job) // another holder
		want(err, s, tasks.Running, 1, time.Minute)
		if s, isNew, err = b.Open(ctx, job); isNew || s.Status != tasks.Running {
			t.Errorf("open: %+v, %v, %v", s, isNew, err)
		}
		s, err = b.Finish(ctx, job, tasks.Report{Text: "found", Failed: false})
		want(err, s, tasks.Ended, 1, time.Minute)
		for _, again := range []func() (tasks.State, error){
			func() (tasks.State, error) { return b.Finish(ctx, job, tasks.Report{Text: "another", Failed: true}) },
			func() (tasks.State, error) { return b.Begin(ctx, job) },
			func() (tasks.State, error) { return b.Note(ctx, job, "x", 9) },
		} {
			if s, err = again(); err != nil || s.Report != "found" || s.Failed || s.Status != tasks.Ended {
				t.Errorf("after the end: %+v, %v", s, err)
			}
		}
		if stopped, err := b.Stop(ctx, job); stopped || err != nil {
			t.Errorf("stopped after the end: %v, %v", stopped, err)
		}
	})
}

func TestListAndStopAll(t *testing.T) {
	ctx := t.Context()
	b := tasks.NewBoard(&kv.Memory{}, nil)
	for i, id := range []string{"c", "a", "b", "d"} {
		job := task(id)
		job.At = job.At.Add(time.Duration(i) * time.Second)
		if id == "b" {
			job.Origin = other
		}
		if _, _, err := b.Open(ctx, job); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Finish(ctx, task("d"), tasks.Report{Text: "found", Failed: false}); err != nil {
		t.Fatal(err)
	}
	labels := func(all []tasks.State, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range all {
			names = append(names, s.Label)
		}
		return strings.Join(names, " ")
	}
	for i, want := range []string{"lc la", "lc la", "", "", "lb"} {
		var got string
		switch i {
		case 0, 2:
			got = labels(b.List(ctx, room))
		case 1, 3:
			got = labels(b.StopAll(ctx, room))
		case 4:
			got = labels(b.List(ctx, other))
		}
		if got != want {
			t.Errorf("step %d: %q, want %q", i, got, want)
		}
	}
}

// A stop and a report at the same moment: one of them counts, and both sides
// learn which.
func TestStopOrReport(t *testing.T) {
	for i := range 200 {
		b := tasks.NewBoard(&kv.Memory{}, nil)
		job := task("a")
		if _, _, err := b.Open(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		var stopped bool
		var state tasks.State
		var err1, err2 error
		var wg sync.WaitGroup
		wg.Go(func() { stopped, err1 = b.Stop(t.Context(), job) })
		wg.Go(func() { state, err2 = b.Finish(t.Context(), job, tasks.Report{Text: "found", Failed: false}) })
		wg.Wait()
		if err := errors.Join(err1, err2); err != nil || stopped != (state.Status == tasks.Stopped) || !state.Over() {
			t.Fatalf("%d: stopped %v, state %s, %v", i, stopped, state.Status, err)
		}
	}
}

// What is damaged on the board is begun anew: the message knows what to do.
func TestDamagedEntry(t *testing.T) {
	table := &kv.Memory{}
	b := tasks.NewBoard(table, nil)
	job := task("a")
	for i, value := range []string{"{", "", `{"id":"b","status":"ended"}`} {
		if _, err := table.Update(t.Context(), fmt.Sprintf("%s.a", room.Session()), []byte(value), 0, 0); err != nil {
			t.Fatal(err)
		}
		if s, err := b.Begin(t.Context(), job); err != nil || s.Status != tasks.Running || s.Label != "la" {
			t.Errorf("%d: %+v, %v", i, s, err)
		}
	}
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tasks.NewBoard(&kv.Memory{}, nil)
		job := task("a")
		ended := make(chan string, 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			s, err := b.Await(ctx, job)
			ended <- fmt.Sprint(s.Status, " ", err)
		}()
		for _, step := range []func() error{
			func() error { _, _, err := b.Open(ctx, job); return err },
			func() error { _, err := b.Begin(ctx, job); return err },
			func() error { _, _, err := b.Open(ctx, task("b")); return err },
			func() error { _, err := b.Finish(ctx, task("b"), tasks.Report{Text: "x", Failed: false}); return err },
		} {
			synctest.Wait()
			if err := step(); err != nil || len(ended) != 0 {
				t.Fatalf("%v, %d", err, len(ended))
			}
		}
		if _, err := b.Finish(ctx, job, tasks.Report{Text: "found", Failed: false}); err != nil {
			t.Fatal(err)
		}
		if got := <-ended; got != "ended <nil>" {
			t.Error(got)
		}
		why := errors.New("why")
		cancel(why)
		if _, err := b.Await(ctx, task("c")); !errors.Is(err, why) {
			t.Errorf("cancelled: %v", err)
		}
	})
}
