package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// SchemaVersion is the layout of streams and buckets that this program knows.
const SchemaVersion = 1

// Migration changes a store to the next version of its layout. It may be
// interrupted, and is then begun again: doing it twice must be harmless. The
// streams have the program's own configuration by then.
type Migration func(ctx context.Context, b *Bus) error

// Upgrade is how an older store is brought up to date.
type Upgrade struct {
	// Steps from version 1 on; nil = the program's own.
	Steps []Migration
	// Before is called before a store of that version is changed; an error
	// leaves it as it is. nil = nothing is done.
	Before func(ctx context.Context, b *Bus, version int) error
}

// migrations are the steps from version 1 on; the last one makes SchemaVersion.
func migrations() []Migration { return nil }

// How long things are kept.
const (
	keepIDs     = 72 * time.Hour      // IDS: the longest redelivery of a platform is hours
	keepJournal = 24 * time.Hour      // turn
	keepDead    = 30 * 24 * time.Hour // DLQ
	dedupWindow = 2 * time.Minute     // an optimisation only, see PublishInbound
	keepMarkers = time.Hour           // how long an expired lease or deleted key is remembered as such, for watches that were cut off
	// The same of tables that nobody watches and that every turn may write.
	briefMarkers = time.Minute
	// A limit that is never reached, but with which the server writes a stream in
	// blocks of 4 MB instead of 8; it holds the one being written in memory.
	unlimited = 1 << 30
)

// streams are the handles of everything the bus keeps.
type streams struct {
	in, out, hist, dead, ids jetstream.Stream
	turn, sess, state, lease bucket
}

// bucket is a key-value bucket and the stream it stands on.
type bucket struct {
	jetstream.KeyValue
	stream jetstream.Stream
}

func (b *Bus) open(ctx context.Context) error {
	meta, version, err := b.openAll(ctx)
	if err != nil || version >= b.Schema() {
		return err
	}
	return b.migrate(ctx, meta)
}

// Schema is the version of the store once it is open.
func (b *Bus) Schema() int { return 1 + len(b.opts.Upgrade.Steps) }

// migrate brings an older store up to date, after a backup. One process does
// it, others that start wait.
func (b *Bus) migrate(ctx context.Context, meta jetstream.KeyValue) error {
	work, done := context.WithCancel(ctx)
	defer done()
	var failed error
	err := b.hold(work, ctx, "schema", func(ctx context.Context) error {
		defer done()
		var version int
		if version, failed = b.checkSchema(ctx, meta); failed == nil && version < b.Schema() {
			failed = b.migrateFrom(ctx, meta, version)
		}
		return nil
	}, nil)
	return errors.Join(err, failed)
}

func (b *Bus) migrateFrom(ctx context.Context, meta jetstream.KeyValue, version int) error {
	b.log.Info("the store is brought up to date", "from", version, "to", b.Schema())
	if b.opts.Upgrade.Before != nil {
		if err := b.opts.Upgrade.Before(ctx, b, version); err != nil {
			return fmt.Errorf("back up before the store is changed: %w", err)
		}
	}
	for ; version < b.Schema(); version++ {
		if err := b.opts.Upgrade.Steps[version-1](ctx, b); err != nil {
			return fmt.Errorf("change the store from version %d to %d: %w", version, version+1, err)
		}
		if _, err := meta.Put(ctx, "schema", []byte(strconv.Itoa(version+1))); err != nil {
			return fmt.Errorf("write schema version: %w", err)
		}
	}
	return nil
}

// openAll opens everything and returns the version of the store.
func (b *Bus) openAll(ctx context.Context) (meta bucket, version int, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	unmarked, err := b.survey(ctx)
	if err != nil {
		return meta, 0, err
	}
	// The schema bucket comes first: nothing is touched in a store that a newer
	// program has written.
	if meta, err = b.bucket(ctx, jetstream.KeyValueConfig{Bucket: "meta"}); err != nil {
		return meta, 0, err
	}
	err = b.patiently(ctx, func(ctx context.Context) (err error) {
		version, err = b.checkSchema(ctx, meta)
		if err == nil && version < b.Schema() && b.opts.Role.Follows {
			return errFollow
		}
		return err
	})
	if err == nil {
		err = b.adopt(ctx, unmarked)
	}
	if err != nil {
		return meta, 0, err
	}
	return meta, version, b.openStreams(ctx)
}

