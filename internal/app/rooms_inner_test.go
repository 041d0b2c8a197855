package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/channels"
	"magpie/channels/access"
	"magpie/channels/room"
	"magpie/chat"
	"magpie/internal/kv"
)

// hamlet is the way in of one channel on a bus, without a platform.
type hamlet struct {
	t    *testing.T
	b    *bus.Bus
	d    *doors
	talk *talk
	in   channels.Sink
	last channels.Sink // behind the gate
	n    int
}

var hut = chat.Address{Channel: "fake", Chat: "-7"}

func hamletOn(t *testing.T, b *bus.Bus, cfg access.Config) *hamlet {
	p := &program{bus: b, log: slog.New(slog.DiscardHandler)}
	h := &hamlet{t: t, b: b, d: &doors{p: p, rooms: p.rooms(), pairs: access.NewPairs(b.Table("pairs"))}}
	gate := access.New(cfg, access.Deps{Pairs: h.d.pairs, Say: b.PublishOutbound, Room: ear{b, h.d.rooms, p.log}})
	h.talk = &talk{h.d.rooms, gate, p.log}
	last := &intake{bus: b, talk: h.talk, log: p.log, now: time.Now}
	h.in, h.last = gate.Wrap(last.sink), last.sink
	return h
}

// message is what somebody writes in the group.
func (h *hamlet) message(who, text string) chat.Inbound {
	h.n++
	id := fmt.Sprint(h.n)
	return chat.Inbound{Meta: chat.Meta{ID: "fake:" + id, At: time.Now(), Addr: hut}, MessageID: id, Origin: chat.FromPerson, From: chat.Sender{ID: who}, Text: text}
}

func (h *hamlet) give(in chat.Inbound) {
	h.t.Helper()
	if err := h.in(h.t.Context(), in); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hamlet) ask(who, text string) chat.Inbound {
	in := h.message(who, text)
	in.Mentioned = true
	return in
}

// mailbox is everything that waits in the group's mailbox: "text<talk,talk>".
func (h *hamlet) mailbox() (all []string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	err := h.b.Own(ctx, func(ctx context.Context, mb *bus.Mailbox) error {
		if mb.Session() != hut.Session() {
			return nil
		}
		defer cancel()
		for {
			d, ok, err := mb.Take(ctx)
			if err != nil || !ok {
				return err
			}
			all = append(all, told(d.Inbound))
		}
	}, nil)
	if err != nil && ctx.Err() == nil {
		h.t.Fatal(err)
	}
	return all
}

func told(in chat.Inbound) string {
	var talk []string
	for _, o := range in.Room {
		mark := ""
		if o.Outside {
			mark = "!"
		}
		talk = append(talk, mark+o.Text)
	}
	return in.Text + "<" + strings.Join(talk, ",") + ">"
}

func (h *hamlet) want(want ...string) {
	h.t.Helper()
	if got := h.mailbox(); strings.Join(got, " ") != strings.Join(want, " ") {
		h.t.Errorf("the mailbox holds %q, want %q", got, want)
	}
}

var villagers = access.Config{Allow: []string{"1", "2"}, Context: 20, PerSender: ""}

// A kill at any point between the talk and its mailbox: when the platform has
// brought again what was not taken, nothing is there twice and nothing is lost.
func TestTalkOverAKill(t *testing.T) {
	dead := errors.New("killed")
	for name, c := range map[string]struct{ stored bool }{"before it was stored": {false}, "after it was stored": {true}} {
		t.Run(name, func(t *testing.T) {
			b := bustest.New(t)
			h := hamletOn(t, b, villagers)
			for _, text := range []string{"a", "b"} {
				h.give(h.message("1", text))
			}
			first := h.ask("1", "one")
			// The process dies in the middle: what comes after is not done.
			held, err := h.talk.room.Give(t.Context(), first)
			if err != nil || len(held) != 2 {
				t.Fatalf("%v, %v", held, err)
			}
			if c.stored {
				half := first
				half.Room = held
				if err := b.PublishInbound(t.Context(), half, false); err != nil {
					t.Fatal(err)
				}
			}
			again := hamletOn(t, b, villagers)
			again.n = h.n
			again.give(again.message("2", "c"))
			again.give(again.ask("2", "two")) // another one is faster
			again.give(first)                 // now the platform brings it again
			again.give(again.ask("2", "three"))
			if c.stored {
				again.want("one<a,b>", "two<c>", "three<>")
			} else {
				again.want("two<c>", "one<a,b>", "three<>")
			}
		})
	}
	b := bustest.New(t)
	h := hamletOn(t, b, villagers)
	h.give(h.message("1", "a"))
	err := h.talk.with(t.Context(), h.ask("1", "x"), func(context.Context, chat.Inbound) error { return dead })
	if !errors.Is(err, dead) {
		t.Errorf("err = %v", err)
	}
}

