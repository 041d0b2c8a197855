package kvtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"magpie/internal/kv"
)

// ErrKilled is what the steps of a killed process return.
var ErrKilled = errors.New("the process was killed")

// Fate kills a process at a step: just before it has its effect, or just
// after. From then on nothing of that process has any effect.
type Fate struct {
	After bool // the step that kills has its effect

	mu    sync.Mutex
	left  int
	dead  bool
	steps int
}

// Dies is the fate of a process that is killed at its step-th step; < 1: never.
func Dies(step int, after bool) *Fate { return &Fate{left: step, After: after} }

// Around makes a step of do.
func (f *Fate) Around(do func() error) error {
	f.mu.Lock()
	if f.dead {
		f.mu.Unlock()
		return ErrKilled
	}
	f.left--
	f.steps++
	hit := f.left == 0
	f.dead = hit
	f.mu.Unlock()
	if hit && !f.After {
		return ErrKilled
	}
	if err := do(); err != nil {
		return err
	}
	if hit {
		return ErrKilled
	}
	return nil
}

// Kill kills the process now.
func (f *Fate) Kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

// Dead reports whether the process was killed.
func (f *Fate) Dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// Steps counts those that were made.
func (f *Fate) Steps() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.steps
}

// Mortal is a table of a process with a fate.
type Mortal struct {
	kv.Table
	Fate *Fate
}

// Create is a step.
func (m Mortal) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (rev uint64, err error) {
	err = m.Fate.Around(func() error { rev, err = m.Table.Create(ctx, key, value, ttl); return err })
	return rev, err
}

// Update is a step.
func (m Mortal) Update(ctx context.Context, key string, value []byte, rev uint64, ttl time.Duration) (n uint64, err error) {
	err = m.Fate.Around(func() error { n, err = m.Table.Update(ctx, key, value, rev, ttl); return err })
	return n, err
}
