package app

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics is /metrics: counters of this process. Labels are channel, tool and
// what happened; never a chat.
func (p *program) metrics(b *brain, t *toolbox, d *doors) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		d.inbound, d.outbound, &scrape{families(), func(emit emitter) {
			emitTurns(emit, b)
			emitTools(emit, t)
			emitChannels(emit, d)
		}},
	)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}

// family is a metric whose values are read when they are asked for.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// The names of the families.
const (
	turnsTotal      = "magpie_turns_total"
	turnsRunning    = "magpie_turns_running"
	toolCalls       = "magpie_tool_calls_total"
	toolSeconds     = "magpie_tool_seconds"
	channelUp       = "magpie_channel_connected"
	channelReturned = "magpie_channel_reconnects_total"
)

func families() map[string]family {
	counter := func(name, help string, labels ...string) family {
		return family{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
	}
	gauge := func(name, help string, labels ...string) family {
		return family{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
	}
	return map[string]family{
		turnsTotal:      counter(turnsTotal, "Turns by how they ended.", "state"),
		turnsRunning:    gauge(turnsRunning, "Turns that run just now."),
		toolCalls:       counter(toolCalls, "Tool calls.", "tool", "result"),
		toolSeconds:     gauge(toolSeconds, "Duration of a tool's calls in seconds.", "tool", "stat"),
		channelUp:       gauge(channelUp, "1 while the platform accepts the bot.", "channel"),
		channelReturned: counter(channelReturned, "Times a connection came back.", "channel"),
	}
}

// emitter hands out one value of a family.
type emitter func(name string, value float64, labels ...string)

func emitTurns(emit emitter, b *brain) {
	s := b.agent.Stats()
	for state, n := range map[string]int64{"committed": s.Turns, "failed": s.Failed, "dead": s.Dead, "panicked": s.Panics} {
		emit(turnsTotal, float64(n), state)
	}
	emit(turnsRunning, float64(s.Running))
}

func emitTools(emit emitter, t *toolbox) {
	for name, s := range t.exec.Stats().Tools {
		emit(toolCalls, float64(s.Calls-s.Failures), name, "ok")
		emit(toolCalls, float64(s.Failures), name, "failed")
		emit(toolSeconds, s.Average.Seconds(), name, "average")
		emit(toolSeconds, s.P95.Seconds(), name, "p95")
	}
}

func emitChannels(emit emitter, d *doors) {
	for _, door := range d.all {
		st := door.status.State()
		connected := 0.0
		if st.Connected {
			connected = 1
		}
		emit(channelUp, connected, door.cfg.Name)
		emit(channelReturned, float64(st.Reconnects), door.cfg.Name)
	}
}

// scrape collects families.
type scrape struct {
	families map[string]family
	read     func(emit emitter)
}

var _ prometheus.Collector = (*scrape)(nil)

func (s *scrape) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range s.families {
		ch <- f.desc
	}
}

func (s *scrape) Collect(ch chan<- prometheus.Metric) {
	s.read(func(name string, value float64, labels ...string) {
		f := s.families[name]
		ch <- prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
	})
}

// remembered calls fn at most once in a while and returns its last answer.
func remembered(every time.Duration, fn func() error) func() error {
	var mu sync.Mutex
	var at time.Time
	var last error
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(at) >= every {
			last, at = fn(), time.Now()
		}
		return last
	}
}
