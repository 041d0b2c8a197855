package app_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/cron"
	"magpie/internal/fakes/telegram"
)

// These benchmarks start the built program as a child on a store that holds
// the jobs already, with fake Telegram in the test's own process:
//
//	go test ./internal/app -run xxx -bench Jobs -benchtime 1x

// clocked counts the reminders that arrive and how late they are: each says
// its number and when it is due.
type clocked struct {
	*world
	mu   sync.Mutex
	late []time.Duration
	seen map[int]int
}

func newClocked(b *testing.B) *clocked {
	c := &clocked{seen: map[int]int{}}
	if _, err := program(); err != nil { // its build is not its start
		b.Fatal(err)
	}
	c.world = newWorld(b, &telegram.Options{Forget: true, OnMessage: c.told})
	for i := range 1000 {
		c.tg.AddPerson(telegram.Person{ID: int64(100000 + i), Name: "p"})
	}
	return c
}

func (c *clocked) told(m telegram.Message) {
	now := time.Now()
	var n int
	var due int64
	if _, err := fmt.Sscanf(m.Text, "⏰ job %d due %d", &n, &due); err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[n]++
	c.late = append(c.late, now.Sub(time.Unix(due, 0)))
}

func (c *clocked) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// job is reminder n, in one of a thousand chats.
func (c *clocked) job(n int, due time.Time) cron.Job {
	chat := int64(100000 + n%1000)
	j := asked(fmt.Sprintf("job %d due %d", n, due.Unix()), cron.Schedule{At: due})
	j.Addr.Chat = fmt.Sprint(chat)
	j.Maker.ID = j.Addr.Chat
	return j
}

// seed stores jobs, several at once.
func (c *clocked) seed(jobs []cron.Job) {
	c.t.Helper()
	c.withJobs("bot", func(s *cron.Store) {
		var wg sync.WaitGroup
		for part := range slices.Chunk(jobs, len(jobs)/32+1) {
			wg.Go(func() {
				for _, j := range part {
					if _, err := s.Add(c.t.Context(), j); err != nil {
						c.t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}

func (c *clocked) report(b *testing.B, want int) {
	b.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	doubled := 0
	for _, n := range c.seen {
		doubled += n - 1
	}
	slices.Sort(c.late)
	b.ReportMetric(quantile(c.late, 0.5), "late-p50-ms")
	b.ReportMetric(quantile(c.late, 0.99), "late-p99-ms")
	b.ReportMetric(quantile(c.late, 1), "late-max-ms")
	b.ReportMetric(float64(want-len(c.seen)), "lost")
	b.ReportMetric(float64(doubled), "doubled")
}

// BenchmarkJobs is the program with 10 000 jobs: its start, its memory, and how
// late the 20 of them are that are due each second for half a minute.
func BenchmarkJobs(b *testing.B) {
	for b.Loop() {
		c := newClocked(b)
		const total, seconds, each = 10_000, 30, 20
		var jobs []cron.Job
		for n := seconds * each; n < total; n++ {
			jobs = append(jobs, c.job(n, time.Now().Truncate(time.Second).Add(time.Duration(24*60+n)*time.Minute)))
		}
		c.seed(jobs)
		jobs = nil
		first := time.Now().Truncate(time.Second).Add(45 * time.Second)
		for n := range seconds * each {
			jobs = append(jobs, c.job(n, first.Add(time.Duration(n/each)*time.Second)))
		}
		c.seed(jobs)
		if time.Until(first) < 8*time.Second {
			b.Fatal("the machine is too slow: the first jobs are due")
		}
		began := time.Now()
		p := c.start("bot")
		p.ready()
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ready-ms")
		p.until("jobs read", func() bool { return strings.Contains(p.log.String(), "jobs are ready") }, p.log.String)
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "jobs-ready-ms")
		p.settle()
		b.ReportMetric(p.memory("VmRSS"), "rss-MB")
		b.ReportMetric(p.memory("RssAnon"), "anon-MB")
		p.untilBy(first.Add(seconds*time.Second+time.Minute), "all are delivered", func() bool { return c.count() == seconds*each })
		c.report(b, seconds*each)
		p.kill()
	}
}

// BenchmarkJobsAtOnce is 1000 reminders of 1000 chats in one second, among
// 1000 that are not due.
func BenchmarkJobsAtOnce(b *testing.B) {
	for b.Loop() {
		c := newClocked(b)
		const total = 1000
		due := time.Now().Truncate(time.Second).Add(20 * time.Second)
		var jobs []cron.Job
		for n := range 2 * total {
			at := due
			if n >= total {
				at = due.Add(24 * time.Hour)
			}
			jobs = append(jobs, c.job(n, at))
		}
		c.seed(jobs)
		if time.Until(due) < 3*time.Second {
			b.Fatal("the machine is too slow: the jobs are due")
		}
		p := c.start("bot")
		p.ready()
		p.untilBy(due.Add(time.Minute), "all are delivered", func() bool { return c.count() == total })
		b.ReportMetric(float64(time.Since(due).Milliseconds()), "all-ms")
		p.settle() // a double would come now
		b.ReportMetric(p.cpu().Seconds(), "cpu-s")
		c.report(b, total)
		p.kill()
	}
}
