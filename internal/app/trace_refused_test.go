package app_test

import (
	"strings"
	"testing"

	"magpie/internal/fakes/telegram"
)

// A message that was not taken in shows why, by its id and by its trace, as far
// as an answer tells it; of others the error says that there may be no trace.
func TestTraceOfWhatWasNotTakenIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.door = `allow: ["1001"], stream: false`
	w.tg.AddPerson(telegram.Person{ID: 7, Name: "Bea"})
	path, listen := w.config("bot")
	replaceIn(t, path, `per_sender: ""`, "per_sender: 1/10h")
	b := w.startWith(path, listen)
	b.ready()
	w.tg.Say(telegram.Said{From: 7, Text: "a secret"})
	w.wait(7, "the code", func(m []telegram.Message) bool { return len(m) == 1 })
	w.tg.Say(telegram.Said{From: 7, Text: "again"}) // is not answered: a code was offered just now
	w.ask("hello")
	w.tg.Say(telegram.Said{From: owner, Text: "too fast"})
	w.wait(owner, "the refusal", func(m []telegram.Message) bool { return count(m, "Too fast") == 1 })
	b.settled()
	for id, c := range map[string]struct{ chat, why string }{
		"telegram:telegram:7:1":    {"telegram/7", "the sender is not paired, and was answered with a pairing code (bot pair list)"},
		"telegram:telegram:1001:3": {"telegram/1001", "the sender wrote more than security.rate_limit allows"},
	} {
		got := inJSON[way](w, path, "trace", id)
		if got.steps() != "not taken in, sent, receipt" || got.detail("not taken in") != c.why || got.Chat != c.chat || len(got.Traces) != 1 {
			t.Errorf("%s shows %+v", id, got)
			continue
		}
		if again := inJSON[way](w, path, "trace", got.Traces[0]); again.steps() != got.steps() {
			t.Errorf("the trace of %s shows %+v", id, again)
		}
	}
	w.command(path, 1, "its sender is not paired, or wrote too fast", "trace", "telegram:telegram:7:3")
	if shown := w.output(path, "trace", "telegram:telegram:7:1"); strings.Contains(shown, "a secret") || !strings.Contains(shown, "pairing code") {
		t.Errorf("people are shown\n%s", shown)
	}
}
