package system

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"magpie/tools"
)

//go:embed sleep.md
var sleepText string

// DefaultMaxSleep is the longest sleep: a turn holds up its chat meanwhile.
const DefaultMaxSleep = 5 * time.Minute

// sleepSlack is what the tool's timeout leaves beyond the longest sleep.
const sleepSlack = 10 * time.Second

type sleepIn struct {
	Duration float64 `json:"duration" jsonschema:"Seconds to wait; fractions such as 0.5 are possible." rule:"min=0"`
}

// Sleep makes sleep. longest bounds it; 0 is DefaultMaxSleep.
func Sleep(longest time.Duration) tools.Tool {
	if longest <= 0 {
		longest = DefaultMaxSleep
	}
	spec := tools.Spec{
		Name: "sleep", Description: strings.TrimSpace(sleepText), Category: tools.System, Effect: tools.Reads,
		Main: "duration", Timeout: longest + sleepSlack, Aliases: map[string]string{"seconds": "duration"},
	}
	return tools.New(spec, func(ctx context.Context, _ tools.Scope, in sleepIn) (tools.Result, error) {
		if in.Duration > longest.Seconds() {
			return tools.Result{}, tools.Errorf(tools.InvalidArgs, "%g seconds is too long; want at most %g, or set a reminder", in.Duration, longest.Seconds())
		}
		timer := time.NewTimer(time.Duration(in.Duration * float64(time.Second)))
		defer timer.Stop()
		select {
		case <-timer.C:
			return tools.Result{Text: fmt.Sprintf("slept %g seconds", in.Duration)}, nil
		case <-ctx.Done():
			return tools.Result{}, context.Cause(ctx)
		}
	})
}
