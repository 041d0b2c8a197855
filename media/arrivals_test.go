package media

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/internal/kv"
)

// collect runs Work until the returned function is called, which gives the
// keys that it was handed.
func collect(t *testing.T, a *Arrivals) (stop func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var keys []string
	go func() { done <- a.Work(ctx, func(key string, _ Expected) { keys = append(keys, key) }) }()
	return func() []string {
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		return keys
	}
}

func TestArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewArrivals(&kv.Memory{}, time.Hour)
		e := Expected{Channel: "telegram", File: chat.Attachment{Kind: chat.Image, Source: "s"}}
		expect := func(id string, i int) chat.Attachment {
			t.Helper()
			file, err := a.Expect(t.Context(), id, i, e)
			if err != nil || file.Pending == "" || file.Source != "s" {
				t.Fatalf("%+v, %v", file, err)
			}
			return file
		}
		// Ids as the platforms have them; none may run into another.
		files := []chat.Attachment{expect("telegram:1:2", 0), expect("telegram:1:2", 1), expect("telegram:1:20", 0), expect("群.消息 *>", 0)}
		keys := map[string]bool{}
		for _, f := range files {
			keys[f.Pending] = true
		}
		if again := expect("telegram:1:2", 0); len(keys) != 4 || again.Pending != files[0].Pending {
			t.Errorf("keys %v, again %q", keys, again.Pending)
		}
		if got := collect(t, a)(); len(got) != 4 {
			t.Errorf("to do: %v", got)
		}
		want := chat.Attachment{Kind: chat.Image, Source: "s", Ref: "r"}
		if err := a.Settle(t.Context(), files[0].Pending, want); err != nil {
			t.Fatal(err)
		}
		if err := a.Settle(t.Context(), files[0].Pending, chat.Attachment{Failed: "late"}); err != nil {
			t.Fatal(err)
		}
		got, err := a.Await(t.Context(), files[0])
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		expect("telegram:1:2", 0) // redelivered after it was done
		if got := collect(t, a)(); len(got) != 3 {
			t.Errorf("to do: %v", got)
		}
	})
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewArrivals(&kv.Memory{}, time.Hour)
		plain := chat.Attachment{Kind: chat.File, Ref: "r"}
		if got, err := a.Await(t.Context(), plain); err != nil || got != plain {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := a.Await(t.Context(), chat.Attachment{Pending: "nobody"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("err = %v", err)
		}
		file, err := a.Expect(t.Context(), "m", 0, Expected{})
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := a.Await(short, file); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
		var wait sync.WaitGroup
		for range 5 {
			wait.Go(func() {
				began := time.Now()
				if got, err := a.Await(t.Context(), file); err != nil || got.Ref != "r" {
					t.Errorf("%+v, %v", got, err)
				}
				if d := time.Since(began) - 10*time.Second; d < 0 || d > time.Second {
					t.Errorf("learned of it %v after it was there", d)
				}
			})
		}
		<-time.After(10 * time.Second)
		if err := a.Settle(t.Context(), file.Pending, chat.Attachment{Ref: "r"}); err != nil {
			t.Fatal(err)
		}
		wait.Wait()
		<-time.After(2 * time.Hour) // as long as the file itself
		if _, err := a.Await(t.Context(), file); !errors.Is(err, ErrNotFound) {
			t.Errorf("after its life: %v", err)
		}
	})
}

// What cannot be read is nobody's work and nobody's file.
func TestArrivalsDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &kv.Memory{}
		for _, key := range []string{"todo.x", "done.y"} {
			if _, err := table.Create(t.Context(), key, []byte("{"), 0); err != nil {
				t.Fatal(err)
			}
		}
		a := NewArrivals(table, time.Hour)
		if got := collect(t, a)(); len(got) > 0 {
			t.Errorf("to do: %v", got)
		}
		for _, key := range []string{"x", "y"} {
			if _, err := a.Await(t.Context(), chat.Attachment{Pending: key}); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", key, err)
			}
		}
	})
}
