package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// Every stream that the bus makes carries this mark in its metadata, so that
// those of other programs on a shared account are known and left alone.
const markKey, markValue = "magpie", "store"

// marks are the metadata of a stream of ours that had those.
func marks(had map[string]string) map[string]string {
	all := maps.Clone(had)
	if all == nil {
		all = map[string]string{}
	}
	all[markKey] = markValue
	return all
}

func isMarked(have jetstream.StreamConfig) bool { return have.Metadata[markKey] == markValue }

// described is cfg with our mark, and what the stream is for.
func described(cfg jetstream.StreamConfig) jetstream.StreamConfig {
	cfg.Metadata = marks(cfg.Metadata)
	cfg.Description = "Magpie: " + purpose(cfg.Name)
	return cfg
}

// metaStream holds the version of the store.
const metaStream = "KV_meta"

// layout is every stream that the bus may make, also those below buckets.
func (b *Bus) layout() []jetstream.StreamConfig {
	all := []jetstream.StreamConfig{
		bucketStream(jetstream.KeyValueConfig{Bucket: "meta"}, b.opts.Replicas),
		shelfStream(),
	}
	for _, s := range b.streamConfigs() {
		all = append(all, s.cfg)
	}
	for _, k := range b.bucketConfigs() {
		all = append(all, bucketStream(k.cfg, b.opts.Replicas))
	}
	return all
}

// shelfStream is the stream below the object bucket, as far as it is compared.
func shelfStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: mediaStream, Subjects: []string{"$O.media.C.>", "$O.media.M.>"}}
}

// survey is what stands under the names of the bus before anything is changed.
type survey struct {
	b    *Bus
	mu   sync.Mutex
	have map[string]jetstream.Stream
}

