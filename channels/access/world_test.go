package access

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"

	"magpie/chat"
	"magpie/internal/kv"
)

// gated is a Gate with everything around it written down.
type gated struct {
	*Gate
	pairs *Pairs
	in    []string // ids that came through
	said  []chat.Outbound
	heard []chat.Inbound // by the room
	out   []bool         // of heard: it is from outside
	log   bytes.Buffer
	err   error // of Say
	seq   int
}

// Hear makes it a Room.
func (g *gated) Hear(_ context.Context, in chat.Inbound, outside bool, _ int) error {
	g.heard, g.out = append(g.heard, in), append(g.out, outside)
	return g.err
}

func newGated(cfg Config) *gated {
	return newGatedOn(cfg, &kv.Memory{})
}

// newGatedOn is a process on a table that may have been used before.
func newGatedOn(cfg Config, table kv.Table) *gated {
	g := &gated{pairs: NewPairs(table)}
	log := slog.New(slog.NewTextHandler(&g.log, nil))
	g.Gate = New(cfg, Deps{Pairs: g.pairs, Room: g, Log: log, Urgent: func(text string) bool { return text == "/stop" }, Say: func(_ context.Context, out chat.Outbound) error {
		if g.err != nil {
			return g.err
		}
		g.said = append(g.said, out)
		return nil
	}})
	return g
}

// give hands a message to the gate and reports whether it came through.
func (g *gated) give(t *testing.T, in chat.Inbound) bool {
	t.Helper()
	before := len(g.in)
	if err := g.try(t, in); err != nil {
		t.Fatal(err)
	}
	return len(g.in) > before
}

func (g *gated) try(t *testing.T, in chat.Inbound) error {
	g.seq++
	in.ID = fmt.Sprint("m", g.seq)
	if in.Addr.Channel == "" {
		in.Addr = chat.Address{Channel: "tg", Chat: "c1"}
	}
	if in.Origin == "" {
		in.Origin = chat.FromPerson
	}
	return g.Wrap(func(_ context.Context, in chat.Inbound) error {
		g.in = append(g.in, in.ID)
		return nil
	})(t.Context(), in)
}

func direct(id, text string) chat.Inbound {
	return chat.Inbound{From: chat.Sender{ID: id}, Text: text, Direct: true}
}

func inGroup(id string, mentioned bool) chat.Inbound {
	return chat.Inbound{From: chat.Sender{ID: id}, Text: "hi", Mentioned: mentioned}
}
