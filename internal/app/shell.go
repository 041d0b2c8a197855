package app

import (
	"context"
	"os"
	"slices"
	"time"

	"magpie/chat"
	"magpie/config"
	"magpie/tools"
	"magpie/tools/shell"
	"magpie/tools/shell/sandbox"
	"magpie/tools/system"
)

// openShell prepares the tool exec; nil when the configuration wants none, or
// when this process runs no turns.
func (t *toolbox) openShell(o *outfit) (*shell.Shell, error) {
	if !o.cfg.Tools.Exec.Enabled || !t.p.has(Agent) {
		return nil, nil
	}
	if shell.Missing() {
		t.p.log.Info("there is no shell here, so the tool exec is not offered")
		return nil, nil
	}
	s, err := shell.New(shellConfig(o.cfg, secrets(o.cfg, t.p.token)), shell.Deps{Fence: o.fence, Progress: t.progress,
		Session: func(sc tools.Scope) map[string]string { return t.overlay(o, sc).Vars }, VariablesFrom: func(sc tools.Scope) []chat.Source { return t.overlay(o, sc).From }})
	if err != nil {
		return nil, err
	}
	log := t.p.log.Info
	if s.Report().Kind == sandbox.Off {
		log = t.p.log.Warn
	}
	log("sandbox of commands", "state", s.Report().Text)
	return s, nil
}

// unconfined says why commands run without a wall although one is wanted; ""
// = they have one, or there are none.
func (o *outfit) unconfined() string {
	if o.shell == nil || o.shell.Report().Kind != sandbox.Off || o.cfg.Tools.Exec.Sandbox == string(sandbox.Off) {
		return ""
	}
	return o.shell.Report().Text
}

// overlayWait bounds the look for what a chat has set for its commands.
const overlayWait = 5 * time.Second

// overlay is what a chat has set by set_env.
func (t *toolbox) overlay(o *outfit, sc tools.Scope) system.Overlay {
	ctx, cancel := context.WithTimeout(context.Background(), overlayWait)
	defer cancel()
	set, err := o.env.Overlay(ctx, sc.Addr.Session())
	if err != nil {
		t.p.log.Warn("a command runs without the variables of its chat", "session", sc.Addr.Session(), "trace", sc.Trace, "err", err)
	}
	if _, said := t.wear.told.LoadOrStore(sc.Addr.Session(), true); !said && len(set.Kept) > 0 {
		t.p.log.Warn("commands of a chat no longer see variables that it has set: tools.exec.set_env does not list them",
			"session", sc.Addr.Session(), "names", set.Kept)
	}
	return set
}

func shellConfig(cfg *config.Config, secrets []chat.Secret) shell.Config {
	e := cfg.Tools.Exec
	return shell.Config{
		Workspace: cfg.Workspace, Allowed: cfg.Tools.AllowedPaths, Hidden: hidden(cfg),
		Limits:  shell.Limits{Timeout: e.Timeout, MaxTimeout: e.MaxTimeout, MaxOutput: e.MaxOutputChars},
		Rules:   shell.Rules{Deny: e.DenyPatterns, Allow: e.AllowPatterns, AllowOnly: e.AllowListOnly, Anywhere: !cfg.Tools.RestrictToWorkspace},
		Sandbox: sandbox.Kind(e.Sandbox), Env: e.Env, Secrets: secrets,
	}
}

// hidden is what no command may reach.
func hidden(cfg *config.Config) []string {
	all := []string{cfg.DataDir}
	for _, file := range append(slices.Clone(cfg.Files), cfg.Bus.CredsFile, cfg.Bus.TLS.Key) {
		if _, err := os.Stat(file); err == nil || file == cfg.File && file != "" {
			all = append(all, file)
		}
	}
	return all
}

// progress shows a line of a long call in its chat.
func (t *toolbox) progress(sc tools.Scope, line string) { t.tell(sc, chat.TurnProgress, line) }

// waits says in the chat of a call that it waits for a person, or no longer.
func (t *toolbox) waits(sc tools.Scope, waits bool) {
	kind := chat.TurnGoesOn
	if waits {
		kind = chat.TurnWaits
	}
	t.tell(sc, kind, "")
}

// tell publishes what happens in the turn of a call.
func (t *toolbox) tell(sc tools.Scope, kind chat.EventKind, text string) {
	t.p.bus.Publish(chat.Event{
		V: chat.Version, Kind: kind, At: time.Now(), Addr: sc.Place(), Trace: sc.Trace, Turn: sc.Turn, Text: text,
		Quiet: sc.FromJob,
	})
}
