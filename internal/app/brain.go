package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/agent"
	"magpie/agent/command"
	"magpie/agent/llm"
	"magpie/agent/llm/anthropic"
	"magpie/agent/llm/offline"
	"magpie/agent/llm/openai"
	"magpie/agent/llm/textcall"
	"magpie/agent/memory"
	"magpie/agent/model"
	"magpie/agent/prompt"
	"magpie/agent/session"
	"magpie/agent/settings"
	"magpie/bus"
	"magpie/chat"
	"magpie/config"
	"magpie/internal/proxy"
	"magpie/media"
	"magpie/subagent"
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
	pool     *subagent.Pool
	// approve lets in a stranger by the code that he was given; the doors set
	// it, since they keep the codes.
	approve func(ctx context.Context, code string) (string, error)
}

func (p *program) newBrain(t *toolbox) (*brain, error) {
	b := &brain{p: p}
	state := p.bus.Table("budgets")
	b.ledger = model.NewLedger(state, &model.LedgerOptions{
		Budget: budget(p.cfg),
		Zone:   p.cfg.Location(), Log: p.log,
	})
	models, err := models(p.cfg)
	if err != nil {
		return nil, err
	}
	b.chain, err = model.New(models, &model.Options{Ledger: b.ledger, Tried: p.meters.tried, Log: p.log})
	if err != nil {
		return nil, err
	}
	b.settings = settings.New(p.bus.Table("sess"), p.cfg.Location())
	writer, err := prompt.New(prompt.Options{
		Workspace: p.cfg.Workspace, SystemFile: p.cfg.Agent.SystemPromptFile, Log: p.log, Platform: p.platform,
		Memory: recentNotes(t.memory),
	})
	if err != nil {
		return nil, err
	}
	ports := agent.Ports{
		Model: b.chain, Tools: t.exec, Prompt: writer, Settings: b.settings,
		Commands: b.commands(t),
		Media:    shelf{store{p.files()}, p.arrivals()}, History: p.bus.History,
		Publish: p.bus.PublishOutbound,
		Say: func(ctx context.Context, in chat.Inbound) error {
			return p.bus.PublishInbound(ctx, in, false)
		},
		Event: p.meters.watch(p.bus.Publish, func(string) bool { return false }),
		Turn:  p.bus.Table("turn"), Sess: p.bus.Table("sess"),
	}
	b.agent = agent.New(ports, p.agentOptions())
	b.pool = subagent.NewPool(t.board, ports, p.taskOptions())
	b.agent.Update(b.kit(p.cfg, t))
	return b, nil
}

func budget(cfg *config.Config) model.Budget {
	b := cfg.Security.Budget
	return model.Budget{
		USDPerDay: b.USDPerDay, TokensPerDay: int(b.TokensPerDay), PerSenderTokensPerDay: int(b.PerSenderTokensPerDay),
	}
}

// kit is what turns work with that begin now.
func (b *brain) kit(cfg *config.Config, t *toolbox) agent.Kit {
	return agent.Kit{
		Model: b.chain.Fixed(), Tools: t.exec.Fixed(),
		MaxIterations: cfg.Agent.MaxIterations,
		MaxConcurrent: cfg.Tools.MaxConcurrent,
		Busy:          agent.Busy(cfg.Agent.Busy),
		Debounce:      cfg.Agent.Debounce,
		HistoryTokens: cfg.Agent.HistoryTokens,
		Hosts:         namedHosts(cfg),
		Buttons:       t.offered,
		Reply:         t.answered,
		Waiting:       t.desk.Waiting,
	}
}

// namedHosts are the hosts that the configuration names for people to go to: the
// bot's own, those of the MCP servers, and what commands may reach.
func namedHosts(cfg *config.Config) []string {
	all := slices.Clone(cfg.Tools.Exec.Hosts)
	addresses := []string{cfg.Web.PublicURL}
	for _, s := range cfg.Tools.MCPServers {
		addresses = append(addresses, s.URL)
	}
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			all = append(all, u.Host)
		}
	}
	return all
}

func (p *program) agentOptions() *agent.Options {
	return &agent.Options{
		Workspace: p.cfg.Workspace,
		Shrink: func(img []byte) ([]byte, string, error) {
			return media.Shrink(img, imageSide, imageBytes)
		},
		Log:     p.log,
		History: &session.Options{Bytes: readyBytes()},
	}
}

