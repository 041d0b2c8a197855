// Package all registers the built-in tools: one line for each.
package all

import (
	"time"

	"magpie/agent/memory"
	"magpie/tools"
	"magpie/tools/data"
	"magpie/tools/delegate"
	"magpie/tools/fs"
	"magpie/tools/fs/fence"
	"magpie/tools/fs/undo"
	"magpie/tools/notes"
	"magpie/tools/remind"
	"magpie/tools/say"
	"magpie/tools/screenshot"
	"magpie/tools/shell"
	"magpie/tools/system"
	"magpie/tools/web"
)

// Deps is what the tools need of the program.
type Deps struct {
	Fence   *fence.Fence        // required
	Undo    *undo.Log           // required
	Env     *system.Env         // required
	Memory  *memory.Store       // required
	Skill   fs.SkillLoader      // nil: skills are files
	Outbox  say.Outbox          // required
	Message *say.Options        // nil: text to the current chat only
	Web     *web.Options        // nil: the public web, without search
	Screen  *screenshot.Options // nil: no pictures
	Shell   *shell.Shell        // nil: no commands
	Times
	Later
}

// Times are the clock's part of Deps.
type Times struct {
	Now      func() time.Time // nil: time.Now
	MaxSleep time.Duration    // 0: system.DefaultMaxSleep
}

// Later is what a tool needs that lets things happen without being waited for.
type Later struct {
	Jobs   remind.Desk      // nil: no reminders
	Remind *remind.Options  // nil: those of the current chat only
	Tasks  delegate.Spawner // nil: no background tasks
}

// Known returns a registry of every tool that Register can add, also of those
// that this machine or this configuration lacks. It is for looking things up:
// the tools have nothing to work with.
func Known() (*tools.Registry, error) {
	var (
		jobs  struct{ remind.Desk }
		tasks struct{ delegate.Spawner }
		out   struct{ say.Outbox }
	)
	reg := &tools.Registry{}
	return reg, Register(reg, Deps{
		Fence: new(fence.Fence), Undo: new(undo.Log), Env: new(system.Env), Memory: new(memory.Store), Outbox: out,
		Screen: &screenshot.Options{Chrome: "any"}, Shell: new(shell.Shell), Later: Later{Jobs: jobs, Tasks: tasks},
	})
}

// Register adds all built-in tools to reg.
func Register(reg *tools.Registry, d Deps) error {
	if d.Shell != nil {
		if err := reg.Register(d.Shell.Tool()); err != nil {
			return err
		}
	}
	if d.Tasks != nil {
		if err := reg.Register(delegate.Spawn(d.Tasks)); err != nil {
			return err
		}
	}
	if d.Jobs != nil {
		if err := reg.Register(remind.Tool(d.Jobs, d.Remind)); err != nil {
			return err
		}
	}
	if d.Screen != nil {
		if tool, ok := screenshot.New(d.Screen); ok { // else this machine can take none
			if err := reg.Register(tool); err != nil {
				return err
			}
		}
	}
	files := fs.Editor{Fence: d.Fence, Undo: d.Undo}
	return reg.RegisterAll(append(notes.Tools{Store: d.Memory}.All(),
		system.CurrentTime(d.Now),
		system.Sleep(d.MaxSleep),
		fs.ReadFile(d.Fence, d.Skill),
		files.WriteFile(),
		files.EditFile(),
		files.UndoEdit(),
		files.DeleteFile(),
		files.MoveFile(),
		fs.FileInfo(d.Fence),
		fs.FileSearch(d.Fence),
		fs.ListDir(d.Fence),
		fs.ListFiles(d.Fence),
		data.JSONParse(),
		data.JSONStringify(),
		data.Base64Encode(),
		data.Base64Decode(),
		d.Env.GetEnv(),
		d.Env.SetEnv(),
		say.Message(d.Outbox, d.Message),
		say.SendMedia(d.Outbox, d.Message),
		web.Fetch(d.Web),
		web.Search(d.Web),
		web.Get(d.Web),
		web.Post(d.Web),
		web.Request(d.Web),
	)...)
}
