package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

// backup copies a bus into a new folder.
func backup(t testing.TB, b *bus.Bus) (dir string, done bus.BackedUp) {
	t.Helper()
	dir = t.TempDir()
	done, err := b.Backup(testContext(t), bus.BackupOptions{
		Hold: deadline,
		Open: func(name string) (io.WriteCloser, error) { return os.Create(filepath.Join(dir, name)) },
	})
	if err != nil {
		t.Fatalf("back up: %v", err)
	}
	return dir, done
}

// restore fills the store of opts.
func restore(t testing.TB, dir string, done bus.BackedUp, opts bus.Options, replace bool) {
	t.Helper()
	ctx := testContext(t)
	r, err := bus.OpenRestore(ctx, opts, replace, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range done.Streams {
		data, err := os.ReadFile(filepath.Join(dir, s.Name))
		if err == nil {
			err = r.Stream(ctx, s.Name, bytes.NewReader(data))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Done(ctx, bus.SchemaVersion); err != nil {
		t.Fatal(err)
	}
}

func dump(t testing.TB, b *bus.Bus) map[string][]string {
	t.Helper()
	all, err := b.Dump(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fill puts something of everything into a bus: history, messages that wait,
// answers that wait, tables with and without a lifetime, files, dead letters.
func fill(t testing.TB, b *bus.Bus) {
	t.Helper()
	ctx := testContext(t)
	got := make(chan chat.Delivery, 10)
	stop := own(t, b, collect(got), nil)
	for i := range 3 {
		publish(t, b, inbound("c", "1", i))
		receive(t, got)
	}
	until(t, "mailbox empty", func() bool { n, err := b.Waiting(ctx, false); return err == nil && n == 0 })
	stop()
	publish(t, b, inbound("c", "1", 3))
	publish(t, b, inbound("c", "2", 0))
	if err := b.PublishInbound(ctx, inbound("c", "2", 1), true); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"jobs", "drafts", "sess", "turn", "approvals"} {
		for _, ttl := range []time.Duration{0, time.Duration(i+1) * time.Hour} {
			if _, err := b.Table(name).Create(ctx, fmt.Sprintf("key:%v", ttl), bytes.Repeat([]byte("v"), 1000*i), ttl); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Table(name).Delete(ctx, "key:0s"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		if err := b.Receipts().Store(ctx, chat.Receipt{ID: fmt.Sprint("out:", i)}); err != nil {
			t.Fatal(err)
		}
	}
	big := bytes.Repeat([]byte("0123456789"), 300_000)
	if _, _, err := b.Media(time.Hour).Put(ctx, "big.bin", "application/x", bytes.NewReader(big)); err != nil {
		t.Fatal(err)
	}
}

// Everything comes back with its sequence, time, headers and content: into an
// embedded store, into an external one, and from there.
func TestRestoredStoreIsEqual(t *testing.T) {
	url := bustest.External(t)
	for _, way := range []struct {
		name     string
		from, to bus.Options
	}{
		{"embedded", bus.Options{Dir: t.TempDir()}, bus.Options{Dir: t.TempDir()}},
		{"embedded to external", bus.Options{Dir: t.TempDir()}, bus.Options{URL: url}},
		{"external to embedded", bus.Options{URL: url}, bus.Options{Dir: t.TempDir()}},
	} {
		t.Run(way.name, func(t *testing.T) {
			from := bustest.Open(t, way.from)
			if way.from.URL == "" {
				fill(t, from)
			}
			want := dump(t, from)
			dir, done := backup(t, from)
			restore(t, dir, done, way.to, false)
			to := bustest.Open(t, way.to)
			if diff := cmp.Diff(want, dump(t, to)); diff != "" {
				t.Errorf("restored (-want +got):\n%s", diff)
			}
			for _, name := range []string{"IN", "OUT", "HIST", "IDS", "KV_turn", "KV_sess", "KV_state", "OBJ_media"} {
				if len(want[name]) == 0 {
					t.Errorf("%s held nothing: the test shows nothing for it", name)
				}
			}
		})
	}
}

// The numbers of inbound messages go on far above those that may have been
// used since the backup, whether messages wait or not, and also after the next
// start.
func TestRestoredNumbersAreNew(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		from := bustest.New(t)
		got := make(chan chat.Delivery, 10)
		stop := own(t, from, collect(got), nil)
		publish(t, from, inbound("c", "1", 0))
		first := receive(t, got)
		until(t, "mailbox empty", func() bool { n, err := from.Waiting(testContext(t), false); return err == nil && n == 0 })
		stop()
		if waiting {
			publish(t, from, inbound("c", "1", 1))
		}
		dir, done := backup(t, from)
		opts := bus.Options{Dir: t.TempDir()}
		restore(t, dir, done, opts, false)
		for range 2 { // what the jump leaves on disk is read again
			once, err := bus.Open(testContext(t), opts)
			if err == nil {
				err = once.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		to := bustest.Open(t, opts)
		own(t, to, collect(got), nil)
		if waiting {
			if d := receive(t, got); d.Text != "1" || d.Seq != first.Seq+1 {
				t.Errorf("the message that waited is %q with number %d", d.Text, d.Seq)
			}
		}
		publish(t, to, inbound("c", "1", 2))
		if d := receive(t, got); d.Text != "2" || d.Seq < first.Seq+1_000_000 {
			t.Errorf("waiting %v: the next message is %q with number %d, the one before the backup had %d", waiting, d.Text, d.Seq, first.Seq)
		}
	}
}

// A store that was not finished is opened by nobody, and filled again without
// being asked whether it may be replaced; one that holds something is left alone.
func TestRestoreInterrupted(t *testing.T) {
	ctx := testContext(t)
	from := bustest.New(t)
	fill(t, from)
	dir, done := backup(t, from)
	opts := bus.Options{Dir: t.TempDir()}
	r, err := bus.OpenRestore(ctx, opts, false, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "HIST"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Stream(ctx, "HIST", bytes.NewReader(data[:len(data)-10])); err == nil {
		t.Error("half a stream is restored")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := bus.Open(ctx, opts); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("half a store is opened: %v", err)
	}
	restore(t, dir, done, opts, false)
	if _, err := bus.OpenRestore(ctx, opts, false, time.Hour); !errors.Is(err, bus.ErrNotEmpty) {
		t.Errorf("a store with messages: %v", err)
	}
	b := bustest.Open(t, opts)
	if diff := cmp.Diff(dump(t, from), dump(t, b)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	if _, err := bus.OpenRestore(ctx, opts, true, time.Hour); err == nil {
		t.Error("a store that is open is replaced")
	}
}

func TestRestoreNeedsTheStoreAlone(t *testing.T) {
	url := bustest.External(t)
	bustest.Open(t, bus.Options{URL: url})
	if _, err := bus.OpenRestore(testContext(t), bus.Patient(bus.Options{URL: url}), true, time.Hour); !errors.Is(err, bus.ErrInUse) {
		t.Errorf("with another program at work: %v", err)
	}
}

// load publishes without pause into eight chats, which answer through the
// queue, and returns what each chat was told so far.
type load struct {
	mu   sync.Mutex
	said map[string]int
}

func (l *load) run(ctx context.Context, t testing.TB, b *bus.Bus) {
	var wg sync.WaitGroup
	for c := range 8 {
		wg.Go(func() {
			name := fmt.Sprint(c)
			for n := 0; ctx.Err() == nil; n++ {
				err := b.PublishInbound(context.WithoutCancel(ctx), inbound("c", name, n), false)
				if errors.Is(err, bus.ErrMailboxFull) {
					n--
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				l.mu.Lock()
				l.said[name] = n + 1
				l.mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func (l *load) now() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]int{}
	for c, n := range l.said {
		all[c] = n
	}
	return all
}

// deliverer notes a receipt for each message, and counts them.
func deliverer(b *bus.Bus, sent func(id string)) bus.Handler[chat.Outbound] {
	return func(ctx context.Context, out chat.Outbound) error {
		if _, found, err := b.Receipts().Receipt(ctx, out.ID); found || err != nil {
			return err
		}
		err := b.Receipts().Store(ctx, chat.Receipt{ID: out.ID})
		if err == nil {
			sent(out.ID)
		}
		return err
	}
}

// A copy that is made while chats work is of one moment: what was stored before
// is in it, no turn is lost or done twice, no answer is lost or sent twice.
func TestBackupUnderLoad(t *testing.T) {
	for _, external := range []bool{false, true} {
		t.Run(fmt.Sprint("external ", external), func(t *testing.T) {
			t.Parallel()
			opts := bus.Options{Dir: t.TempDir(), SyncInterval: time.Minute}
			if external {
				opts = bus.Patient(bus.Options{URL: bustest.External(t)})
			}
			b := bustest.Open(t, opts)
			worker, writer := b, b
			if external { // three processes share the work
				worker, writer = bustest.Open(t, opts), bustest.Open(t, opts)
			}
			stopOwn := own(t, worker, collect(make(chan chat.Delivery, 1<<20)), nil)
			stopOut := dispatch(t, b, "c", deliverer(b, func(string) {}))
			l := &load{said: map[string]int{}}
			ctx, cancel := context.WithCancel(testContext(t))
			ended := make(chan struct{})
			go func() { l.run(ctx, t, writer); close(ended) }()
			defer func() { cancel(); <-ended; stopOwn(); stopOut() }()
			for range 2 {
				before := l.now()
				until(t, "some more messages", func() bool { return l.now()["0"] > before["0"]+30 })
				before = l.now()
				dir, done := backup(t, b)
				if want := map[bool]int{false: 0, true: 2}[external]; done.Others != want {
					t.Errorf("%d other processes have held their writes, want %d", done.Others, want)
				}
				t.Logf("writes held for %v", done.Held)
				checkCopy(t, dir, done, before)
			}
		})
	}
}

// checkCopy restores a copy, lets it work, and counts.
func checkCopy(t *testing.T, dir string, done bus.BackedUp, before map[string]int) {
	t.Helper()
	ctx := testContext(t)
	opts := bus.Options{Dir: t.TempDir(), SyncInterval: time.Minute}
	restore(t, dir, done, opts, false)
	b := bustest.Open(t, opts)
	var mu sync.Mutex
	sent := map[string]int{}
	stop := own(t, b, collect(make(chan chat.Delivery, 10_000)), nil)
	defer stop()
	defer dispatch(t, b, "c", deliverer(b, func(id string) { mu.Lock(); sent[id]++; mu.Unlock() }))()
	until(t, "all queues empty", func() bool {
		in, err1 := b.Waiting(ctx, false)
		out, err2 := b.Waiting(ctx, true)
		return err1 == nil && err2 == nil && in+out == 0
	})
	for name, least := range before {
		records, err := b.History(ctx, chat.Address{Channel: "c", Chat: name}.Session(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) < least {
			t.Errorf("chat %s: %d turns, but %d messages were stored before the backup", name, len(records), least)
		}
		for i, r := range records {
			if want := inbound("c", name, i).ID; len(r.Inputs) != 1 || r.Inputs[0].ID != want {
				t.Errorf("chat %s: turn %d is about %v, want %s", name, i, r.Inputs, want)
			}
			for _, out := range r.Out {
				if _, found, err := b.Receipts().Receipt(ctx, out.ID); err != nil || !found {
					t.Errorf("chat %s: the answer of turn %d was never sent: %v", name, i, err)
				}
				if sent[out.ID] > 1 {
					t.Errorf("chat %s: the answer of turn %d was sent %d times", name, i, sent[out.ID])
				}
			}
		}
	}
}
