package cron

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/internal/kv"
)

// fill puts n jobs into a table, 50 in a chat, without going through the
// limits.
func fill(t testing.TB, table kv.Table, n int, edit func(i int, j *Job)) {
	t.Helper()
	for i := range n {
		j := draft()
		j.V, j.Mode, j.Misfire, j.ID = Version, Notify, Misfire{Policy: RunOnce}, fmt.Sprintf("job%07d", i)
		j.Addr.Chat = fmt.Sprint(i / 50)
		j.Created = noon
		j.State = State{Anchor: noon, LastSlot: noon}
		edit(i, &j)
		value, err := encode(j)
		must(t, err)
		_, err = table.Create(t.Context(), key(j.Addr, j.ID), value, 0)
		must(t, err)
	}
}

// TestAThousandJobsInOneSecond, twice, with two processes.
func TestAThousandJobsInOneSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T12:00:00Z")
		const n = 1000
		fill(t, w.table, n, func(_ int, j *Job) { j.Schedule = Schedule{Cron: "* * * * *", Zone: "Asia/Shanghai"} })
		_, stopA := w.start()
		_, stopB := w.start()
		w.pass(2*time.Minute + time.Second)
		stopA()
		stopB()
		if len(w.sink.all()) != 2*n || w.sink.count() != 2*n {
			t.Errorf("%d deliveries, fired %d times, want %d", len(w.sink.all()), w.sink.count(), 2*n)
		}
		for _, f := range w.sink.all() {
			if f.Late || f.Missed != 0 {
				t.Errorf("%s: late %v, missed %d", f.ID, f.Late, f.Missed)
			}
		}
	})
}

// BenchmarkStart10000Jobs is the time from Run until all jobs have their
// timers, and the memory that they hold.
func BenchmarkStart10000Jobs(b *testing.B) {
	table := &kv.Memory{}
	fill(b, table, 10_000, func(i int, j *Job) {
		j.Schedule = Schedule{Cron: fmt.Sprintf("%d %d * * *", i%60, i%24), Zone: "Asia/Shanghai"}
	})
	store, err := NewStore(table, &StoreOptions{Now: func() time.Time { return noon }})
	must(b, err)
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse+m.StackInuse) / (1 << 20)
	}
	for b.Loop() {
		before := heap()
		ctx, cancel := context.WithCancel(b.Context())
		s := NewScheduler(store, func(context.Context, Fired) error { return nil }, nil)
		var wait sync.WaitGroup
		began := time.Now()
		wait.Go(func() { _ = s.Run(ctx) })
		<-s.Ready()
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/start")
		b.ReportMetric(heap()-before, "MiB")
		cancel()
		wait.Wait()
	}
}

// BenchmarkThousandDue is the time until 1000 jobs that are due at once have
// been claimed, fired and settled.
func BenchmarkThousandDue(b *testing.B) {
	for b.Loop() {
		table := &kv.Memory{}
		fill(b, table, 1000, func(_ int, j *Job) {
			j.Schedule = Schedule{At: noon.Add(time.Hour), Zone: "UTC"}
			j.Mode = Agent
		})
		store, err := NewStore(table, nil)
		must(b, err)
		ctx, cancel := context.WithCancel(b.Context())
		var all, wait sync.WaitGroup
		all.Add(1000)
		s := NewScheduler(store, func(context.Context, Fired) error { all.Done(); return nil }, nil)
		wait.Go(func() { _ = s.Run(ctx) })
		all.Wait()
		cancel()
		wait.Wait()
	}
}

func BenchmarkNext(b *testing.B) {
	j := draft()
	j.Schedule = Schedule{Cron: "30 9 * * 1-5", Zone: "America/New_York"}
	j.State = State{Anchor: noon, LastSlot: noon}
	for b.Loop() {
		if _, err := Next(j, noon); err != nil {
			b.Fatal(err)
		}
	}
}
