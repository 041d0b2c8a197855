package channels

import (
	"context"
	"sync"
)

// Gate lets webhook calls in while a channel's Run is running. In is what the
// calls work with. The zero Gate is shut.
type Gate[In any] struct {
	mu      sync.Mutex
	run     context.Context // of Run; nil: shut
	in      In
	working sync.WaitGroup
}

// Open lets calls in until Shut. The end of run ends them.
func (g *Gate[In]) Open(run context.Context, in In) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.run, g.in = run, in
}

// Shut lets nobody in any more and waits for the calls inside.
func (g *Gate[In]) Shut() {
	g.mu.Lock()
	g.run = nil
	g.mu.Unlock()
	g.working.Wait()
}

// Enter returns what a call works with, and its context, which ends with Run
// too. Unless ok is false, leave must be called.
func (g *Gate[In]) Enter(ctx context.Context) (in In, inside context.Context, leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.run == nil {
		return in, nil, nil, false
	}
	g.working.Add(1)
	inside, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.run, cancel)
	return g.in, inside, func() {
		stop()
		cancel()
		g.working.Done()
	}, true
}
