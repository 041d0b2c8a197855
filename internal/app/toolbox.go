package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"magpie/agent"
	"magpie/agent/approval"
	"magpie/agent/buttons"
	"magpie/agent/command"
	"magpie/agent/memory"
	"magpie/agent/prompt"
	"magpie/agent/settings"
	"magpie/agent/tasks"
	"magpie/chat"
	"magpie/config"
	"magpie/subagent"
	"magpie/tools"
	"magpie/tools/all"
	"magpie/tools/fs"
	"magpie/tools/fs/fence"
	"magpie/tools/fs/origin"
	"magpie/tools/fs/undo"
	"magpie/tools/mcp"
	"magpie/tools/say"
	"magpie/tools/shell"
	"magpie/tools/shell/sandbox"
	"magpie/tools/system"
	"magpie/tools/web/guard"
)

// toolbox is everything about tools that others need.
type toolbox struct {
	p      *program
	exec   *tools.Executor
	redact *tools.Redactor
	undo   *undo.Log
	memory *memory.Store
	mcp    *mcp.Manager
	desk   *approval.Desk
	audit  *tools.Audit // nil: switched off
	board  *tasks.Board
	wear   wear
	bell
}

// bell is what presses and due reminders need besides.
type bell struct {
	buttons   *buttons.Registry
	settings  *settings.Store
	reminders pressing
}

// wear are the outfits that there have been.
type wear struct {
	remote *tools.Registry // the tools of MCP servers, the same under all
	latest *outfit
	wall   func() *sandbox.Sandbox // of what is started beside commands
	// fences are closed at the end only: a turn may still use an old one.
	fences []*fence.Fence
	origin *origin.Index // of files that hold words from outside
	told   sync.Map      // sessions of which it was said that variables are held back
}

// outfit are the built-in tools as one configuration wants them.
type outfit struct {
	cfg   *config.Config
	fence *fence.Fence
	shell *shell.Shell // nil: no commands
	env   *system.Env
	reg   *tools.Registry
	opts  *tools.Options
}

// openTools opens the workspace and registers the tools.
func (p *program) openTools(ctx context.Context) (t *toolbox, err error) {
	t = &toolbox{p: p, board: tasks.NewBoard(p.bus.Table("tasks"), nil), redact: p.redact, wear: wear{remote: &tools.Registry{}, wall: newWall(p.cfg, p.log)}}
	t.buttons = buttons.New(p.bus.Table("buttons"), &buttons.Options{Actions: map[string]buttons.Action{
		approval.ActionName: func(ctx context.Context, pressed buttons.Pressed) (buttons.Result, error) {
			return t.desk.Action(ctx, pressed)
		},
		noticeAction:   p.pressNotice,
		reminderAction: t.pressReminder,
	}})
	t.settings, t.reminders = settings.New(p.bus.Table("sess"), p.cfg.Location()), p.desk()
	t.desk = approval.New(approval.Options{
		Table: p.bus.Table("approvals"), Buttons: t.buttons, Publish: p.bus.PublishOutbound, Waits: t.waits,
		Admins: p.cfg.Security.Admins, Redact: t.redact.Known, Log: p.log,
		Over: func(cause error) bool { return errors.Is(cause, agent.ErrStopped) || subagent.Ended(cause) },
	})
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if p.cfg.Security.AuditLogEnabled {
		t.audit, err = tools.OpenAudit(ctx, auditDir(p.cfg), p.bus.Table("audit"))
		if err != nil {
			return t, err
		}
	}
	if t.wear.origin, err = origin.Open(origin.Options{File: filepath.Join(p.cfg.DataDir, "origin.jsonl"), Trouble: func(err error) {
		p.log.Error("it is not noted on the disk which files hold words from outside", "err", err)
	}}); err != nil {
		return t, err
	}
	if t.undo, err = undo.Open(filepath.Join(p.cfg.DataDir, "undo")); err != nil {
		return t, err
	}
	t.memory = memory.New(p.bus.Table("memory"), nil)
	if t.wear.latest, err = t.equip(p.cfg); err != nil {
		return t, err
	}
	t.mcp = t.newMCP(t.wear.latest.fence)
	t.exec = tools.NewExecutor(t.wear.latest.reg, t.wear.latest.opts)
	return t, nil
}

// change makes the tools anew; on an error those of before stay.
func (t *toolbox) change(cfg *config.Config) error {
	o, err := t.equip(cfg)
	if err != nil {
		return err
	}
	t.wear.latest = o
	t.exec.Update(o.reg, o.opts)
	return nil
}

