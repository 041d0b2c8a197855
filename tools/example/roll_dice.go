// Package example is a custom tool as docs/adding-a-tool.md shows it:
// roll_dice. No program registers it; a test builds and runs it.
package example

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"magpie/tools"
)

//go:embed roll_dice.md
var rollDiceText string

type rollIn struct {
	Count int `json:"count,omitempty" jsonschema:"How many dice." rule:"min=1,max=20,default=1"`
	Sides int `json:"sides" jsonschema:"How many sides each has." rule:"min=2,max=1000"`
}

// RollDice makes roll_dice. random returns a number from 0 to n-1.
func RollDice(random func(n int) int) tools.Tool {
	spec := tools.Spec{
		Name:        "roll_dice",
		Description: strings.TrimSpace(rollDiceText),
		Category:    tools.Custom,
		Effect:      tools.Reads,
		Aliases:     map[string]string{"number": "count", "faces": "sides"},
	}
	return tools.New(spec, func(_ context.Context, _ tools.Scope, in rollIn) (tools.Result, error) {
		if in.Sides%2 != 0 {
			return tools.Result{}, tools.Errorf(tools.InvalidArgs,
				"there is no die with %d sides; want an even number such as 6 or 20", in.Sides)
		}
		var rolled []string
		sum := 0
		for range in.Count {
			n := random(in.Sides) + 1
			rolled = append(rolled, fmt.Sprint(n))
			sum += n
		}
		return tools.Result{Text: fmt.Sprintf("%s (sum %d)", strings.Join(rolled, ", "), sum)}, nil
	})
}
