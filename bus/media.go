package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"
)

// Media keeps files in the store's object bucket.
type Media struct {
	b   *Bus
	ttl time.Duration
}

// lazyMedia is the object bucket, opened on first use: most bots at rest never
// need it.
type lazyMedia struct {
	mu     sync.Mutex
	bucket jetstream.ObjectStore
}

// ErrNoMedia: there is no file with that reference, or its time is over.
var ErrNoMedia = errors.New("no such media")

// Media returns the file store; files are removed after ttl.
func (b *Bus) Media(ttl time.Duration) *Media { return &Media{b: b, ttl: ttl} }

// bucket opens the object bucket.
func (m *Media) bucket(ctx context.Context) (jetstream.ObjectStore, error) {
	lazy := &m.b.media
	lazy.mu.Lock()
	defer lazy.mu.Unlock()
	if lazy.bucket != nil {
		return lazy.bucket, nil
	}
	s, err := m.b.shelf(ctx, "media", m.ttl)
	if err != nil {
		return nil, fmt.Errorf("open media store: %w", err)
	}
	lazy.bucket = s
	return s, nil
}

// Put stores a file and returns its reference and size in bytes. Nothing is
// stored when r fails.
func (m *Media) Put(ctx context.Context, name, mime string, r io.Reader) (ref string, size int64, err error) {
	if !m.b.room.take(0) {
		return "", 0, fmt.Errorf("store file: %w", ErrStoreFull)
	}
	s, err := m.bucket(ctx)
	if err != nil {
		return "", 0, err
	}
	ref = ulid.Make().String()
	info, err := s.Put(ctx, jetstream.ObjectMeta{
		Name:    ref,
		Headers: nats.Header{"Name": {name}, "Mime": {mime}},
	}, r)
	if err != nil {
		return "", 0, fmt.Errorf("store file: %w", err)
	}
	m.b.room.take(int64(info.Size))
	return ref, int64(info.Size), nil
}

// Open reads a file.
func (m *Media) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	s, err := m.bucket(ctx)
	if err != nil {
		return nil, err
	}
	obj, err := s.Get(ctx, ref)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("file %q: %w", ref, ErrNoMedia)
	}
	if err != nil {
		return nil, fmt.Errorf("read file %q: %w", ref, err)
	}
	return obj, nil
}
