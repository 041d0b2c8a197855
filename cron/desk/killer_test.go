package desk_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"magpie/cron"
	"magpie/internal/kv"
)

// killer is a process that stops after so many writes.
type killer struct{ left int }

var errKilled = errors.New("killed")

type killTable struct {
	kv.Table
	k *killer
}

func (k *killer) table(t kv.Table) kv.Table { return killTable{t, k} }

func (k *killer) store(t testing.TB, f *fixture) *cron.Store {
	s, err := cron.NewStore(k.table(f.table), &cron.StoreOptions{Now: func() time.Time { return f.now }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (k *killer) write() error {
	if k.left--; k.left < 0 {
		return errKilled
	}
	return nil
}

func (t killTable) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	if err := t.k.write(); err != nil {
		return 0, err
	}
	return t.Table.Create(ctx, key, value, ttl)
}

func (t killTable) Update(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if err := t.k.write(); err != nil {
		return 0, err
	}
	return t.Table.Update(ctx, key, value, revision, ttl)
}

func (t killTable) Delete(ctx context.Context, key string) error {
	if err := t.k.write(); err != nil {
		return err
	}
	return t.Table.Delete(ctx, key)
}
