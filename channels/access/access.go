// Package access decides whose messages come in: allow lists, groups and
// mentions, pairing codes for strangers, and how fast one person may write. A
// Gate is wrapped around a channel's Sink. It knows no platform and no bus and
// starts no goroutine; what it has to say goes out through Deps.Say.
package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"golang.org/x/time/rate"

	"magpie/channels"
	"magpie/chat"
)

// Config is who may speak. It can be replaced while the Gate works.
type Config struct {
	Allow     []string      // sender ids; "*" = everybody
	Admins    []string      // "<channel>:<sender id>"; always allowed
	Pairing   bool          // a stranger's direct message gets a pairing code
	CodeLife  time.Duration // of a pairing code; 0 = 10 min
	Group     string        // "mention" (or ""): only when addressed; "open": all; "off": none
	Groups    []string      // chat ids; none = any group where an allowed sender speaks
	PerSender string        // "20/1m": messages of one person; "" = no limit
}

// Check says what is wrong with c.
func (c Config) Check() error {
	var all []error
	switch c.Group {
	case "", "mention", "open", "off":
	default:
		all = append(all, fmt.Errorf("group %q: want mention, open or off", c.Group))
	}
	if _, _, err := ParseLimit(c.PerSender); err != nil {
		all = append(all, err)
	}
	for _, a := range c.Admins {
		if channel, id, ok := strings.Cut(a, ":"); !ok || channel == "" || id == "" {
			all = append(all, fmt.Errorf("admin %q: want <channel>:<sender id>", a))
		}
	}
	if c.CodeLife < 0 {
		all = append(all, fmt.Errorf("pairing time %v: want more than 0", c.CodeLife))
	}
	return errors.Join(all...)
}

// Deps is what a Gate needs.
type Deps struct {
	Pairs *Pairs // never nil
	// Say sends an answer to a chat of this channel. It must be durable: what
	// it returns nil for is counted as said.
	Say func(ctx context.Context, out chat.Outbound) error
	// Urgent says which texts pass the rate limit (/stop); nil = none.
	Urgent func(text string) bool
	Log    *slog.Logger // nil = silent
}

// Gate lets the messages through that may come in. Safe for concurrent use.
type Gate struct {
	deps Deps
	cfg  atomic.Pointer[rules]

	limit  limiter
	mu     sync.Mutex
	told   map[string]time.Time
	offers *rate.Limiter // pairing answers to strangers
}

// rules is a Config made ready.
type rules struct {
	Config
	n   int
	per time.Duration
}

// Bounds on what strangers can make the bot do.
const (
	offerPause = time.Minute // between two answers to the same stranger
	offerEvery = 3 * time.Second
	offerBurst = 20
	maxKept    = 10_000 // senders, and groups, kept in memory
)

// New returns a Gate. cfg should have passed Check; what Check refuses is read
// in the strict way: group mention, no rate limit.
func New(cfg Config, deps Deps) *Gate {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Urgent == nil {
		deps.Urgent = func(string) bool { return false }
	}
	g := &Gate{
		deps: deps, told: map[string]time.Time{}, offers: rate.NewLimiter(rate.Every(offerEvery), offerBurst),
		limit: limiter{people: map[string]*window{}, groups: map[string]*window{}},
	}
	g.Update(cfg)
	return g
}

// Update replaces the configuration; messages already inside are not affected.
func (g *Gate) Update(cfg Config) {
	r := &rules{Config: cfg}
	r.n, r.per, _ = ParseLimit(cfg.PerSender)
	if r.CodeLife <= 0 {
		r.CodeLife = 10 * time.Minute
	}
	g.cfg.Store(r)
}

// Wrap returns a Sink that hands to next what may come in and acknowledges
// (with nil) what may not.
func (g *Gate) Wrap(next channels.Sink) channels.Sink {
	return func(ctx context.Context, in chat.Inbound) error {
		if in.Origin != chat.FromPerson {
			return next(ctx, in)
		}
		r := g.cfg.Load()
		ok, err := g.admit(ctx, r, in)
		if err != nil || !ok {
			return err
		}
		ok, giveBack, err := g.withinRate(ctx, r, in)
		if err != nil || !ok {
			return err
		}
		if err := next(ctx, in); err != nil {
			giveBack() // it was not taken, and comes again
			return err
		}
		return nil
	}
}

func (g *Gate) admit(ctx context.Context, r *rules, in chat.Inbound) (bool, error) {
	if !in.Direct && !r.hears(in) {
		return false, nil
	}
	allowed, err := g.allowed(ctx, r, in)
	switch {
	case err != nil:
		return false, fmt.Errorf("look up sender of %q: %w", in.ID, err)
	case allowed:
		return true, nil
	case in.Press != nil:
		return false, g.refusePress(ctx, in)
	case in.Direct && r.Pairing && !in.From.Bot:
		return false, g.offer(ctx, r, in)
	}
	g.deps.Log.DebugContext(ctx, "stranger not heard", "chat", in.Addr.String(), "trace", in.Trace)
	return false, nil
}

// hears reports whether a message in a group is meant for the bot at all.
func (r *rules) hears(in chat.Inbound) bool {
	switch {
	case r.Group == "off", len(r.Groups) > 0 && !slices.Contains(r.Groups, in.Addr.Chat):
		return false
	case r.Group == "open", in.Press != nil:
		return true
	}
	return in.Mentioned
}

func (g *Gate) allowed(ctx context.Context, r *rules, in chat.Inbound) (bool, error) {
	id := in.From.ID
	switch {
	case id == "":
		return false, nil
	case slices.Contains(r.Allow, id), slices.Contains(r.Admins, in.Addr.Channel+":"+id):
		return true, nil
	case in.From.Bot: // "everybody" means people: two bots would answer each other for ever
		return false, nil
	case slices.Contains(r.Allow, "*"):
		return true, nil
	}
	return g.deps.Pairs.Allowed(ctx, in.Addr.Channel, id)
}

// say answers in the chat of in. The id follows from in, so that a repeated
// message is answered once.
func (g *Gate) say(ctx context.Context, in chat.Inbound, what, text string) error {
	out := chat.Outbound{Meta: answerMeta(in, what), Text: text}
	if !in.Direct {
		out.ReplyTo = in.MessageID
	}
	if err := g.deps.Say(ctx, out); err != nil {
		return fmt.Errorf("answer %q: %w", in.ID, err)
	}
	return nil
}

func (g *Gate) refusePress(ctx context.Context, in chat.Inbound) error {
	notice := "You are not allowed to use this button."
	if chinese(in) {
		notice = "你没有权限使用这个按钮。"
	}
	out := chat.Outbound{Meta: answerMeta(in, "press"), Answer: &chat.Answer{Press: in.Press.ID, Notice: notice}}
	if !g.offers.Allow() {
		return nil
	}
	if err := g.deps.Say(ctx, out); err != nil {
		return fmt.Errorf("answer press %q: %w", in.ID, err)
	}
	return nil
}

func answerMeta(in chat.Inbound, what string) chat.Meta {
	return chat.Meta{V: chat.Version, ID: what + ":" + in.ID, Trace: in.Trace, At: time.Now().UTC(), Addr: in.Addr}
}

// chinese picks the language of an answer.
func chinese(in chat.Inbound) bool {
	return strings.ContainsFunc(in.Text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) ||
		strings.HasPrefix(strings.ToLower(in.From.Lang), "zh")
}
