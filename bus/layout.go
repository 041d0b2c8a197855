package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errFollow: what is missing or different is made by another process.
var errFollow = errors.New("it is not there yet as it has to be: a process with the role agent makes it, is one running?")

// stream opens a stream, or makes it. One that stands as it should is left
// alone.
func (b *Bus) stream(ctx context.Context, cfg jetstream.StreamConfig) (s jetstream.Stream, err error) {
	cfg.Replicas = b.opts.Replicas
	cfg = described(cfg)
	err = b.patiently(ctx, func(ctx context.Context) (err error) {
		s, err = b.js.Stream(ctx, cfg.Name)
		missing := errors.Is(err, jetstream.ErrStreamNotFound)
		switch {
		case b.opts.Role.Follows && (missing || err == nil && !stands(s.CachedInfo().Config, cfg)):
			return errFollow
		case missing:
			s, err = b.make(ctx, cfg)
		case err == nil && !stands(s.CachedInfo().Config, cfg):
			if err = b.guard(s); err == nil {
				cfg.Metadata = marks(s.CachedInfo().Config.Metadata)
				s, err = b.js.UpdateStream(ctx, cfg)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", cfg.Name, err)
	}
	return s, nil
}

// make makes a stream; another one that takes its subjects is named.
func (b *Bus) make(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := b.js.CreateStream(ctx, cfg)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == errSubjectsOverlap {
		return nil, b.foreign([]string{"another stream that takes " + strings.Join(cfg.Subjects, ", ")})
	}
	return s, err
}

// stands compares what streamConfigs sets; the server fills in the rest.
func stands(have, want jetstream.StreamConfig) bool {
	return slices.Equal(have.Subjects, want.Subjects) && have.Retention == want.Retention &&
		have.Discard == want.Discard && have.DiscardNewPerSubject == want.DiscardNewPerSubject &&
		(have.MaxMsgsPerSubject == want.MaxMsgsPerSubject || have.MaxMsgsPerSubject == -1 && want.MaxMsgsPerSubject == 0) &&
		have.MaxAge == want.MaxAge && have.Duplicates == want.Duplicates &&
		have.AllowDirect == want.AllowDirect && have.Replicas == want.Replicas
}

// bucket opens a bucket or makes it. A replicated one must answer reads from
// its leader: a lagging replica would deny a receipt that was just stored.
func (b *Bus) bucket(ctx context.Context, cfg jetstream.KeyValueConfig) (k bucket, err error) {
	want := bucketStream(cfg, b.opts.Replicas)
	err = b.patiently(ctx, func(ctx context.Context) (err error) {
		k.stream, err = b.js.Stream(ctx, want.Name)
		missing := errors.Is(err, jetstream.ErrStreamNotFound)
		switch {
		case b.opts.Role.Follows && (missing || err == nil && b.fromReplicas(k.stream)):
			return errFollow
		case missing:
			k.stream, err = b.make(ctx, described(want))
		case err == nil && b.fromReplicas(k.stream):
			if err = b.guard(k.stream); err == nil {
				k.stream, err = b.fromLeader(ctx, k.stream)
			}
		}
		if err == nil { // last, since it notes who answers its reads
			k.KeyValue, err = b.js.KeyValue(ctx, cfg.Bucket)
		}
		return err
	})
	if err != nil {
		return bucket{}, fmt.Errorf("open bucket %s: %w", cfg.Bucket, err)
	}
	return k, nil
}

// bucketStream is the stream below a bucket, as the client makes it, but with
// reads from replicas off from the beginning where there are any.
func bucketStream(cfg jetstream.KeyValueConfig, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "KV_" + cfg.Bucket, Subjects: []string{"$KV." + cfg.Bucket + ".>"}, Storage: cfg.Storage, Replicas: replicas,
		MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1,
		MaxAge: cfg.TTL, Discard: jetstream.DiscardNew, Duplicates: dedupWindow,
		AllowRollup: true, DenyDelete: true, AllowDirect: replicas == 1,
		AllowMsgTTL: cfg.LimitMarkerTTL > 0, SubjectDeleteMarkerTTL: cfg.LimitMarkerTTL,
	}
}

// shelf opens the object bucket, or makes it: its files are removed after ttl.
func (b *Bus) shelf(ctx context.Context, name string, ttl time.Duration) (o jetstream.ObjectStore, err error) {
	about := described(jetstream.StreamConfig{Name: "OBJ_" + name})
	cfg := jetstream.ObjectStoreConfig{Bucket: name, TTL: ttl, Replicas: b.opts.Replicas, Description: about.Description, Metadata: about.Metadata}
	err = b.patiently(ctx, func(ctx context.Context) (err error) {
		s, err := b.js.Stream(ctx, "OBJ_"+name)
		if err == nil && b.srv == nil && !isMarked(s.CachedInfo().Config) && !resembles(s.CachedInfo().Config, shelfStream()) {
			return b.foreign([]string{titled(s.CachedInfo().Config)})
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && (s.CachedInfo().Config.MaxAge != ttl || s.CachedInfo().Config.Replicas != cfg.Replicas) {
			if _, err = b.js.CreateOrUpdateObjectStore(ctx, cfg); err == nil {
				s, err = b.js.Stream(ctx, "OBJ_"+name)
			}
		}
		if err == nil && b.fromReplicas(s) {
			_, err = b.fromLeader(ctx, s)
		}
		if err == nil {
			o, err = b.js.ObjectStore(ctx, name)
		}
		return err
	})
	return o, err
}

// fromReplicas: reads of the stream may be served by a replica that lags.
func (b *Bus) fromReplicas(s jetstream.Stream) bool {
	return b.opts.Replicas > 1 && s.CachedInfo().Config.AllowDirect
}

// fromLeader has all reads of a bucket's stream go to its leader.
func (b *Bus) fromLeader(ctx context.Context, s jetstream.Stream) (jetstream.Stream, error) {
	cfg := s.CachedInfo().Config
	cfg.AllowDirect = false
	return b.js.UpdateStream(ctx, cfg)
}
