package bus

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"magpie/internal/kv"
)

// Table returns the durable table of that name. "turn" and "sess" have a
// bucket of their own, the first with a lifetime; all others share one.
func (b *Bus) Table(name string) kv.Table {
	switch name {
	case "turn":
		return &table{b: b, kv: b.streams.turn, marker: briefMarkers}
	case "sess":
		return &table{b: b, kv: b.streams.sess, marker: keepMarkers}
	case "drafts":
		return &table{b: b, kv: b.streams.state, prefix: "drafts.", marker: briefMarkers}
	}
	return &table{b: b, kv: b.streams.state, prefix: encodeKey(name) + ".", marker: keepMarkers}
}

// table implements kv.Table on a bucket.
type table struct {
	b      *Bus
	kv     bucket
	prefix string
	marker time.Duration // how long a deleted key is remembered as such
}

var (
	_ kv.Table    = (*table)(nil)
	_ kv.Follower = (*table)(nil)
)

func (t *table) Get(ctx context.Context, key string) (kv.Entry, error) {
	e, err := t.b.value(ctx, t.kv, t.prefix+encodeKey(key))
	if err != nil {
		return kv.Entry{}, tableError("get", key, err)
	}
	return kv.Entry{Key: key, Value: e.Value(), Revision: e.Revision()}, nil
}

func (t *table) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	rev, err := t.put(ctx, key, value, expect(0), ttl)
	if !errors.Is(err, kv.ErrConflict) {
		return rev, err
	}
	// A deleted key leaves a marker with a revision of its own.
	last, getErr := t.b.latest(ctx, t.kv.stream, t.subject(key))
	if getErr != nil || (last.Header.Get(jetstream.MarkerReasonHeader) == "" && last.Header.Get("KV-Operation") == "") {
		return 0, err
	}
	return t.put(ctx, key, value, expect(last.Sequence), ttl)
}

func (t *table) Update(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if revision == 0 {
		return t.put(ctx, key, value, nil, ttl)
	}
	return t.put(ctx, key, value, expect(revision), ttl)
}

func (t *table) subject(key string) string {
	return "$KV." + t.kv.Bucket() + "." + t.prefix + encodeKey(key)
}

func expect(rev uint64) *uint64 { return &rev }

// put writes straight to the bucket's stream: the client's own Update drops
// the life time of an entry.
func (t *table) put(ctx context.Context, key string, value []byte, rev *uint64, ttl time.Duration) (uint64, error) {
	msg := nats.NewMsg(t.subject(key))
	msg.Data = value
	if rev != nil {
		msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, fmt.Sprint(*rev))
	}
	if ttl > 0 {
		// The server takes whole seconds from one second on.
		msg.Header.Set(jetstream.MsgTTLHeader, ((ttl + time.Second - 1) / time.Second * time.Second).String())
	}
	seq, err := t.b.publish(ctx, msg)
	if errors.Is(err, errConflict) {
		return 0, fmt.Errorf("store %q: %w", key, kv.ErrConflict)
	}
	if err != nil {
		return 0, fmt.Errorf("store %q: %w", key, err)
	}
	return seq, nil
}

func (t *table) Delete(ctx context.Context, key string) error {
	leave, err := t.b.gate.enter(ctx)
	if err != nil {
		return tableError("delete", key, err)
	}
	err = t.b.ask(ctx, func(ctx context.Context) error {
		return t.kv.Purge(ctx, t.prefix+encodeKey(key), jetstream.PurgeTTL(t.marker))
	})
	leave()
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return tableError("delete", key, err)
	}
	return nil
}

func (t *table) entry(e jetstream.KeyValueEntry) kv.Entry {
	if e == nil {
		return kv.Entry{}
	}
	return kv.Entry{
		Key: decodeKey(strings.TrimPrefix(e.Key(), t.prefix)), Value: e.Value(), Revision: e.Revision(),
		Deleted: e.Operation() != jetstream.KeyValuePut,
	}
}

func tableError(op, key string, err error) error {
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrKeyDeleted) {
		err = kv.ErrNotFound
	}
	return fmt.Errorf("%s %q: %w", op, key, err)
}

// encodeKey writes any text with the characters that keys may have; '.' stays
// where it separates levels.
func encodeKey(key string) string {
	var s strings.Builder
	for i := range len(key) {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			s.WriteByte(c)
		case c == '.' && i > 0 && i < len(key)-1 && key[i-1] != '.':
			s.WriteByte(c)
		default:
			fmt.Fprintf(&s, "=%02X", c)
		}
	}
	return s.String()
}

func decodeKey(key string) string {
	text, err := url.PathUnescape(strings.ReplaceAll(key, "=", "%"))
	if err != nil {
		return key // not written by encodeKey
	}
	return text
}

// encodeToken is encodeKey for a single level.
func encodeToken(s string) string {
	return strings.ReplaceAll(encodeKey(s), ".", "=2E")
}

// hashToken is a key of fixed length for an id of any length.
func hashToken(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15])
}
