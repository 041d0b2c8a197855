package bus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"magpie/bus"
	"magpie/bus/bustest"
)

// moved is a migration that moves a value to another table, as one would.
func moved(ctx context.Context, b *bus.Bus) error {
	e, err := b.Table("old").Get(ctx, "key")
	if err != nil {
		return err
	}
	_, err = b.Table("new").Update(ctx, "key", e.Value, 0, 0)
	return err
}

// opened opens and closes a bus and returns what went wrong.
func opened(t testing.TB, opts bus.Options, do func(b *bus.Bus) error) error {
	t.Helper()
	b, err := bus.Open(testContext(t), opts)
	if err != nil {
		return err
	}
	if do != nil {
		err = do(b)
	}
	return errors.Join(err, b.Close())
}

// An older store is backed up and changed once; what fails leaves the version
// as it was, so that the next start tries again; the older program refuses it
// from then on.
func TestOlderStoreIsBroughtUpToDate(t *testing.T) {
	if bus.SchemaVersion != 1+bus.Steps() {
		t.Errorf("SchemaVersion is %d, and there are %d steps from version 1 on", bus.SchemaVersion, bus.Steps())
	}
	old := bus.Options{Dir: t.TempDir()}
	err := opened(t, old, func(b *bus.Bus) error {
		_, err := b.Table("old").Create(testContext(t), "key", []byte("v"), 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var before []int
	steps, fails := 0, errors.New("no room")
	newer := old
	newer.Upgrade = bus.Upgrade{
		Steps:  []bus.Migration{func(ctx context.Context, b *bus.Bus) error { steps++; return errors.Join(moved(ctx, b), fails) }},
		Before: func(_ context.Context, _ *bus.Bus, version int) error { before = append(before, version); return nil },
	}
	noBackup := newer
	noBackup.Upgrade.Before = func(context.Context, *bus.Bus, int) error { return errors.New("disk is full") }
	if err := opened(t, noBackup, nil); err == nil || !strings.Contains(err.Error(), "disk is full") || steps != 0 {
		t.Errorf("without a backup: %v after %d steps", err, steps)
	}
	if err := opened(t, newer, nil); !errors.Is(err, fails) {
		t.Errorf("a step that fails: %v", err)
	}
	if err := opened(t, old, nil); err != nil {
		t.Errorf("the older program after a step that failed: %v", err)
	}
	fails = nil
	for range 2 {
		err := opened(t, newer, func(b *bus.Bus) error {
			e, err := b.Table("new").Get(testContext(t), "key")
			if err == nil && string(e.Value) != "v" {
				t.Errorf("moved %q", e.Value)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if steps != 2 || len(before) != 2 || before[0] != 1 {
		t.Errorf("%d steps after backups of versions %v, want 2 of version 1", steps, before)
	}
	if err := opened(t, old, nil); err == nil || !strings.Contains(err.Error(), "newer bot") {
		t.Errorf("the older program opens the newer store: %v", err)
	}
}

// Of several programs that start at once, one changes the store and the others
// wait for it.
func TestOneProgramChangesTheStore(t *testing.T) {
	url := bustest.External(t)
	bustest.Open(t, bus.Options{URL: url})
	var steps atomic.Int32
	inside := make(chan struct{})
	newer := bus.Options{URL: url, Upgrade: bus.Upgrade{Steps: []bus.Migration{func(ctx context.Context, _ *bus.Bus) error {
		if steps.Add(1) == 1 {
			close(inside)
		}
		select { // long enough for the others to want to do it as well
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
		return nil
	}}}}
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			if i > 0 {
				<-inside
			}
			if err := opened(t, newer, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := steps.Load(); n != 1 {
		t.Errorf("the store was changed %d times, want once", n)
	}
}

// A process that began a pause and died holds nobody for longer than it said.
func TestPauseEndsByItself(t *testing.T) {
	b := bustest.New(t)
	ctx := testContext(t)
	if err := b.PauseAndDie(ctx, deadline); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := b.PublishInbound(short, inbound("c", "1", 0), false); err == nil {
		t.Error("something was written while all writes are held")
	}
	if _, err := b.Backup(ctx, bus.BackupOptions{Hold: time.Second}); !errors.Is(err, bus.ErrPaused) {
		t.Errorf("a second backup: %v, want ErrPaused", err)
	}
	if err := b.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	publish(t, b, inbound("c", "1", 1))
	if err := b.PauseAndDie(ctx, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	publish(t, b, inbound("c", "1", 2))
}
