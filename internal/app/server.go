package app

import (
	"context"
	"net/http"
	"time"

	"magpie/internal/console"
	"magpie/internal/front"
)

// checkEvery is how long the answer of the embedded bus about its health is believed:
// whoever asks /readyz in a loop must not cost much.
const checkEvery = time.Second

// newServer builds the console with the pages of the channels that have some.
func (p *program) newServer(b *brain, t *toolbox, d *doors, r *reloader) (*console.Server, error) {
	key, err := console.LoadKey(p.cfg.DataDir)
	if err != nil {
		return nil, err
	}
	var routes []console.Route
	hooks := map[string]http.Handler{}
	if p.has(Gateway) {
		routes, hooks = d.routes(), d.hooks()
	}
	routes = append(routes, p.opRoute(t, r), p.backupRoute())
	web := p.cfg.Web
	before, err := front.New(front.Config{
		Listen: web.Listen, PublicURL: web.PublicURL, Hosts: web.Hosts, TrustedProxies: web.TrustedProxies, Log: p.log,
	})
	if err != nil {
		return nil, err
	}
	return console.New(console.Config{
		Listen: web.Listen, Token: p.token, Key: key, Front: before,
		Ready:   p.readiness(d),
		States:  d.states,
		Loaded:  r.public,
		Metrics: p.metrics(b, t, d),
		Hooks:   hooks,
		Log:     p.log,
	}, routes...)
}

// readiness says what is missing: a usable bus, and every channel connected
// once.
func (p *program) readiness(d *doors) func() []console.Problem {
	bus := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		return p.bus.Health(ctx)
	}
	if p.cfg.Bus.URL == "" { // an external one is felt all the time
		bus = remembered(checkEvery, bus)
	}
	return func() []console.Problem {
		var all []console.Problem
		if err := bus(); err != nil {
			all = append(all, console.Problem{What: "bus", Why: err.Error()})
		}
		if p.has(Gateway) {
			all = append(all, d.problems()...)
		}
		return all
	}
}

func (p *program) unsent(ctx context.Context) (n int) {
	s, _ := p.bus.State(ctx) // what it could read
	for _, q := range s.Out {
		n += q.Messages
	}
	return n
}

func (p *program) hasPage() bool {
	if !p.has(Gateway) {
		return false
	}
	for _, c := range p.cfg.Channels {
		if c.Type == webType && c.Enabled {
			return true
		}
	}
	return false
}
