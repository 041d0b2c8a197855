// Package simulate is `bot simulate`: fake platforms on loopback ports, a
// person on each of them, and two ways for whoever sits here to be that person,
// a line prompt (Prompt) and a page in the browser (Page). It knows the fakes
// and nothing of the bot, which reaches them through Channels like any other
// server. The World owns the goroutines of its servers; Close waits for them.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"magpie/internal/fakes/driver"
)

// startPatience bounds how long Ready waits for the bot to connect: it takes
// well under a second here, so that more means that it never will.
const startPatience = 30 * time.Second

// Names are the platforms that can be simulated, in the order in which people
// are shown them.
func Names() []string { return []string{"telegram", "feishu", "discord", "dingtalk", "qq"} }

// World is a set of running fakes. It may be used from many goroutines.
type World struct {
	stands []*stand
}

// stand is one fake on its port.
type stand struct {
	house
	name  string
	line  *line
	ended chan error
	serve *http.Server
	talks map[Place]*talk
}

// New starts the named platforms; no names are all of them. Close it.
func New(ctx context.Context, names ...string) (*World, error) {
	if len(names) == 0 {
		names = Names()
	}
	w := &World{}
	for _, name := range names {
		newPlatform, ok := makers()[name]
		if !ok {
			return nil, errors.Join(fmt.Errorf("platform %q: want any of %s", name, strings.Join(Names(), ", ")), w.Close())
		}
		if w.stand(name) != nil {
			continue
		}
		s, err := open(ctx, name, newHouse(newPlatform()))
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		w.stands = append(w.stands, s)
	}
	return w, nil
}

func open(ctx context.Context, name string, h house) (*stand, error) {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		h.Close()
		return nil, fmt.Errorf("open a port for %s: %w", name, err)
	}
	s := &stand{
		house: h, name: name, line: newLine(l), ended: make(chan error, 1),
		serve: &http.Server{Handler: h.Handler(), ReadHeaderTimeout: 10 * time.Second},
		talks: map[Place]*talk{},
	}
	for _, place := range Places() {
		s.talks[place] = newTalk(h, place)
	}
	go func() { s.ended <- s.serve.Serve(s.line) }()
	return s, nil
}

// Close ends the fakes.
func (w *World) Close() error {
	var errs []error
	for _, s := range w.stands {
		s.Close()
		s.line.cut()
		err := s.serve.Close()
		if served := <-s.ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Channels are the sections of the bot's configuration with which it talks to
// the fakes, by instance name.
func (w *World) Channels() map[string]any {
	all := map[string]any{}
	for _, s := range w.stands {
		section := s.Section("http://" + s.line.Addr().String())
		maps.Copy(section, map[string]any{"allow": []string{"*"}, "group": "mention"})
		all[s.name] = section
	}
	return all
}

// Admins are the people on the platforms, as security.admins names them.
func (w *World) Admins() []string {
	var all []string
	for _, s := range w.stands {
		all = append(all, s.name+":"+s.person.ID)
	}
	return all
}

// Ready waits until the bot is connected everywhere; the error names the
// platforms where it is not.
func (w *World) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for _, s := range w.stands {
		if err := until(ctx, s.Connected); err != nil {
			return fmt.Errorf("the bot does not connect to %s: %w", s.name, err)
		}
	}
	return nil
}

func (w *World) stand(name string) *stand {
	i := slices.IndexFunc(w.stands, func(s *stand) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return w.stands[i]
}

const (
	// cutMost bounds how long a cut connection can be kept away.
	cutMost = 10 * time.Minute
	// notice is how long a fake may need to see that its connections are gone.
	notice = 10 * time.Second
)

// cut breaks every connection of the bot to the platform and refuses new ones
// for that time; with 0 only until the platform has seen the break.
func (s *stand) cut(ctx context.Context, away time.Duration) error {
	s.line.down(true)
	defer s.line.down(false)
	if away > 0 {
		timer := time.NewTimer(min(away, cutMost))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
	seen, cancel := context.WithTimeout(ctx, notice)
	defer cancel()
	return until(seen, func() bool { return !s.Connected() })
}

// failMost bounds how many calls can be made to fail at once.
const failMost = 100

// fail makes the next messages of the bot fail.
func (s *stand) fail(t driver.Trouble, times int) error {
	if !slices.Contains(Troubles(), t) {
		return fmt.Errorf("trouble %q: want one of %v", t, Troubles())
	}
	if times < 1 || times > failMost {
		return fmt.Errorf("want 1 to %d times, got %d", failMost, times)
	}
	s.Fail(t, times)
	return nil
}

// until polls for a state that announces itself by nothing.
func until(ctx context.Context, is func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
