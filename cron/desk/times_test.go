package desk_test

import (
	"slices"
	"testing"

	"magpie/cron/desk"
)

// A time that was asked about is made as it was chosen: all reminders of the
// sentence, each with its own words.
func TestChosenTimes(t *testing.T) {
	for _, c := range []struct {
		lang, say, answer string
		want              []string
	}{
		{"en", "remind me at 5pm IST tomorrow to join the retro", "the second one", []string{"+join the retro @ 2026-11-26T23:00"}},
		{"en", "mon wed fri at 7am remind me to run", "1", []string{"+run @ 2026-11-27T07:00"}},
		{"en", "mon wed fri at 7am remind me to run", "2", []string{"+run @ 2026-11-27T07:00", "+run @ 2026-11-30T07:00", "+run @ 2026-12-02T07:00"}},
		{"en", "remind me tomorrow at 8 to water the roses, at 9 to ring Paul", "1", []string{"+ring Paul @ 2026-11-26T09:00", "+water the roses @ 2026-11-26T08:00"}},
		{"zh", "明天八点和十点分别提醒我吃药和喝水", "1", []string{"+吃药 @ 2026-11-26T08:00", "+喝水 @ 2026-11-26T10:00"}},
	} {
		w := newWorld(t, c.lang)
		w.Desk = desk.New(w.jobs, w.notes)
		before := w.seen(t)
		if said := w.hear(t, w.ann, c.say); !said.Asked {
			t.Errorf("%s: %q is not asked", c.say, said.Text)
			continue
		}
		said := w.hear(t, w.ann, c.answer)
		if got := difference(before, w.seen(t)); !slices.Equal(got, c.want) {
			t.Errorf("%s, %s: %q\n got %q\nwant %q", c.say, c.answer, said.Text, got, c.want)
		}
	}
}