// equip makes the built-in tools as cfg wants them; nothing is in force yet.
func (t *toolbox) equip(cfg *config.Config) (*outfit, error) {
	o := &outfit{cfg: cfg, reg: &tools.Registry{Under: t.wear.remote}}
	policy, err := policy(cfg.Tools.Policy)
	if err != nil {
		return nil, err
	}
	if t.wear.latest != nil && reflect.DeepEqual(t.fenceOptions(cfg), t.fenceOptions(t.wear.latest.cfg)) {
		o.fence = t.wear.latest.fence
	} else {
		if o.fence, err = openFence(cfg, t.fenceOptions(cfg)); err != nil {
			return nil, err
		}
		t.wear.origin.Move(o.fence.Folders())
		t.wear.fences = append(t.wear.fences, o.fence)
	}
	if err := t.register(o); err != nil {
		return nil, err
	}
	o.opts = &tools.Options{
		Timeout: cfg.Tools.Timeout, NetworkTimeout: cfg.Tools.NetworkTimeout,
		MaxResultChars: cfg.Tools.MaxResultChars, Enabled: cfg.Tools.Enabled, Offer: subagent.Offer,
		Policy: policy.Knows(tools.Paths{Names: names(o.fence), Obeyed: origin.Runs}), Keep: fs.Keep(o.fence), Audit: t.audit,
		Events: t.p.meters.watch(t.p.bus.Publish, o.reg.Has), Log: t.p.log, Redact: t.redact, Approver: t.desk,
	}
	return o, nil
}

// register adds the built-in tools.
func (t *toolbox) register(o *outfit) (err error) {
	web, err := webOptions(o.cfg.Tools.Web)
	if err != nil {
		return err
	}
	web.Wall = t.wear.wall
	commands := o.cfg.Tools.Exec
	o.env = system.NewEnv(t.p.bus.Table("env"), commands.Env).For(nil, commands.SetEnv)
	if o.shell, err = t.openShell(o); err != nil {
		return err
	}
	if o.shell != nil {
		o.env = o.env.For(o.shell.Base(), commands.SetEnv)
	}
	return all.Register(o.reg, all.Deps{
		Skill: func(_ context.Context, _ tools.Scope, name string) (string, error) {
			return prompt.LoadSkill(o.cfg.Workspace, name)
		},
		Fence: o.fence, Undo: t.undo, Env: o.env, Memory: t.memory,
		Outbox: outbox{t.p}, Message: t.message(o),
		Web: web, Screen: t.screen(o, web.Guard), Shell: o.shell,
		Later: all.Later{Jobs: t.p.desk(), Remind: t.remindOptions(), Tasks: t.p.newTasks(t.board)},
	})
}

func openFence(cfg *config.Config, o *fence.Options) (*fence.Fence, error) {
	if err := CheckFolders(cfg); err != nil {
		return nil, err
	}
	return fence.New(cfg.Workspace, o)
}

// fenceOptions are those of the program that runs, which knows where files come
// from.
func (t *toolbox) fenceOptions(cfg *config.Config) *fence.Options {
	o := fenceOptions(cfg)
	o.Origin = t.wear.origin
	return o
}

func fenceOptions(cfg *config.Config) *fence.Options {
	return &fence.Options{
		Allowed:     cfg.Tools.AllowedPaths,
		Anywhere:    !cfg.Tools.RestrictToWorkspace,
		ResolveDots: cfg.Tools.PathPolicy == "resolve",
		FollowLinks: cfg.Tools.Symlinks == "inside",
	}
}

// names are the other spellings of a path or URL in the arguments of any tool,
// for the policy.
func names(f *fence.Fence) func(string) []string {
	return func(text string) []string {
		if strings.Contains(text, "://") {
			return guard.Spellings(text)
		}
		return f.Names(text)
	}
}

// newMCP makes the connections to MCP servers; they are made when it runs.
func (t *toolbox) newMCP(f *fence.Fence) *mcp.Manager {
	return mcp.New(mcpServers(t.p.cfg), mcp.Options{
		Registry: t.wear.remote, Media: store{t.p.files()}, Save: saver(f), Dir: t.p.cfg.MCPDir(), Wall: t.wear.wall, Proxy: serverProxy(t.p.cfg),
		Version: t.p.opts.Version, Log: t.p.log, Redact: t.redact.Text,
	})
}

