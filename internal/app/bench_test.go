package app_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// These benchmarks start the built program as a child, with fake Telegram and
// model in the test's own process on the same machine:
//
//	go test ./internal/app -run xxx -bench . -benchtime 5s

// load drives people who each write, wait for the answer and write again.
type load struct {
	w    *world
	mu   sync.Mutex
	by   map[int64]chan struct{}
	dead <-chan struct{} // closed when the program has died; nil: it does not
}

func newLoad(b *testing.B, extra string) *load {
	l := &load{by: map[int64]chan struct{}{}}
	l.w = newWorld(b, &telegram.Options{Forget: true, OnMessage: func(m telegram.Message) { l.answered(m.Chat) }})
	l.w.extra = extra
	return l
}

func (l *load) answered(chat int64) {
	l.mu.Lock()
	c := l.by[chat]
	l.mu.Unlock()
	if c != nil {
		c <- struct{}{}
	}
}

// run sends n messages from that many people and returns the time each waited.
func (l *load) run(b *testing.B, people, n int) []time.Duration {
	b.Helper()
	for i := range people {
		id := int64(9000 + i)
		if l.by[id] != nil {
			continue
		}
		l.w.tg.AddPerson(telegram.Person{ID: id, Name: fmt.Sprint("p", i)})
		l.mu.Lock()
		l.by[id] = make(chan struct{}, 4)
		l.mu.Unlock()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var waits []time.Duration
	left := n
	for i := range people {
		wg.Go(func() {
			id := int64(9000 + i)
			for {
				mu.Lock()
				left--
				more := left >= 0
				mu.Unlock()
				if !more {
					return
				}
				began := time.Now()
				l.w.tg.Say(telegram.Said{From: id, Text: "how are you?"})
				select {
				case <-l.by[id]:
				case <-l.dead:
					return
				case <-time.After(deadline):
					b.Errorf("no answer in %d, %d updates pending", id, l.w.tg.Pending())
					return
				}
				mu.Lock()
				waits = append(waits, time.Since(began))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(waits)
	return waits
}

func quantile(d []time.Duration, q float64) float64 {
	if len(d) == 0 {
		return 0
	}
	return float64(d[int(q*float64(len(d)-1))].Microseconds()) / 1000
}

func BenchmarkMessages(b *testing.B) {
	for _, c := range []struct {
		sync   string
		people int
		model  time.Duration
	}{
		{"always", 1, 0}, {"always", 16, 0}, {"always", 128, 0}, {"10s", 128, 0}, {"always", 128, 500 * time.Millisecond},
	} {
		b.Run(fmt.Sprintf("sync=%s/chats=%d/model=%v", c.sync, c.people, c.model), func(b *testing.B) {
			l := newLoad(b, "agent: {max_turns: 256}")
			l.w.busSync = c.sync
			l.w.model.Reply(func(r modelserver.Request) modelserver.Answer {
				return modelserver.Answer{Text: "Fine, thank you. What can I do for you?", Delay: c.model}
			})
			p := l.w.start("bot")
			p.ready()
			l.run(b, c.people, 2*c.people)
			cpu := p.cpu()
			b.ResetTimer()
			waits := l.run(b, c.people, b.N)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
			b.ReportMetric(quantile(waits, 0.5), "p50-ms")
			b.ReportMetric(quantile(waits, 0.99), "p99-ms")
			b.ReportMetric((p.cpu()-cpu).Seconds()*1000/float64(b.N), "cpu-ms/msg")
			b.ReportMetric(p.memory("VmHWM"), "peak-MB")
			b.ReportMetric(p.memory("RssAnon"), "anon-MB")
		})
	}
}

// BenchmarkOwnLatency is what the program adds: from the update at Telegram to
// the request at the model, and from the model's last byte to the message at
// Telegram. One chat, fsync on.
func BenchmarkOwnLatency(b *testing.B) {
	var in, out []time.Duration
	var mu sync.Mutex
	var said, modelDone time.Time
	done := make(chan struct{}, 1)
	w := newWorld(b, &telegram.Options{Forget: true, OnMessage: func(telegram.Message) {
		mu.Lock()
		out = append(out, time.Since(modelDone))
		mu.Unlock()
		done <- struct{}{}
	}})
	w.model.Reply(func(modelserver.Request) modelserver.Answer {
		mu.Lock()
		defer mu.Unlock()
		in = append(in, time.Since(said))
		modelDone = time.Now()
		return modelserver.Answer{Text: "Fine.", Pieces: modelserver.Pieces{N: 1}}
	})
	p := w.start("bot")
	p.ready()
	for b.Loop() {
		mu.Lock()
		said = time.Now()
		mu.Unlock()
		w.say("how are you?")
		receive(b, done, "answer")
	}
	slices.Sort(in)
	slices.Sort(out)
	b.ReportMetric(quantile(in, 0.5), "in-p50-ms")
	b.ReportMetric(quantile(in, 0.99), "in-p99-ms")
	b.ReportMetric(quantile(out, 0.5), "out-p50-ms")
	b.ReportMetric(quantile(out, 0.99), "out-p99-ms")
}

// BenchmarkStart is from the start of the process until /readyz says yes, on a
// store that exists, and the memory of the program at rest.
func BenchmarkStart(b *testing.B) {
	w := newWorld(b, nil)
	w.start("bot").ready()
	var ready []time.Duration
	var rss float64
	for b.Loop() {
		path, listen := w.config("bot2")
		began := time.Now()
		p := w.startWith(path, listen)
		p.ready()
		ready = append(ready, time.Since(began))
		p.settle()
		rss = max(rss, p.memory("VmRSS"))
		if err := p.signal(syscall.SIGTERM); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(ready)
	b.ReportMetric(quantile(ready, 0.5), "ready-p50-ms")
	b.ReportMetric(rss, "idle-MB")
	exe, err := program()
	if err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(exe)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "binary-MB")
}

// settle lets the program come to rest before its memory is read.
func (b *bot) settle() {
	// Right after the start the program gives memory back; a part of it comes
	// again within seconds.
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	<-timer.C
}

// cpu is the processor time the program has used.
func (b *bot) cpu() time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // 100 ticks a second
}

// memory reads a line of /proc/<pid>/status, in MB.
func (b *bot) memory(key string) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kb) / 1000
		}
	}
	return 0
}