// What the mailbox refuses gives its talk back: the next message has it.
func TestTalkOfARefusedMessage(t *testing.T) {
	h := hamletOn(t, bustest.New(t), villagers)
	h.give(h.message("1", "a"))
	in := h.ask("1", "x")
	err := h.talk.with(t.Context(), in, func(_ context.Context, in chat.Inbound) error {
		if told(in) != "x<a>" {
			t.Errorf("it would have been stored as %s", told(in))
		}
		return bus.ErrMailboxFull
	})
	if !errors.Is(err, bus.ErrMailboxFull) {
		t.Errorf("err = %v", err)
	}
	large := h.ask("1", "x")
	large.V = chat.Version
	data, err := json.Marshal(large)
	if err != nil {
		t.Fatal(err)
	}
	large.Text = strings.Repeat("x", h.b.MaxMessage()-len(data)) // there is no room for anything else
	h.give(large)
	h.give(h.ask("2", "y"))
	got := h.mailbox()
	if len(got) != 2 || got[0] != large.Text+"<>" || got[1] != "y<a>" {
		t.Errorf("%d messages are there, ending in %.20q", len(got), got[len(got)-1])
	}
}

// The rules that hold when it is given count: who was let in once may not be
// any more.
func TestTalkIsJudgedWhenGiven(t *testing.T) {
	b := bustest.New(t)
	h := hamletOn(t, b, villagers)
	for _, who := range []string{"1", "2", "3"} {
		h.give(h.message(who, "by "+who))
	}
	forwarded := h.message("1", "passed on")
	forwarded.Forwarded = true
	h.give(forwarded)
	later := hamletOn(t, b, access.Config{Allow: []string{"1"}, Context: 20})
	later.n = h.n
	later.give(later.ask("1", "x"))
	later.want("x<by 1,!by 2,!by 3,!passed on>")
	row, err := b.Table("pairs.room").Get(t.Context(), string(hut.Session()))
	if err != nil || strings.Contains(string(row.Value), "by 1") {
		t.Errorf("what was given is kept on: %s, %v", row.Value, err)
	}
}

// Commands, presses and private messages take nothing along; a thread has talk
// of its own.
func TestWhoTakesTheTalk(t *testing.T) {
	h := hamletOn(t, bustest.New(t), villagers)
	h.give(h.message("1", "a"))
	press := h.ask("1", "")
	press.Press = &chat.Press{ID: "p", Data: "x"}
	private := h.ask("1", "private")
	private.Direct = true
	private.Addr.Chat = "1"
	thread := h.ask("1", "thread")
	thread.Addr.Thread = "5"
	for _, in := range []chat.Inbound{h.ask("1", "/status"), h.ask("1", "/停止"), press, private, thread} {
		h.give(in)
	}
	h.give(h.ask("1", "x"))
	h.want("x<a>")
}

// A mention without words comes in, with a quote or alone; news and what says
// nothing at all does not.
func TestBareMentions(t *testing.T) {
	h := hamletOn(t, bustest.New(t), villagers)
	edited, quote, file := h.ask("1", ""), h.ask("1", ""), h.ask("1", "")
	edited.Edited = true
	quote.ReplyTo = &chat.Quote{ID: "9"}
	file.Attachments = []chat.Attachment{{Kind: chat.Image}}
	news := h.ask("1", "news")
	news.Happening = "renamed"
	for _, in := range []chat.Inbound{h.ask("1", " \n"), edited, quote, file, h.message("1", ""), news} {
		h.give(in)
	}
	if err := h.last(t.Context(), news); err != nil { // whatever stands before it
		t.Error(err)
	}
	h.want(" \n<>", "<>", "<>")
}

// A store without room refuses messages, and does not hold them up behind talk.
func TestTalkWithoutRoom(t *testing.T) {
	b := bustest.New(t)
	full := ear{b, hamletOn(t, b, villagers).d.rooms, slog.New(slog.DiscardHandler)}
	in := chat.Inbound{Meta: chat.Meta{ID: "1", Addr: hut}, Text: strings.Repeat("x", 100)}
	for err, want := range map[error]error{bus.ErrStoreFull: nil, bus.ErrTooLarge: nil, errDown: errDown} {
		full.room = roomOf(failing{b.Table("x"), err})
		if got := full.Hear(t.Context(), in, true, 20); !errors.Is(got, want) {
			t.Errorf("%v becomes %v, want %v", err, got, want)
		}
	}
}

var errDown = errors.New("down")

func roomOf(t kv.Table) *room.Keeper { return room.New(room.Options{Table: t}) }

// failing is a table that cannot be written to.
type failing struct {
	kv.Table
	err error
}

func (f failing) Create(context.Context, string, []byte, time.Duration) (uint64, error) {
	return 0, f.err
}