func (b *Bus) openStreams(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, s := range b.streamConfigs() {
		g.Go(func() (err error) {
			*s.into, err = b.stream(gctx, s.cfg)
			return err
		})
	}
	for _, k := range b.bucketConfigs() {
		g.Go(func() (err error) {
			*k.into, err = b.bucket(gctx, k.cfg)
			return err
		})
	}
	return g.Wait()
}

// checkSchema returns the version of the store; a new one has the program's.
func (b *Bus) checkSchema(ctx context.Context, meta jetstream.KeyValue) (version int, err error) {
	switch e, err := meta.Get(ctx, restoreKey); {
	case err == nil:
		return 0, fmt.Errorf("the store is incomplete: a restore that began at %s was interrupted; run bot restore again", e.Value())
	case !errors.Is(err, jetstream.ErrKeyNotFound):
		return 0, fmt.Errorf("look for an interrupted restore: %w", err)
	}
	e, err := meta.Get(ctx, "schema")
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		if b.opts.Role.Follows {
			return 0, errFollow
		}
		_, err = meta.Put(ctx, "schema", []byte(strconv.Itoa(b.Schema())))
		if err != nil {
			return 0, fmt.Errorf("write schema version: %w", err)
		}
		return b.Schema(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	v, err := strconv.Atoi(string(e.Value()))
	switch {
	case err != nil || v < 1:
		return 0, fmt.Errorf("the store's schema version %q is damaged: restore a backup", e.Value())
	case v > b.Schema():
		return 0, fmt.Errorf("the store has schema version %d, this program knows %d: a newer bot has used it; run that one, or restore a backup made before it", v, b.Schema())
	}
	return v, nil
}

type streamConfig struct {
	into *jetstream.Stream
	cfg  jetstream.StreamConfig
}

// streamConfigs: IN refuses what is over the limit of a subject; OUT forgets
// what is acknowledged; HIST is not compressed (S2 makes single reads 160
// times slower). Direct reads may be served by a replica that lags, so they
// are used with one replica only.
func (b *Bus) streamConfigs() []streamConfig {
	direct := b.opts.Replicas == 1
	s := &b.streams
	return []streamConfig{
		{&s.in, jetstream.StreamConfig{
			Name: "IN", Subjects: []string{"in.>"}, MaxMsgsPerSubject: mailboxLimit,
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, AllowDirect: direct, Duplicates: dedupWindow,
		}},
		{&s.out, jetstream.StreamConfig{
			Name: "OUT", Subjects: []string{"out.>"}, Retention: jetstream.WorkQueuePolicy, AllowDirect: direct, Duplicates: dedupWindow,
		}},
		{&s.hist, jetstream.StreamConfig{
			Name: "HIST", Subjects: []string{"hist.>"}, MaxMsgsPerSubject: unlimited, AllowDirect: direct, Duplicates: dedupWindow,
		}},
		{&s.dead, jetstream.StreamConfig{
			Name: "DLQ", Subjects: []string{"dlq.>"}, MaxAge: keepDead, AllowDirect: direct, Duplicates: dedupWindow,
		}},
		{&s.ids, jetstream.StreamConfig{
			Name: "IDS", Subjects: []string{rootSeen + ">", rootReceipt + ">"}, MaxMsgsPerSubject: unlimited,
			MaxAge: keepIDs, AllowDirect: direct, Duplicates: dedupWindow,
		}},
	}
}

type bucketConfig struct {
	into *bucket
	cfg  jetstream.KeyValueConfig
}

// bucketConfigs: tables without a lifetime or a speed of their own share one
// bucket, since each bucket costs memory, file handles and start time.
func (b *Bus) bucketConfigs() []bucketConfig {
	s := &b.streams
	return []bucketConfig{
		{&s.turn, jetstream.KeyValueConfig{Bucket: "turn", TTL: keepJournal, LimitMarkerTTL: keepMarkers}},
		{&s.sess, jetstream.KeyValueConfig{Bucket: "sess", LimitMarkerTTL: keepMarkers}},
		{&s.state, jetstream.KeyValueConfig{Bucket: "state", LimitMarkerTTL: keepMarkers}},
		{&s.lease, jetstream.KeyValueConfig{Bucket: "lease", Storage: jetstream.MemoryStorage, LimitMarkerTTL: keepMarkers}},
	}
}
