package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"magpie/internal/kv"
)

// Watch implements kv.Table.
func (t *table) Watch(ctx context.Context, prefix string, fn func(kv.Entry) error) error {
	w := t.watching(prefix, fn)
	return w.run(ctx, prefix)
}

// Follow implements kv.Follower.
func (t *table) Follow(ctx context.Context, prefix string, fn func(kv.Entry) error) error {
	w := t.watching(prefix, fn)
	w.begun, w.opts = true, []jetstream.WatchOpt{jetstream.UpdatesOnly()}
	return w.run(ctx, prefix)
}

func (t *table) watching(prefix string, fn func(kv.Entry) error) *watching {
	w := &watching{t: t, filters: []string{t.prefix + ">"}, shown: map[string]uint64{}, fn: fn}
	if prefix != "" {
		p := t.prefix + encodeKey(prefix)
		w.filters = []string{p, p + ".>"}
	}
	return w
}

func (w *watching) run(ctx context.Context, prefix string) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	updates, err := w.start(ctx)
	if err != nil {
		return tableError("watch", prefix, err)
	}
	defer drop(updates)
	if w.begun {
		if err := w.fn(kv.Entry{}); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-updates.Updates():
			if !ok {
				return nil
			}
			if err := w.take(ctx, e); err != nil {
				return err
			}
		}
	}
}

// watching is one Watch or Follow.
type watching struct {
	t       *table
	filters []string
	opts    []jetstream.WatchOpt
	// shown are the keys that were there at the beginning; after it, those that
	// were read by themselves, by revision.
	shown map[string]uint64
	begun bool
	fn    func(kv.Entry) error
}

// start asks for the entries. The context of the request lives as long as the
// watch does, so it ends when there is no answer in time, and not after it.
func (w *watching) start(ctx context.Context) (updates jetstream.KeyWatcher, err error) {
	err = w.t.b.ask(ctx, func(once context.Context) (err error) {
		asked, end := context.WithCancel(ctx)
		inTime := context.AfterFunc(once, end)
		updates, err = w.t.kv.WatchFiltered(asked, slices.Clone(w.filters), w.opts...) // it changes what it is given
		switch late := !inTime(); {
		case err != nil:
			end()
			if late {
				return once.Err()
			}
		case late:
			drop(updates)
			return once.Err()
		}
		return err
	})
	return updates, err
}

// drop ends a watch.
func drop(updates jetstream.KeyWatcher) {
	if updates.Stop() == nil {
		for range updates.Updates() { // whoever sends the next one would wait for ever
		}
	}
}

// take hands an entry on; nil is the mark after what was there.
func (w *watching) take(ctx context.Context, e jetstream.KeyValueEntry) error {
	switch {
	case e == nil:
		if err := w.complete(ctx); err != nil {
			return err
		}
		w.begun = true
		return w.fn(kv.Entry{})
	case !w.begun:
		w.shown[e.Key()] = e.Revision()
	case w.shown[e.Key()] >= e.Revision():
		return nil // read by itself already
	}
	return w.fn(w.t.entry(e))
}

// complete shows what is there and did not come: the server lists the values of
// one moment, and one that is replaced before it was sent is not sent.
func (w *watching) complete(ctx context.Context) error {
	missed, err := w.missed(ctx)
	if err != nil {
		return err
	}
	w.shown = map[string]uint64{}
	for _, key := range missed {
		e, err := w.t.b.value(ctx, w.t.kv, key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound): // deleted meanwhile
		case err != nil:
			return tableError("read", key, err)
		default:
			w.shown[key] = e.Revision()
			if err := w.fn(w.t.entry(e)); err != nil {
				return err
			}
		}
	}
	return nil
}

// missed returns the keys of the table that did not come.
func (w *watching) missed(ctx context.Context) (keys []string, err error) {
	root := "$KV." + w.t.kv.Bucket() + "."
	for _, filter := range w.filters {
		err := w.t.b.ask(ctx, func(ctx context.Context) error {
			info, err := w.t.kv.stream.Info(ctx, jetstream.WithSubjectFilter(root+filter))
			if err != nil {
				return err
			}
			for subject := range info.State.Subjects {
				key := strings.TrimPrefix(subject, root)
				if _, came := w.shown[key]; !came {
					keys = append(keys, key)
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list the keys of %s: %w", filter, err)
		}
	}
	return keys, nil
}
