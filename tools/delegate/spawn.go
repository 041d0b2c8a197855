// Package delegate holds the tool with which the agent gives work away, spawn.
// Who does the work is the Spawner's business. It starts no goroutine.
package delegate

import (
	"context"
	_ "embed"
	"strings"

	"magpie/tools"
)

//go:embed spawn.md
var spawnText string

// Spawner starts background tasks.
type Spawner interface {
	// Spawn starts a task for the call of sc, once however often that call is
	// made, and returns what the model is told. With wait it blocks until the
	// task has ended, or ctx has, and bounds itself; the result is the report
	// then.
	Spawn(ctx context.Context, sc tools.Scope, task, label string, wait bool) (tools.Result, error)
}

type spawnIn struct {
	Task  string `json:"task" jsonschema:"What is to be done, with all that is needed to know." rule:"minlen=1,maxlen=60000"`
	Label string `json:"label,omitempty" jsonschema:"A few words that name the task to people." rule:"maxlen=200"`
	Wait  bool   `json:"wait,omitempty" jsonschema:"Wait for the report and return it. Only when the answer needs it: the chat is busy meanwhile."`
}

// Spawn makes spawn. Its effect is reads: the same call leads to the same task
// whenever it is repeated, so it may stand beside others and needs no intent;
// what the task itself does is judged call by call.
func Spawn(s Spawner) tools.Tool {
	spec := tools.Spec{
		Name: "spawn", Description: strings.TrimSpace(spawnText), Category: tools.System, Effect: tools.Reads, Main: "task",
		Timeout: -1, // the Spawner bounds a wait, and nothing else takes time
		Aliases: map[string]string{"prompt": "task", "message": "task", "name": "label", "title": "label"},
	}
	return tools.New(spec, func(ctx context.Context, sc tools.Scope, in spawnIn) (tools.Result, error) {
		return s.Spawn(ctx, sc, in.Task, in.Label, in.Wait)
	})
}
