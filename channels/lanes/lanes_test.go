package lanes

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// One lane keeps the order in which work came, whoever brought it how.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Lanes
		var got, want []int // only the lane touches them
		var callers sync.WaitGroup
		hold := make(chan struct{})
		l.Put("a", func() { <-hold })
		for i := range 100 {
			want = append(want, i)
			if i%3 > 0 {
				l.Put("a", func() { got = append(got, i) })
				continue
			}
			callers.Go(func() {
				if err := l.Do("a", func() error { got = append(got, i); return fmt.Errorf("%d", i) }); err.Error() != fmt.Sprint(i) {
					t.Errorf("the error of %d is %v", i, err)
				}
			})
			synctest.Wait() // it stands in the lane
		}
		close(hold)
		l.Wait()
		callers.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("done in the order %v", got)
		}
		if len(l.queues) != 0 {
			t.Errorf("empty lanes are kept: %v", l.queues)
		}
	})
}

// A lane that stands still holds up no other.
func TestSideBySide(t *testing.T) {
	var l Lanes
	hold := make(chan struct{})
	l.Put("still", func() { <-hold })
	for i := range 1000 { // as many as would meet in any table of locks
		if err := l.Do(fmt.Sprint(i), func() error { return nil }); err != nil {
			t.Error(err)
		}
	}
	close(hold)
	l.Wait()
}

func TestFull(t *testing.T) {
	l := Lanes{Most: 2}
	hold := make(chan struct{})
	done := 0
	work := func() { <-hold; done++ }
	for i, want := range []bool{true, true, false, false} {
		if l.Put("a", work) != want {
			t.Errorf("work %d: %v", i, !want)
		}
	}
	var others sync.WaitGroup
	others.Go(func() {
		if err := l.Do("b", func() error { return nil }); err != nil {
			t.Error(err)
		}
	})
	others.Wait()
	close(hold)
	if err := l.Do("a", func() error { return errors.New("its own") }); err == nil || err.Error() != "its own" || done != 2 {
		t.Errorf("%v after %d", err, done)
	}
	l.Wait()
	if !l.Put("a", work) {
		t.Error("an empty lane is full")
	}
	l.Wait()
}

// Work that panics in Do does so where Do was called, and frees its lane.
func TestPanic(t *testing.T) {
	var l Lanes
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not come to the caller")
			}
		}()
		_ = l.Do("a", func() error { panic("x") })
	}()
	if err := l.Do("a", func() error { return nil }); err != nil {
		t.Error(err)
	}
	l.Wait()
}
