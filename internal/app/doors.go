package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"magpie/agent/command"
	"magpie/agent/settings"
	"magpie/bus"
	"magpie/channels"
	"magpie/channels/access"
	"magpie/channels/all"
	"magpie/channels/dispatch"
	"magpie/channels/room"
	"magpie/chat"
	"magpie/config"
	"magpie/internal/console"
	"magpie/internal/proxy"
)

// webType is the type of the channel that is the console's chat page.
const webType = "web"

// doors are the channels with their ways in and out.
type doors struct {
	p      *program
	all    []*door
	byName map[string]*door
	pairs  *access.Pairs
	rooms  *room.Keeper   // of what is said in groups
	words  dispatch.Words // of what was sent
	zones  *settings.Store
	files  *dispatch.Intake
}

// door is one channel instance.
type door struct {
	p      *program
	cfg    config.Channel
	ch     channels.Channel
	gate   *access.Gate
	out    *dispatch.Dispatcher
	status *channels.Status
	// leads is true while this process delivers the channel's queue, and so
	// shows what is being written.
	leads atomic.Bool
	// standby is true while another process speaks to the platform.
	standby atomic.Bool
}

func (p *program) newDoors(b *brain) (*doors, error) {
	d := &doors{p: p, byName: map[string]*door{}, pairs: access.NewPairs(p.bus.Table("pairs")), rooms: p.rooms(), words: p.bus.Receipts(), zones: settings.New(p.bus.Table("sess"), nil)}
	b.approve = d.approve
	if !p.has(Gateway) {
		return d, nil
	}
	registry := all.Registry()
	public, errs := Public(p.cfg)
	for _, c := range p.cfg.Channels {
		if !c.Enabled {
			continue
		}
		door, err := d.open(c, registry, public)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		d.all = append(d.all, door)
		d.byName[c.Name] = door
	}
	d.files = d.intake()
	return d, errs
}

func (d *doors) open(c config.Channel, registry channels.Registry, public publish) (*door, error) {
	make, ok := registry[c.Type]
	if !ok {
		return nil, c.Errorf("type", "there is no channel of type %q", c.Type)
	}
	p := d.p
	log := p.log.With("channel", c.Name)
	door := &door{p: p, cfg: c, status: channels.NewStatus(nil)}
	ch, err := make(c.Name, c.Decode, channels.Deps{
		Table: p.bus.Table("channel." + c.Name), Log: log, Status: door.status, Public: public, Commands: menu(),
		HTTP: &http.Client{Transport: proxy.Transport(c.Proxy)},
	})
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	door.ch = ch
	if err := dispatch.CheckRate(c.Rate); err != nil {
		return nil, c.Errorf("rate", "%v", err)
	}
	door.out = dispatch.New(ch, &dispatch.Options{
		Receipts: p.bus.Receipts(), Drafts: p.bus.Table("drafts"), Media: store{p.files()},
		Rate: c.Rate, Stream: c.Stream, Patience: p.opts.patience, Log: log, Notify: p.bus.Publish,
		Count: func(what string) { p.meters.outbound.WithLabelValues(c.Name, what).Inc() },
	})
	gate := accessOf(p.cfg, c)
	if err := gate.Check(); err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	door.gate = access.New(gate, access.Deps{
		Pairs: d.pairs, Say: p.bus.PublishOutbound, Urgent: command.IsStop, Room: ear{p.bus, d.rooms, log}, Log: log,
	})
	return door, nil
}

// menu is the bot's commands as a platform's menu shows them.
func menu() []channels.Command {
	var all []channels.Command
	for _, c := range command.List() {
		all = append(all, channels.Command{Name: c.Name, ChineseName: c.ChineseName, About: c.About, Chinese: c.Chinese, Args: c.TakesAnArg})
	}
	return all
}

