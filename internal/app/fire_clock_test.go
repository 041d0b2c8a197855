package app_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"magpie/config"
	"magpie/cron"
	"magpie/internal/app"
	"magpie/internal/fakes/telegram"
)

// quick is how many times faster than a real one the clock of these tests runs:
// what the program looks at every ten seconds it sees after one.
const quick = 10

// setClock is a clock that can be set while its timers run on, as that of a
// machine.
type setClock struct {
	clockwork.Clock
	base  time.Time
	began atomic.Pointer[time.Time] // nil: it stands still
	moved atomic.Int64
	halt  atomic.Pointer[time.Time] // it does not go beyond; nil = no bound
}

func newSetClock(t *testing.T, now string) *setClock {
	t.Helper()
	base, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	return &setClock{Clock: clockwork.NewRealClock(), base: base}
}

func (c *setClock) Now() time.Time {
	now := c.base.Add(time.Duration(c.moved.Load()))
	if began := c.began.Load(); began != nil {
		now = now.Add(quick * time.Since(*began))
	}
	if halt := c.halt.Load(); halt != nil && now.After(*halt) {
		return *halt
	}
	return now
}

func (c *setClock) step(d time.Duration)                   { c.moved.Add(int64(d)) }
func (c *setClock) Since(t time.Time) time.Duration        { return c.Now().Sub(t) }
func (c *setClock) Until(t time.Time) time.Duration        { return t.Sub(c.Now()) }
func (c *setClock) After(d time.Duration) <-chan time.Time { return c.Clock.After(d / quick) }

func (c *setClock) NewTimer(d time.Duration) clockwork.Timer { return c.Clock.NewTimer(d / quick) }

func (c *setClock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return c.Clock.AfterFunc(d/quick, f)
}

// inside is an agenda whose program runs in this process with another clock.
type inside struct {
	*agenda
	clock *setClock
}

func newInside(t *testing.T, now string) *inside {
	t.Helper()
	a := &inside{agenda: newAgenda(t), clock: newSetClock(t, now)}
	store, err := cron.NewStore(a.bus.Table("jobs"), &cron.StoreOptions{Zone: "Europe/Berlin", Now: a.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	a.jobs = store
	return a
}

// run starts the program, and the clock when it is ready; it ends with the
// test.
func (a *inside) run() {
	a.t.Helper()
	a.runInside(app.Options{}.WithClock(a.clock))
	now := time.Now()
	a.clock.began.Store(&now)
}

// runInside runs a program in this process until the test ends, and returns it
// with its configuration when it is ready. It cannot be killed.
func (w *world) runInside(o app.Options) (b *bot, path string) {
	w.t.Helper()
	path, listen := w.config("inside")
	cfg, err := config.Load(path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	b = &bot{t: w.t, listen: listen, log: &safeBuffer{}, ended: make(chan error, 1)}
	ready := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	o.Log, o.Ready = slog.New(slog.NewTextHandler(b.log, nil)), func(app.Info) { close(ready) }
	go func() { b.ended <- app.Run(ctx, cfg, o) }()
	w.t.Cleanup(func() {
		cancel()
		select {
		case err := <-b.ended:
			if err != nil {
				w.t.Error(err)
			}
		case <-time.After(deadline):
			w.t.Error("the program does not end")
		}
		if w.t.Failed() {
			w.t.Logf("the program said:\n%s", b.log)
		}
	})
	receive(w.t, ready, "the program is ready")
	return b, path
}

// shows waits until the chat has shown exactly these notices, in any order:
// what is due while the machine is busy comes at once.
func (a *inside) shows(want ...string) {
	a.t.Helper()
	slices.Sort(want)
	var got []string
	msgs := a.wait(owner, strings.Join(want, ", "), func(m []telegram.Message) bool {
		got = nil
		for _, m := range m {
			text, _, _ := strings.Cut(strings.TrimPrefix(m.Text, "⏰ "), "\n")
			got = append(got, text)
		}
		slices.Sort(got)
		return len(got) >= len(want) && (len(got) > len(want) || slices.Equal(got, want))
	})
	if !slices.Equal(got, want) {
		a.t.Errorf("shown %q, want %q", texts(msgs), want)
	}
}

func (a *inside) at(message, when string) {
	a.t.Helper()
	at, err := time.Parse(time.RFC3339, when)
	if err != nil {
		a.t.Fatal(err)
	}
	add(a.t, a.jobs, asked(message, cron.Schedule{At: at}))
}

func (a *inside) daily(message, expr string) {
	a.t.Helper()
	add(a.t, a.jobs, asked(message, cron.Schedule{Cron: expr, Zone: "Europe/Berlin"}))
}

// soon is a job that is due in five seconds of the clock.
func (a *inside) soon(message string) {
	a.t.Helper()
	add(a.t, a.jobs, asked(message, cron.Schedule{At: a.clock.Now().Add(5 * time.Second)}))
}

// The clock is put forward over a slot, which comes late, and back over it,
// which does not bring it again.
func TestFiredOverClockSteps(t *testing.T) {
	t.Parallel()
	a := newInside(t, "2027-01-10T08:00:00Z")
	a.daily("nine", "30 9 * * *") // 08:30 UTC
	a.soon("first")
	a.run()
	a.shows("first")
	a.clock.step(time.Hour)
	a.soon("second")
	a.shows("first", "nine", "second")
	a.clock.step(-time.Hour) // 08:30 comes once more
	a.soon("third")
	a.shows("first", "nine", "second", "third")
	a.clock.step(30 * time.Minute)
	a.soon("fourth")
	a.shows("first", "nine", "second", "third", "fourth")
	if n := count(a.tg.Messages(owner), "Due at 9:30 (Europe/Berlin), "); n != 1 {
		t.Errorf("the late one does not say when it was due: %q", texts(a.tg.Messages(owner)))
	}
}

// In spring the clocks of Berlin go from 02:00 to 03:00: what was due between
// comes at 03:00, once.
func TestFiredOverTheHourThatIsSkipped(t *testing.T) {
	t.Parallel()
	a := newInside(t, "2027-03-28T00:59:50Z")
	a.daily("skipped", "30 2 * * *")
	a.daily("three", "0 3 * * *")
	a.at("before", "2027-03-28T00:59:54Z")
	soon := a.clock.base.Add(15 * time.Second) // or a busy machine would be late
	a.clock.halt.Store(&soon)
	a.run()
	a.shows("before", "skipped", "three")
	if now := a.clock.Now(); now.Before(a.clock.base.Add(10*time.Second)) || count(a.tg.Messages(owner), "Late") > 0 {
		t.Errorf("at %s the chat shows %q", now, texts(a.tg.Messages(owner)))
	}
	a.clock.halt.Store(nil)
	a.clock.step(24 * time.Hour) // the next day both are as ever
	a.soon("end")
	a.shows("before", "skipped", "three", "skipped", "three", "end")
}

// In autumn 02:30 comes twice in Berlin: a job of that time is fired the first
// time only.
func TestFiredOverTheHourThatIsDoubled(t *testing.T) {
	t.Parallel()
	a := newInside(t, "2027-10-31T00:29:55Z")
	a.daily("doubled", "30 2 * * *")
	a.run()
	a.shows("doubled")
	a.clock.step(time.Hour - 5*time.Second)
	a.soon("one") // after the second 02:30
	a.shows("doubled", "one")
	a.soon("two")
	a.shows("doubled", "one", "two")
	a.clock.step(24 * time.Hour)
	a.soon("three")
	a.shows("doubled", "one", "two", "doubled", "three")
}
