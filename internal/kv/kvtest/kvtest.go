// Package kvtest is the conformance suite of kv.Table.
package kvtest

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/kv"
)

// Run checks that the tables made by open keep the contract of kv.Table. Every
// call of open gives an empty table.
func Run(t *testing.T, open func(t *testing.T) kv.Table) {
	for _, c := range []struct {
		rule string
		fn   func(*testing.T, context.Context, kv.Table)
	}{
		{"Get of nothing is ErrNotFound", getMissing},
		{"Create refuses a key that exists", createTwice},
		{"Create works again after Delete", createAfterDelete},
		{"Update needs the present revision", updateStale},
		{"Update at revision 0 stores whatever is there", updateBlind},
		{"keys are any text", oddKeys},
		{"Watch shows what is there, a mark, then changes", watch},
		{"Follow shows a mark, then changes", follow},
		{"Watch keeps to whole levels", watchLevels},
		{"List misses nothing that is written meanwhile", listWhileWritten},
		{"Modify loses no change", modify},
		{"a life time ends an entry", ttl},
		{"an ended context ends every call", ended},
	} {
		t.Run(c.rule, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
			defer cancel()
			c.fn(t, ctx, open(t))
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func getMissing(t *testing.T, ctx context.Context, table kv.Table) {
	if _, err := table.Get(ctx, "nothing"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	must(t, table.Delete(ctx, "nothing"))
}

func createTwice(t *testing.T, ctx context.Context, table kv.Table) {
	_, err := table.Create(ctx, "a", []byte("1"), 0)
	must(t, err)
	if _, err := table.Create(ctx, "a", []byte("2"), 0); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("second Create: %v, want ErrConflict", err)
	}
	e, err := table.Get(ctx, "a")
	must(t, err)
	if string(e.Value) != "1" || e.Key != "a" {
		t.Errorf("got %q=%q, want a=1", e.Key, e.Value)
	}
}

func createAfterDelete(t *testing.T, ctx context.Context, table kv.Table) {
	for i := range 3 {
		_, err := table.Create(ctx, "a", fmt.Append(nil, i), 0)
		must(t, err)
		must(t, table.Delete(ctx, "a"))
		if _, err := table.Get(ctx, "a"); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("after Delete: %v, want ErrNotFound", err)
		}
	}
}

func updateStale(t *testing.T, ctx context.Context, table kv.Table) {
	rev, err := table.Create(ctx, "a", []byte("1"), 0)
	must(t, err)
	rev2, err := table.Update(ctx, "a", []byte("2"), rev, 0)
	must(t, err)
	if rev2 <= rev {
		t.Errorf("revision went from %d to %d", rev, rev2)
	}
	if _, err := table.Update(ctx, "a", []byte("3"), rev, 0); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("stale Update: %v, want ErrConflict", err)
	}
	if _, err := table.Update(ctx, "missing", []byte("3"), 7, 0); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("Update of nothing: %v, want ErrConflict", err)
	}
	e, err := table.Get(ctx, "a")
	must(t, err)
	if string(e.Value) != "2" || e.Revision != rev2 {
		t.Errorf("got %q at %d, want 2 at %d", e.Value, e.Revision, rev2)
	}
}

func updateBlind(t *testing.T, ctx context.Context, table kv.Table) {
	for _, v := range []string{"1", "", "3"} {
		_, err := table.Update(ctx, "a", []byte(v), 0, 0)
		must(t, err)
		e, err := table.Get(ctx, "a")
		must(t, err)
		if string(e.Value) != v {
			t.Errorf("got %q, want %q", e.Value, v)
		}
	}
}

func oddKeys(t *testing.T, ctx context.Context, table kv.Table) {
	keys := []string{"a", "A", "a.b", "a..b", ".a", "a.", "用户:1", "x y", "a=2E", "a/b", "*", ">", "-100:5", "a\nb", "."}
	for _, k := range keys {
		_, err := table.Create(ctx, k, []byte(k), 0)
		must(t, err)
	}
	all, err := kv.List(ctx, table, "")
	must(t, err)
	var got []string
	for _, e := range all {
		got = append(got, e.Key)
		if e.Key != string(e.Value) {
			t.Errorf("key %q holds %q", e.Key, e.Value)
		}
	}
	sort.Strings(got)
	sort.Strings(keys)
	if d := cmp.Diff(keys, got); d != "" {
		t.Error(d)
	}
}

func watch(t *testing.T, ctx context.Context, table kv.Table) {
	_, err := table.Create(ctx, "old", []byte("1"), 0)
	must(t, err)
	seen := make(chan kv.Entry, 10)
	wctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- table.Watch(wctx, "", func(e kv.Entry) error { seen <- e; return nil })
	}()
	next := func() kv.Entry {
		t.Helper()
		select {
		case e := <-seen:
			return e
		case <-ctx.Done():
			t.Fatal("nothing seen")
			return kv.Entry{}
		}
	}
	if e := next(); e.Key != "old" || string(e.Value) != "1" {
		t.Errorf("first is %+v, want old=1", e)
	}
	if e := next(); e.Key != "" {
		t.Errorf("second is %+v, want the mark", e)
	}
	_, err = table.Create(ctx, "new", []byte("2"), 0)
	must(t, err)
	if e := next(); e.Key != "new" || string(e.Value) != "2" || e.Deleted {
		t.Errorf("change is %+v, want new=2", e)
	}
	must(t, table.Delete(ctx, "old"))
	if e := next(); e.Key != "old" || !e.Deleted {
		t.Errorf("change is %+v, want old deleted", e)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Watch ended with %v, want nil", err)
	}
	broken := errors.New("broken")
	if err := table.Watch(ctx, "", func(kv.Entry) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Watch returned %v, want the error of fn", err)
	}
}

