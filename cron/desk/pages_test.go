package desk_test

import (
	"fmt"
	"strings"
	"testing"

	"magpie/cron/desk"
	"magpie/cron/intent"
)

// What a list has no room for comes with "more", or its button; the numbers go
// on, and mean what they meant when something went in between.
func TestMoreOfAList(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		w.Desk = desk.New(w.jobs, w.notes)
		for n := range 40 {
			w.add(t, w.ann, desk.Ask{At: fmt.Sprintf("2026-12-01T10:%02d", n), Message: fmt.Sprintf("thing %d", n)})
		}
		list := intent.Intent{Kind: intent.Query, What: intent.AskList}
		said, err := w.Do(t.Context(), w.ann, list, desk.Message{})
		if err != nil || strings.Count(said.Text, "\n") != 20 || !strings.Contains(said.Text, "26") || len(said.Buttons) != 1 {
			t.Fatalf("%q, %v", said.Text, err)
		}
		said, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: w.say("more", "更多")})
		if err != nil || !mine || !strings.HasPrefix(said.Text, "21. ") || !strings.Contains(said.Text, "40. ") || strings.Contains(said.Text, "41. ") {
			t.Fatalf("%q, %v", said.Text, err)
		}
		gone := said.Jobs[0]
		if _, err := w.Do(t.Context(), w.ann, change(intent.Remove, intent.Ref{Words: gone.ID}), desk.Message{}); err != nil {
			t.Fatal(err)
		}
		if said, err = w.Press(t.Context(), w.ann, said.Buttons[0][0].Press, ""); err != nil || !strings.HasPrefix(said.Text, "41. ") || len(said.Jobs) != 6 || len(said.Buttons) != 0 {
			t.Fatalf("%q, %v", said.Text, err)
		}
		last := said.Jobs[5]
		if _, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: w.say("more", "更多")}); mine || err != nil {
			t.Errorf("there is no more, but it is taken: %v", err)
		}
		if said, _, err = w.Say(t.Context(), w.ann, desk.Message{Text: w.say("cancel number 46", "删除第46个")}); err != nil || said.Jobs[0].ID != last.ID {
			t.Errorf("%q, %v", said.Text, err)
		}
	})
}
