package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	// storePause is the longest pause while the sink refuses.
	storePause = 10 * time.Second
	// sessionKept: Discord keeps the events of a session that is away for
	// minutes; asking later is answered with "invalid session".
	sessionKept = time.Hour
	// maxGuilds is how many guilds one connection serves (events/gateway
	// "Sharding", read November 2026).
	maxGuilds  = 2500
	sessionKey = "session"
)

// session is what it takes to go on where a connection ended. It is kept while
// it lasts, not only at its end: what REST cannot give, such as the first
// message of a private chat or a press, comes again after a kill too.
type session struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Seq    int64  `json:"seq"`
	Self   self   `json:"self"`
	Behind bool   `json:"behind,omitempty"` // what was before it is not fetched yet
	// Intents are those it was begun with, or is to be.
	Intents int `json:"intents,omitempty"`
}

// receiver receives while Run runs. Its fields belong to the one goroutine
// that handles events, but for seq.
type receiver struct {
	d       *Discord
	sink    channels.Sink
	session session
	seq     atomic.Int64 // the last event that is stored
	behind  bool         // chats have to be read up by REST first
	filled  map[string]bool
	stuck   map[string]int  // channels that could not be read while others could: how often in a row
	replies *errgroup.Group // answers to interactions that are on their way
	ready   bool            // this connection has become usable

	kept struct {
		seq int64
		at  time.Time
	}
	connected *signal // it is known who the bot is
	known     known
}

// known is what the bot knows of itself on Discord.
type known struct {
	roles roles
	guilds
	refused refused
}

func (k *known) load(ctx context.Context, t kv.Table) error {
	return errors.Join(k.roles.load(ctx, t), k.guilds.load(ctx, t))
}

// signal is told once, however often it is told.
type signal struct {
	once sync.Once
	told chan struct{}
}

func newSignal() *signal { return &signal{told: make(chan struct{})} }

func (s *signal) tell() { s.once.Do(func() { close(s.told) }) }

// notStored is what the sink refused: the event has to come again. What kind of
// error the sink had says nothing about Discord, so it is not unwrapped.
type notStored struct{ err error }

func (n *notStored) Error() string {
	return "an event was not stored and will come again: " + n.err.Error()
}

func newReceiver(d *Discord, sink channels.Sink) *receiver {
	r := &receiver{d: d, sink: sink, replies: &errgroup.Group{}, connected: newSignal()}
	r.replies.SetLimit(maxReplies)
	return r
}

// run receives until ctx ends or Discord says something final.
func (r *receiver) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wait := r.d.backoff()
	r.load(ctx, wait)
	wg.Go(func() { r.flush(ctx) })
	wg.Go(func() { r.offerCommands(ctx) })
	wg.Go(func() { r.tellLacks(ctx) })
	wg.Go(func() { r.tidyUses(ctx) })
	defer r.save(ctx)
	defer func() { _ = r.replies.Wait() }() // they return none
	defer wg.Wait()
	defer cancel()
	for ctx.Err() == nil {
		err := r.connection(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err = r.explain(ctx, err); channels.Final(err) {
			return err
		}
		r.d.deps.Status.Failed(err)
		r.d.deps.Log.Warn("discord connection ended", "err", err)
		r.pause(ctx, wait, err)
	}
	return nil
}

// load finds what an earlier process left.
func (r *receiver) load(ctx context.Context, wait *channels.Backoff) {
	for {
		err := errors.Join(r.d.places.load(ctx), r.d.uses.load(ctx), r.known.load(ctx, r.d.deps.Table), r.recall(ctx))
		if err == nil || ctx.Err() != nil {
			return
		}
		r.d.deps.Status.Failed(err)
		r.d.deps.Log.Warn("discord channel cannot read its state", "err", err)
		wait.Pause(ctx, nil)
	}
}

