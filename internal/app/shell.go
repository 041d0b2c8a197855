package app

import (
	"context"
	"os"
	"slices"
	"time"

	"magpie/chat"
	"magpie/config"
	"magpie/internal/proxy"
	"magpie/tools"
	"magpie/tools/egress"
	"magpie/tools/shell"
	"magpie/tools/shell/sandbox"
	"magpie/tools/system"
	"magpie/tools/web/guard"
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
	way, err := egressProxy(o.cfg)
	if err != nil {
		return nil, err
	}
	s, err := shell.New(shellConfig(o.cfg, secrets(o.cfg, t.p.token)), shell.Deps{
		Fence: o.fence, Proxy: way, Progress: t.progress,
		Session: func(sc tools.Scope) map[string]string { return t.overlay(o, sc).Vars }, VariablesFrom: func(sc tools.Scope) []chat.Source { return t.overlay(o, sc).From },
	})
	if err != nil {
		return nil, err
	}
	log, report := t.p.log.Info, s.Report()
	if report.Kind == sandbox.Off || report.Network == sandbox.Open && o.cfg.Tools.Exec.Network != string(sandbox.Open) {
		log = t.p.log.Warn
	}
	log("sandbox of commands", "state", s.Report().Text)
	return s, nil
}

// egressProxy is how sandboxed programs reach the internet. They share what web
// tools may reach, and the proxy that this program itself goes by.
func egressProxy(cfg *config.Config) (*egress.Proxy, error) {
	g, err := guard.New(&guard.Options{Allow: cfg.Tools.Web.AllowPrivate})
	if err != nil {
		return nil, err
	}
	return egress.New(egress.Options{Guard: g, Hosts: cfg.Tools.Exec.Hosts, Upstream: proxy.Environment}), nil
}

// unconfined says why commands run without a wall, or with the machine's own
// network, although neither was chosen; "" = they do not, or there are none.
func (o *outfit) unconfined() string {
	if o.shell == nil {
		return ""
	}
	e, report := o.cfg.Tools.Exec, o.shell.Report()
	if report.Kind == sandbox.Off && e.Sandbox != string(sandbox.Off) || report.Network == sandbox.Open && report.Kind != sandbox.Off && e.Network != string(sandbox.Open) {
		return report.Text
	}
	return ""
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
		Network: sandbox.Network(e.Network), Listen: e.Listen,
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
