package app_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
)

// These benchmarks start the built program as a child, with the five fake
// platforms and the model in the test's own process:
//
//	go test ./internal/app -run xxx -bench FiveMemory -benchtime 1x
//	go test ./internal/app -run xxx -bench FiveLatency -benchtime 300x
//	go test ./internal/app -run xxx -bench FiveChats -benchtime 6400x

// BenchmarkFiveMemory is the memory of the program at rest with no platform
// but the page, with each alone, and with all five.
func BenchmarkFiveMemory(b *testing.B) {
	for _, c := range [][]string{{}, {"telegram"}, {"discord"}, {"feishu"}, {"dingtalk"}, {"qq"}, nil} {
		name := fmt.Sprint(c)
		if c == nil {
			name = "all"
		}
		b.Run(name, func(b *testing.B) {
			var rss, anon []float64
			for b.Loop() {
				f := newFive(b, fiveOptions{})
				f.only = c
				p := f.start()
				f.each(func(p side) { // everything is set up with the first message
					chat := p.join(0)
					p.say(chat, mark(0, 0))
					f.wait(p, chat, "answer", has(mark(0, 0)))
				})
				p.settle()
				rss, anon = append(rss, p.memory("VmRSS")), append(anon, p.memory("RssAnon"))
				p.kill()
			}
			b.ReportMetric(slices.Min(rss), "rss-MB")
			b.ReportMetric(slices.Min(anon), "anon-MB")
		})
	}
}

// BenchmarkFiveLatency is what the program adds on each platform: from a
// person's message to the request at the model, and from the model's last byte
// to the message in the chat. One chat, fsync on.
func BenchmarkFiveLatency(b *testing.B) {
	for _, name := range []string{"telegram", "discord", "feishu", "dingtalk", "qq"} {
		b.Run(name, func(b *testing.B) {
			var mu sync.Mutex
			var said, written time.Time
			var in, out []time.Duration
			done := make(chan struct{}, 8)
			f := newFive(b, fiveOptions{forget: true, told: func(_, _, text string) {
				if marks.FindString(text) == "" {
					return
				}
				mu.Lock()
				out = append(out, time.Since(written))
				mu.Unlock()
				done <- struct{}{}
			}})
			f.only = []string{name}
			f.model.Reply(func(modelserver.Request) modelserver.Answer {
				mu.Lock()
				defer mu.Unlock()
				in = append(in, time.Since(said))
				written = time.Now()
				return modelserver.Answer{Text: "Fine " + mark(0, 0), Pieces: modelserver.Pieces{N: 1}}
			})
			p := f.start()
			f.each(func(s side) {
				chat := s.join(0)
				for b.Loop() {
					mu.Lock()
					said = time.Now()
					mu.Unlock()
					s.say(chat, "how are you?")
					receive(b, done, "answer")
				}
			})
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(in)
			slices.Sort(out)
			b.ReportMetric(quantile(in, 0.5), "in-p50-ms")
			b.ReportMetric(quantile(in, 0.99), "in-p99-ms")
			b.ReportMetric(quantile(out, 0.5), "out-p50-ms")
			b.ReportMetric(quantile(out, 0.99), "out-p99-ms")
			p.kill()
		})
	}
}

// talker is a person who writes, waits for the answer and writes again.
type talker struct {
	p     side
	chat  string
	who   int
	said  int      // messages so far
	heard chan int // numbers of the answers
}

// audience is the talkers of all platforms with what they have seen.
type audience struct {
	mu    sync.Mutex
	by    map[string]*talker // platform and chat
	waits map[string][]time.Duration
	lost  int
	wrong int // answers that are another's, a second time there, or out of order
}

func (c *audience) told(platform, chat, text string) {
	var who, n int
	if _, err := fmt.Sscanf(marks.FindString(text), "q%dx%dz", &who, &n); err != nil {
		return
	}
	c.mu.Lock()
	t := c.by[platform+" "+chat]
	if t == nil || t.who != who {
		c.wrong++
	}
	c.mu.Unlock()
	if t != nil {
		t.heard <- n
	}
}

// talk exchanges n messages and returns when the last is answered.
func (c *audience) talk(b *testing.B, t *talker, n int) {
	for i := range n {
		began := time.Now()
		t.p.say(t.chat, mark(t.who, i))
		select {
		case got := <-t.heard:
			c.mu.Lock()
			if got != i {
				c.wrong++
			}
			c.waits[t.p.name()] = append(c.waits[t.p.name()], time.Since(began))
			c.mu.Unlock()
		case <-time.After(deadline):
			b.Errorf("%s, chat %d: no answer to message %d", t.p.name(), t.who, i)
			return
		}
	}
}

// BenchmarkFiveChats is 64 chats on each of the five platforms at once.
func BenchmarkFiveChats(b *testing.B) {
	for _, model := range []time.Duration{0, 500 * time.Millisecond} {
		b.Run(fmt.Sprintf("model=%v", model), func(b *testing.B) {
			const people = 64
			c := &audience{by: map[string]*talker{}, waits: map[string][]time.Duration{}}
			f := newFive(b, fiveOptions{forget: true, told: c.told})
			f.extra = "agent: {max_turns: 512}"
			f.model.Reply(func(r modelserver.Request) modelserver.Answer {
				a := modelserver.Echo(r)
				a.Delay = model
				return a
			})
			f.each(func(p side) {
				for n := range people {
					t := &talker{p: p, chat: p.join(n), who: n, heard: make(chan int, 100)}
					c.by[p.name()+" "+t.chat] = t
				}
			})
			p := f.start()
			each := max(1, b.N/len(c.by))
			cpu := p.cpu()
			b.ResetTimer()
			var wg sync.WaitGroup
			for _, t := range c.by {
				wg.Go(func() { c.talk(b, t, each) })
			}
			wg.Wait()
			b.StopTimer()
			var all []time.Duration
			for name, waits := range c.waits {
				slices.Sort(waits)
				b.Logf("%s: %d answers, p50 %.0f ms, p99 %.0f ms", name, len(waits), quantile(waits, 0.5), quantile(waits, 0.99))
				all = append(all, waits...)
			}
			slices.Sort(all)
			b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "msg/s")
			b.ReportMetric(quantile(all, 0.5), "p50-ms")
			b.ReportMetric(quantile(all, 0.99), "p99-ms")
			b.ReportMetric(float64(each*len(c.by)-len(all)), "lost")
			b.ReportMetric(float64(c.wrong), "wrong")
			b.ReportMetric((p.cpu()-cpu).Seconds()*1000/float64(len(all)), "cpu-ms/msg")
			b.ReportMetric(p.memory("VmHWM"), "peak-MB")
			p.kill()
		})
	}
}
