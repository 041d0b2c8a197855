package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"magpie/agent"
	"magpie/agent/command"
	"magpie/agent/llm"
	"magpie/agent/llm/anthropic"
	"magpie/agent/llm/offline"
	"magpie/agent/llm/openai"
	"magpie/agent/llm/textcall"
	"magpie/agent/model"
	"magpie/agent/prompt"
	"magpie/agent/settings"
	"magpie/bus"
	"magpie/chat"
	"magpie/config"
	"magpie/media"
)

const (
	// turnGrace is how long a running turn may go on after the stop.
	turnGrace = 4 * time.Second
	// Pictures are made no larger than this for a model: more is not looked at
	// by the vendors, and costs.
	imageSide, imageBytes = 1568, 1 << 20
)

// brain is the agent with what it asks.
type brain struct {
	p        *program
	chain    *model.Chain
	ledger   *model.Ledger
	settings *settings.Store
	agent    *agent.Agent
	// approve lets in a stranger by the code that he was given; the doors set
	// it, since they keep the codes.
	approve func(ctx context.Context, code string) (string, error)
}

func (p *program) newBrain(t *toolbox) (*brain, error) {
	b := &brain{p: p}
	state := p.bus.Table("budgets")
	b.ledger = model.NewLedger(state, &model.LedgerOptions{
		Budget: model.Budget{
			USDPerDay:             p.cfg.Security.Budget.USDPerDay,
			TokensPerDay:          int(p.cfg.Security.Budget.TokensPerDay),
			PerSenderTokensPerDay: int(p.cfg.Security.Budget.PerSenderTokensPerDay),
		},
		Zone: p.cfg.Location(), Log: p.log,
	})
	models, err := p.models()
	if err != nil {
		return nil, err
	}
	b.chain, err = model.New(models, &model.Options{Ledger: b.ledger, Log: p.log})
	if err != nil {
		return nil, err
	}
	b.settings = settings.New(p.bus.Table("sess"), p.cfg.Location())
	writer, err := prompt.New(prompt.Options{
		Workspace: p.cfg.Workspace, SystemFile: p.cfg.Agent.SystemPromptFile, Log: p.log, Platform: p.platform,
	})
	if err != nil {
		return nil, err
	}
	b.agent = agent.New(agent.Ports{
		Model: b.chain, Tools: t.exec, Prompt: writer, Settings: b.settings,
		Commands: b.commands(t),
		Media:    p.files(), History: p.bus.History,
		Publish: p.bus.PublishOutbound,
		Say: func(ctx context.Context, in chat.Inbound) error {
			return p.bus.PublishInbound(ctx, in, false)
		},
		Event: p.bus.Publish,
		Turn:  p.bus.Table("turn"), Sess: p.bus.Table("sess"),
	}, p.agentOptions())
	return b, nil
}

func (p *program) agentOptions() *agent.Options {
	return &agent.Options{
		MaxIterations: p.cfg.Agent.MaxIterations,
		MaxConcurrent: p.cfg.Tools.MaxConcurrent,
		Busy:          agent.Busy(p.cfg.Agent.Busy),
		Debounce:      p.cfg.Agent.Debounce,
		HistoryTokens: p.cfg.Agent.HistoryTokens,
		Workspace:     p.cfg.Workspace,
		Shrink: func(img []byte) ([]byte, string, error) {
			return media.Shrink(img, imageSide, imageBytes)
		},
		Log: p.log,
	}
}

// commands connects the slash commands.
func (b *brain) commands(t *toolbox) *command.Set {
	return command.New(command.Ports{
		Settings: b.settings,
		Buttons:  t.buttons,
		Models:   b.chain.Models,
		Usage:    b.ledger,
		Tools:    t.shown,
		Approve: func(ctx context.Context, code string) (string, error) {
			if b.approve == nil {
				return "", command.ErrNoCode
			}
			return b.approve(ctx, code)
		},
		Admin: b.p.isAdmin,
	}, &command.Options{Log: b.p.log})
}

// isAdmin: the chat page is behind the console's token, so who writes there
// may do everything.
func (p *program) isAdmin(channel, sender string) bool {
	if p.platform(channel) == webType {
		return true
	}
	for _, admin := range p.cfg.Security.Admins {
		if admin == channel+":"+sender {
			return true
		}
	}
	return false
}

// platform returns the type of a channel instance.
func (p *program) platform(channel string) string {
	for _, c := range p.cfg.Channels {
		if c.Name == channel {
			return c.Type
		}
	}
	return channel
}

func (p *program) files() *bus.Media { return p.bus.Media(p.cfg.Media.TTL) }

// models makes a provider of every entry of llm.models.
func (p *program) models() ([]model.Model, error) {
	var all []model.Model
	for _, m := range p.cfg.LLM.Models {
		provider, err := provider(m)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", m.Name, err)
		}
		all = append(all, model.Model{
			Provider: provider, Context: m.ContextTokens, MaxOutput: m.MaxOutputTokens,
			Vision: m.Vision, Timeout: m.Timeout, Unmetered: m.Provider == config.Offline,
			Price: model.Price{Input: m.Price.Input, Output: m.Price.Output},
		})
	}
	return all, nil
}

func provider(m config.Model) (llm.Provider, error) {
	var p llm.Provider
	var err error
	switch m.Provider {
	case config.OpenAI:
		p, err = openai.New(openai.Config{
			Name: m.Name, BaseURL: m.BaseURL, APIKey: m.APIKey, Model: m.Model,
			Timeout: m.Timeout, MaxTokens: m.MaxOutputTokens, Vision: m.Vision,
		})
	case config.Anthropic:
		p, err = anthropic.New(anthropic.Config{
			Name: m.Name, BaseURL: m.BaseURL, APIKey: m.APIKey, Model: m.Model,
			Timeout: m.Timeout, MaxTokens: m.MaxOutputTokens, Vision: m.Vision,
		})
	default:
		return offline.New(m.Name), nil
	}
	if err != nil || m.ToolCalls == "native" {
		return p, err
	}
	return textcall.Wrap(p, textcall.Format(m.ToolCalls)), nil
}

// isOffline says that no model at all is configured.
func (p *program) isOffline() bool {
	return p.cfg.LLM.Models[0].Provider == config.Offline
}

// work runs turns until ctx ends.
func (b *brain) work(ctx context.Context) error {
	return b.p.bus.Own(ctx, b.own, &bus.WorkerOptions{Turns: b.p.cfg.Agent.MaxTurns, Grace: turnGrace})
}

// own gives one chat's mailbox to the agent, in the agent's terms.
func (b *brain) own(ctx context.Context, mb *bus.Mailbox) error {
	held, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(asLost(context.Cause(ctx))) })()
	return b.agent.Own(held, mb.Session(), mailbox{mb})
}

// mailbox is a bus.Mailbox whose errors the agent understands.
type mailbox struct{ *bus.Mailbox }

func (m mailbox) Commit(ctx context.Context, r chat.Record) error {
	return asLost(m.Mailbox.Commit(ctx, r))
}

func asLost(err error) error {
	if errors.Is(err, bus.ErrLost) {
		return fmt.Errorf("%w: %w", agent.ErrLost, err)
	}
	return err
}