func follow(t *testing.T, ctx context.Context, table kv.Table) {
	for _, key := range []string{"m.old", "c.old"} {
		_, err := table.Create(ctx, key, []byte("1"), 0)
		must(t, err)
	}
	seen := make(chan kv.Entry, 10)
	fctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- kv.Follow(fctx, table, "m", func(e kv.Entry) error { seen <- e; return nil })
	}()
	next := func(key string, deleted bool) {
		t.Helper()
		select {
		case e := <-seen:
			if e.Key != key || e.Deleted != deleted {
				t.Errorf("came %+v, want %q", e, key)
			}
		case <-ctx.Done():
			t.Fatalf("never came %q", key)
		}
	}
	next("", false)
	e, err := table.Get(ctx, "m.old")
	must(t, err)
	_, err = table.Create(ctx, "c.new", nil, 0)
	must(t, err)
	_, err = table.Update(ctx, "m.old", []byte("2"), e.Revision, 0)
	must(t, err)
	next("m.old", false)
	_, err = table.Create(ctx, "m.new", nil, 0)
	must(t, err)
	next("m.new", false)
	must(t, table.Delete(ctx, "m.new"))
	next("m.new", true)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Follow ended with %v, want nil", err)
	}
	broken := errors.New("broken")
	if err := kv.Follow(ctx, table, "", func(kv.Entry) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("Follow returned %v, want the error of fn", err)
	}
}

func watchLevels(t *testing.T, ctx context.Context, table kv.Table) {
	for _, k := range []string{"a", "a.b", "a.b.c", "ab", "b.a"} {
		_, err := table.Create(ctx, k, nil, 0)
		must(t, err)
	}
	all, err := kv.List(ctx, table, "a")
	must(t, err)
	var got []string
	for _, e := range all {
		got = append(got, e.Key)
	}
	sort.Strings(got)
	if d := cmp.Diff([]string{"a", "a.b", "a.b.c"}, got); d != "" {
		t.Error(d)
	}
}

func modify(t *testing.T, ctx context.Context, table kv.Table) {
	var wg sync.WaitGroup
	const workers, each = 4, 10
	for range workers {
		wg.Go(func() {
			for range each {
				err := kv.Modify(ctx, table, "n", 0, func(old []byte) ([]byte, error) {
					return append(old, 'x'), nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	e, err := table.Get(ctx, "n")
	must(t, err)
	if len(e.Value) != workers*each {
		t.Errorf("%d changes kept, want %d", len(e.Value), workers*each)
	}
	must(t, kv.Modify(ctx, table, "n", 0, func([]byte) ([]byte, error) { return nil, nil }))
	if _, err := table.Get(ctx, "n"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("after a nil result: %v, want ErrNotFound", err)
	}
}

func ttl(t *testing.T, ctx context.Context, table kv.Table) {
	_, err := table.Create(ctx, "created", []byte("1"), time.Second)
	must(t, err)
	rev, err := table.Create(ctx, "updated", []byte("1"), time.Hour)
	must(t, err)
	_, err = table.Create(ctx, "renewed", []byte("1"), 0)
	must(t, err)
	_, err = table.Update(ctx, "updated", []byte("2"), rev, time.Second)
	must(t, err)
	_, err = table.Update(ctx, "renewed", []byte("2"), 0, time.Second)
	must(t, err)
	for _, key := range []string{"created", "updated", "renewed"} {
		for {
			_, err := table.Get(ctx, key)
			if errors.Is(err, kv.ErrNotFound) {
				break
			}
			must(t, err)
			if ctx.Err() != nil {
				t.Fatalf("%s is still there", key)
			}
		}
		_, err := table.Create(ctx, key, []byte("3"), 0)
		must(t, err)
	}
}

func ended(t *testing.T, ctx context.Context, table kv.Table) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := table.Get(gone, "a"); err == nil || errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Get: %v, want the context's error", err)
	}
	if _, err := table.Create(gone, "a", nil, 0); err == nil {
		t.Error("Create: want the context's error")
	}
	if _, err := kv.List(gone, table, ""); err == nil {
		t.Error("List: want the context's error")
	}
}

func listWhileWritten(t *testing.T, ctx context.Context, table kv.Table) {
	for _, key := range []string{"jobs.a", "jobs.b", "jobs.c"} {
		_, err := table.Create(ctx, key, []byte("1"), 0)
		must(t, err)
	}
	writing, stop := context.WithCancel(ctx)
	done := make(chan error, 2)
	for _, key := range []string{"jobs.a", "jobs.b"} {
		go func() {
			for writing.Err() == nil {
				if _, err := table.Update(ctx, key, []byte("2"), 0, 0); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 200 {
		all, err := kv.List(ctx, table, "jobs")
		must(t, err)
		keys := map[string]bool{}
		for _, e := range all {
			keys[e.Key] = true
		}
		if len(keys) != 3 || len(all) != 3 {
			t.Errorf("%d entries of %d keys are listed, want 3", len(all), len(keys))
			break
		}
	}
	stop()
	must(t, <-done)
	must(t, <-done)
}
