package model

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"magpie/agent/llm"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	// flushEvery is how long a crash may make the account forget where no
	// budget depends on it.
	flushEvery = 5 * time.Second
	// tableWait bounds one change of the table.
	tableWait = 10 * time.Second
	// keepAccounts is how long a day's accounts can be looked at.
	keepAccounts = 400 * 24 * time.Hour
	// holdMargin is how much longer than its try a hold lives: time to settle.
	holdMargin = time.Minute
)

// LedgerOptions are the optional parts of a Ledger.
type LedgerOptions struct {
	Budget Budget
	Zone   *time.Location   // whose midnight begins a day; nil = time.Local
	Now    func() time.Time // nil = time.Now
	Log    *slog.Logger     // nil = silent
}

// Ledger keeps the account of tokens and money: by day in all, by payer, by
// chat and by model. Several processes may share a table; their sums are
// exact. An account that a budget depends on is written before the reply is
// returned, the others by Run every few seconds. Safe for concurrent use.
type Ledger struct {
	table  kv.Table
	budget atomic.Pointer[Budget]
	zone   *time.Location
	now    func() time.Time
	log    *slog.Logger

	changing chan struct{} // holds one token: one change of a limited account at a time

	mu      sync.Mutex
	pending map[string]Spend // by account, not yet in the table
}

// NewLedger returns a Ledger on table. Run must run for as long as it is used.
func NewLedger(table kv.Table, opts *LedgerOptions) *Ledger {
	if opts == nil {
		opts = &LedgerOptions{}
	}
	l := &Ledger{
		table: table, zone: opts.Zone, now: opts.Now, log: opts.Log,
		changing: make(chan struct{}, 1), pending: map[string]Spend{},
	}
	l.Update(opts.Budget)
	if l.zone == nil {
		l.zone = time.Local
	}
	if l.now == nil {
		l.now = time.Now
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	return l
}

// Update replaces the budget for what is asked from now on.
func (l *Ledger) Update(b Budget) { l.budget.Store(&b) }

// Run writes what has gathered every few seconds, and once more when ctx ends.
// It blocks until then and returns nil.
func (l *Ledger) Run(ctx context.Context) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		done := false
		select {
		case <-ctx.Done():
			done = true
		case <-tick.C:
		}
		if err := l.Flush(context.WithoutCancel(ctx)); err != nil {
			l.log.Warn("usage is not written yet", "err", err)
		}
		if done {
			return nil
		}
	}
}

// Flush writes what has gathered. What cannot be written stays gathered.
func (l *Ledger) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tableWait)
	defer cancel()
	l.mu.Lock()
	batch := l.pending
	l.pending = map[string]Spend{}
	l.mu.Unlock()
	var errs []error
	for key, s := range batch {
		if err := l.change(ctx, key, func(a *account) error { a.Spend = a.add(s); return nil }); err != nil {
			errs = append(errs, err)
			l.gather(key, s)
		}
	}
	return errors.Join(errs...)
}

func (l *Ledger) gather(key string, s Spend) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[key] = l.pending[key].add(s)
}

// change lets fn change an account in the table. fn may run several times.
func (l *Ledger) change(ctx context.Context, key string, fn func(*account) error) error {
	ctx, cancel := context.WithTimeout(ctx, tableWait)
	defer cancel()
	// Goroutines of one process wait here instead of overtaking each other in
	// the table again and again.
	select {
	case l.changing <- struct{}{}:
		defer func() { <-l.changing }()
	case <-ctx.Done():
		return fmt.Errorf("write account %q: %w", key, context.Cause(ctx))
	}
	err := kv.Modify(ctx, l.table, key, keepAccounts, func(old []byte) ([]byte, error) {
		a, err := parseAccount(key, old)
		if err != nil {
			return nil, err
		}
		if err := fn(&a); err != nil {
			return nil, err
		}
		return json.Marshal(a)
	})
	if err != nil {
		return fmt.Errorf("write account %q: %w", key, err)
	}
	return nil
}

// bill is one try in the accounts.
type bill struct {
	model   Model
	session chat.SessionKey
	payer   string
	need    llm.Usage
	day     string
	id      string // of its holds
	holds   []limit
}

// accounts are the keys in which the bill is counted.
func (b *bill) accounts() []string {
	keys := []string{dayKey(b.day), modelKey(b.day, b.model.Provider.Name())}
	if b.session != "" {
		keys = append(keys, sessionKey(b.day, b.session))
	}
	if b.payer != "" {
		keys = append(keys, payerKey(b.day, b.payer))
	}
	return keys
}

func dayKey(day string) string                        { return "day." + day }
func modelKey(day, name string) string                { return "model." + day + "." + name }
func sessionKey(day string, s chat.SessionKey) string { return "session." + day + "." + string(s) }
func payerKey(day, payer string) string {
	return "payer." + day + "." + strings.ToValidUTF8(payer, "?")
}

