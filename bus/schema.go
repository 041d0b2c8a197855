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

// How long things are kept.
const (
	keepIDs     = 72 * time.Hour      // seen and receipt: the longest redelivery of a platform is hours
	keepJournal = 24 * time.Hour      // turn
	keepDead    = 30 * 24 * time.Hour // DLQ
	dedupWindow = 2 * time.Minute     // an optimisation only, see PublishInbound
	keepMarkers = time.Hour           // how long an expired lease or deleted key is remembered as such
)

// streams are the handles of everything the bus keeps.
type streams struct {
	in, out, hist, dead                     jetstream.Stream
	seen, receipt, turn, sess, state, lease bucket
}

// bucket is a key-value bucket and the stream it stands on.
type bucket struct {
	jetstream.KeyValue
	stream jetstream.Stream
}

func (b *Bus) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	// The schema bucket comes first: nothing is touched in a store that a newer
	// program has written.
	meta, err := b.bucket(ctx, jetstream.KeyValueConfig{Bucket: "meta"})
	if err != nil {
		return err
	}
	if err := b.checkSchema(ctx, meta); err != nil {
		return err
	}
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

func (b *Bus) checkSchema(ctx context.Context, meta jetstream.KeyValue) error {
	e, err := meta.Get(ctx, "schema")
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		_, err = meta.Put(ctx, "schema", []byte(strconv.Itoa(SchemaVersion)))
		if err != nil {
			return fmt.Errorf("write schema version: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	v, err := strconv.Atoi(string(e.Value()))
	switch {
	case err != nil || v < 1:
		return fmt.Errorf("the store's schema version %q is damaged: restore a backup", e.Value())
	case v > SchemaVersion:
		return fmt.Errorf("the store has schema version %d, this program knows %d: a newer bot has used it; run that one, or restore a backup made before it", v, SchemaVersion)
	}
	return nil
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
			Name: "HIST", Subjects: []string{"hist.>"}, AllowDirect: direct, Duplicates: dedupWindow,
		}},
		{&s.dead, jetstream.StreamConfig{
			Name: "DLQ", Subjects: []string{"dlq.>"}, MaxAge: keepDead, AllowDirect: direct, Duplicates: dedupWindow,
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
		{&s.seen, jetstream.KeyValueConfig{Bucket: "seen", TTL: keepIDs}},
		{&s.receipt, jetstream.KeyValueConfig{Bucket: "receipt", TTL: keepIDs, LimitMarkerTTL: keepMarkers}},
		{&s.turn, jetstream.KeyValueConfig{Bucket: "turn", TTL: keepJournal, LimitMarkerTTL: keepMarkers}},
		{&s.sess, jetstream.KeyValueConfig{Bucket: "sess", LimitMarkerTTL: keepMarkers}},
		{&s.state, jetstream.KeyValueConfig{Bucket: "state", LimitMarkerTTL: keepMarkers}},
		{&s.lease, jetstream.KeyValueConfig{Bucket: "lease", Storage: jetstream.MemoryStorage, LimitMarkerTTL: keepMarkers}},
	}
}

func (b *Bus) stream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	cfg.Replicas = b.opts.Replicas
	s, err := b.js.CreateOrUpdateStream(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", cfg.Name, err)
	}
	return s, nil
}

// bucket opens a bucket or creates it. A replicated one must answer reads from
// its leader: a lagging replica would deny a receipt that was just stored.
func (b *Bus) bucket(ctx context.Context, cfg jetstream.KeyValueConfig) (k bucket, err error) {
	cfg.Replicas = b.opts.Replicas
	k.KeyValue, err = b.js.KeyValue(ctx, cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		k.KeyValue, err = b.js.CreateOrUpdateKeyValue(ctx, cfg)
	}
	if err == nil {
		k.stream, err = b.js.Stream(ctx, "KV_"+cfg.Bucket)
	}
	if err == nil && cfg.Replicas > 1 && k.stream.CachedInfo().Config.AllowDirect {
		scfg := k.stream.CachedInfo().Config
		scfg.AllowDirect = false
		if k.stream, err = b.js.UpdateStream(ctx, scfg); err == nil {
			k.KeyValue, err = b.js.KeyValue(ctx, cfg.Bucket)
		}
	}
	if err != nil {
		return bucket{}, fmt.Errorf("open bucket %s: %w", cfg.Bucket, err)
	}
	return k, nil
}
