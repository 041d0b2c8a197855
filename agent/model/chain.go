package model

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"magpie/agent/llm"
)

// Options are the optional parts of a Chain.
type Options struct {
	// Ledger counts what is used and enforces the budgets; nil counts nothing.
	Ledger *Ledger
	Now    func() time.Time // nil = time.Now
	Log    *slog.Logger     // nil = silent
}

// Chain asks the first model that can answer. Safe for concurrent use.
type Chain struct {
	links  []*link
	ledger *Ledger
	now    func() time.Time
	log    *slog.Logger
}

// link is a model with its state.
type link struct {
	Model
	breaker breaker
}

func (l *link) name() string { return l.Provider.Name() }

// New returns a Chain over models: the first is the default, the others are
// its fall-backs in that order. It refuses an empty list and equal names.
func New(models []Model, opts *Options) (*Chain, error) {
	if opts == nil {
		opts = &Options{}
	}
	c := &Chain{ledger: opts.Ledger, now: opts.Now, log: opts.Log}
	if c.now == nil {
		c.now = time.Now
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if len(models) == 0 {
		return nil, errors.New("no model is configured")
	}
	names := map[string]bool{}
	for i, m := range models {
		if m.Provider == nil {
			return nil, fmt.Errorf("model %d has no provider", i+1)
		}
		if names[m.Provider.Name()] {
			return nil, fmt.Errorf("two models are named %q", m.Provider.Name())
		}
		names[m.Provider.Name()] = true
		if m.Timeout <= 0 {
			m.Timeout = defaultTimeout
		}
		c.links = append(c.links, &link{Model: m})
	}
	return c, nil
}

// Limits returns what the model that is asked first can take.
func (c *Chain) Limits(prefer string) Limits {
	l := c.order(prefer)[0]
	return Limits{Context: l.Context, MaxOutput: l.MaxOutput, Vision: l.Vision}
}

// Models describes the models in the order of the configuration.
func (c *Chain) Models() []Info {
	infos := make([]Info, len(c.links))
	for i, l := range c.links {
		infos[i] = Info{Name: l.name(), Context: l.Context, MaxOutput: l.MaxOutput, Vision: l.Vision, Price: l.Price}
		infos[i].Cooling, infos[i].Trouble = l.breaker.state()
	}
	return infos
}

// order returns all models, the preferred one first.
func (c *Chain) order(prefer string) []*link {
	order := make([]*link, 0, len(c.links))
	for _, l := range c.links {
		if l.name() == prefer {
			order = append(order, l)
		}
	}
	for _, l := range c.links {
		if l.name() != prefer {
			order = append(order, l)
		}
	}
	return order
}

// Ask returns the reply of the first model that answers. It blocks for at most
// the tries of all models; ctx ends it at once. Errors: ctx's cause; *OverBudget,
// before anything was asked of that model, or an error of the ledger's table
// when the budget cannot be known; an *llm.Error of kind TooLong when
// the conversation does not fit and no larger model answers; else
// *Unavailable.
func (c *Chain) Ask(ctx context.Context, q Question) (llm.Reply, error) {
	a := &asking{chain: c, q: q}
	var resting []*link
	for _, l := range c.order(q.Prefer) {
		if !l.breaker.ready(c.now()) {
			resting = append(resting, l)
			continue
		}
		if reply, over, err := a.ask(ctx, l, maxTries); over {
			return reply, err
		}
	}
	// Nothing else is left: a model that was avoided gets one try, because a
	// person who has just repaired it should not have to wait.
	for _, l := range resting {
		if reply, over, err := a.ask(ctx, l, 1); over {
			return reply, err
		}
	}
	if a.tooLong != nil {
		return llm.Reply{}, a.tooLong
	}
	return llm.Reply{}, &Unavailable{Causes: a.causes}
}
