package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"magpie/agent/buttons"
	"magpie/agent/command"
	"magpie/chat"
	"magpie/config"
	"magpie/tools"
	"magpie/tools/all"
	"magpie/tools/fs"
	"magpie/tools/fs/fence"
	"magpie/tools/say"
)

// toolbox is everything about tools that others need.
type toolbox struct {
	p       *program
	exec    *tools.Executor
	buttons *buttons.Registry
	fence   *fence.Fence
	audit   *tools.Audit // nil: switched off
}

// openTools opens the workspace and registers the tools.
func (p *program) openTools(ctx context.Context) (t *toolbox, err error) {
	t = &toolbox{p: p, buttons: buttons.New(p.bus.Table("buttons"), nil)}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if t.fence, err = openFence(p.cfg); err != nil {
		return t, err
	}
	if p.cfg.Security.AuditLogEnabled {
		t.audit, err = tools.OpenAudit(ctx, auditDir(p.cfg), p.bus.Table("audit"))
		if err != nil {
			return t, err
		}
	}
	policy, err := policy(p.cfg.Tools.Policy)
	if err != nil {
		return t, err
	}
	reg := &tools.Registry{}
	if err := all.Register(reg, all.Deps{Fence: t.fence, Outbox: outbox{p}, Message: t.message()}); err != nil {
		return t, err
	}
	t.exec = tools.NewExecutor(reg, &tools.Options{
		Timeout: p.cfg.Tools.Timeout, NetworkTimeout: p.cfg.Tools.NetworkTimeout,
		MaxResultChars: p.cfg.Tools.MaxResultChars, Enabled: p.cfg.Tools.Enabled,
		Policy: policy, Keep: fs.Keep(t.fence), Audit: t.audit,
		Events: p.bus.Publish, Log: p.log, Redact: tools.NewRedactor(p.secrets()),
	})
	return t, nil
}

func openFence(cfg *config.Config) (*fence.Fence, error) {
	return fence.New(cfg.Workspace, &fence.Options{
		Allowed:     cfg.Tools.AllowedPaths,
		Anywhere:    !cfg.Tools.RestrictToWorkspace,
		ResolveDots: cfg.Tools.PathPolicy == "resolve",
		FollowLinks: cfg.Tools.Symlinks == "inside",
	})
}

func policy(rules []config.Rule) (*tools.Policy, error) {
	var all []tools.Rule
	for _, r := range rules {
		all = append(all, tools.Rule{Tool: r.Tool, Match: r.Match, Channel: r.Channel, Sender: r.Sender, Action: tools.Action(r.Action)})
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
	if t.fence != nil {
		errs = errors.Join(errs, t.fence.Close())
	}
	return errs
}

// message connects the message tool. Another chat than the current one may be
// written to for administrators only, and policy may forbid it even then.
func (t *toolbox) message() *say.Options {
	return &say.Options{
		Elsewhere: func(_ context.Context, sc tools.Scope, to chat.Address) error {
			if !t.p.isAdmin(sc.Addr.Channel, sc.Sender.ID) {
				return errors.New("only an administrator may have messages sent to other chats")
			}
			for _, c := range t.p.cfg.Channels {
				if c.Name == to.Channel && c.Enabled {
					return nil
				}
			}
			return fmt.Errorf("there is no channel %q", to.Channel)
		},
		Buttons:  t.makeButtons,
		Files:    t.fence,
		Media:    t.p.files(),
		MaxBytes: t.p.cfg.Media.MaxBytes,
	}
}

// makeButtons makes buttons that say their label when they are pressed, one a
// row so that long labels can be read on a phone.
func (t *toolbox) makeButtons(ctx context.Context, sc tools.Scope, labels []string) ([][]chat.Button, error) {
	choices := make([]buttons.Choice, len(labels))
	for i, label := range labels {
		choices[i] = buttons.Choice{Label: label}
	}
	made, err := t.buttons.Make(ctx, buttons.Spec{Addr: sc.Addr, Once: true, Action: buttons.SayAction}, choices)
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

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
