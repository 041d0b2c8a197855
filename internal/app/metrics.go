package app

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"magpie/agent"
	"magpie/bus"
)

// metrics is /metrics: what this process has counted, and how much waits on the
// bus. Labels are channel, tool, model and what happened; never a chat.
func (p *program) metrics(b *brain, t *toolbox, d *doors) http.Handler {
	state := p.busState()
	p.meters.reg.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&scrape{families(), func(emit emitter) {
			emit(info, 1, p.opts.Version)
			emitTurns(emit, b)
			emitTools(emit, t)
			emitModels(emit, b)
			emitChannels(emit, d)
			emitBus(emit, state(), d)
		}},
	)
	return exposition(p.meters.reg)
}

// exposition writes the text format. promhttp offers other formats and
// compressions too, which cost 300 KB of program.
func exposition(reg *prometheus.Registry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		families, err := reg.Gather()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		for _, f := range families {
			if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
				return // who asked is gone
			}
		}
	})
}

// family is a metric whose values are read when they are asked for.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// The names of the families.
const (
	info            = "magpie_info"
	turnsTotal      = "magpie_turns_total"
	turnsRunning    = "magpie_turns_running"
	tasksTotal      = "magpie_tasks_total"
	tasksRunning    = "magpie_tasks_running"
	toolCalls       = "magpie_tool_calls_total"
	toolSeconds     = "magpie_tool_seconds"
	modelResting    = "magpie_model_resting"
	channelUp       = "magpie_channel_connected"
	channelStopped  = "magpie_channel_stopped"
	channelReturned = "magpie_channel_reconnects_total"
	channelEvent    = "magpie_channel_last_event_timestamp_seconds"
	queueMessages   = "magpie_queue_messages"
	queueOldest     = "magpie_queue_oldest_seconds"
	deadLetters     = "magpie_dead_letters"
	redeliveries    = "magpie_redeliveries_total"
	busUp           = "magpie_bus_connected"
	busReturned     = "magpie_bus_reconnects_total"
	storeUsed       = "magpie_store_used_bytes"
	storeLimit      = "magpie_store_limit_bytes"
	storeFull       = "magpie_store_full"
)

func families() map[string]family {
	all := map[string]family{}
	add := func(kind prometheus.ValueType, name, help string, labels ...string) {
		all[name] = family{prometheus.NewDesc(name, help, labels, nil), kind}
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	add(gauge, info, "The program's version.", "version")
	add(counter, turnsTotal, "Turns by how they ended.", "state")
	add(gauge, turnsRunning, "Turns that run just now.")
	add(counter, tasksTotal, "Turns of background tasks by how they ended.", "state")
	add(gauge, tasksRunning, "Background tasks that run just now.")
	add(counter, toolCalls, "Tool calls; those of tools that do not exist have no tool.", "tool", "category", "result")
	add(gauge, toolSeconds, "Duration of a tool's calls in seconds: average of all, p95 of the last 256.", "tool", "stat")
	add(gauge, modelResting, "1 while a model is avoided because it failed several times.", "model")
	add(gauge, channelUp, "1 while the platform accepts the bot.", "channel")
	add(gauge, channelStopped, "1 when the channel was given up: its credentials are refused.", "channel")
	add(counter, channelReturned, "Times a connection came back.", "channel")
	add(gauge, channelEvent, "When the platform last sent something; 0: not yet.", "channel")
	add(gauge, queueMessages, "Messages that wait: in the mailboxes (in) until they are answered, on the way out (out) until they are sent.", "queue", "channel")
	add(gauge, queueOldest, "Age of the oldest of them.", "queue", "channel")
	add(gauge, deadLetters, "Dead letters kept, of the way in and the way out.", "queue")
	add(counter, redeliveries, "Messages handed out again: after a crash (in), after a failed delivery (out).", "queue")
	add(gauge, busUp, "1 while the bus is connected.")
	add(counter, busReturned, "Times the connection to the bus came back.")
	add(gauge, storeUsed, "Size of the store.")
	add(gauge, storeLimit, "Size that the store may have; 0: not known.")
	add(gauge, storeFull, "1 while new messages are refused for want of room.")
	return all
}

// emitter hands out one value of a family.
type emitter func(name string, value float64, labels ...string)

func emitTurns(emit emitter, b *brain) {
	of := func(s agent.Stats, total, running string) {
		for state, n := range map[string]int64{"committed": s.Turns, "failed": s.Failed, "dead": s.Dead, "panicked": s.Panics} {
			emit(total, float64(n), state)
		}
		emit(running, float64(s.Running))
	}
	of(b.agent.Stats(), turnsTotal, turnsRunning)
	of(b.pool.Stats(), tasksTotal, tasksRunning)
}

func emitTools(emit emitter, t *toolbox) {
	all := t.exec.Stats()
	emit(toolCalls, float64(all.Unknown), "", "", "failed")
	for name, s := range all.Tools {
		emit(toolCalls, float64(s.Calls-s.Failures), name, string(s.Category), "ok")
		emit(toolCalls, float64(s.Failures), name, string(s.Category), "failed")
		emit(toolSeconds, s.Average.Seconds(), name, "average")
		emit(toolSeconds, s.P95.Seconds(), name, "p95")
	}
}

func emitModels(emit emitter, b *brain) {
	for _, m := range b.chain.Models() {
		emit(modelResting, yes(!m.Cooling.IsZero()), m.Name)
	}
}

func emitChannels(emit emitter, d *doors) {
	for _, door := range d.all {
		if _, page := door.ch.(pager); page {
			continue // has no platform
		}
		st, name := door.status.State(), door.cfg.Name
		emit(channelUp, yes(st.Connected), name)
		emit(channelStopped, yes(st.Stopped), name)
		emit(channelReturned, float64(st.Reconnects), name)
		at := 0.0
		if !st.LastEvent.IsZero() {
			at = float64(st.LastEvent.UnixMilli()) / 1000
		}
		emit(channelEvent, at, name)
	}
}

func emitBus(emit emitter, s bus.State, d *doors) {
	for _, door := range d.all { // a channel with nothing to send is 0, not missing
		if _, ok := s.Out[door.cfg.Name]; !ok {
			emitQueue(emit, bus.Queue{}, "out", door.cfg.Name)
		}
	}
	for channel, q := range s.Out {
		emitQueue(emit, q, "out", channel)
	}
	emitQueue(emit, s.In, "in", "")
	for _, queue := range []string{"in", "out"} {
		emit(deadLetters, float64(s.Dead[queue]), queue)
	}
	emit(redeliveries, float64(s.Again), "in")
	emit(redeliveries, float64(s.Tried), "out")
	emit(busUp, yes(s.Connected))
	emit(busReturned, float64(s.Reconnects))
	emit(storeUsed, float64(s.Used))
	emit(storeLimit, float64(s.Limit))
	emit(storeFull, yes(s.Full))
}

func emitQueue(emit emitter, q bus.Queue, queue, channel string) {
	emit(queueMessages, float64(q.Messages), queue, channel)
	age := 0.0
	if !q.Oldest.IsZero() {
		age = max(0, time.Since(q.Oldest).Seconds())
	}
	emit(queueOldest, age, queue, channel)
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
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
func remembered[T any](every time.Duration, fn func() T) func() T {
	var mu sync.Mutex
	var at time.Time
	var last T
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(at) >= every {
			last, at = fn(), time.Now()
		}
		return last
	}
}