// flush writes now and then how far chats were read, until ctx ends.
func (r *receiver) flush(ctx context.Context) {
	tick := time.NewTicker(r.d.pace.flush)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.flushNow(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (r *receiver) flushNow(ctx context.Context) {
	if err := r.d.places.flush(ctx); err != nil && ctx.Err() == nil {
		r.d.deps.Log.Warn("how far chats were read is not written", "err", err)
	}
}

// connection lives one connection, from the greeting to its end.
func (r *receiver) connection(ctx context.Context) error {
	r.ready = false
	if r.session.ID != "" && r.outdated(ctx) {
		r.d.deps.Log.Info("the Message Content Intent is granted now: a new session is begun")
		r.session = session{}
	}
	address, err := r.address(ctx)
	if err != nil {
		return err
	}
	g, err := r.d.dial(ctx, address, &r.seq)
	if err != nil {
		r.session.URL = "" // the next time the general address is asked for
		return err
	}
	// Without a closing frame: after one with 1000 the session could not be
	// resumed, and nobody waits for an answer to the others.
	defer func() { _ = g.conn.CloseNow() }()
	token := string(r.d.cfg.Token)
	if r.session.ID != "" {
		err = g.resume(ctx, token, r.session.ID)
	} else {
		r.seq.Store(0)
		r.session.Intents = r.intents(ctx)
		err = g.identify(ctx, token, r.session.Intents)
	}
	if err != nil {
		return fmt.Errorf("open the session: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return g.read(ctx) })
	group.Go(func() error { return g.pulse(ctx) })
	group.Go(func() error { return r.handle(ctx, g) })
	return group.Wait()
}

// address is where to connect to.
func (r *receiver) address(ctx context.Context) (string, error) {
	if r.session.ID != "" && r.session.URL != "" {
		return r.session.URL, nil
	}
	raw, err := r.d.api.call(ctx, request{op: "get gateway", method: "GET", url: discordgo.EndpointGateway})
	if err != nil {
		return "", err
	}
	var answer struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.URL == "" {
		return "", r.d.api.Fail("get gateway", channels.Temporary, errors.New("answer without an address"))
	}
	return answer.URL, nil
}

// handle takes events one after the other; the sequence moves when one is
// stored or rightly passed over.
func (r *receiver) handle(ctx context.Context, g *gateway) error {
	late := time.NewTimer(r.d.pace.hello)
	defer late.Stop()
	tick := time.NewTicker(r.d.pace.flush)
	defer tick.Stop()
	for {
		select {
		case ev, ok := <-g.events:
			if !ok {
				return ctx.Err() // read says why
			}
			if err := r.take(ctx, ev); err != nil {
				return err
			}
			r.seq.Store(max(ev.Sequence, r.seq.Load()))
			if r.ready {
				late.Stop()
			} else {
				late.Reset(r.d.pace.hello)
			}
		case <-tick.C:
			if r.kept.seq != r.seq.Load() || time.Since(r.kept.at) > sessionKept/2 {
				r.keepSession(ctx)
			}
		case <-late.C:
			if !r.ready {
				return errors.New("the gateway does not say that the session is ready")
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// explain turns the end of a connection into what follows from it.
func (r *receiver) explain(ctx context.Context, err error) error {
	const op = "gateway"
	if errors.Is(err, errInvalid) {
		r.session = session{}
		return err
	}
	var c *closed
	if !errors.As(err, &c) {
		return err
	}
	// topics/opcodes-and-status-codes "Gateway Close Event Codes", read November 2026.
	switch c.code {
	case 4004:
		return r.d.api.Fail(op, channels.Unauthorized, fmt.Errorf("the token is wrong or was reset; the Developer Portal gives a new one: %w", err))
	case 4014:
		if r.disallowed(ctx) {
			return err
		}
		return r.d.api.Fail(op, channels.Rejected, fmt.Errorf("Discord refuses what every bot may ask for: %w", err))
	case 4011:
		return r.d.api.Fail(op, channels.Rejected, fmt.Errorf("the bot is in more than %d servers, and Discord demands several connections (shards) then, which this channel does not have: %w", maxGuilds, err))
	case 4010, 4012, 4013:
		return r.d.api.Fail(op, channels.Rejected, fmt.Errorf("Discord does not serve this bot over one connection of this version: %w", err))
	case 4003, 4007, 4009:
		r.session = session{}
	}
	return err
}

// recall takes over the session of an earlier process.
func (r *receiver) recall(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	var s session
	found, err := look(ctx, r.d.deps.Table, sessionKey, &s)
	if err == nil {
		_, err = look(ctx, r.d.deps.Table, refusedKey, &r.known.refused)
	}
	if err != nil {
		return fmt.Errorf("read the last session: %w", err)
	}
	if found && s.ID != "" && s.Self.ID != "" {
		r.session, r.behind = s, s.Behind
		r.seq.Store(s.Seq)
		r.d.me.Store(&s.Self)
	}
	return nil
}

// save leaves everything for the next process, which may be there in seconds.
// All others have ended.
func (r *receiver) save(ctx context.Context) {
	r.flushNow(context.WithoutCancel(ctx))
	r.keepSession(ctx)
}

// keepSession stores the session and how far it was handled.
func (r *receiver) keepSession(ctx context.Context) {
	if r.session.ID == "" {
		return
	}
	r.session.Seq, r.session.Behind = r.seq.Load(), r.behind
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	if err := put(ctx, r.d.deps.Table, sessionKey, r.session, sessionKept); err != nil {
		r.d.deps.Log.Warn("the session is not kept for the next start", "err", err)
		return
	}
	r.kept.seq, r.kept.at = r.session.Seq, time.Now()
}

func (d *Discord) backoff() *channels.Backoff {
	return channels.NewBackoff(d.pace.retry, d.pace.retryMax)
}

// pause waits as the end of a connection calls for.
func (r *receiver) pause(ctx context.Context, wait *channels.Backoff, err error) {
	var refused *notStored
	var ce *channels.Error
	switch {
	case errors.As(err, &refused):
		wait.Soon(storePause)
	case errors.Is(err, errInvalid): // 1 to 5 s, as Discord asks
		wait.PauseAtLeast(ctx, r.d.pace.retry+rand.N(4*r.d.pace.retry))
		return
	case errors.As(err, &ce):
	case r.ready:
		wait.Reset()
	}
	wait.Pause(ctx, err)
}

// stored hands a message to the sink.
func (r *receiver) stored(ctx context.Context, in chat.Inbound) error {
	if err := r.sink(ctx, in); err != nil {
		return &notStored{err}
	}
	r.d.deps.Status.Event()
	return nil
}
