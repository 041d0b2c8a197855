package room_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels/room"
	"magpie/chat"
	"magpie/internal/kv"
)

var group = chat.Address{Channel: "tg", Chat: "-100"}

// world is a Keeper with a clock that stands still.
type world struct {
	*room.Keeper
	t        *testing.T
	table    kv.Table
	now      time.Time
	n        int
	answered map[string]bool
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, table: &kv.Memory{}, now: time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC), answered: map[string]bool{}}
	w.restart()
	return w
}

// restart is another process on the same table.
func (w *world) restart() {
	w.Keeper = room.New(room.Options{
		Table: w.table, Now: func() time.Time { return w.now },
		Answered: func(_ context.Context, _ chat.SessionKey, id string) (bool, error) { return w.answered[id], nil },
	})
}

// message is what somebody writes, a second after the last one.
func (w *world) message(text string) chat.Inbound {
	w.n++
	w.now = w.now.Add(time.Second)
	return chat.Inbound{
		Meta: chat.Meta{ID: fmt.Sprint("tg:", w.n), At: w.now, Addr: group}, MessageID: fmt.Sprint(w.n),
		From: chat.Sender{ID: "7", Name: "Bob"}, Text: text,
	}
}

const most = 20

func (w *world) hear(in chat.Inbound) {
	w.t.Helper()
	if err := w.Hear(w.t.Context(), in, true, most); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) says(texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		w.hear(w.message(text))
	}
}

func texts(all []chat.Overheard) (out []string) {
	for _, o := range all {
		out = append(out, o.Text)
	}
	return out
}

// gives is Give of a message, with what it must bring.
func (w *world) gives(in chat.Inbound, want ...string) {
	w.t.Helper()
	talk, err := w.Give(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts(talk)); diff != "" {
		w.t.Errorf("talk for %s (-want +got):\n%s", in.ID, diff)
	}
}

func (w *world) given(in chat.Inbound, stored bool) {
	w.t.Helper()
	if err := w.Given(w.t.Context(), in, stored); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) kept(want ...string) {
	w.t.Helper()
	talk, err := w.List(w.t.Context(), group.Session())
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts(talk)); diff != "" {
		w.t.Errorf("kept (-want +got):\n%s", diff)
	}
}

type broken struct{ kv.Table }

func (broken) Create(context.Context, string, []byte, time.Duration) (uint64, error) {
	return 0, errors.New("down")
}

func (broken) Update(context.Context, string, []byte, uint64, time.Duration) (uint64, error) {
	return 0, errors.New("down")
}

// slow is a table during whose first reading something happens.
type slow struct {
	kv.Table
	meanwhile func()
}

func (s *slow) Get(ctx context.Context, key string) (kv.Entry, error) {
	e, err := s.Table.Get(ctx, key)
	if do := s.meanwhile; do != nil {
		s.meanwhile = nil
		do()
	}
	return e, err
}
