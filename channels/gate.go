package channels

import (
	"context"
	"slices"
	"sync"
)

// Gate lets webhook calls in while a channel's Run or Receive is running. In is
// what the calls work with. The zero Gate is shut.
type Gate[In any] struct {
	mu   sync.Mutex
	open []*opening[In]
}

// opening is one reason for which a Gate is open.
type opening[In any] struct {
	run     context.Context
	in      In
	working sync.WaitGroup
}

// Open lets calls in until shut, which lets in nobody more for this reason and
// waits for the calls inside. The end of run ends them. Of several reasons the
// last one counts.
func (g *Gate[In]) Open(run context.Context, in In) (shut func()) {
	o := &opening[In]{run: run, in: in}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = append(g.open, o)
	return func() {
		g.mu.Lock()
		g.open = slices.DeleteFunc(g.open, func(other *opening[In]) bool { return other == o })
		g.mu.Unlock()
		o.working.Wait()
	}
}

// Enter returns what a call works with, and its context, which ends with the
// run that it works for too. Unless ok is false, leave must be called.
func (g *Gate[In]) Enter(ctx context.Context) (in In, inside context.Context, leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range slices.Backward(g.open) {
		if o.run.Err() != nil {
			continue
		}
		o.working.Add(1)
		inside, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(o.run, cancel)
		return o.in, inside, func() {
			stop()
			cancel()
			o.working.Done()
		}, true
	}
	return in, nil, nil, false
}
