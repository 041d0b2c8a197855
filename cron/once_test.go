package cron

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestAddOnce: the same key is the same job, in its chat, until that is gone.
func TestAddOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "2026-11-21T10:00:00Z")
		once := func(key string, j Job) Job {
			t.Helper()
			j, err := w.store.AddOnce(w.ctx, key, j)
			must(t, err)
			return j
		}
		first := draft()
		a := once("press 1", first)
		w.pass(time.Minute)
		later := draft()
		later.Message = "changed meanwhile"
		b, c := once("press 1", later), once("press 2", later)
		if b.ID != a.ID || b.Message != a.Message || !b.Created.Equal(a.Created) || c.ID == a.ID || len(a.ID) != 10 {
			t.Errorf("%+v, %+v, %+v", a, b, c)
		}
		jobs, err := w.store.List(w.ctx, a.Addr)
		if err != nil || len(jobs) != 2 {
			t.Errorf("%d jobs, %v", len(jobs), err)
		}
		wrong := draft()
		wrong.Message = ""
		var refused *InputError
		if _, err := w.store.AddOnce(w.ctx, "press 3", wrong); !errors.As(err, &refused) {
			t.Errorf("a job without a message: %v", err)
		}
	})
}
