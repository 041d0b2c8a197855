// Package kv declares Table, the small durable key-value store in which parts
// of Magpie keep state without knowing the bus, and Memory, the same thing
// without durability for tests. Package bus implements Table on JetStream.
package kv

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// The errors of a Table; test with errors.Is.
var (
	// ErrNotFound: the key does not exist or its time is over.
	ErrNotFound = errors.New("key not found")
	// ErrConflict: the key exists (Create) or is not at that revision (Update,
	// Delete): somebody else was faster. Read again, decide again.
	ErrConflict = errors.New("key was changed by somebody else")
)

// Entry is one value with its revision.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64 // grows with every change of the table
	Deleted  bool   // only from Watch
}

// Table is a durable map from keys to small values (up to 512 KiB) with
// revisions. Keys are any non-empty UTF-8 text; '.' separates levels for
// Watch. All methods may be called at the same time from many goroutines, and
// a change is seen by every process that shares the store.
type Table interface {
	// Get returns the entry, or ErrNotFound.
	Get(ctx context.Context, key string) (Entry, error)
	// Create stores a value under a key that does not exist, else ErrConflict.
	// ttl > 0 removes it after that time (minimum and granularity 1 s); 0 uses
	// the table's own lifetime.
	Create(ctx context.Context, key string, value []byte, ttl time.Duration) (revision uint64, err error)
	// Update replaces the value at that revision, else ErrConflict. ttl as in
	// Create; it does not carry over from the value replaced. Revision 0 stores
	// whatever is there.
	Update(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (newRevision uint64, err error)
	// Delete removes the key; removing what is not there is no error.
	Delete(ctx context.Context, key string) error
	// Watch calls fn for every entry at or below prefix ("" for all; otherwise
	// whole levels: "a.b" is the key "a.b" and all of "a.b.…"), then once with
	// a zero Entry to say that all existing ones were seen, then for each
	// change until ctx ends or fn returns an error, which Watch returns. It
	// blocks; end of ctx is no error.
	Watch(ctx context.Context, prefix string, fn func(Entry) error) error
}

// Follower is a Table that can tell of changes without listing what is there.
type Follower interface {
	// Follow is Watch without the entries that exist: the zero Entry comes first,
	// and every change made after it was given to fn comes. Old entries may come
	// too, after a break.
	Follow(ctx context.Context, prefix string, fn func(Entry) error) error
}

// Follow follows the changes at or below prefix in a table, whether or not it is
// a Follower.
func Follow(ctx context.Context, t Table, prefix string, fn func(Entry) error) error {
	if f, ok := t.(Follower); ok {
		return f.Follow(ctx, prefix, fn)
	}
	begun := false
	return t.Watch(ctx, prefix, func(e Entry) error {
		begun = begun || e.Key == ""
		if !begun {
			return nil
		}
		return fn(e)
	})
}

// errDone ends the Watch in List.
var errDone = errors.New("done")

// List returns the entries at or below prefix in no particular order. One that
// changes meanwhile is there once, as it was last seen.
func List(ctx context.Context, t Table, prefix string) ([]Entry, error) {
	seen := map[string]Entry{}
	err := t.Watch(ctx, prefix, func(e Entry) error {
		switch {
		case e.Key == "":
			return errDone
		case e.Deleted:
			delete(seen, e.Key)
		default:
			seen[e.Key] = e
		}
		return nil
	})
	if errors.Is(err, errDone) {
		return slices.Collect(maps.Values(seen)), nil
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	return nil, err
}

// Modify reads the value of key (nil when there is none), lets fn change it
// and stores the result, again from the start when somebody else was faster.
// fn may run several times; a nil result deletes the key.
func Modify(ctx context.Context, t Table, key string, ttl time.Duration, fn func(old []byte) ([]byte, error)) error {
	for {
		e, err := t.Get(ctx, key)
		found := err == nil
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		value, err := fn(e.Value)
		switch {
		case err != nil:
			return err
		case value == nil && !found:
			return nil
		case value == nil:
			return t.Delete(ctx, key)
		case found:
			_, err = t.Update(ctx, key, value, e.Revision, ttl)
		default:
			_, err = t.Create(ctx, key, value, ttl)
		}
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
}
