package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
)

func TestConformance(t *testing.T) { channeltest.Run(t, conformance) }

// visitor is a page that repeats what was not accepted, in order per chat.
type visitor struct {
	handler atomic.Pointer[http.Handler]
	mu      sync.Mutex
	n       int
	queues  map[string][]func() int
	working sync.WaitGroup
	gone    atomic.Bool
}

func (v *visitor) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if h := v.handler.Load(); h != nil {
		(*h).ServeHTTP(rw, r)
		return
	}
	rw.WriteHeader(http.StatusServiceUnavailable)
}

func conformance(t *testing.T) channeltest.Harness {
	v := &visitor{queues: map[string][]func() int{}}
	t.Cleanup(func() {
		v.gone.Store(true)
		v.working.Wait()
	})
	var table *faulty
	at := func(id string) chat.Address { return chat.Address{Channel: "web", Chat: id} }
	return channeltest.Harness{
		New: func(t *testing.T, d channels.Deps) channels.Channel {
			table = &faulty{Table: d.Table}
			d.Table = table
			ch, err := New("web", nil, d)
			if err != nil {
				t.Fatal(err)
			}
			h := ch.(*Web).Handler()
			v.handler.Store(&h)
			return ch
		},
		Direct: []chat.Address{at("main"), at("work-1"), at("Work_2")},
		Say:    func(_ *testing.T, s channeltest.Said) string { return v.say(s) },
		// People send again, for ever, what was answered by an end of the bot.
		Ways:  channeltest.Ways{Settled: v.working.Wait},
		Shown: func(t *testing.T, a chat.Address) []channeltest.Message { return v.shown(t, a) },
		Sends: func() int { return table.tried() },
		Press: func(t *testing.T, a chat.Address, messageID, data string) {
			if rec := postJSON(v, "/api/chat/chats/"+a.Chat+"/press", post{ID: "p1", Message: messageID, Data: data}); rec.Code != http.StatusOK {
				t.Errorf("press: %d %s", rec.Code, rec.Body)
			}
		},
		Fail: func(_ *testing.T, f channeltest.Fault) bool {
			switch f {
			case channeltest.ServerError:
				table.fault(func(context.Context, func() error) error { return errors.New("no space left") })
			case channeltest.HangBefore:
				table.fault(func(ctx context.Context, _ func() error) error { <-ctx.Done(); return ctx.Err() })
			case channeltest.HangAfter:
				table.fault(func(ctx context.Context, write func() error) error {
					_ = write()
					<-ctx.Done()
					return ctx.Err()
				})
			default:
				return false
			}
			return true
		},
	}
}

func (v *visitor) say(s channeltest.Said) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n++
	p := post{ID: fmt.Sprintf("c%d", v.n), Text: s.Text}
	v.queues[s.At.Chat] = append(v.queues[s.At.Chat], func() int {
		for len(p.Files) < len(s.Files) {
			f, code := uploadTo(v, s.At.Chat, s.Files[len(p.Files)].Name, s.Files[len(p.Files)].Data)
			if code != http.StatusOK {
				return code
			}
			p.Files = append(p.Files, f.ID)
		}
		return postJSON(v, "/api/chat/chats/"+s.At.Chat+"/messages", p).Code
	})
	if len(v.queues[s.At.Chat]) == 1 {
		v.working.Go(func() { v.work(s.At.Chat) })
	}
	return "i" + p.ID
}

func (v *visitor) work(chatID string) {
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !v.gone.Load() {
		v.mu.Lock()
		next := v.queues[chatID][0]
		v.mu.Unlock()
		if next() != http.StatusOK {
			<-again.C
			continue
		}
		v.mu.Lock()
		v.queues[chatID] = v.queues[chatID][1:]
		empty := len(v.queues[chatID]) == 0
		v.mu.Unlock()
		if empty {
			return
		}
	}
}

func (v *visitor) shown(t *testing.T, a chat.Address) (all []channeltest.Message) {
	messages, _, _ := stored(t, v, a.Chat, "?format=text")
	slices.SortFunc(messages, func(a, b message) int { return cmp.Compare(a.Pos, b.Pos) })
	for _, m := range messages {
		if m.Role != roleBot {
			continue
		}
		shown := channeltest.Message{ID: m.ID, Text: m.Text, Buttons: m.Buttons}
		for _, f := range m.Files {
			rec := call(v, "GET "+filePath+f.ID, "", nil)
			shown.Files = append(shown.Files, channeltest.File{Kind: f.Kind, Name: f.Name, MIME: f.MIME, Data: rec.Body.Bytes()})
		}
		all = append(all, shown)
	}
	return all
}
