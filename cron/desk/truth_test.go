package desk_test

import (
	"strings"
	"testing"
	"time"

	"magpie/cron/desk"
	"magpie/cron/intent"
)

// Undo of what was put off once tells only of what there is.
func TestUndoOfOnce(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		in := change(intent.Move, intent.Ref{Words: w.say("pills", "吃药")})
		in.Shift = span(time.Hour)
		said := w.press(t, w.do(t, in, desk.Message{}), w.say("Undo", "撤销"))
		if !strings.HasPrefix(said.Text, w.say("It is as it was, every day at 21:00", "已恢复原样，每天 21:00")) {
			t.Errorf("says %q", said.Text)
		}
	})
}

// What is named by a time that repeats is none that comes once.
func TestRepeatingTimeNamesNoSingle(t *testing.T) {
	w := worldIn(t, "en", "America/New_York")
	w.Desk = desk.New(w.jobs, w.notes)
	before := w.seen(t)
	_, _, err := w.Say(t.Context(), w.ann, desk.Message{Text: "stop reminding me every day at 7am"})
	if got := difference(before, w.seen(t)); len(got) > 0 {
		t.Errorf("it changes %q, %v", got, err)
	}
}