// Of the notes, the prompt shows the latest; the model searches for others.
const promptNotes, promptNoteBytes = 12, 3000

func recentNotes(store *memory.Store) func(context.Context, prompt.Input) (string, error) {
	return func(ctx context.Context, in prompt.Input) (string, error) {
		all, err := store.List(ctx, memory.Of(in.Addr, in.Sender, in.Direct))
		if err != nil || len(all) == 0 {
			return "", err
		}
		var lines, others []string
		bytes := 0
		for i := len(all) - 1; i >= max(0, len(all)-promptNotes); i-- {
			if all[i].FromOutside() { // who needs it reads it, and is tainted then
				others = append(others, strconv.Itoa(i+1))
				continue
			}
			line := "- [" + all[i].At.In(in.Zone).Format(time.DateOnly) + "] " + all[i].Text
			if bytes += len(line); bytes > promptNoteBytes {
				break
			}
			lines = append(lines, line)
		}
		slices.Reverse(lines)
		text := fmt.Sprintf("%d notes; the latest (memory_search finds others):\n%s", len(all), strings.Join(lines, "\n"))
		if len(others) > 0 {
			slices.Reverse(others)
			text += "\n- not shown, since they were made after reading text from outside: " + strings.Join(others, ", ") + " (memory_read with start_line and end_line)"
		}
		return text, nil
	}
}

// commands connects the slash commands.
func (b *brain) commands(t *toolbox) *command.Set {
	return command.New(command.Ports{
		Settings: b.settings,
		Buttons:  t.buttons,
		Models:   b.chain.Models,
		Usage:    b.ledger,

		Tasks:     t.board,
		Approvals: t.desk,
		MCP:       t.mcpShown,
		Tools:     t.shown,
		Approve: func(ctx context.Context, code string) (string, error) {
			if b.approve == nil {
				return "", command.ErrNoCode
			}
			return b.approve(ctx, code)
		},
		Admin:     b.p.isAdmin,
		Kept:      command.Kept{Memory: t.memory, Room: b.p.rooms()},
		Reminders: reminders{b.p.desk(), b.p.now, t.offer, jobShelf{b.p.jobs, b.p.files().Put}, b.p.about()},
	}, &command.Options{Log: b.p.log})
}

// isAdmin: the chat page is behind the console's token, so who writes there
// may do everything.
func (p *program) isAdmin(channel, sender string) bool {
	if p.platform(channel) == webType {
		return true
	}
	for _, admin := range p.config().Security.Admins {
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

// models makes a provider of every entry of llm.models.
func models(cfg *config.Config) ([]model.Model, error) {
	var all []model.Model
	for _, m := range cfg.LLM.Models {
		provider, err := provider(m, &http.Client{Transport: proxy.Transport(m.Proxy)})
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

// provider makes one; client nil = of its own.
func provider(m config.Model, client *http.Client) (llm.Provider, error) {
	var p llm.Provider
	var err error
	switch m.Provider {
	case config.OpenAI:
		p, err = openai.New(openai.Config{
			Name: m.Name, BaseURL: m.BaseURL, APIKey: m.APIKey, Model: m.Model,
			Timeout: m.Timeout, MaxTokens: m.MaxOutputTokens, Vision: m.Vision, HTTP: client,
		})
	case config.Anthropic:
		p, err = anthropic.New(anthropic.Config{
			Name: m.Name, BaseURL: m.BaseURL, APIKey: m.APIKey, Model: m.Model,
			Timeout: m.Timeout, MaxTokens: m.MaxOutputTokens, Vision: m.Vision, HTTP: client,
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
	return b.p.bus.Own(ctx, own(b.agent.Own), &bus.WorkerOptions{Turns: b.p.cfg.Agent.MaxTurns, Grace: turnGrace})
}

// own gives a mailbox to the agent, or to the pool of tasks, in their terms.
func own(to func(context.Context, chat.SessionKey, agent.Mailbox) error) bus.Owner {
	return func(ctx context.Context, mb *bus.Mailbox) error {
		held, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(asLost(context.Cause(ctx))) })()
		return to(held, mb.Session(), mailbox{mb})
	}
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
