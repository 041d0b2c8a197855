package bus_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"magpie/bus"
	"magpie/bus/bustest"
)

// dialled is a client of another program on the same account.
func dialled(t *testing.T, url string, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// holdings is everything on an account: each stream with its configuration and
// how much it holds.
func holdings(t *testing.T, js jetstream.JetStream) map[string]string {
	t.Helper()
	all := map[string]string{}
	list := js.ListStreams(testContext(t))
	for info := range list.Info() {
		all[info.Config.Name] = fmt.Sprintf("%+v", info.Config)
		if info.Config.Subjects[0] != ">" { // takes what anybody asks the server
			all[info.Config.Name] += fmt.Sprintf(" holds %d of %d", info.State.Msgs, info.State.LastSeq)
		}
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// stand is what another program may have put on the account before us.
type stand struct {
	name string
	make func(ctx context.Context, js jetstream.JetStream) error
	said string // in the refusal
}

func stream(name string, subjects ...string) func(context.Context, jetstream.JetStream) error {
	return func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: subjects, NoAck: subjects[0] == ">"})
		return err
	}
}

func keys(bucket string, keys ...string) func(context.Context, jetstream.JetStream) error {
	return func(ctx context.Context, js jetstream.JetStream) error {
		kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket})
		for _, key := range keys {
			if err == nil {
				_, err = kv.Put(ctx, key, []byte("1"))
			}
		}
		return err
	}
}

func stands() []stand {
	return []stand{
		{"a stream of our name", stream("IN", "sensor.>"), "stream IN (subjects sensor.>)"},
		{"a stream of our name and subjects", stream("OUT", "out.>"), "stream OUT (subjects out.>)"},
		{"a stream that takes our subjects", stream("EVENTS", "in.>"), "stream EVENTS, which takes in.>"},
		{"a stream that takes some of them", stream("PEOPLE", "in.*.person"), "stream PEOPLE, which takes"},
		{"a stream that takes what one of our buckets has", stream("VALUES", "$KV.state.a"), "stream VALUES, which takes $KV.state.>"},
		{"a stream that takes our events", stream("SEEN", "ev.>"), "stream SEEN, which takes ev.>"},
		{"a stream that takes everything", stream("ALL", ">"), "stream ALL, which takes"},
		{"a bucket", keys("state", "a"), "bucket state"},
		{"an empty bucket", keys("lease"), "bucket lease"},
		{"the bucket that proves", keys("meta"), "bucket meta"},
		{"the same with such a key", keys("meta", "schema"), "bucket meta"},
		{"an object store", func(ctx context.Context, js jetstream.JetStream) error {
			o, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "media"})
			if err == nil {
				_, err = o.PutString(ctx, "a", "1")
			}
			return err
		}, "object store media"},
	}
}

// What another program has on the account is named and left as it is, and
// nothing is made beside it, by a start and by a restore with force.
func TestWhatIsNotOursIsRefused(t *testing.T) {
	for _, s := range stands() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			url := bustest.External(t)
			js := dialled(t, url)
			if err := s.make(testContext(t), js); err != nil {
				t.Fatal(err)
			}
			before := holdings(t, js)
			b, err := bus.Open(testContext(t), bus.Options{URL: url})
			if err == nil {
				_ = b.Close()
			}
			refusedFor(t, err, s.said)
			r, err := bus.OpenRestore(testContext(t), bus.Patient(bus.Options{URL: url}), true, time.Hour)
			if err == nil {
				_ = r.Close()
			}
			refusedFor(t, err, s.said)
			if d := cmp.Diff(before, holdings(t, js)); d != "" {
				t.Errorf("something was changed: %s", d)
			}
		})
	}
}

func refusedFor(t *testing.T, err error, said string) {
	t.Helper()
	var unfit *bus.Unfit
	if !errors.As(err, &unfit) || !strings.Contains(unfit.Why, said) || unfit.Todo == "" {
		t.Errorf("got %v, want a refusal that says %q", err, said)
	}
}

