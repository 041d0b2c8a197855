package intent_test

import (
	"testing"
	"time"

	"magpie/cron/intent"
)

// Behind /remind people go on as behind "remind".
func TestCommandGoesOn(t *testing.T) {
	c := intent.Context{Now: time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC), Zone: time.UTC, Command: true}
	for said, want := range map[string]string{"me tomorrow at 3pm to call Bob": "call Bob", "us tomorrow at 3pm to meet": "meet", "tomorrow at 3pm call Bob": "call Bob"} {
		in := intent.Read(said, c)
		if in.Kind != intent.Create || in.Text != want || len(in.Times) != 1 || in.Times[0].At.Hour() != 15 {
			t.Errorf("/remind %s: %s %q %v", said, in.Kind, in.Text, in.Times)
		}
	}
}

// A change of a number of the list is one behind /remind too.
func TestCommandChanges(t *testing.T) {
	c := intent.Context{Now: time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC), Zone: time.UTC, Command: true}
	for said, want := range map[string]intent.Op{
		"move 1 to 7pm": intent.Move, "move 1 tomorrow at 9": intent.Move, "改到 1 明天晚上七点": intent.Move, "改到1明天晚上七点": intent.Move,
		"cancel 1": intent.Remove, "删除 2": intent.Remove, "skip 2": intent.Skip, "pause 3": intent.Pause,
	} {
		if in := intent.Read(said, c); in.Kind != intent.Change || in.Op != want || in.Ref.Number == 0 {
			t.Errorf("/remind %s: %s %s %+v", said, in.Kind, in.Op, in.Ref)
		}
	}
	for _, said := range []string{"move the car at 7pm", "change 2 tyres tomorrow at 9am", "run 5 km at 7pm", "skip 2 meals tomorrow at 9am"} {
		if in := intent.Read(said, c); in.Kind != intent.Create {
			t.Errorf("/remind %s: %s %s", said, in.Kind, in.Op)
		}
	}
}
