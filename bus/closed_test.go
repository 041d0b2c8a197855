package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"magpie/internal/kv"
)

const damagedKeys = 20

// tablesIn fills the tables of a store and closes it.
func tablesIn(t *testing.T, ctx context.Context, dir string) {
	t.Helper()
	b, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range damagedKeys {
		if _, err := b.Table("jobs").Create(ctx, fmt.Sprint("k", i), fmt.Appendf(nil, "drink water %02d", i), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// Whatever happens to the file of the jobs, the program says so before it goes
// on with what is left.
func TestDamagedTables(t *testing.T) {
	bytewise := func(data []byte) []byte {
		return bytes.Replace(data, []byte("water 07"), []byte("watet 07"), 1)
	}
	cut := func(data []byte) []byte { return data[:len(data)/2] }
	garbage := func(data []byte) []byte { return bytes.Repeat([]byte{0xA5}, len(data)) }
	empty := func([]byte) []byte { return nil }
	torn := func(data []byte) []byte { return append(data, data[:30]...) }
	for _, tt := range []struct {
		name    string
		do      func([]byte) []byte // nil: the file is removed
		folder  bool                // the whole stream is removed
		crashed bool
		index   bool // the index is removed, too
		left    int  // at least
		silent  bool
	}{
		{name: "nothing", do: bytes.Clone, left: damagedKeys, silent: true},
		{name: "no index", do: bytes.Clone, index: true, left: damagedKeys, silent: true},
		{name: "a changed byte", do: bytewise, left: damagedKeys - 1},
		{name: "a changed byte, no index", do: bytewise, index: true, left: damagedKeys - 1},
		{name: "cut off", do: cut, left: damagedKeys / 3},
		{name: "garbage", do: garbage},
		{name: "empty", do: empty},
		{name: "no file", do: nil},
		{name: "no folder", folder: true},
		{name: "killed", do: bytes.Clone, crashed: true, left: damagedKeys, silent: true},
		{name: "killed in the middle of a write", do: torn, crashed: true, index: true, left: damagedKeys, silent: true},
		{name: "killed, a changed byte", do: bytewise, crashed: true, index: true, left: damagedKeys - 1},
		{name: "killed, garbage", do: garbage, crashed: true, index: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			dir := t.TempDir()
			tablesIn(t, ctx, dir)
			if tt.crashed { // what a killed process leaves
				must(t, os.Remove(filepath.Join(dir, closedName)))
				must(t, os.WriteFile(filepath.Join(dir, lockName), []byte("1\n"), 0o600))
			}
			found, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "KV_state", "msgs", "*.blk"))
			if err != nil || len(found) != 1 {
				t.Fatalf("%v, %v", found, err)
			}
			damageFile(t, found[0], tt.do, tt.index, tt.folder)

			b, err := Open(ctx, Options{Dir: dir})
			if tt.silent != (err == nil) || err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatalf("opened: %v; silent is %v", err, tt.silent)
			}
			if err != nil {
				b, err = Open(ctx, Options{Dir: dir})
			}
			if err != nil {
				t.Fatalf("the second time: %v", err)
			}
			left, err := kv.List(ctx, b.Table("jobs"), "")
			if err != nil || len(left) < tt.left {
				t.Errorf("%d keys are left (%v), want %d at least", len(left), err, tt.left)
			}
			for _, e := range left {
				if !bytes.HasPrefix(e.Value, []byte("drink water ")) {
					t.Errorf("%s is %q", e.Key, e.Value)
				}
			}
			if _, err := b.Table("jobs").Create(ctx, "new", []byte("x"), 0); err != nil {
				t.Error(err)
			}
			must(t, b.Close())
			if b, err = Open(ctx, Options{Dir: dir}); err != nil {
				t.Fatalf("the third time: %v", err)
			}
			must(t, b.Close())
		})
	}
}

func damageFile(t *testing.T, path string, do func([]byte) []byte, index, folder bool) {
	t.Helper()
	if index {
		must(t, os.Remove(filepath.Join(filepath.Dir(path), indexName)))
	}
	switch {
	case folder:
		must(t, os.RemoveAll(filepath.Dir(filepath.Dir(path))))
	case do == nil:
		must(t, os.Remove(path))
	default:
		data, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, do(data), 0o600))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
