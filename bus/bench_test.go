package bus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

// BenchmarkTurn is one turn's durable writes without any agent: publish in,
// lease, read, one record, publish out, deliver, receipt, acknowledge, remove.
// Turns/s is the reciprocal of the time an operation.
func BenchmarkTurn(b *testing.B) {
	for _, sync := range []time.Duration{0, 10 * time.Second} {
		for _, chats := range []int{1, 64} {
			name := fmt.Sprintf("sync=%v/chats=%d", sync, chats)
			if sync == 0 {
				name = fmt.Sprintf("sync=always/chats=%d", chats)
			}
			b.Run(name, func(b *testing.B) { benchTurns(b, sync, chats) })
		}
	}
}

func benchTurns(b *testing.B, sync time.Duration, chats int) {
	store := bustest.Open(b, bus.Options{Dir: b.TempDir(), SyncInterval: sync})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	delivered := make([]chan struct{}, chats)
	for i := range delivered {
		delivered[i] = make(chan struct{}, 1)
	}
	running := make(chan error, 2)
	go func() { running <- store.Own(ctx, echo, &bus.WorkerOptions{Turns: 256}) }()
	receipts := store.Receipts()
	go func() {
		running <- store.Dispatch(ctx, "bench", func(ctx context.Context, out chat.Outbound) error {
			if _, _, err := receipts.Receipt(ctx, out.ID); err != nil {
				return err
			}
			if err := receipts.Store(ctx, chat.Receipt{ID: out.ID}); err != nil {
				return err
			}
			var i int
			_, err := fmt.Sscan(out.Addr.Chat, &i)
			delivered[i] <- struct{}{}
			return err
		}, nil)
	}()
	var next atomic.Int64
	workers := make(chan error, chats)
	b.ResetTimer()
	for i := range chats {
		go func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					workers <- nil
					return
				}
				if err := store.PublishInbound(ctx, inbound("bench", fmt.Sprint(i), int(n)), false); err != nil {
					workers <- err
					return
				}
				<-delivered[i]
			}
		}()
	}
	for range chats {
		if err := <-workers; err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	cancel()
	<-running
	<-running
}

// echo is an owner that answers every message with its own text.
func echo(ctx context.Context, mb *bus.Mailbox) error {
	for {
		d, ok, err := mb.Take(ctx)
		if err != nil || !ok {
			return err
		}
		if err := mb.Commit(ctx, answer(d)); err != nil {
			return err
		}
	}
}

func answer(ds ...chat.Delivery) chat.Record {
	d := ds[0]
	item, err := json.Marshal(d.Text)
	if err != nil {
		panic(err)
	}
	id := fmt.Sprintf("%s:%d", d.Addr.Session(), d.Seq)
	r := chat.Record{Turn: id, At: time.Now(), Items: []json.RawMessage{item}}
	for _, d := range ds {
		r.Inputs = append(r.Inputs, chat.Input{Seq: d.Seq, ID: d.ID})
	}
	r.Out = []chat.Outbound{{
		Meta: chat.Meta{ID: "out:" + id + ":0", At: time.Now(), Addr: d.Addr}, Text: d.Text, Final: true, Turn: id,
	}}
	return r
}

func inbound(channel, chatID string, n int) chat.Inbound {
	return chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: fmt.Sprintf("%s:%s:%d", channel, chatID, n), At: time.Now(),
			Addr: chat.Address{Channel: channel, Chat: chatID},
		},
		Origin: chat.FromPerson, From: chat.Sender{ID: "u1"}, Text: fmt.Sprint(n),
	}
}

// BenchmarkIDs: what a delivered message costs in memory, server and client
// together, while its id is kept, and in time, to note and to look up.
func BenchmarkIDs(b *testing.B) {
	const chats = 100
	store := bustest.Open(b, bus.Options{Dir: b.TempDir(), SyncInterval: time.Minute})
	ctx := b.Context()
	heap := func() float64 {
		for range 3 { // twice for what lies in pools
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	var looked time.Duration
	b.ResetTimer()
	for i := range b.N {
		id := fmt.Sprintf("out:%020d:%d:0", i%chats, i)
		began := time.Now()
		if _, found, err := store.Receipts().Receipt(ctx, id); found || err != nil {
			b.Fatal(found, err)
		}
		looked += time.Since(began)
		if err := store.Receipts().Store(ctx, chat.Receipt{ID: id, Refs: []chat.MessageRef{{ID: fmt.Sprint(i)}}}); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if b.N >= 10_000 {
		<-time.After(25 * time.Second) // the server drops the blocks that it was writing
	}
	b.ReportMetric((heap()-before)/float64(b.N), "heap-B/id")
	b.ReportMetric(float64(looked.Microseconds())/float64(b.N), "look-up-µs/id")
}