// uncounted says that a question was not asked because the budget could not be
// read or written.
type uncounted struct{ err error }

func (e *uncounted) Error() string { return "the budget is not known: " + e.err.Error() }
func (e *uncounted) Unwrap() error { return e.err }

// hold sets aside what the try may use at most, or returns *OverBudget or
// *uncounted.
func (l *Ledger) hold(ctx context.Context, b *bill) error {
	if l == nil || b.model.Unmetered {
		return nil
	}
	now := l.now().In(l.zone)
	b.day, b.id = now.Format(time.DateOnly), rand.Text()
	need := b.model.Price.spend(b.need)
	h := held{Tokens: need.Tokens(), Nano: need.Nano, Until: now.Add(b.model.Timeout + holdMargin).Unix()}
	for _, lim := range l.limits(b) {
		err := l.change(ctx, lim.key, func(a *account) error {
			if over := a.reserve(lim, b.id, h, now); over != nil {
				over.Resets = time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, l.zone)
				return over
			}
			return nil
		})
		if err != nil {
			l.settle(ctx, b, llm.Usage{})
			if over := (*OverBudget)(nil); errors.As(err, &over) {
				return over
			}
			return &uncounted{err}
		}
		b.holds = append(b.holds, lim)
	}
	return nil
}

// limits are the budgets that a bill must keep.
func (l *Ledger) limits(b *bill) []limit {
	var all []limit
	budget := l.budget.Load()
	if n := budget.PerSenderTokensPerDay; n > 0 && b.payer != "" {
		all = append(all, limit{key: payerKey(b.day, b.payer), tokens: int64(n), name: perSender})
	}
	if budget.TokensPerDay > 0 || budget.USDPerDay > 0 {
		all = append(all, limit{
			key: dayKey(b.day), tokens: int64(budget.TokensPerDay), name: tokensPerDay,
			nano: int64(budget.USDPerDay*nanos + 0.5),
		})
	}
	return all
}

// settle counts what a try has used and gives back what it held. It does so
// even when ctx has ended: the tokens are spent.
func (l *Ledger) settle(ctx context.Context, b *bill, u llm.Usage) {
	if l == nil || b.model.Unmetered {
		return
	}
	ctx = context.WithoutCancel(ctx)
	s := b.model.Price.spend(u)
	if u != (llm.Usage{}) {
		s.Calls = 1
	}
	written := map[string]bool{}
	for _, lim := range b.holds {
		err := l.change(ctx, lim.key, func(a *account) error {
			delete(a.Holds, b.id)
			a.Spend = a.add(s)
			return nil
		})
		if err != nil { // counted by Run; the hold ends by itself
			l.log.Warn("usage is not written yet", "session", b.session, "err", err)
		}
		written[lim.key] = err == nil
	}
	if s == (Spend{}) {
		return
	}
	for _, key := range b.accounts() {
		if !written[key] {
			l.gather(key, s)
		}
	}
}

// Report is a day's use so far, for /usage.
type Report struct {
	Day                    string // 2006-01-02 in the configured zone
	Total, Session, Sender Spend
	Models                 map[string]Spend
	Budget                 Budget
}

// Report returns today's use: in all, of a chat, of a payer and by model. Use
// by other processes may be a few seconds old.
func (l *Ledger) Report(ctx context.Context, session chat.SessionKey, payer string) (Report, error) {
	r := Report{Day: l.now().In(l.zone).Format(time.DateOnly), Models: map[string]Spend{}, Budget: *l.budget.Load()}
	ctx, cancel := context.WithTimeout(ctx, tableWait)
	defer cancel()
	l.mu.Lock()
	pending := maps.Clone(l.pending)
	l.mu.Unlock()
	for key, into := range map[string]*Spend{
		dayKey(r.Day): &r.Total, sessionKey(r.Day, session): &r.Session, payerKey(r.Day, payer): &r.Sender,
	} {
		e, err := l.table.Get(ctx, key)
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return Report{}, fmt.Errorf("read account %q: %w", key, err)
		}
		a, err := parseAccount(key, e.Value)
		if err != nil {
			return Report{}, err
		}
		*into = a.add(pending[key])
	}
	prefix := modelKey(r.Day, "")
	entries, err := kv.List(ctx, l.table, strings.TrimSuffix(prefix, "."))
	if err != nil {
		return Report{}, fmt.Errorf("list accounts of models: %w", err)
	}
	for _, e := range entries {
		a, err := parseAccount(e.Key, e.Value)
		if err != nil {
			return Report{}, err
		}
		r.Models[strings.TrimPrefix(e.Key, prefix)] = a.Spend
	}
	for key, s := range pending {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			r.Models[name] = r.Models[name].add(s)
		}
	}
	return r, nil
}
