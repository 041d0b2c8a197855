package app_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
)

// How long TestSoak runs, and how long before that people write without a
// pause, so that buffers and caches are full. The long run is
//
//	go test ./internal/app -run TestSoak -warmup 5m -soak 10m -timeout 20m -v
var (
	soak   = flag.Duration("soak", 3*time.Second, "how long the soak test runs")
	warmup = flag.Duration("warmup", 0, "how long people write without a pause before that")
)

// soakLeast is the shortest run whose growth says anything: before that the
// program still fills its caches.
const soakLeast = time.Minute

// TestSoak lets people on five platforms write to the program for a while, at
// the pace of people, with tools, jobs of the store and long conversations,
// and looks for what grows: memory, goroutines, open files. Nothing may be
// lost, come twice or out of order.
func TestSoak(t *testing.T) {
	const people = 8
	c := &audience{by: map[string]*talker{}, waits: map[string][]time.Duration{}}
	f := newFive(t, fiveOptions{forget: true, told: c.told})
	// A short history, so that conversations are summarised again and again.
	f.extra = "agent: {busy: queue, history_tokens: 3000}"
	f.model.Reply(soakAnswer)
	f.each(func(p side) {
		for n := range people {
			chat := p.join(n)
			c.by[p.name()+" "+chat] = &talker{p: p, chat: chat, who: n, heard: make(chan int, 100)}
		}
	})
	b := f.start()
	c.busy(t, *warmup, 0)
	if *warmup > 0 {
		t.Logf("%d messages in the first %v", c.answered(), *warmup)
	}
	var watched readings
	c.busy(t, *soak, time.Second, func(ctx context.Context) { watched = b.watch(ctx) })
	messages := c.answered()
	t.Logf("%d messages in %v, %d lost, %d doubled or out of order", messages, *soak, c.lost, c.wrong)
	if c.lost+c.wrong > 0 || messages == 0 {
		t.Errorf("%d messages: lost %d, doubled or out of order %d; want none", messages, c.lost, c.wrong)
	}
	for name, waits := range c.waits {
		slices.Sort(waits)
		t.Logf("%s: %d answers, p50 %.0f ms, p99 %.0f ms, last %.1f s", name, len(waits),
			quantile(waits, 0.5), quantile(waits, 0.99), waits[len(waits)-1].Seconds())
	}
	watched.judge(t)
	clean(t, b.signal(syscall.SIGTERM))
}

// soakAnswer is a model that calls tools now and then and sometimes writes much.
func soakAnswer(r modelserver.Request) modelserver.Answer {
	a := modelserver.Echo(r)
	a.Delay = time.Duration(rand.IntN(100)) * time.Millisecond
	if len(r.Results()) > 0 || len(r.Tools) == 0 {
		return a
	}
	switch rand.IntN(20) {
	case 0:
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "current_time", Args: "{}"}}}
	case 1:
		args := fmt.Sprintf(`{"path":"note%d.txt","content":%q}`, rand.IntN(50), strings.Repeat("word ", rand.IntN(400)))
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "write_file", Args: args}}}
	case 2:
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "read_file", Args: fmt.Sprintf(`{"path":"note%d.txt"}`, rand.IntN(50))}}}
	case 3:
		a.Text += strings.Repeat(" and so on", rand.IntN(200))
	}
	return a
}

// busy lets all people write for a while, with pauses of about that length.
func (c *audience) busy(t testing.TB, length, pause time.Duration, meanwhile ...func(context.Context)) {
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var wg sync.WaitGroup
	for _, p := range c.by {
		wg.Go(func() { c.chatter(t, ctx, p, pause) })
	}
	for _, do := range meanwhile {
		do(ctx)
	}
	wg.Wait()
}

// answered is how many messages were answered so far.
func (c *audience) answered() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, waits := range c.waits {
		n += len(waits)
	}
	return n
}

// chatter is talk until ctx ends, with pauses.
func (c *audience) chatter(t testing.TB, ctx context.Context, p *talker, pause time.Duration) {
	for ; ctx.Err() == nil; p.said++ {
		i, began := p.said, time.Now()
		p.p.say(p.chat, mark(p.who, i))
		select {
		case got := <-p.heard:
			c.mu.Lock()
			if got != i {
				c.wrong++
			}
			c.waits[p.p.name()] = append(c.waits[p.p.name()], time.Since(began))
			c.mu.Unlock()
		case <-time.After(deadline):
			c.mu.Lock()
			c.lost++
			c.mu.Unlock()
			t.Errorf("%s, chat %d: no answer to message %d", p.p.name(), p.who, i)
			return
		}
		if pause > 0 {
			rest(ctx, pause/5+rand.N(pause*6/5))
		}
	}
}

// reading is what the program takes at a moment.
type reading struct {
	at                                 time.Duration
	rss, anon, heap, goroutines, files float64
}

type readings []reading

// watch takes readings until ctx ends.
func (b *bot) watch(ctx context.Context) readings {
	var all readings
	began := time.Now()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		s := reading{at: time.Since(began), rss: b.memory("VmRSS"), anon: b.memory("RssAnon"), files: b.files()}
		s.goroutines, s.heap = b.metric("go_goroutines"), b.metric("go_memstats_heap_inuse_bytes")/1e6
		all = append(all, s)
		select {
		case <-ctx.Done():
			return all
		case <-tick.C:
		}
	}
}

// files counts the open files of the program.
func (b *bot) files() float64 {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", b.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return float64(len(entries))
}

// metric reads a value without labels from /metrics.
func (b *bot) metric(name string) float64 {
	_, body := b.get("/metrics")
	_, rest, _ := strings.Cut(body, "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseFloat(value, 64)
	return n
}

// judge compares the middle fifth of a run, when caches are as full as they
// get, with the last one.
func (all readings) judge(t testing.TB) {
	for _, what := range []struct {
		name  string
		of    func(reading) float64
		bound float64 // growth that is more than chance
	}{
		{"memory (RSS), MB", func(s reading) float64 { return s.rss }, 32},
		{"of its own (RssAnon), MB", func(s reading) float64 { return s.anon }, 32},
		{"heap in use, MB", func(s reading) float64 { return s.heap }, 24},
		{"goroutines", func(s reading) float64 { return s.goroutines }, 60},
		{"open files", func(s reading) float64 { return s.files }, 20},
	} {
		n := len(all)
		mid, late := mean(all[2*n/5:3*n/5+1], what.of), mean(all[4*n/5:], what.of)
		t.Logf("%-26s first fifth %7.1f, middle %7.1f, last %7.1f, slope of the second half %+.2f a minute",
			what.name, mean(all[:n/5+1], what.of), mid, late, slope(all[n/2:], what.of))
		if *soak >= soakLeast && late-mid > what.bound {
			t.Errorf("%s grew by %.1f, at most %.0f is chance", what.name, late-mid, what.bound)
		}
	}
}

func mean(all readings, of func(reading) float64) (sum float64) {
	for _, s := range all {
		sum += of(s)
	}
	return sum / float64(len(all))
}

// slope is the change of a value in a minute, by least squares.
func slope(all readings, of func(reading) float64) float64 {
	at := mean(all, func(s reading) float64 { return s.at.Minutes() })
	value := mean(all, of)
	var up, down float64
	for _, s := range all {
		d := s.at.Minutes() - at
		up += d * (of(s) - value)
		down += d * d
	}
	if down == 0 {
		return 0
	}
	return up / down
}
