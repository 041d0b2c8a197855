package app_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// BenchmarkTask measures what the program adds to a task: from the model's
// call of spawn to the task's own model, and from the task's last reply to the
// model of the chat that hears the report.
//
//	go test ./internal/app -run xxx -bench BenchmarkTask -benchtime 300x
func BenchmarkTask(b *testing.B) {
	w := newWorld(b, nil)
	c := w.crew(nil)
	var mu sync.Mutex
	at := map[string]time.Time{}
	var begin, report []time.Duration
	mark := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		at[what] = time.Now()
	}
	since := func(what string, into *[]time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		*into = append(*into, time.Since(at[what]))
	}
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		switch {
		case isTask(r):
			since("called", &begin)
			defer mark("done")
		case isReport(r):
			since("done", &report)
		case len(r.Results()) == 0:
			defer mark("called")
		}
		return c.reply(r)
	})
	w.start("bot").ready()
	b.ResetTimer()
	for i := range b.N {
		name := fmt.Sprintf("dig %d.", i)
		w.say("spawn " + name)
		w.wait(owner, name, func(m []telegram.Message) bool {
			return count(m[max(0, len(m)-2):], "news: result of "+name) == 1 && len(m) == 2*(i+1)
		})
		for len(c.asked) > 0 {
			<-c.asked
		}
	}
	slices.Sort(begin)
	slices.Sort(report)
	b.ReportMetric(quantile(begin, 0.5), "begin-p50-ms")
	b.ReportMetric(quantile(begin, 0.99), "begin-p99-ms")
	b.ReportMetric(quantile(report, 0.5), "report-p50-ms")
	b.ReportMetric(quantile(report, 0.99), "report-p99-ms")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}
