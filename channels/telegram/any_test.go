package telegram

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/telegram"
	"magpie/internal/kv"
)

// Each of two gateways takes calls, whichever holds the channel.
func TestWebhookOnAnyGateway(t *testing.T) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	w := newWorld(t, &fake.Options{HTTPHook: true, Retry: 5 * time.Millisecond, Client: client})
	var last *Telegram
	channeltest.AnyProcess(t, channeltest.Hooks{
		New: func(t *testing.T, d channels.Deps, url string) channels.Channel {
			last = w.channel(t, d, func(c *Config) { c.Mode, c.WebhookSecret, c.PublicURL = modeWebhook, hookSecret, url })
			return last
		},
		Calls: func(t *testing.T, _ string) {
			if err := last.setWebhook(channeltest.Bounded(t)); err != nil {
				t.Fatal(err)
			}
		},
		Say: func(a chat.Address, text string) {
			n, err := strconv.ParseInt(a.Chat, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			w.Say(fake.Said{From: n, Text: text})
		},
		Chats: []chat.Address{{Channel: instance, Chat: fmt.Sprint(ann)}, {Channel: instance, Chat: fmt.Sprint(bob)}},
	})
}

// Two gateways are given the parts of albums, and texts between them, as a proxy
// does: all at the same time, some twice. Each album is one message, whole, and
// nothing is lost or comes twice, also when one of them dies in the middle.
func TestAlbumsOverTwoGateways(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) { albumsOverTwo(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func albumsOverTwo(t *testing.T, r *rand.Rand) {
	table := far{&kv.Memory{}}
	var gateways []*albums
	for range 2 {
		tg := offline()
		tg.deps.Table, tg.cfg.Mode = table, modeWebhook
		gateways = append(gateways, runAlbums(t, tg, r.IntN(3)))
	}
	defer func() {
		for _, g := range gateways {
			g.kill()
		}
	}()
	id, want := 0, map[string]int{} // pictures by the id of their album's first part
	for n := range 4 {
		parts := 2 + r.IntN(4)
		first := id + 1
		var all sync.WaitGroup
		for range parts {
			id++
			for range 1 + r.IntN(2) { // Telegram repeats what it thinks was not taken
				g, ev, late := gateways[r.IntN(2)], part(t, gateways[0].t, id, fmt.Sprint("g", n)), time.Duration(r.IntN(300))*time.Millisecond
				all.Go(func() {
					<-time.After(late)
					for g.take(t.Context(), ev) != nil { // it comes again
						<-time.After(10 * time.Millisecond)
					}
				})
			}
		}
		want[fmt.Sprintf("telegram:telegram:%d:%d", ann, first)] = parts
		all.Wait()
		switch r.IntN(3) {
		case 0: // something is written at once
			id++
			ev := text(t, gateways[0].t, id)
			want[ev.in.ID] = 0
			for gateways[r.IntN(2)].take(t.Context(), ev) != nil {
				<-time.After(10 * time.Millisecond)
			}
		case 1:
			gateways[0].kill()
			<-time.After(time.Minute)
			again := runAlbums(t, gateways[0].t, 0)
			again.got = gateways[0].got
			gateways[0] = again
		default:
			<-time.After(time.Minute)
		}
	}
	<-time.After(time.Minute)
	judgeAlbums(t, gateways, want)
}

// judgeAlbums compares what was taken with how many pictures each message has.
func judgeAlbums(t *testing.T, gateways []*albums, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, g := range gateways {
		for _, in := range g.after(0) {
			if n, again := got[in.ID]; again && n != len(in.Attachments) {
				t.Errorf("%s came with %d pictures and with %d", in.ID, n, len(in.Attachments))
			}
			got[in.ID] = len(in.Attachments)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pictures (-want +got):\n%s", diff)
	}
}

// reads counts how often a table is asked.
type reads struct {
	kv.Table
	n atomic.Int64
}

func (r *reads) Get(ctx context.Context, key string) (kv.Entry, error) {
	r.n.Add(1)
	return r.Table.Get(ctx, key)
}

// Who polls asks the table about albums only while one waits, or before it
// knows what another process has left.
func TestAlbumsAreSoughtWhereTheyMayBe(t *testing.T) {
	for mode, want := range map[string]int64{modePoll: 0, modeWebhook: 3} {
		synctest.Test(t, func(t *testing.T) {
			tg := offline()
			table := &reads{Table: &kv.Memory{}}
			tg.deps.Table, tg.cfg.Mode = table, mode
			a := runAlbums(t, tg, 0)
			a.after(time.Second) // the table was looked through
			before := table.n.Load()
			for id := range 3 {
				if err := a.take(t.Context(), text(t, tg, id+1)); err != nil {
					t.Fatal(err)
				}
			}
			if got := table.n.Load() - before; got != want {
				t.Errorf("%s: the table was asked %d times for 3 messages, want %d", mode, got, want)
			}
			for _, ev := range []event{part(t, tg, 4, "g"), text(t, tg, 5)} {
				if err := a.take(t.Context(), ev); err != nil {
					t.Fatal(err)
				}
			}
			got := a.after(0)
			if len(got) != 5 || len(got[3].Attachments) != 1 || got[4].MessageID != "5" {
				t.Errorf("%s: got %+v", mode, got)
			}
			if err := a.take(t.Context(), part(t, tg, 6, "h")); err != nil {
				t.Fatal(err)
			}
			a.kill()
			a = runAlbums(t, tg, 0) // the text comes before the next process has looked through the table
			if err := a.take(t.Context(), text(t, tg, 7)); err != nil {
				t.Fatal(err)
			}
			if got := a.after(time.Minute); len(got) != 2 || got[0].MessageID != "6" || got[1].MessageID != "7" {
				t.Errorf("%s: after a restart: %+v", mode, got)
			}
			a.kill()
		})
	}
}

// far is a table to which others are sometimes quicker.
type far struct{ kv.Table }

func (f far) Get(ctx context.Context, key string) (kv.Entry, error) {
	e, err := f.Table.Get(ctx, key)
	<-time.After(time.Duration(rand.IntN(50)) * time.Millisecond)
	return e, err
}

// text is the event of a message.
func text(t *testing.T, tg *Telegram, id int) event {
	t.Helper()
	return tg.event([]byte(mustJSON(t, map[string]any{"update_id": id, "message": map[string]any{
		"message_id": id, "date": 1, "chat": map[string]any{"id": ann, "type": "private"}, "text": "between",
	}})))
}
