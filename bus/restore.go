package bus

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats-server/v2/server/archive"
	"github.com/nats-io/nats.go/jetstream"
)

// The errors of OpenRestore that callers decide on.
var (
	// ErrNotEmpty: the store holds messages.
	ErrNotEmpty = errors.New("the store is not empty")
	// ErrInUse: programs are working with the store.
	ErrInUse = errors.New("the store is in use")
)

const (
	// restoreKey stands in the meta bucket from the first change of a restore to
	// its end: no bot opens such a store.
	restoreKey = "restoring"
	// restoreJump is how far the numbers of inbound messages jump over a restore.
	// Ids of answers are made of them, and the platforms still know the ids that
	// were used between the backup and the restore: an answer under one of those
	// would be taken for a repeat.
	restoreJump = 1 << 20
	// activateWait bounds the wait for the server to have stored a stream.
	activateWait = 10 * time.Minute
)

// Restorer fills a store with the streams of a backup. Nothing else can open
// the store until Done.
type Restorer struct{ b *Bus }

// OpenRestore opens a store to be filled, in which it must be alone. What is
// in it is removed if replace is set, else ErrNotEmpty; the rest of a restore
// that was interrupted is removed in any case.
func OpenRestore(ctx context.Context, opts Options, replace bool, mediaLife time.Duration) (r *Restorer, err error) {
	b, err := dial(ctx, opts)
	defer func() {
		if err != nil {
			b.shutdown()
		}
	}()
	if err != nil {
		return nil, err
	}
	unmarked, err := b.survey(ctx)
	if err != nil {
		return nil, err
	}
	others, err := b.others(ctx)
	if err == nil && others > 0 {
		err = fmt.Errorf("%w by %d programs: stop them first", ErrInUse, others)
	}
	if err != nil {
		return nil, err
	}
	if err := b.adopt(ctx, unmarked); err != nil {
		return nil, err
	}
	meta, err := b.bucket(ctx, jetstream.KeyValueConfig{Bucket: "meta"})
	if err != nil {
		return nil, err
	}
	if _, err := meta.Get(ctx, restoreKey); err != nil && !replace {
		if err := b.checkEmpty(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := meta.Put(ctx, restoreKey, []byte(time.Now().UTC().Format(time.RFC3339))); err != nil {
		return nil, fmt.Errorf("mark store: %w", err)
	}
	if err := b.removeStreams(ctx); err != nil {
		return nil, err
	}
	if err := b.openStreams(ctx); err != nil {
		return nil, err
	}
	if _, err := b.Media(mediaLife).bucket(ctx); err != nil {
		return nil, err
	}
	return &Restorer{b}, nil
}

// everyStream names all streams that a backup may hold.
func (b *Bus) everyStream() []string {
	all := []string{mediaStream}
	for _, s := range b.streamConfigs() {
		all = append(all, s.cfg.Name)
	}
	for _, k := range b.bucketConfigs() {
		all = append(all, "KV_"+k.cfg.Bucket)
	}
	return all
}

func (b *Bus) checkEmpty(ctx context.Context) error {
	for _, name := range b.everyStream() {
		s, err := b.js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
		case err != nil:
			return fmt.Errorf("look into stream %s: %w", name, err)
		case s.CachedInfo().State.Msgs > 0:
			return fmt.Errorf("%w: stream %s holds %d messages", ErrNotEmpty, name, s.CachedInfo().State.Msgs)
		}
	}
	return nil
}

func (b *Bus) removeStreams(ctx context.Context) error {
	for _, name := range b.everyStream() {
		if err := b.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("remove stream %s: %w", name, err)
		}
	}
	return nil
}

// Stream fills a stream with what Backup wrote. Sequences, times and lifetimes
// stay what they were, except that inbound messages go on with higher numbers.
func (r *Restorer) Stream(ctx context.Context, name string, from io.Reader) error {
	s, err := r.b.js.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	cfg := s.CachedInfo().Config
	if name == "IN" {
		from = jumped(from)
	}
	if err := r.b.js.DeleteStream(ctx, name); err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	if err := r.b.upload(ctx, name, cfg, from); err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	return nil
}

