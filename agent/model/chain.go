package model

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"magpie/agent/llm"
)

// Options are the optional parts of a Chain.
type Options struct {
	// Ledger counts what is used and enforces the budgets; nil counts nothing.
	Ledger *Ledger
	Tried  func(Try)        // is told of every call; nil = nobody is
	Now    func() time.Time // nil = time.Now
	Log    *slog.Logger     // nil = silent
}

// Try is one call of a model.
type Try struct {
	Model string
	Took  time.Duration
	Usage llm.Usage // zero for a model that is not metered
	USD   float64
	Err   error // nil: it answered
}

// Chain asks the first model that can answer. Safe for concurrent use.
type Chain struct {
	links  atomic.Pointer[[]*link]
	ledger *Ledger
	tried  func(Try)
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
	c := &Chain{ledger: opts.Ledger, tried: opts.Tried, now: opts.Now, log: opts.Log}
	if c.now == nil {
		c.now = time.Now
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.tried == nil {
		c.tried = func(Try) {}
	}
	if err := c.Update(models); err != nil {
		return nil, err
	}
	return c, nil
}

// Update replaces the models, under the conditions of New; on an error nothing
// changes. Questions that are under way, and who works with a Fixed of before,
// keep the models that they know.
func (c *Chain) Update(models []Model) error {
	if len(models) == 0 {
		return errors.New("no model is configured")
	}
	var links []*link
	names := map[string]bool{}
	for i, m := range models {
		if m.Provider == nil {
			return fmt.Errorf("model %d has no provider", i+1)
		}
		if names[m.Provider.Name()] {
			return fmt.Errorf("two models are named %q", m.Provider.Name())
		}
		names[m.Provider.Name()] = true
		if m.Timeout <= 0 {
			m.Timeout = defaultTimeout
		}
		links = append(links, &link{Model: m})
	}
	c.links.Store(&links)
	return nil
}

// Fixed returns a Chain with the models as they are now; no Update of c changes
// it. Both share the account and what is known of the models' troubles.
func (c *Chain) Fixed() *Chain {
	f := &Chain{ledger: c.ledger, tried: c.tried, now: c.now, log: c.log}
	f.links.Store(c.links.Load())
	return f
}

// Limits returns what the model that is asked first can take.
func (c *Chain) Limits(prefer string) Limits {
	l := c.order(prefer)[0]
	return Limits{Context: l.Context, MaxOutput: l.MaxOutput, Vision: l.Vision}
}

// Models describes the models in the order of the configuration.
func (c *Chain) Models() []Info {
	links := *c.links.Load()
	infos := make([]Info, len(links))
	for i, l := range links {
		infos[i] = Info{Name: l.name(), Context: l.Context, MaxOutput: l.MaxOutput, Vision: l.Vision, Price: l.Price}
		infos[i].Cooling, infos[i].Trouble = l.breaker.state()
	}
	return infos
}

// order returns all models, the preferred one first.
func (c *Chain) order(prefer string) []*link {
	links := *c.links.Load()
	order := make([]*link, 0, len(links))
	for _, l := range links {
		if l.name() == prefer {
			order = append(order, l)
		}
	}
	for _, l := range links {
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
