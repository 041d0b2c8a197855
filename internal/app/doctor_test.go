package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"magpie/internal/app"
)

// findings are what bot doctor --json says of the bot's configuration.
func (w *world) findings(path string) map[string]app.Finding {
	w.t.Helper()
	b := launch(w.t, w.dir, nil, "doctor", "--json", "--config", path)
	b.await("the end of the doctor", b.gone)
	text, _, _ := strings.Cut(b.log.String(), "\n}\n")
	var said struct{ Findings []app.Finding }
	if err := json.Unmarshal([]byte(text+"}"), &said); err != nil {
		w.t.Fatalf("%v: %s", err, b.log.String())
	}
	all := map[string]app.Finding{}
	for _, f := range said.Findings {
		all[f.Check] = f
	}
	return all
}

// TestDoctorOfABusOfItsOwn, reached and not.
func TestDoctorOfABusOfItsOwn(t *testing.T) {
	t.Parallel()
	w := shared(t)
	path, _ := w.config("bot")
	if f := w.findings(path)["bus"]; !f.OK || !strings.Contains(f.Text, "replicas: 1") || !strings.Contains(f.Text, "warning: ") || !strings.Contains(f.Text, "max_payload: 8MB") {
		t.Errorf("%+v", f)
	}
	replaceIn(t, path, "sync: always", "replicas: 3")
	if f := w.findings(path)["bus"]; f.OK || !strings.Contains(f.Todo, "bus.replicas") {
		t.Errorf("a lone server is asked for replicas: %+v", f)
	}
	w.natsURL = "nats://somebody:pass-word@" + freeAddr(t)
	path, _ = w.config("bot")
	if f := w.findings(path)["bus"]; f.OK || !strings.Contains(f.Todo, "reaches bus.url") || strings.Contains(f.Text, "pass-word") {
		t.Errorf("nobody is there: %+v", f)
	}
}
