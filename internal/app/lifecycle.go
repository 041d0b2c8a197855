package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
)

// lifecycle runs stages side by side and stops them in the reverse order of
// their start, each with its own bound.
type lifecycle struct {
	log    *slog.Logger
	stages []*stage
	// failed gets the error of the first part that ended by itself.
	failed chan error
}

type stage struct {
	name   string
	bound  time.Duration
	cancel context.CancelFunc
	ended  chan error
}

func newLifecycle(log *slog.Logger) *lifecycle {
	return &lifecycle{log: log, failed: make(chan error, 1)}
}

// start runs parts until stop. bound is how long they are expected to need for
// their end.
func (l *lifecycle) start(name string, bound time.Duration, parts ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stage{name: name, bound: bound, cancel: cancel, ended: make(chan error, 1)}
	l.stages = append(l.stages, s)
	g, gctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		g.Go(func() error {
			err := part(gctx)
			if err != nil && ctx.Err() == nil {
				select {
				case l.failed <- fmt.Errorf("%s: %w", name, err):
				default:
				}
			}
			return err
		})
	}
	go func() { s.ended <- g.Wait() }()
}

// stop ends the stages, last started first. A stage that is late is waited for
// once more at the end: leaving its goroutines behind would let them use what
// is closed next.
func (l *lifecycle) stop() error {
	var errs error
	var late []*stage
	for i := len(l.stages) - 1; i >= 0; i-- {
		s := l.stages[i]
		began := time.Now()
		s.cancel()
		select {
		case err := <-s.ended:
			errs = errors.Join(errs, notCancelled(err))
			l.log.Debug("stage stopped", "stage", s.name, "dur", time.Since(began))
		case <-time.After(s.bound):
			l.log.Warn("stage needs longer to stop", "stage", s.name, "bound", s.bound)
			late = append(late, s)
		}
	}
	for _, s := range late {
		select {
		case err := <-s.ended:
			errs = errors.Join(errs, notCancelled(err))
		case <-time.After(s.bound):
			errs = errors.Join(errs, fmt.Errorf("%s does not stop", s.name))
		}
	}
	return errs
}

func notCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
