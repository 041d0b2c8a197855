package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/channels/access"
	"magpie/chat"
	"magpie/config"
)

// scripted is a channel whose lives are written down; after the last it stays
// connected.
type scripted struct {
	lives  []func(ctx context.Context) error
	starts []time.Time
}

func (s *scripted) Name() string            { return "scripted" }
func (s *scripted) Limits() channels.Limits { return channels.Limits{} }
func (s *scripted) Send(context.Context, chat.Outbound) (chat.MessageRef, error) {
	return chat.MessageRef{}, errors.New("not in this script")
}

func (s *scripted) Run(ctx context.Context, _ channels.Sink) error {
	s.starts = append(s.starts, time.Now())
	if n := len(s.starts); n <= len(s.lives) {
		return s.lives[n-1](ctx)
	}
	<-ctx.Done()
	return nil
}

// pauses are the times between the starts.
func (s *scripted) pauses() []time.Duration {
	var all []time.Duration
	for i := 1; i < len(s.starts); i++ {
		all = append(all, s.starts[i].Sub(s.starts[i-1]))
	}
	return all
}

func fails(context.Context) error  { return errors.New("the network is gone") }
func panics(context.Context) error { panic("a mistake") }
func ends(context.Context) error   { return nil }
func unauthorized(context.Context) error {
	return &channels.Error{Channel: "scripted", Op: "connect", Kind: channels.Unauthorized, Err: errors.New("bad token")}
}

// living receives from ch until stop, which returns what receive returned.
func living(ch channels.Channel) (d *doors, stop func() error) {
	p := &program{cfg: &config.Config{}, log: slog.New(slog.DiscardHandler)}
	one := &door{p: p, cfg: config.Channel{Name: "scripted", Type: "scripted"}, ch: ch, status: channels.NewStatus(nil)}
	one.gate = access.New(access.Config{}, access.Deps{})
	d = &doors{p: p, all: []*door{one}, byName: map[string]*door{"scripted": one}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.receive(one)(ctx) }()
	return d, func() error {
		cancel()
		return <-ended
	}
}

// A channel that fails is started again, later each time up to five minutes;
// one that has lived for long begins with the short pause.
func TestFailedChannelIsStartedAgain(t *testing.T) {
	steady := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(restartMost + time.Second):
			return errors.New("the network is gone")
		}
	}
	for name, c := range map[string]struct {
		lives []func(context.Context) error
		want  []time.Duration
		last  string
	}{
		"fails":           {repeat(fails, 1), seconds(5), "network is gone"},
		"panics":          {repeat(panics, 1), seconds(5), "panic: a mistake"},
		"ends by itself":  {repeat(ends, 1), seconds(5), "ended by itself"},
		"again and again": {repeat(fails, 9), seconds(5, 10, 20, 40, 80, 160, 300, 300, 300), "network is gone"},
		"after a long life": {
			append(repeat(fails, 3), steady, panics), seconds(5, 10, 20, 301+5, 10), "panic: a mistake",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch := &scripted{lives: c.lives}
				d, stop := living(ch)
				wait(time.Hour)
				if diff := cmp.Diff(c.want, ch.pauses()); diff != "" {
					t.Errorf("pauses (-want +got):\n%s", diff)
				}
				st := d.all[0].status.State()
				if st.Stopped || !strings.Contains(st.LastError, c.last) {
					t.Errorf("state %+v, want the error %q and not stopped", st, c.last)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A channel whose credentials are wrong is not tried again, and that is shown.
func TestRefusedChannelIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &scripted{lives: []func(context.Context) error{fails, unauthorized}}
		d, stop := living(ch)
		wait(24 * time.Hour)
		if n := len(ch.starts); n != 2 {
			t.Errorf("started %d times, want 2", n)
		}
		shown := d.problems()
		if len(shown) != 1 || shown[0].What != "channel scripted" || !strings.HasPrefix(shown[0].Why, "stopped: ") || !strings.Contains(shown[0].Why, "bad token") {
			t.Errorf("problems %+v, want the stopped channel", shown)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// The pause before a new start does not hold up the end.
func TestStopDuringThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &scripted{lives: repeat(fails, 20)}
		_, stop := living(ch)
		wait(time.Hour)
		before, starts := time.Now(), len(ch.starts)
		if err := stop(); err != nil || time.Now() != before || len(ch.starts) != starts {
			t.Errorf("ended with %v after %v and %d more starts", err, time.Since(before), len(ch.starts)-starts)
		}
	})
}

// wait lets the bubble's clock run.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func repeat(life func(context.Context) error, n int) []func(context.Context) error {
	var all []func(context.Context) error
	for range n {
		all = append(all, life)
	}
	return all
}

func seconds(n ...time.Duration) []time.Duration {
	for i := range n {
		n[i] *= time.Second
	}
	return n
}