func accessOf(cfg *config.Config, c config.Channel) access.Config {
	security := cfg.Security
	limit := security.RateLimit.PerSender.String()
	if c.Type == webType { // whoever holds its token is the owner
		limit = ""
	}
	a := access.Config{
		Allow: c.Allow, Admins: security.Admins, Pairing: c.Pairing, CodeLife: security.PairingTTL,
		Group: c.Group, Context: c.GroupContext, PerSender: limit,
	}
	for _, g := range c.Groups {
		a.Groups = append(a.Groups, g.ID)
		if g.Members {
			a.Members = append(a.Members, g.ID)
		}
	}
	return a
}

// approve lets in a stranger and tells him.
func (d *doors) approve(ctx context.Context, code string) (string, error) {
	pair, err := d.pairs.Approve(ctx, code)
	if errors.Is(err, access.ErrCode) {
		return "", command.ErrNoCode
	}
	if err != nil {
		return "", err
	}
	if err := d.p.bus.PublishOutbound(ctx, access.Welcome(pair)); err != nil {
		return "", err
	}
	return cmp.Or(pair.Sender.Name, pair.Sender.ID), nil
}

// watch passes events on to the channels that show them.
func (d *doors) watch(l *lifecycle) error {
	stop, err := d.p.bus.Events(func(ev chat.Event) {
		door := d.byName[ev.Addr.Channel]
		if door == nil || ev.Quiet {
			return
		}
		if door.leads.Load() {
			door.out.Event(ev)
		}
		if page, ok := door.ch.(interface{ Event(chat.Event) }); ok {
			page.Event(ev)
		}
	})
	if err != nil {
		return fmt.Errorf("listen for events: %w", err)
	}
	l.start("events", time.Second, func(ctx context.Context) error {
		<-ctx.Done()
		stop()
		return nil
	})
	return nil
}

// dispatchers deliver the queues.
func (d *doors) dispatchers() []func(context.Context) error {
	var parts []func(context.Context) error
	for _, door := range d.all {
		parts = append(parts, door.out.Run, func(ctx context.Context) error {
			return d.p.bus.Dispatch(ctx, door.cfg.Name, door.deliver, func(leads bool) { door.leads.Store(leads) })
		})
	}
	return parts
}

func (d *door) deliver(ctx context.Context, out chat.Outbound) error {
	if quiet(out) {
		return d.p.settle(ctx, out, nil) // for the job alone
	}
	err := d.out.Deliver(ctx, out)
	_, dead := errors.AsType[*dispatch.Undeliverable](err)
	if err == nil || dead {
		if err := d.p.settle(ctx, out, err); err != nil {
			return err
		}
	}
	if dead {
		return bus.Drop(err)
	}
	return err
}

// receivers take messages in. A page is served by every process; a platform
// speaks to one at a time, but one that calls may call any.
func (d *doors) receivers() []func(context.Context) error {
	var parts []func(context.Context) error
	for _, door := range d.all {
		if _, page := door.ch.(pager); page {
			parts = append(parts, d.receive(door))
			continue
		}
		parts = append(parts, func(ctx context.Context) error {
			receive := d.receive(door)
			return d.p.bus.Hold(ctx, "channel "+door.cfg.Name, func(ctx context.Context) error {
				door.standby.Store(false)
				return receive(ctx)
			}, func() { door.standby.Store(true) })
		})
		if h, ok := door.ch.(channels.Hooker); ok {
			parts = append(parts, d.takeCalls(door, h))
		}
	}
	return parts
}

// pager is a channel that brings its own page.
type pager interface{ Handler() http.Handler }

// The pause before a channel that failed is started again.
const restartFirst, restartMost = 5 * time.Second, 5 * time.Minute