// upload sends a snapshot to the server, piece by piece.
func (b *Bus) upload(ctx context.Context, name string, cfg jetstream.StreamConfig, from io.Reader) error {
	req, err := json.Marshal(map[string]any{"config": cfg, "state": struct{}{}})
	if err != nil {
		return err
	}
	var resp struct {
		Deliver string `json:"deliver_subject"`
	}
	if err := b.api(ctx, "STREAM.RESTORE."+name, req, &resp); err != nil {
		return err
	}
	piece := make([]byte, snapshotChunk)
	for {
		n, err := io.ReadFull(from, piece)
		if errors.Is(err, io.EOF) {
			return b.send(ctx, resp.Deliver, nil, activateWait)
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if err := b.send(ctx, resp.Deliver, piece[:n], snapshotWait); err != nil {
			return err
		}
	}
}

func (b *Bus) send(ctx context.Context, subject string, data []byte, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m, err := b.nc.RequestWithContext(ctx, subject, data)
	if err != nil || len(m.Data) == 0 {
		return err
	}
	return refused(m.Data, nil)
}

// Done says that the store is complete, and closes it. schema is the version
// of the store that was backed up.
func (r *Restorer) Done(ctx context.Context, schema int) error {
	meta, err := r.b.bucket(ctx, jetstream.KeyValueConfig{Bucket: "meta"})
	if err == nil {
		_, err = meta.Put(ctx, "schema", []byte(strconv.Itoa(schema)))
	}
	if err == nil {
		err = meta.Delete(ctx, restoreKey)
	}
	if err != nil {
		err = fmt.Errorf("finish the store: %w", err)
	}
	return errors.Join(err, r.Close())
}

// Close ends a restore; without Done before, the store stays marked.
func (r *Restorer) Close() error {
	r.b.shutdown()
	return nil
}

// jumped is a snapshot whose last sequence is restoreJump higher. Its format,
// of nats-server v2.15: entries of length of the name, time, sequence, sizes of
// header and body (varints), name, body; the first one is state.json.
func jumped(from io.Reader) io.Reader {
	pr, pw := io.Pipe()
	go func() {
		w := s2.NewWriter(pw, s2.WriterConcurrency(1))
		err := jump(w, bufio.NewReader(s2.NewReader(from)))
		_ = pw.CloseWithError(errors.Join(err, w.Close()))
	}()
	return pr
}

func jump(w io.Writer, r *bufio.Reader) error {
	magic := make([]byte, len(archive.MagicBytes))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != archive.MagicBytes {
		return errors.New("the copy is of a server older than v2.15, which cannot be restored")
	}
	var head [5]uint64
	for i := range head {
		v, err := binary.ReadUvarint(r)
		if err != nil {
			return fmt.Errorf("read the copy's state: %w", err)
		}
		head[i] = v
	}
	const most = 1 << 20
	if head[0] > most || head[3]+head[4] > most {
		return errors.New("the copy does not begin with its state")
	}
	first := make([]byte, head[0]+head[3]+head[4])
	if _, err := io.ReadFull(r, first); err != nil {
		return fmt.Errorf("read the copy's state: %w", err)
	}
	name, state := string(first[:head[0]]), map[string]any{}
	if err := json.Unmarshal(first[head[0]:], &state); err != nil {
		return fmt.Errorf("read the copy's state: %w", err)
	}
	last, _ := state["last_seq"].(float64)
	state["last_seq"] = uint64(last) + restoreJump
	if n, _ := state["messages"].(float64); n == 0 {
		state["first_seq"] = uint64(last) + restoreJump + 1
	}
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	a := archive.NewWriter(w)
	err = a.WriteHeader(&archive.Header{Name: name, PayloadSize: int64(len(data))})
	if err == nil {
		_, err = a.Write(data)
	}
	if err == nil {
		_, err = io.Copy(w, r)
	}
	return err
}
