package bus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/chat"
)

// A delivery that got lost on its way, as with a server that dies, is not
// overtaken by later ones, and comes again long before the server would repeat
// it: also when nothing comes after it. A thief takes deliveries away here.
func TestLostDelivery(t *testing.T) {
	for name, after := range map[string]int{"with others after it": 3, "as the last": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := bustest.External(t)
			b := bustest.Open(t, bus.Options{URL: url})
			got := make(chan string, 10_000)
			sent := map[string]bool{} // as receipts: what was not acknowledged in time comes again
			dispatch(t, b, "c", func(_ context.Context, out chat.Outbound) error {
				if !sent[out.Text] {
					got <- out.Text
				}
				sent[out.Text] = true
				return nil
			})
			queue(t, b, outbound("c", "1", 0))
			all := []string{receive(t, got)}
			consumer, stolen := steal(t, url)
			made := consumer.CachedInfo().Created
			n := 1
			for taken := false; !taken; n++ {
				queue(t, b, outbound("c", "1", n))
				select {
				case text := <-got:
					all = append(all, text)
				case <-stolen:
					taken = true
				}
			}
			for range after {
				queue(t, b, outbound("c", "1", n))
				n++
			}
			var want []string
			for i := range n {
				want = append(want, fmt.Sprint(i))
			}
			for len(all) < n {
				all = append(all, receive(t, got))
			}
			if d := cmp.Diff(want, all); d != "" {
				t.Errorf("delivered (-want +got):\n%s", d)
			}
			// A new one would have no leader before an election.
			if now, err := consumer.Info(testContext(t)); err != nil || !now.Created.Equal(made) {
				t.Errorf("the queue's consumer is a new one (%v)", err)
			}
		})
	}
}

// steal takes one delivery of the queue away; the channel is closed when it has.
func steal(t *testing.T, url string) (jetstream.Consumer, <-chan struct{}) {
	t.Helper()
	c := onlyConsumer(t, outStream(t, url))
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		if batch, err := c.Fetch(1, jetstream.FetchMaxWait(deadline)); err == nil {
			<-batch.Messages() // never acknowledged
		}
	}()
	return c, taken
}

// Older servers, from 2.11 on, make a new consumer instead.
func TestServersThatReset(t *testing.T) {
	for version, want := range map[string]bool{"2.11.4": false, "2.13.0": false, "2.14.0": true, "2.15.2": true, "2.14.0-RC.1": true, "3.0.0": true, "": false} {
		if got := bus.Resets(version); got != want {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}

// A consumer of an earlier version, with other settings, is replaced.
func TestConsumerOfAnotherVersion(t *testing.T) {
	t.Parallel()
	url := bustest.External(t)
	b := bustest.Open(t, bus.Options{URL: url})
	got := make(chan string, 10)
	deliver := func(_ context.Context, out chat.Outbound) error {
		got <- out.Text
		return nil
	}
	stop := dispatch(t, b, "c", deliver)
	queue(t, b, outbound("c", "1", 1))
	receive(t, got)
	stop()
	s := outStream(t, url)
	c := onlyConsumer(t, s)
	cfg := c.CachedInfo().Config
	cfg.AckWait, cfg.MaxAckPending = time.Hour, 1
	if _, err := s.UpdateConsumer(testContext(t), cfg); err != nil {
		t.Fatal(err)
	}
	dispatch(t, b, "c", deliver)
	queue(t, b, outbound("c", "1", 2))
	receive(t, got)
	if cfg := onlyConsumer(t, s).CachedInfo().Config; cfg.AckWait == time.Hour || cfg.MaxAckPending == 1 {
		t.Errorf("it waits %v for acknowledgements of %d", cfg.AckWait, cfg.MaxAckPending)
	}
}

// outStream is the queue as another client sees it.
func outStream(t *testing.T, url string) jetstream.Stream {
	t.Helper()
	nc, err := nats.Connect(url, nats.Timeout(deadline))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(testContext(t), "OUT")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func onlyConsumer(t *testing.T, s jetstream.Stream) jetstream.Consumer {
	t.Helper()
	var name string
	for found := range s.ConsumerNames(testContext(t)).Name() {
		name = found
	}
	c, err := s.Consumer(testContext(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
