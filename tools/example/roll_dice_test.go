package example_test

import (
	"testing"

	"magpie/tools"
	"magpie/tools/example"
	"magpie/tools/tooltest"
)

func TestRollDice(t *testing.T) {
	tool := example.RollDice(func(n int) int { return n - 1 })
	tooltest.Run(t, tool, &tooltest.Options{Good: []string{`{"sides":6}`, `{"number":"3","faces":20}`}})

	reg := &tools.Registry{}
	if err := reg.Register(tool); err != nil {
		t.Fatal(err)
	}
	exec := tools.NewExecutor(reg, nil)
	for args, want := range map[string]string{
		`{"sides":6}`:           "6 (sum 6)",
		`{"sides":6,"count":2}`: "6, 6 (sum 12)",
		`{"sides":7}`:           "error (invalid_arguments): there is no die with 7 sides; want an even number such as 6 or 20",
	} {
		if res := exec.Run(t.Context(), tools.Scope{}, "roll_dice", args); res.Text != want {
			t.Errorf("%s: want %q, got %q", args, want, res.Text)
		}
	}
}