// A follower, which may not make anything, says it too instead of waiting.
func TestFollowerRefusesWhatIsNotOurs(t *testing.T) {
	url, dir := guarded(t)
	auth, err := nats.NkeyOptionFromSeed(filepath.Join(dir, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream("IN", "sensor.>")(testContext(t), dialled(t, url, auth)); err != nil {
		t.Fatal(err)
	}
	for _, role := range []struct {
		key  string
		role bus.Role
	}{
		{"gateway", bus.Role{Inbox: "gateway", Writes: []bus.Stream{bus.In, bus.Out, bus.Dead, bus.Receipt}, Follows: true}},
		{"agent", agentRole},
		{"cron", bus.Role{Inbox: "cron", Writes: []bus.Stream{bus.In, bus.Out}, Follows: true}},
	} {
		b, err := bus.Open(testContext(t), bus.Options{URL: url, CredsFile: filepath.Join(dir, role.key), Role: role.role})
		if err == nil {
			_ = b.Close()
		}
		refusedFor(t, err, "stream IN (subjects sensor.>)")
	}
}

// A store of an earlier version has no mark: it is known by what it holds, gets
// its mark, and keeps what its operator has set. Who may not change it uses it
// as it is.
func TestEarlierStoreIsMarked(t *testing.T) {
	url, dir := guarded(t)
	as := func(key string, role bus.Role) *bus.Bus {
		return bustest.Open(t, bus.Options{URL: url, CredsFile: filepath.Join(dir, key), Role: role})
	}
	ctx := testContext(t)
	auth, err := nats.NkeyOptionFromSeed(filepath.Join(dir, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	js := dialled(t, url, auth)
	b := as("admin", bus.Role{})
	if _, _, err := b.Media(time.Hour).Put(ctx, "a", "text/plain", strings.NewReader("file")); err != nil {
		t.Fatal(err)
	}
	publish(t, b, inbound("c", "1", 1))
	if err := b.Unmark(ctx); err != nil {
		t.Fatal(err)
	}
	hist, err := js.Stream(ctx, "HIST")
	if err != nil {
		t.Fatal(err)
	}
	cfg := hist.CachedInfo().Config
	cfg.MaxBytes, cfg.Metadata = 1<<30, map[string]string{"team": "chat"}
	if _, err := js.UpdateStream(ctx, cfg); err != nil {
		t.Fatal(err)
	}
	before := holdings(t, js)

	as("gateway", bus.Role{Inbox: "gateway", Writes: []bus.Stream{bus.In, bus.Out, bus.Dead, bus.Receipt}, Follows: true})
	if names, _, err := b.Unmarked(ctx); err != nil || len(names) != 11 {
		t.Errorf("without a mark after a gateway came: %v, %v; want all 11", names, err)
	}
	as("agent", agentRole)
	if names, n, err := b.Unmarked(ctx); err != nil || len(names) > 0 || n != 11 {
		t.Errorf("without a mark: %v, with one %d, %v; want all 11 marked", names, n, err)
	}
	hist, err = js.Stream(ctx, "HIST")
	if err != nil {
		t.Fatal(err)
	}
	if got := hist.CachedInfo().Config; got.MaxBytes != 1<<30 || got.Metadata["team"] != "chat" {
		t.Errorf("what the operator has set is lost: %+v", got)
	}
	if n, err := b.Waiting(ctx, false); err != nil || n != 1 {
		t.Errorf("%d messages wait, %v; want 1", n, err)
	}
	if after := holdings(t, js); len(after) != len(before) {
		t.Errorf("streams came or went: %v", after)
	}
}

// One stream without a mark among those of ours was made by an earlier version
// that works beside us; what merely has its name is not taken.
func TestOneStreamWithoutAMark(t *testing.T) {
	url := bustest.External(t)
	ctx := testContext(t)
	js := dialled(t, url)
	b := bustest.Open(t, bus.Options{URL: url})
	if _, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "media", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	bustest.Open(t, bus.Options{URL: url})
	if names, n, err := b.Unmarked(ctx); err != nil || len(names) > 0 || n != 11 {
		t.Errorf("without a mark: %v, with one %d, %v", names, n, err)
	}
	if err := js.DeleteObjectStore(ctx, "media"); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "media"}); err != nil {
		t.Fatal(err)
	}
	_, _, err := b.Media(time.Hour).Put(ctx, "a", "text/plain", strings.NewReader("file"))
	refusedFor(t, err, "object store media")
	_, err = bus.Open(ctx, bus.Options{URL: url})
	refusedFor(t, err, "object store media")
}

// The embedded store is nobody else's: it is marked and never refused.
func TestEmbeddedStoreIsMarked(t *testing.T) {
	dir := t.TempDir()
	ctx := testContext(t)
	opts := bus.Options{Dir: dir, SyncInterval: time.Minute}
	b, err := bus.Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, b, inbound("c", "1", 1))
	if err := errors.Join(b.Unmark(ctx), b.Close()); err != nil {
		t.Fatal(err)
	}
	b = bustest.Open(t, opts)
	if names, n, err := b.Unmarked(ctx); err != nil || len(names) > 0 || n != 10 {
		t.Errorf("without a mark: %v, with one %d, %v", names, n, err)
	}
	if n, err := b.Waiting(ctx, false); err != nil || n != 1 {
		t.Errorf("%d messages wait, %v; want 1", n, err)
	}
}

// What is restored is marked, also from a copy of a store that was not.
func TestRestoredStoreIsMarked(t *testing.T) {
	ctx := testContext(t)
	b := bustest.New(t)
	fill(t, b)
	if err := b.Unmark(ctx); err != nil {
		t.Fatal(err)
	}
	dir, done := backup(t, b)
	url := bustest.External(t)
	restore(t, dir, done, bus.Patient(bus.Options{URL: url}), false)
	if names, n, err := bustest.Open(t, bus.Options{URL: url}).Unmarked(ctx); err != nil || len(names) > 0 || n != 11 {
		t.Errorf("without a mark: %v, with one %d, %v; want all 11 marked", names, n, err)
	}
}
