package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"magpie/agent/model"
	"magpie/bus"
	"magpie/chat"
	"magpie/config"
	"magpie/cron"
)

// meters are the metrics that are counted where something happens; the others
// are read when they are asked for.
type meters struct {
	reg      *prometheus.Registry
	inbound  *prometheus.CounterVec
	outbound *prometheus.CounterVec
	turns    *prometheus.HistogramVec
	tools    *prometheus.HistogramVec
	models   *prometheus.HistogramVec
	calls    *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	cost     *prometheus.CounterVec
	slots    *prometheus.CounterVec
	late     prometheus.Histogram
}

func newMeters(cfg *config.Config) *meters {
	m := &meters{reg: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.reg.MustRegister(c)
		return c
	}
	histogram := func(name, help, label string, buckets ...float64) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{label})
		m.reg.MustRegister(h)
		return h
	}
	m.inbound = counter("magpie_inbound_messages_total", "Messages taken from a channel.", "channel")
	m.outbound = counter("magpie_outbound_events_total",
		"What happened on the way out: sent, retry, resend, rate_limited, undeliverable, edit, edit_skipped.", "channel", "event")
	m.turns = histogram("magpie_turn_duration_seconds", "How long turns took, waits for a person included.", "channel",
		0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
	m.tools = histogram("magpie_tool_duration_seconds", "How long tool calls took.", "tool",
		0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
	m.models = histogram("magpie_model_duration_seconds", "How long calls of a model took.", "model",
		0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120)
	m.calls = counter("magpie_model_calls_total", "Calls of a model by how they ended; one that is tried again counts each time.", "model", "result")
	m.tokens = counter("magpie_model_tokens_total", "Tokens used: input, of them cached, and output.", "model", "kind")
	m.cost = counter("magpie_model_cost_usd_total", "Cost by the prices of the configuration.", "model")
	m.slots = counter("magpie_cron_slots_total", "Slots of jobs that were fired: on_time, late (the bot was down) or manual.", "kind")
	m.late = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "magpie_cron_lateness_seconds", Help: "How much later than planned slots were fired.",
		Buckets: []float64{0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600},
	})
	m.reg.MustRegister(m.late)
	m.begin(cfg)
	return m
}

// begin sets to 0 what alarms watch: the first failure must be a growth.
func (m *meters) begin(cfg *config.Config) {
	for _, c := range cfg.Channels {
		if c.Enabled {
			m.inbound.WithLabelValues(c.Name)
			for _, event := range []string{"sent", "retry", "resend", "rate_limited", "undeliverable", "edit", "edit_skipped"} {
				m.outbound.WithLabelValues(c.Name, event)
			}
		}
	}
	for _, l := range cfg.LLM.Models {
		m.calls.WithLabelValues(l.Name, "ok")
		m.calls.WithLabelValues(l.Name, "failed")
	}
	for _, kind := range []string{"on_time", "late", "manual"} {
		m.slots.WithLabelValues(kind)
	}
}

// watch has publish told of events, and counts turns and the calls of tools
// that exist: a model may invent names.
func (m *meters) watch(publish func(chat.Event), exists func(tool string) bool) func(chat.Event) {
	return func(ev chat.Event) {
		switch {
		case ev.Kind == chat.TurnEnded:
			m.turns.WithLabelValues(ev.Addr.Channel).Observe(ev.Took.Seconds())
		case (ev.Kind == chat.ToolCompleted || ev.Kind == chat.ToolFailed) && exists(ev.Tool.Name):
			m.tools.WithLabelValues(ev.Tool.Name).Observe(ev.Tool.Duration.Seconds())
		}
		publish(ev)
	}
}

// tried counts a call of a model.
func (m *meters) tried(t model.Try) {
	result := "ok"
	if t.Err != nil {
		result = "failed"
	}
	m.calls.WithLabelValues(t.Model, result).Inc()
	m.models.WithLabelValues(t.Model).Observe(t.Took.Seconds())
	for kind, n := range map[string]int{"input": t.Usage.Input, "cached": t.Usage.CacheRead, "output": t.Usage.Output} {
		m.tokens.WithLabelValues(t.Model, kind).Add(float64(n))
	}
	m.cost.WithLabelValues(t.Model).Add(t.USD)
}

// fired counts a slot that was put into its chat.
func (m *meters) fired(f cron.Fired, now time.Time) {
	switch {
	case f.Manual:
		m.slots.WithLabelValues("manual").Inc()
		return
	case f.Late:
		m.slots.WithLabelValues("late").Inc()
	default:
		m.slots.WithLabelValues("on_time").Inc()
	}
	m.late.Observe(max(0, now.Sub(f.Slot).Seconds()))
}

// jobs shows how many jobs a scheduler keeps.
func (m *meters) jobs(status func() cron.Status) {
	for name, read := range map[string]func(cron.Status) int{
		"magpie_cron_jobs":        func(s cron.Status) int { return s.Jobs },
		"magpie_cron_broken_jobs": func(s cron.Status) int { return len(s.Broken) },
	} {
		m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: "Jobs in the store; broken ones cannot be read."},
			func() float64 { return float64(read(status())) }))
	}
}

// busState reads how the bus stands; whoever asks for metrics in a loop must
// not cost much.
func (p *program) busState() func() bus.State {
	return remembered(checkEvery, func() bus.State {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		s, err := p.bus.State(ctx)
		if err != nil {
			p.log.Debug("state of the bus is not whole", "err", err)
		}
		return s
	})
}
