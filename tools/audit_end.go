package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"magpie/internal/kv"
)

// auditHead is the end of a chain, as it is kept in the table.
type auditHead struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// endPause is how long the end in the table may be behind that on the disk: ten
// durable writes in a second are enough, however many calls there are.
const endPause = 100 * time.Millisecond

// endKeeper stores the end of a chain behind the calls: the store may need
// longer for it than a call for all else. Its goroutine lives as long as there
// is an end to store.
type endKeeper struct {
	table  kv.Table // nil: nothing is kept
	key    string
	last   func() (auditHead, error) // the end, when all up to it is on the disk
	all    sync.WaitGroup
	closed chan struct{}

	mu     sync.Mutex
	runs   bool
	again  bool   // the end has moved since the running one asked for it
	stored uint64 // Seq of the end in the table
	err    error  // of the last attempt, not told yet
}

// fetch reads where the log ended when the table was last told.
func (k *endKeeper) fetch(ctx context.Context) (head auditHead, err error) {
	if k.table == nil {
		return head, nil
	}
	ctx, cancel := context.WithTimeout(ctx, headWait)
	defer cancel()
	e, err := k.table.Get(ctx, k.key)
	if errors.Is(err, kv.ErrNotFound) {
		return head, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &head)
	}
	if err != nil {
		return head, fmt.Errorf("the end kept in the store: %w", err)
	}
	k.stored = head.Seq
	return head, nil
}

// follow lets the table learn of a new end soon, and tells the error of an
// earlier attempt.
func (k *endKeeper) follow() error {
	if k.table == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.again = true
	if !k.runs {
		k.runs = true
		k.all.Go(k.run)
	}
	return k.told()
}

func (k *endKeeper) run() {
	for k.moved() {
		k.store()
		select {
		case <-time.After(endPause):
		case <-k.closed:
		}
	}
}

// moved says whether there is something to do; if not, the goroutine ends.
func (k *endKeeper) moved() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runs = k.again
	k.again = false
	return k.runs
}

func (k *endKeeper) store() {
	head, err := k.last()
	k.mu.Lock()
	behind := head.Seq > k.stored
	k.mu.Unlock()
	if err == nil && behind {
		err = k.put(head)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err = err; err == nil {
		k.stored = max(k.stored, head.Seq)
	}
}

func (k *endKeeper) put(head auditHead) error {
	raw, err := json.Marshal(head)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), headWait)
	defer cancel()
	_, err = k.table.Update(ctx, k.key, raw, 0, 0)
	return err
}

// close waits for what is under way and stores the end if that has not been
// done. It is called once.
func (k *endKeeper) close() error {
	close(k.closed)
	k.all.Wait()
	if k.table == nil {
		return nil
	}
	k.store()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.told()
}

// told returns the error of the last attempt once; k.mu is held.
func (k *endKeeper) told() error {
	err := k.err
	if k.err = nil; err != nil {
		return fmt.Errorf("keep the end of the audit log: %w", err)
	}
	return nil
}
