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
