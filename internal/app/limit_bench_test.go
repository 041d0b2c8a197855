package app_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
)

// BenchmarkMemoryLimit is the program in a control group with a memory limit,
// while 128 chats are busy: how many messages a second, or whether it is killed.
//
//	go test ./internal/app -run xxx -bench 'MemoryLimit$' -benchtime 24000x
func BenchmarkMemoryLimit(b *testing.B) {
	for _, megabytes := range []int{128, 96, 80, 64, 48, 40, 32} {
		b.Run(fmt.Sprintf("limit=%d", megabytes), func(b *testing.B) {
			l := newLoad(b, "")
			busy(b, l.w, megabytes, func(_ *bot, alive context.Context) []time.Duration {
				l.dead = alive.Done()
				return l.run(b, 128, b.N)
			})
		})
	}
}

// BenchmarkMemoryLimitPages is BenchmarkMemoryLimit with 128 open chat pages:
// each keeps its stream of events open and writes when it was answered.
//
//	go test ./internal/app -run xxx -bench MemoryLimitPages -benchtime 24000x
func BenchmarkMemoryLimitPages(b *testing.B) {
	for _, megabytes := range []int{128, 96, 80, 64, 48} {
		b.Run(fmt.Sprintf("limit=%d", megabytes), func(b *testing.B) {
			w := newWorld(b, nil)
			busy(b, w, megabytes, func(p *bot, alive context.Context) []time.Duration {
				return openPages(alive, p, w.data(), 128, b.N)
			})
		})
	}
}

// busy starts the program in a control group and measures it under a load, which
// lasts until b.N messages are answered or the program is killed.
func busy(b *testing.B, w *world, megabytes int, load func(p *bot, alive context.Context) []time.Duration) {
	b.Helper()
	c := newCage(b, megabytes)
	w.model.Reply(func(modelserver.Request) modelserver.Answer {
		return modelserver.Answer{Text: "Fine, thank you. What can I do for you?"}
	})
	path, listen := w.config("bot")
	p := launchBy(b, c.by(), filepath.Dir(path), nil, nil, "run", "--config", path)
	p.listen = listen
	p.ready()
	alive, end := context.WithCancel(b.Context())
	go func() {
		err := <-p.ended
		p.ended <- err
		end()
	}()
	cpu := p.cpu()
	b.ResetTimer()
	waits := load(p, alive)
	b.StopTimer()
	killed := 0.0
	if p.gone() {
		killed = 1
	} else {
		b.ReportMetric((p.cpu()-cpu).Seconds()*1000/float64(max(1, len(waits))), "cpu-ms/msg")
		b.ReportMetric(p.memory("RssAnon"), "anon-MB")
	}
	b.ReportMetric(killed, "killed")
	b.ReportMetric(float64(len(waits)), "answered")
	b.ReportMetric(float64(len(waits))/b.Elapsed().Seconds(), "msg/s")
	b.ReportMetric(quantile(waits, 0.5), "p50-ms")
	b.ReportMetric(quantile(waits, 0.99), "p99-ms")
	peak, _ := strconv.Atoi(c.read(b, c.peak))
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	p.kill()
}

// BenchmarkMemoryLimitAtRest is the program with all five platforms, one message
// on each and then quiet, in a control group with a memory limit.
//
//	go test ./internal/app -run xxx -bench MemoryLimitAtRest -benchtime 1x
func BenchmarkMemoryLimitAtRest(b *testing.B) {
	for _, megabytes := range []int{48, 32, 28, 24} {
		b.Run(fmt.Sprintf("limit=%d", megabytes), func(b *testing.B) {
			c := newCage(b, megabytes)
			for b.Loop() {
				f := newFive(b, fiveOptions{})
				path, listen := f.config()
				p := launchBy(b, c.by(), f.dir, nil, nil, "run", "--config", path)
				p.listen = listen
				p.ready()
				f.each(func(p side) {
					chat := p.join(0)
					p.say(chat, mark(0, 0))
					f.wait(p, chat, "answer", has(mark(0, 0)))
				})
				p.settle()
				peak, _ := strconv.Atoi(c.read(b, c.peak))
				b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
				b.ReportMetric(p.memory("VmRSS"), "rss-MB")
				b.ReportMetric(p.memory("RssAnon"), "anon-MB")
				if p.gone() {
					b.Error("killed")
				}
				p.kill()
			}
		})
	}
}
