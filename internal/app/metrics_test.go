package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// exposed are metrics as Prometheus reads them: value by name and labels.
func exposed(t testing.TB, body string) (values map[string]float64, kinds map[string]string, labels map[string][]string) {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatalf("the metrics cannot be read: %v", err)
	}
	values, kinds, labels = map[string]float64{}, map[string]string{}, map[string][]string{}
	for name, f := range families {
		kinds[name] = strings.ToLower(f.GetType().String())
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
		for _, m := range f.GetMetric() {
			var pairs []string
			for _, l := range m.GetLabel() {
				if l.GetValue() != "" {
					pairs = append(pairs, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
				}
				if !slices.Contains(labels[name], l.GetName()) {
					labels[name] = append(labels[name], l.GetName())
				}
			}
			key := name
			if len(pairs) > 0 {
				key += "{" + strings.Join(pairs, ",") + "}"
			}
			values[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			if h := m.GetHistogram(); h != nil {
				values[key] = float64(h.GetSampleCount())
			}
		}
	}
	return values, kinds, labels
}

// metric is one value, -1 when it is not there; of a histogram the count.
func metric(t testing.TB, body, key string) float64 {
	t.Helper()
	values, _, _ := exposed(t, body)
	if v, ok := values[key]; ok {
		return v
	}
	return -1
}

// settled waits until nothing waits on the bus, in or out.
func (b *bot) settled() {
	b.t.Helper()
	b.empty("")
}

// sent waits until all that was sent has its receipt: what a kill cuts off
// before that is sent again, and Telegram cannot recognise it.
func (b *bot) sent() {
	b.t.Helper()
	b.empty(`queue="out"`)
}

func (b *bot) empty(queue string) {
	b.t.Helper()
	var body string
	b.until("nothing waits", func() bool {
		_, body = b.get("/metrics")
		values, _, _ := exposed(b.t, body)
		queues, left := 0, 0.0
		for key, n := range values {
			if strings.HasPrefix(key, "magpie_queue_messages{") && strings.Contains(key, queue) {
				queues, left = queues+1, left+n
			}
		}
		return queues > 0 && left == 0
	}, func() string { return body })
}

// What happens is counted, with labels of which there are few; and what the
// dashboard and the alarms ask for is what the program says.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.models = fmt.Sprintf("[{name: main, provider: openai, base_url: %s, api_key: sk-test, model: scripted, price: {input: 1000000, output: 2000000}}]", w.model.OpenAI())
	used := modelserver.Usage{Input: 100, Output: 10}
	w.model.Script(
		modelserver.Answer{Calls: []modelserver.Call{{Name: "current_time", Args: "{}"}}, Usage: used},
		modelserver.Answer{Calls: []modelserver.Call{{Name: "no_such_tool", Args: "{}"}}, Usage: used},
		modelserver.Answer{Text: "done", Usage: used},
	)
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.command(path, 0, "", "cron", "add", "telegram:1001", "in 3 seconds", "tea")
	w.wait(owner, "the reminder", func(m []telegram.Message) bool { return count(m, "tea") == 1 })
	w.say("what time is it?")
	w.wait(owner, "answer", func(m []telegram.Message) bool { return count(m, "done") == 1 })
	var values map[string]float64
	var kinds map[string]string
	var labels map[string][]string
	b.until("the message is counted as sent", func() bool {
		_, body := b.get("/metrics")
		values, kinds, labels = exposed(t, body)
		// A turn is counted when all that follows from it is done.
		return values[`magpie_turns_total{state="committed"}`] == 2 && values[`magpie_turn_duration_seconds{channel="telegram"}`] == 2 &&
			values[`magpie_outbound_events_total{channel="telegram",event="sent"}`] == 2 && values[`magpie_queue_messages{channel="telegram",queue="out"}`]+values[`magpie_queue_messages{queue="in"}`] == 0 &&
			values[`magpie_cron_jobs`] == 0 // the table tells of it a moment later
	}, func() string { return fmt.Sprint(values) })
	for key, want := range map[string]float64{
		`magpie_inbound_messages_total{channel="telegram"}`:                          1,
		`magpie_outbound_events_total{channel="telegram",event="undeliverable"}`:     0,
		`magpie_turns_total{state="committed"}`:                                      2, // the reminder is overheard in one of its own
		`magpie_turn_duration_seconds{channel="telegram"}`:                           2,
		`magpie_tool_calls_total{category="system",result="ok",tool="current_time"}`: 1,
		`magpie_tool_calls_total{result="failed"}`:                                   1,
		`magpie_tool_duration_seconds{tool="current_time"}`:                          1,
		`magpie_tool_duration_seconds{tool="no_such_tool"}`:                          0,
		`magpie_model_calls_total{model="main",result="ok"}`:                         3,
		`magpie_model_calls_total{model="main",result="failed"}`:                     0,
		`magpie_model_duration_seconds{model="main"}`:                                3,
		`magpie_model_tokens_total{kind="input",model="main"}`:                       300,
		`magpie_model_tokens_total{kind="output",model="main"}`:                      30,
		`magpie_model_cost_usd_total{model="main"}`:                                  360,
		`magpie_model_resting{model="main"}`:                                         0,
		`magpie_queue_messages{queue="in"}`:                                          0,
		`magpie_queue_oldest_seconds{queue="in"}`:                                    0,
		`magpie_queue_oldest_seconds{channel="telegram",queue="out"}`:                0,
		`magpie_dead_letters{queue="in"}`:                                            0,
		`magpie_redeliveries_total{queue="out"}`:                                     0,
		`magpie_channel_connected{channel="telegram"}`:                               1,
		`magpie_channel_stopped{channel="telegram"}`:                                 0,
		`magpie_channel_reconnects_total{channel="telegram"}`:                        0,
		`magpie_bus_connected`:                                                       1,
		`magpie_store_full`:                                                          0,
		`magpie_cron_slots_total{kind="on_time"}`:                                    1,
		`magpie_cron_lateness_seconds`:                                               1,
		`magpie_cron_jobs`:                                                           0,
	} {
		if got := values[key]; got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes", "magpie_store_used_bytes", "magpie_store_limit_bytes", `magpie_channel_last_event_timestamp_seconds{channel="telegram"}`} {
		if values[name] <= 0 {
			t.Errorf("%s is %v", name, values[name])
		}
	}
	few := []string{"channel", "tool", "model", "queue", "state", "stat", "result", "event", "kind", "category", "version"}
	for name, has := range labels {
		for _, l := range has {
			if strings.HasPrefix(name, "magpie_") && !slices.Contains(few, l) {
				t.Errorf("%s has a label %q: only what has few values may be one", name, l)
			}
		}
	}
	m := &metricNames{kinds: kinds, labels: labels, values: values}
	m.checkAlerts(t)
	m.checkDashboard(t)
	m.checkEvents(t)
	if left := m.unseen(); len(left) > 0 {
		t.Errorf("no panel and no alarm shows %q", left)
	}
}
