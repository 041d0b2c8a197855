package fence

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// SEC-1: while somebody swaps folder and link as fast as possible, nothing outside is
// ever read, written or removed.
func TestSwapBetweenCheckAndUse(t *testing.T) {
	for _, o := range []*Options{nil, {FollowLinks: true}} {
		y := newYard(t)
		y.write(filepath.Join(y.outside, "b.txt"), secret)
		y.write(filepath.Join(y.outside, "gone.txt"), secret)
		f := y.fence(o)
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		var swapping sync.WaitGroup
		swapping.Go(func() { swap(ctx, y, y.outside, "../../secret.txt") })
		inside := 0
		for i := 0; (i < 1200 || inside == 0) && ctx.Err() == nil; i++ {
			text, err := read(f, "a/b.txt")
			if text == secret {
				t.Error("the secret was read")
				break
			}
			if err == nil {
				inside++
			}
			if i%8 == 0 { // slower: it waits for the disk
				_, _ = put(f, "a/new.txt", "x")
				_ = f.Remove("a/gone.txt")
			}
		}
		stop()
		swapping.Wait()
		for _, name := range []string{"b.txt", "secret.txt", "gone.txt"} {
			if raw, err := os.ReadFile(filepath.Join(y.outside, name)); err != nil || string(raw) != secret {
				t.Errorf("%s outside was touched: %q, %v", name, raw, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(y.outside, "new.txt")); err == nil {
			t.Error("a file was written outside")
		}
		if inside == 0 {
			t.Error("nothing was read at all: the test tests nothing")
		}
	}
}

// Where links are refused, one that leads to another place inside is not
// followed either, however it came there.
func TestSwapWithLinksInside(t *testing.T) {
	y := newYard(t)
	y.write(filepath.Join(y.work, "a", "other.txt"), secret)
	f := y.fence(nil)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	var swapping sync.WaitGroup
	swapping.Go(func() { flip(ctx, filepath.Join(y.work, "a")) })
	for i := 0; i < 10_000 && ctx.Err() == nil; i++ {
		if text, _ := read(f, "a/b.txt"); text == secret {
			t.Error("a link was followed")
			break
		}
	}
	stop()
	swapping.Wait()
}

// swap puts a link in the place of folder a, and of the file in it, and back.
func swap(ctx context.Context, y yard, folder, file string) {
	a, aside := filepath.Join(y.work, "a"), filepath.Join(y.work, "aside")
	for ctx.Err() == nil {
		_ = os.Rename(a, aside)
		_ = os.Symlink(folder, a)
		_ = os.RemoveAll(a) // the link, or a folder that a write has made meanwhile
		_ = os.Rename(aside, a)
		_ = os.Symlink(file, filepath.Join(a, "link"))
		_ = os.Rename(filepath.Join(a, "b.txt"), filepath.Join(a, "kept"))
		_ = os.Rename(filepath.Join(a, "link"), filepath.Join(a, "b.txt"))
		_ = os.Rename(filepath.Join(a, "kept"), filepath.Join(a, "b.txt"))
	}
}

// Writers of one file at the same time: it is always one of the contents.
func TestWritersAtTheSameTime(t *testing.T) {
	y := newYard(t)
	f := y.fence(nil)
	contents := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<16)}
	var all sync.WaitGroup
	for _, c := range contents {
		all.Go(func() {
			for range 20 {
				if _, err := put(f, "same/file.txt", c); err != nil {
					t.Error(err)
				}
				if got, err := read(f, "same/file.txt"); err != nil || got != contents[0] && got != contents[1] {
					t.Errorf("a mixture of %d bytes, %v", len(got), err)
				}
			}
		})
	}
	all.Wait()
}

// flip makes b.txt a file and a link in turn; it is always there.
func flip(ctx context.Context, dir string) {
	file, kept, next := filepath.Join(dir, "b.txt"), filepath.Join(dir, "kept"), filepath.Join(dir, "next")
	_ = os.Link(file, kept)
	for ctx.Err() == nil {
		_ = os.Symlink("other.txt", next)
		_ = os.Rename(next, file)
		_ = os.Link(kept, next)
		_ = os.Rename(next, file)
	}
}