// receive runs a channel, again and again when it fails, until ctx ends or its
// credentials turn out to be wrong.
func (d *doors) receive(door *door) func(context.Context) error {
	sink := d.sink(door)
	return func(ctx context.Context) error {
		pause := restartFirst
		for {
			began := time.Now()
			err := door.run(ctx, sink)
			if ctx.Err() != nil {
				return nil
			}
			if err == nil {
				err = errors.New("ended by itself")
			}
			if channels.KindOf(err) == channels.Unauthorized {
				door.status.Stopped(err)
				d.p.log.Error("channel stopped: correct its credentials and start again", "channel", door.cfg.Name, "err", err)
				<-ctx.Done()
				return nil
			}
			door.status.Failed(err)
			if time.Since(began) > restartMost {
				pause = restartFirst
			}
			d.p.log.Warn("channel is started again", "channel", door.cfg.Name, "pause", pause, "err", err)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			pause = min(2*pause, restartMost)
		}
	}
}

// takeCalls has the webhook of a channel take calls until ctx ends, whichever
// process holds the channel. Of its credentials the holder speaks.
func (d *doors) takeCalls(door *door, h channels.Hooker) func(context.Context) error {
	sink := d.sink(door)
	return func(ctx context.Context) error {
		for pause := restartFirst; ; pause = min(2*pause, restartMost) {
			err := guarded(func() error { return h.Receive(ctx, sink) })
			if err == nil || ctx.Err() != nil || channels.KindOf(err) == channels.Unauthorized {
				<-ctx.Done()
				return nil
			}
			d.p.log.Warn("calls of the webhook are not taken", "channel", door.cfg.Name, "pause", pause, "err", err)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
		}
	}
}

// run is Run of the channel.
func (d *door) run(ctx context.Context, sink channels.Sink) error {
	return guarded(func() error { return d.ch.Run(ctx, sink) })
}

// guarded makes a panic an error of this channel alone.
func guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work()
}

// sink is the whole way in: who may speak, files noted, into the mailbox.
func (d *doors) sink(door *door) channels.Sink {
	last := &intake{bus: d.p.bus, talk: &talk{d.rooms, door.gate, d.p.log}, log: d.p.log, now: time.Now, zone: d.zones.Noted}
	next := channels.Sink(func(ctx context.Context, in chat.Inbound) error {
		d.p.meters.inbound.WithLabelValues(door.cfg.Name).Inc()
		return last.sink(ctx, in)
	})
	whole := dispatch.OwnWords(d.words, d.p.log, door.gate.Wrap(d.files.Wrap(next)))
	return func(ctx context.Context, in chat.Inbound) error {
		if in.Trace == "" {
			in.Trace = newTrace() // what refuses it, and what fetches its files, can be followed too
		}
		return whole(ctx, in)
	}
}

func (d *doors) routes() []console.Route {
	var all []console.Route
	for _, door := range d.all {
		if page, ok := door.ch.(pager); ok {
			all = append(all, console.Route{Pattern: "/", Handler: page.Handler(), MaxBody: d.p.cfg.Media.MaxBytes + 1<<20})
		}
	}
	return all
}

func (d *doors) hooks() map[string]http.Handler {
	all := map[string]http.Handler{}
	for _, door := range d.all {
		if h, ok := door.ch.(channels.Hooker); ok {
			all[door.cfg.Name] = h.Hook()
		}
	}
	return all
}

// states is what is known of every channel's connection, for /readyz.
func (d *doors) states() map[string]any {
	all := map[string]any{}
	for _, door := range d.all {
		all[door.cfg.Name] = door.status.State()
	}
	return all
}

// problems names the channels that have not connected yet, or were given up; not
// those that another process is connected to.
func (d *doors) problems() []console.Problem {
	var all []console.Problem
	for _, door := range d.all {
		st := door.status.State()
		what := "channel " + door.cfg.Name
		switch {
		case st.Stopped:
			all = append(all, console.Problem{What: what, Why: "stopped: " + st.LastError})
		case door.standby.Load(): // ready to take over, which is all that it can be
		case !st.Once && st.LastError != "":
			all = append(all, console.Problem{What: what, Why: "not connected: " + st.LastError})
		case !st.Once:
			all = append(all, console.Problem{What: what, Why: "not connected yet"})
		}
	}
	return all
}
