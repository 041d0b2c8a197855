// Package access decides whose messages come in: allow lists, groups and
// mentions, pairing codes for strangers, and how fast one person may write. What
// is said in a group without addressing the bot goes to its Room, and news of a
// chat never comes in: the bot greets where it was added. A Gate is wrapped
// around a channel's Sink. It knows no platform and no bus and starts no
// goroutine; what it has to say goes out through Deps.Say.
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
	Members   []string      // chat ids of groups in which everybody but bots is let in
	Context   int           // how many messages of a group are kept that do not address the bot; 0 = none
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
	Room   Room         // nil = what does not address the bot is not kept
	Log    *slog.Logger // nil = silent
}

// Room keeps what is said in groups without addressing the bot.
type Room interface {
	// Hear takes a message, or a happening, of a group; outside says that its
	// sender is not let in, and most is how many are kept.
	Hear(ctx context.Context, in chat.Inbound, outside bool, most int) error
}

// Gate lets the messages through that may come in. Safe for concurrent use.
type Gate struct {
	deps Deps
	cfg  atomic.Pointer[rules]

	limit  limiter
	mu     sync.Mutex
	told   map[string]time.Time
	offers *rate.Limiter // answers to strangers, and greetings
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
		r := g.cfg.Load()
		switch {
		case in.Happening != "":
			return g.news(ctx, r, in)
		case in.Origin != chat.FromPerson:
			return next(ctx, in)
		}
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
		g.unheard(ctx, r, in)
		return false, g.overhear(ctx, r, in)
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
	case !in.Direct && in.Mentioned && !in.From.Bot && !in.Edited:
		if err := g.refuse(ctx, r, in); err != nil {
			return false, err
		}
	default:
		g.deps.Log.DebugContext(ctx, "stranger not heard", "chat", in.Addr.String(), "trace", in.Trace)
	}
	return false, g.overhear(ctx, r, in)
}

// listens reports whether the bot hears anything in the group of in.
func (r *rules) listens(in chat.Inbound) bool {
	return r.Group != "off" && (len(r.Groups) == 0 || slices.Contains(r.Groups, in.Addr.Chat))
}

// hears reports whether a message in a group is meant for the bot at all.
func (r *rules) hears(in chat.Inbound) bool {
	return r.listens(in) && (r.Group == "open" || in.Press != nil || in.Mentioned)
}

// reads reports whether the talk of a group is kept. Where every message is
// meant for the bot that is the talk of those who are not let in.
func (r *rules) reads(in chat.Inbound) bool {
	return r.Context > 0 && !in.Direct && in.Press == nil && r.listens(in)
}

// Reads reports whether the talk of groups is kept at all.
func (g *Gate) Reads() bool { return g.cfg.Load().Context > 0 }

// LetIn reports whether a message of that person would come in, in that group.
func (g *Gate) LetIn(ctx context.Context, group chat.Address, who chat.Sender) (bool, error) {
	return g.allowed(ctx, g.cfg.Load(), chat.Inbound{Meta: chat.Meta{Addr: group}, From: who})
}

// overhear hands to the room what is not meant for the bot.
func (g *Gate) overhear(ctx context.Context, r *rules, in chat.Inbound) error {
	if g.deps.Room == nil || !r.reads(in) {
		return nil
	}
	allowed, err := g.allowed(ctx, r, in)
	if err == nil {
		err = g.deps.Room.Hear(ctx, in, !allowed || in.Forwarded, r.Context)
	}
	if err != nil {
		return fmt.Errorf("keep %q: %w", in.ID, err)
	}
	return nil
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
	case slices.Contains(r.Allow, "*"), !in.Direct && slices.Contains(r.Members, in.Addr.Chat):
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
	if in.Language() == chat.Chinese {
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

// inTongue is a text in the language of who is answered; in both where nothing
// tells it, as when somebody only opens a chat.
func inTongue(lang, en, zh string) string {
	switch lang {
	case chat.Chinese:
		return zh
	case "":
		return zh + "\n\n" + en
	}
	return en
}
