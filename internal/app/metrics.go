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
		d.inbound, d.outbound,
		&scrape{[]*prometheus.Desc{turnsDesc, toolsDesc, toolTimeDesc, channelDesc, reconnectsDesc}, func(emit emitter) {
			emitTurns(emit, b)
			emitTools(emit, t)
			emitChannels(emit, d)
		}},
	)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}

var (
	turnsDesc      = prometheus.NewDesc("magpie_turns_total", "Turns by how they ended; running is a gauge.", []string{"state"}, nil)
	toolsDesc      = prometheus.NewDesc("magpie_tool_calls_total", "Tool calls.", []string{"tool", "result"}, nil)
	toolTimeDesc   = prometheus.NewDesc("magpie_tool_seconds", "Average duration of a tool's calls in seconds.", []string{"tool"}, nil)
	channelDesc    = prometheus.NewDesc("magpie_channel_connected", "1 while the platform accepts the bot.", []string{"channel"}, nil)
	reconnectsDesc = prometheus.NewDesc("magpie_channel_reconnects_total", "Times a connection came back.", []string{"channel"}, nil)
)

type emitter func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string)

func emitTurns(emit emitter, b *brain) {
	s := b.agent.Stats()
	for state, n := range map[string]int64{"committed": s.Turns, "failed": s.Failed, "dead": s.Dead, "panicked": s.Panics} {
		emit(turnsDesc, prometheus.CounterValue, float64(n), state)
	}
	emit(turnsDesc, prometheus.CounterValue, float64(s.Running), "running")
}

func emitTools(emit emitter, t *toolbox) {
	for name, s := range t.exec.Stats().Tools {
		emit(toolsDesc, prometheus.CounterValue, float64(s.Calls-s.Failures), name, "ok")
		emit(toolsDesc, prometheus.CounterValue, float64(s.Failures), name, "failed")
		emit(toolTimeDesc, prometheus.GaugeValue, s.Average.Seconds(), name)
	}
}

func emitChannels(emit emitter, d *doors) {
	for _, door := range d.all {
		st := door.status.State()
		connected := 0.0
		if st.Connected {
			connected = 1
		}
		emit(channelDesc, prometheus.GaugeValue, connected, door.cfg.Name)
		emit(reconnectsDesc, prometheus.CounterValue, float64(st.Reconnects), door.cfg.Name)
	}
}

// scrape is a collector whose values are read when they are asked for.
type scrape struct {
	descs []*prometheus.Desc
	read  func(emit emitter)
}

var _ prometheus.Collector = (*scrape)(nil)

func (s *scrape) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

func (s *scrape) Collect(ch chan<- prometheus.Metric) {
	s.read(func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
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
