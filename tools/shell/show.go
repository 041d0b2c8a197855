package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"magpie/tools"
)

// show is what a command will really be: the whole line, where it runs, and the
// environment as far as it differs from that of every command.
func (s *Shell) show(_ context.Context, sc tools.Scope, args json.RawMessage) (tools.Shown, error) {
	var in execIn
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Shown{}, fmt.Errorf("decode the command: %w", err)
	}
	p, err := s.plan(in)
	if err != nil {
		return tools.Shown{}, err
	}
	// A link may lead elsewhere by the time of the call.
	dir, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		return tools.Shown{}, fmt.Errorf("find the folder %s: %w", p.dir, err)
	}
	var at syscall.Stat_t
	if err := syscall.Stat(dir, &at); err != nil {
		return tools.Shown{}, fmt.Errorf("look at the folder %s: %w", dir, err)
	}
	env := strings.Join(s.differs(s.environment(sc, p.dir)), "\n")
	shown := tools.Shown{
		Parts:   []tools.Part{{Name: "command", Text: in.Command}},
		Setting: "folder: " + dir,
		State:   fmt.Sprint(at.Dev, " ", at.Ino),
	}
	if env != "" {
		shown.Setting += "\nenvironment:\n" + env
		shown.Parts = append(shown.Parts, tools.Part{Name: tools.PartEnv, Text: env})
	}
	shown.Parts = append(shown.Parts, tools.Part{Name: tools.PartFolder, Text: dir})
	if in.Timeout != 0 || in.TimeoutMS != 0 {
		shown.Parts = append(shown.Parts, tools.Part{Name: "timeout", Text: short(p.limit)})
	}
	return shown, nil
}

// differs are the variables of env, NAME=value, that other commands do not have
// so, and NAME for each that is missing.
func (s *Shell) differs(env []string) []string {
	var all []string
	seen := map[string]bool{"PWD": true}
	for _, line := range env {
		name, value, _ := strings.Cut(line, "=")
		usual, known := s.env[name]
		if name != "PWD" && (!known || usual != value) {
			all = append(all, line)
		}
		seen[name] = true
	}
	for name := range s.env {
		if !seen[name] && name != "TMPDIR" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
