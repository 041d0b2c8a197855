package app_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/driver"
	"magpie/internal/fakes/modelserver"
)

// fiveKills is how often TestFiveKilled kills the program. The long run is
//
//	go test ./internal/app -run TestFiveKilled -fivekills 100 -timeout 60m -v
var fiveKills = flag.Int("fivekills", 4, "kills while five platforms talk")

// tally is what became of the messages of a platform.
type tally struct {
	messages, undelivered   int // the latter by the platform: nobody acknowledged them
	lost, doubled, disorder int
	repeated                int // cut off by a kill and sent again by the next life
	late                    int // brought after later ones by the platform
}

// TestFiveKilled kills the program at random while people write on all five
// platforms, and counts. Telegram and DingTalk have no means to recognise a
// send that a kill has cut off; on the other three not even those may double.
func TestFiveKilled(t *testing.T) {
	t.Parallel()
	const people = 3
	f := newFive(t, fiveOptions{})
	f.extra = "agent: {busy: queue, max_turns: 64}"
	f.model.Reply(func(r modelserver.Request) modelserver.Answer {
		a := modelserver.Echo(r)
		a.Delay = time.Duration(rand.IntN(60)) * time.Millisecond
		if rand.IntN(4) == 0 && len(r.Results()) == 0 {
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "current_time", Args: "{}"}}}
		}
		return a
	})
	writing, stop := context.WithCancel(context.Background())
	defer stop()
	chats := f.people(people)
	b := f.start()
	var writers []*writer
	var wg sync.WaitGroup
	f.each(func(p side) {
		for who, chat := range chats[p] {
			w := &writer{f: f, p: p, chat: chat, who: who}
			writers = append(writers, w)
			wg.Go(func() { w.write(writing) })
		}
	})
	for i := range *fiveKills {
		rest(writing, time.Duration(100+rand.IntN(700))*time.Millisecond)
		sig := syscall.SIGKILL
		if i%5 == 4 {
			sig = syscall.SIGTERM
		}
		if err := b.signal(sig); sig == syscall.SIGTERM {
			clean(t, err)
		}
		b = f.start()
	}
	stop()
	wg.Wait()
	for _, w := range writers {
		w.say()
	}
	all := map[string]*tally{}
	for _, w := range writers {
		if all[w.p.name()] == nil {
			all[w.p.name()] = &tally{}
		}
		f.wait(w.p, w.chat, "last answer", has(mark(w.who, len(w.events)-1)))
		w.judge(all[w.p.name()])
	}
	for name, n := range all {
		t.Logf("%s: %+v", name, *n)
		if n.lost+n.doubled+n.disorder > 0 {
			t.Errorf("%s: lost %d, doubled %d, out of order %d; want none", name, n.lost, n.doubled, n.disorder)
		}
	}
	clean(t, b.signal(syscall.SIGTERM))
}

// rest waits for a time that is the point of a test, such as the moment of a
// kill.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// writer is a person who writes on and on, at most five messages ahead of the
// answers.
type writer struct {
	f      *five
	p      side
	chat   string
	who    int
	events []string // of the messages, by number
	last   time.Time
}

func (w *writer) say() {
	w.last = time.Now()
	w.events = append(w.events, w.p.say(w.chat, mark(w.who, len(w.events))))
}

func (w *writer) write(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		for n := len(w.events) - 5; n >= 0 && !w.settled(n); {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		if ctx.Err() != nil {
			return
		}
		w.say()
		rest(ctx, 10*time.Millisecond)
	}
}

// settled says that message n is answered, or will never be because its
// platform did not bring it to the program, as far as one can see.
func (w *writer) settled(n int) bool {
	return holding(w.p.shown(w.chat), mark(w.who, n)) > 0 || w.undelivered(n) && time.Since(w.last) > 200*time.Millisecond
}

func (w *writer) undelivered(n int) bool {
	d, ok := w.p.drive().(driver.Lossy)
	return ok && !d.Delivered(w.events[n])
}

// brought is how often the platform brought message n again.
func (w *writer) brought(n int) int {
	if p, ok := w.p.(*onFeishu); ok {
		return p.Tries(w.events[n])
	}
	return 0
}

func (w *writer) judge(sum *tally) {
	last := -1
	seen := map[int]int{}
	for _, l := range w.p.shown(w.chat) {
		var who, i int
		if _, err := fmt.Sscanf(marks.FindString(l.text), "q%dx%dz", &who, &i); err != nil || who != w.who {
			w.f.t.Errorf("%s, %s shows %q", w.p.name(), w.chat, l.text)
			continue
		}
		switch {
		case seen[i] > 0 || i > last:
		case w.brought(i) > 0:
			sum.late++
		default:
			sum.disorder++
		}
		seen[i]++
		last = max(last, i)
	}
	sum.messages += len(w.events)
	for i := range w.events {
		lives := w.f.tap(w.p.name()).lives(mark(w.who, i))
		silent := w.p.name() == "telegram" || w.p.name() == "dingtalk" // about repeats
		switch {
		case seen[i] == 0 && w.undelivered(i):
			sum.undelivered++
		case seen[i] == 0:
			sum.lost++
			w.f.t.Logf("%s lost %s, sent by lives %v", w.p.name(), mark(w.who, i), lives)
		case seen[i] > 1 && silent && len(slices.Compact(slices.Clone(lives))) == len(lives):
			sum.repeated += seen[i] - 1
		case seen[i] > 1:
			sum.doubled++
			w.f.t.Logf("%s shows %s %d times, sent by lives %v", w.p.name(), mark(w.who, i), seen[i], lives)
		}
	}
}