// survey looks at everything and refuses what is not ours: nothing is made or
// changed on an account where something of another program stands in the way.
// It returns those of ours that have no mark yet, made by earlier versions.
func (b *Bus) survey(ctx context.Context) (unmarked []jetstream.Stream, err error) {
	s := &survey{b: b, have: map[string]jetstream.Stream{}}
	g, gctx := errgroup.WithContext(ctx)
	for _, want := range b.layout() {
		g.Go(func() error { return s.look(gctx, want.Name) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	earlier, err := s.isEarlier(ctx)
	if err != nil {
		return nil, err
	}
	var foreign []string
	for _, want := range b.layout() {
		have := s.have[want.Name]
		switch {
		case have == nil || isMarked(have.CachedInfo().Config):
		case b.srv != nil || earlier && resembles(have.CachedInfo().Config, want):
			unmarked = append(unmarked, have)
		default:
			foreign = append(foreign, titled(have.CachedInfo().Config))
		}
	}
	overlaps, err := s.overlaps(ctx)
	if err != nil {
		return nil, err
	}
	if foreign = append(foreign, overlaps...); len(foreign) > 0 {
		return nil, b.foreign(foreign)
	}
	return unmarked, nil
}

func (s *survey) look(ctx context.Context, name string) error {
	err := s.b.patiently(ctx, func(ctx context.Context) error {
		have, err := s.b.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.have[name] = have
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look for stream %s: %w", name, err)
	}
	return nil
}

// isEarlier: what has no mark may be ours all the same, because the account
// holds a whole store of ours: one of an earlier version, or one where such a
// version works beside us.
func (s *survey) isEarlier(ctx context.Context) (bool, error) {
	meta := s.have[metaStream]
	if meta == nil || s.b.srv != nil {
		return false, nil
	}
	if isMarked(meta.CachedInfo().Config) {
		return true, nil
	}
	restored, err := s.metaValue(ctx, restoreKey)
	if err != nil {
		return false, err
	}
	version, err := s.metaValue(ctx, "schema")
	if err != nil {
		return false, err
	}
	if restored != "" {
		return true, nil // an interrupted restore has only some of the streams
	}
	if v, err := strconv.Atoi(version); err != nil || v < 1 {
		return false, nil
	}
	for _, want := range s.b.streamConfigs() {
		if have := s.have[want.cfg.Name]; have == nil || !isMarked(have.CachedInfo().Config) && !resembles(have.CachedInfo().Config, want.cfg) {
			return false, nil
		}
	}
	return true, nil
}

// metaValue reads an entry of the bucket meta; "" when there is none.
func (s *survey) metaValue(ctx context.Context, key string) (value string, err error) {
	err = s.b.patiently(ctx, func(ctx context.Context) error {
		msg, err := s.have[metaStream].GetLastMsgForSubject(ctx, "$KV.meta."+key)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil && msg.Header.Get("KV-Operation") == "" {
			value = string(msg.Data)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read what store is there: %w", err)
	}
	return value, nil
}

// resembles compares what no version of ours ever changed.
func resembles(have, want jetstream.StreamConfig) bool {
	if have.Name == mediaStream && have.MaxAge == 0 { // our files always have their time
		return false
	}
	return slices.Equal(slices.Sorted(slices.Values(have.Subjects)), slices.Sorted(slices.Values(want.Subjects))) &&
		have.Retention == want.Retention && have.Storage == want.Storage && have.AllowMsgTTL == want.AllowMsgTTL &&
		have.Mirror == nil && len(have.Sources) == 0
}

// overlaps names the streams of others that take subjects of ours, when there
// is anything to make. That is all that can be known without the right to ask.
func (s *survey) overlaps(ctx context.Context) (found []string, err error) {
	subjects, missing := []string{"wake.>", "ev.>"}, false
	for _, want := range s.b.layout() {
		subjects = append(subjects, want.Subjects...)
		missing = missing || want.Name != mediaStream && s.have[want.Name] == nil
	}
	if !missing || s.b.srv != nil || s.b.opts.Role.Follows {
		return nil, nil
	}
	taken := make([][]string, len(subjects))
	g, gctx := errgroup.WithContext(ctx)
	for i, subject := range subjects {
		g.Go(func() (err error) {
			taken[i], err = s.takers(gctx, subject)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, want := range s.b.layout() {
		seen[want.Name] = true // judged by its name
	}
	for i, names := range taken {
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				found = append(found, fmt.Sprintf("stream %s, which takes %s", name, subjects[i]))
			}
		}
	}
	return found, nil
}

// takers are the streams that take a subject.
func (s *survey) takers(ctx context.Context, subject string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askAgain)
	defer cancel()
	var resp struct {
		Streams []string `json:"streams"`
	}
	err = s.b.api(ctx, namesSubject, fmt.Appendf(nil, `{"subject":%q}`, subject), &resp)
	switch {
	case errors.Is(err, context.DeadlineExceeded), notYet(err):
		// Not granted by permissions of earlier versions, or nobody answers: then
		// the server itself refuses the stream.
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for streams that take %s: %w", subject, err)
	}
	return resp.Streams, nil
}

const namesSubject = "STREAM.NAMES"

// titled says what stands in the way as its owner knows it.
func titled(have jetstream.StreamConfig) string {
	if name, ok := strings.CutPrefix(have.Name, "KV_"); ok {
		return "bucket " + name
	}
	if name, ok := strings.CutPrefix(have.Name, "OBJ_"); ok {
		return "object store " + name
	}
	return fmt.Sprintf("stream %s (subjects %s)", have.Name, strings.Join(have.Subjects, ", "))
}

func (b *Bus) foreign(things []string) error {
	return &Unfit{
		Why:  fmt.Sprintf("the account at %s holds what is not Magpie's under names or subjects that Magpie needs: %s; nothing was changed", b.where(), strings.Join(things, "; ")),
		Todo: "give Magpie a NATS account of its own (docs/operations.md), or rename what is in its way",
	}
}

// adopt marks streams of ours that earlier versions have made, the one that
// proves them last.
func (b *Bus) adopt(ctx context.Context, unmarked []jetstream.Stream) error {
	if b.opts.Role.Follows {
		return nil
	}
	slices.SortStableFunc(unmarked, func(x, y jetstream.Stream) int {
		last := func(s jetstream.Stream) int {
			if s.CachedInfo().Config.Name == metaStream {
				return 1
			}
			return 0
		}
		return last(x) - last(y)
	})
	for _, s := range unmarked {
		cfg := described(s.CachedInfo().Config)
		err := b.patiently(ctx, func(ctx context.Context) error {
			_, err := b.js.UpdateStream(ctx, cfg)
			return err
		})
		if err != nil {
			return fmt.Errorf("mark stream %s as ours: %w", cfg.Name, err)
		}
	}
	return nil
}

// guard refuses to change a stream that somebody else has made since the
// survey.
func (b *Bus) guard(s jetstream.Stream) error {
	if have := s.CachedInfo().Config; b.srv == nil && !isMarked(have) {
		return b.foreign([]string{titled(have)})
	}
	return nil
}