// saver puts files of MCP servers where what comes from outside stands.
func saver(f *fence.Fence) func(name string, data []byte) (string, error) {
	return func(name string, data []byte) (string, error) {
		ext := path.Ext(name)
		name = path.Join("downloads", strings.TrimSuffix(name, ext)+"-"+strings.ToLower(rand.Text()[:4])+ext)
		_, err := f.Write(name, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
		return name, err
	}
}

func mcpServers(cfg *config.Config) []mcp.Server {
	var all []mcp.Server
	for _, s := range cfg.Tools.MCPServers {
		if s.Enabled {
			all = append(all, mcp.Server{
				Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers, Tools: s.Tools,
				Paths: s.Paths, Bare: s.Sandbox == string(sandbox.Off),
			})
		}
	}
	return all
}

// CheckTools says which names of tools in the configuration no tool has: an
// *Error of package config with all of them.
func CheckTools(cfg *config.Config) error {
	known, err := all.Known()
	if err != nil {
		return err
	}
	var errs []error
	check := func(key, name string) {
		if err := known.Misnamed(name); err != nil {
			errs = append(errs, cfg.Errorf(key, "%v", err))
		}
	}
	for i, name := range cfg.Tools.Enabled {
		check(fmt.Sprintf("tools.enabled[%d]", i), strings.TrimPrefix(name, "-"))
	}
	for i, rule := range cfg.Tools.Policy {
		check(fmt.Sprintf("tools.policy[%d].tool", i), rule.Tool)
	}
	return config.Join(errs...)
}

func policy(rules []config.Rule) (*tools.Policy, error) {
	var all []tools.Rule
	for _, r := range rules {
		all = append(all, tools.Rule{Tool: r.Tool, Match: r.Match, Channel: r.Channel, Chat: r.Chat, Sender: r.Sender, Action: tools.Action(r.Action)})
	}
	return tools.NewPolicy(all)
}

// close ends what openTools began.
func (t *toolbox) close() error {
	var errs error
	if t.exec != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		errs = errors.Join(errs, t.exec.Close(ctx))
	}
	if t.audit != nil {
		errs = errors.Join(errs, t.audit.Close())
	}
	if t.wear.origin != nil {
		errs = errors.Join(errs, t.wear.origin.Close())
	}
	if t.undo != nil {
		errs = errors.Join(errs, t.undo.Close())
	}
	for _, f := range t.wear.fences {
		errs = errors.Join(errs, f.Close())
	}
	return errs
}

// message connects the message tool. Another chat than the current one may be
// written to for administrators only, and policy may forbid it even then.
func (t *toolbox) message(o *outfit) *say.Options {
	return &say.Options{
		Elsewhere: t.elsewhere,
		Buttons:   t.makeButtons,
		Files:     o.fence,
		Media:     t.p.files(),
		MaxBytes:  t.p.cfg.Media.MaxBytes,
		Largest:   largest(t.p.cfg),
	}
}

// elsewhere says whether a turn may reach that other chat.
func (t *toolbox) elsewhere(_ context.Context, sc tools.Scope, to chat.Address) error {
	if !t.p.isAdmin(sc.Addr.Channel, sc.Sender.ID) {
		return errors.New("only an administrator may reach other chats")
	}
	if !t.p.delivers(to.Channel) {
		return fmt.Errorf("there is no channel %q", to.Channel)
	}
	return nil
}

// makeButtons makes buttons that say their label when they are pressed, one a
// row so that long labels can be read on a phone.
func (t *toolbox) makeButtons(ctx context.Context, sc tools.Scope, labels []string) ([][]chat.Button, error) {
	choices := make([]buttons.Choice, len(labels))
	for i, label := range labels {
		choices[i] = buttons.Choice{Label: label}
	}
	made, err := t.buttons.Make(ctx, buttons.Spec{Addr: sc.Addr, Once: true, Action: buttons.SayAction, Sources: sc.Sources}, choices)
	if err != nil {
		return nil, err
	}
	rows := make([][]chat.Button, len(made))
	for i, b := range made {
		rows[i] = []chat.Button{b}
	}
	return rows, nil
}

// outbox is the queue of outgoing messages as tools see it.
type outbox struct{ p *program }

func (o outbox) Publish(ctx context.Context, out chat.Outbound) error {
	return o.p.bus.PublishOutbound(ctx, out)
}

// shown is what /tools says.
func (t *toolbox) shown(d chat.Delivery) []command.Tool {
	stats := t.exec.Stats()
	var all []command.Tool
	for _, spec := range t.exec.Specs(tools.Scope{Addr: d.Addr, Sender: d.From, Direct: d.Direct}) {
		s := stats.Tools[spec.Name]
		all = append(all, command.Tool{
			Name: spec.Name, Category: string(spec.Category), About: firstLine(spec.Description),
			Calls: s.Calls, Failures: s.Failures, Average: s.Average, P95: s.P95,
		})
	}
	return all
}

// mcpShown is what /mcp says.
func (t *toolbox) mcpShown() []command.MCPServer {
	var all []command.MCPServer
	for _, s := range t.mcp.States() {
		all = append(all, command.MCPServer{Name: s.Name, Connected: s.Connected, Tools: len(s.Tools), Trouble: s.Err, Stray: s.Stray, Closed: s.Closed})
	}
	return all
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
