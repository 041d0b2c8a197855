// Package all registers the built-in tools: one line for each.
package all

import (
	"time"

	"magpie/tools"
	"magpie/tools/fs"
	"magpie/tools/fs/fence"
	"magpie/tools/say"
	"magpie/tools/system"
)

// Deps is what the tools need of the program.
type Deps struct {
	Fence    *fence.Fence     // required
	Skill    fs.SkillLoader   // nil: skills are files
	Outbox   say.Outbox       // required
	Message  *say.Options     // nil: text to the current chat only
	Now      func() time.Time // nil: time.Now
	MaxSleep time.Duration    // 0: system.DefaultMaxSleep
}

// Register adds all built-in tools to reg.
func Register(reg *tools.Registry, d Deps) error {
	return reg.RegisterAll(
		system.CurrentTime(d.Now),
		system.Sleep(d.MaxSleep),
		fs.ReadFile(d.Fence, d.Skill),
		fs.WriteFile(d.Fence),
		fs.ListDir(d.Fence),
		fs.ListFiles(d.Fence),
		say.Message(d.Outbox, d.Message),
	)
}
