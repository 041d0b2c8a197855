package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// StreamCopy is what a backup holds of one stream: everything up to sequence
// Last of a moment that is the same for all streams.
type StreamCopy struct {
	Name  string `json:"name"`
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Msgs  uint64 `json:"messages"`
}

// BackupOptions configure Backup.
type BackupOptions struct {
	// Hold bounds how long writes are held while what must fit together is read.
	Hold time.Duration
	// Open makes the file of a stream. It may be called by several goroutines.
	Open func(name string) (io.WriteCloser, error)
	// Still, if not nil, is called while all writes are held.
	Still func() error
}

// BackedUp is what Backup has done.
type BackedUp struct {
	Streams []StreamCopy
	// Others is how many other processes have held their writes.
	Others int
	// Held is how long writes were held.
	Held time.Duration
}

// The server sends a snapshot in pieces and waits for their receipt.
const (
	snapshotChunk  = 128 << 10
	snapshotWindow = 1 << 20
	// snapshotWait bounds the wait for the next piece: the server may have to
	// read over many removed messages.
	snapshotWait = time.Minute
)

// mediaStream is where the files stand; it exists once a file was stored.
const mediaStream = "OBJ_media"

// Backup copies every stream and table, but leases, while the bot works on.
// All writes of all processes are held for a moment, in which the mailboxes,
// the queue and the tables are read and the reading of the rest is begun: what
// only grows (history, dead letters, files) is read up to that moment
// afterwards. So the copy is what a power failure would have left.
func (b *Bus) Backup(ctx context.Context, o BackupOptions) (done BackedUp, err error) {
	growing, whole, err := b.streamNames(ctx)
	if err != nil {
		return done, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(ctx)
	copies := make([]StreamCopy, len(growing)+len(whole))
	began := time.Now()
	done.Others, err = b.paused(ctx, o.Hold, func() error {
		for i, name := range growing {
			s, err := b.snapshot(ctx, name)
			if err != nil {
				return err
			}
			copies[i] = s.StreamCopy
			g.Go(func() error { return s.copy(gctx, o.Open) })
		}
		for i, name := range whole {
			s, err := b.snapshot(ctx, name)
			if err != nil {
				return err
			}
			copies[len(growing)+i] = s.StreamCopy
			if err := s.copy(ctx, o.Open); err != nil {
				return err
			}
		}
		if o.Still != nil {
			return o.Still()
		}
		return nil
	})
	done.Held, done.Streams = time.Since(began), copies
	if err != nil {
		cancel()
	}
	return done, errors.Join(err, g.Wait())
}

// streamNames are the streams to copy: those that only grow, and the others.
func (b *Bus) streamNames(ctx context.Context) (growing, whole []string, err error) {
	for _, s := range b.streamConfigs() {
		whole = append(whole, s.cfg.Name)
	}
	for _, k := range b.bucketConfigs() {
		if k.into != &b.streams.lease {
			whole = append(whole, "KV_"+k.cfg.Bucket)
		}
	}
	growing = []string{"HIST", "DLQ", "IDS"}
	whole = slices.DeleteFunc(whole, func(name string) bool { return slices.Contains(growing, name) })
	switch _, err := b.js.Stream(ctx, mediaStream); {
	case err == nil:
		growing = append(growing, mediaStream)
	case !errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, nil, fmt.Errorf("look for stored files: %w", err)
	}
	return growing, whole, nil
}

// snapshot is a copy that the server has begun to send.
type snapshot struct {
	StreamCopy
	b   *Bus
	sub *nats.Subscription
}

// apiError is how the server says no.
type apiError struct {
	Error *jetstream.APIError `json:"error"`
}

// snapshot asks for a stream as it is now. What the client library offers has
// no snapshots, so these are requests of our own.
func (b *Bus) snapshot(ctx context.Context, name string) (*snapshot, error) {
	inbox := b.nc.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("copy stream %s: %w", name, err)
	}
	req := fmt.Sprintf(`{"deliver_subject":%q,"no_consumers":true,"chunk_size":%d,"window_size":%d}`, inbox, snapshotChunk, snapshotWindow)
	var resp struct {
		apiError
		State jetstream.StreamState `json:"state"`
	}
	if err := b.api(ctx, "STREAM.SNAPSHOT."+name, []byte(req), &resp); err != nil {
		_ = sub.Unsubscribe()
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the server does not answer; may the user of this program copy streams?: %w", err)
		}
		return nil, fmt.Errorf("copy stream %s: %w", name, err)
	}
	st := resp.State
	return &snapshot{StreamCopy{Name: name, First: st.FirstSeq, Last: st.LastSeq, Msgs: st.Msgs}, b, sub}, nil
}

// api asks the server for something and decodes its answer.
func (b *Bus) api(ctx context.Context, subject string, req []byte, resp any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout)
	defer cancel()
	m, err := b.nc.RequestWithContext(ctx, "$JS.API."+subject, req)
	if err != nil {
		return err
	}
	return refused(m.Data, resp)
}

// refused decodes an answer of the server and returns the error in it.
func refused(data []byte, resp any) error {
	var no apiError
	err := json.Unmarshal(data, &no)
	if err == nil && no.Error != nil {
		err = no.Error
	}
	if err == nil && resp != nil {
		err = json.Unmarshal(data, resp)
	}
	return err
}

// copy writes what the server sends into the stream's file.
func (s *snapshot) copy(ctx context.Context, open func(string) (io.WriteCloser, error)) (err error) {
	defer func() { _ = s.sub.Unsubscribe() }()
	w, err := open(s.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for {
		wait, cancel := context.WithTimeout(ctx, snapshotWait)
		m, err := s.sub.NextMsgWithContext(wait)
		cancel()
		if err != nil {
			return fmt.Errorf("copy stream %s: %w", s.Name, err)
		}
		if len(m.Data) == 0 {
			if code := m.Header.Get("Status"); code != "" && code != "204" {
				return fmt.Errorf("copy stream %s: the server stopped: %s %s", s.Name, code, m.Header.Get("Description"))
			}
			return nil
		}
		if _, err := w.Write(m.Data); err != nil {
			return fmt.Errorf("copy stream %s: %w", s.Name, err)
		}
		if m.Reply == "" {
			continue
		}
		if err := s.b.nc.Publish(m.Reply, nil); err != nil {
			return fmt.Errorf("copy stream %s: %w", s.Name, err)
		}
	}
}
