package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"magpie/channels"
	"magpie/channels/lanes"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	// tablePatience bounds one access to the adapter's table.
	tablePatience = 10 * time.Second
	// albumKept is how long parts of an album wait for a bot that is down;
	// Telegram keeps updates as long.
	albumKept = 24 * time.Hour
	// albumFull is the most that an album holds.
	albumFull   = 10
	albumPrefix = "album"
)

// intake takes events in and hands them to the sink, one after the other in a
// chat. Parts of an album, which come as messages of their own, are put into
// the table first (that is what acknowledges them) and go to the sink together
// when no more come; so a kill at any time loses none of them.
type intake struct {
	t     *Telegram
	sink  channels.Sink
	chats lanes.Lanes
	acks  chan chat.MessageRef // messages to put an emoji on

	mu     sync.Mutex
	albums map[string]*album // by chat
	wake   chan struct{}
}

// album is an album of which more parts may come.
type album struct {
	Group string         `json:"group"`
	Parts []chat.Inbound `json:"parts"`
	due   time.Time
}

func newIntake(t *Telegram, sink channels.Sink) *intake {
	return &intake{t: t, sink: sink, acks: make(chan chat.MessageRef, ackBuffer), albums: map[string]*album{}, wake: make(chan struct{}, 1)}
}

// load finds the albums that an earlier process left behind.
func (n *intake) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	entries, err := kv.List(ctx, n.t.deps.Table, albumPrefix)
	if err != nil {
		return fmt.Errorf("read waiting albums: %w", err)
	}
	for _, e := range entries {
		a := &album{due: time.Now().Add(n.t.pace.album)}
		if err := json.Unmarshal(e.Value, a); err != nil || len(a.Parts) == 0 {
			n.t.deps.Log.Error("a waiting album cannot be read and is left alone", "key", e.Key, "err", err)
			continue
		}
		n.albums[a.Parts[0].Addr.Chat] = a
	}
	return nil
}

// take handles one event; nil means that it is stored or rightly passed over.
func (n *intake) take(ctx context.Context, ev event) error {
	if ev.moved[0] != 0 {
		if err := n.t.moved.note(ctx, strconv.FormatInt(ev.moved[0], 10), ev.moved[1]); err != nil {
			return fmt.Errorf("note that a group moved: %w", err)
		}
	}
	if ev.in == nil {
		n.skip(ev)
		return nil
	}
	n.t.deps.Status.Event()
	return n.chats.Do(ev.in.Addr.Chat, func() error { return n.store(ctx, ev) })
}

// store hands an event to the sink. The chat's lane is held.
func (n *intake) store(ctx context.Context, ev event) error {
	if ev.album != "" {
		return n.join(ctx, ev)
	}
	if err := n.flush(ctx, ev.in.Addr.Chat); err != nil {
		return err
	}
	if err := n.sink(ctx, *ev.in); err != nil {
		return err
	}
	n.ack(ev.in)
	for _, in := range ev.also {
		if err := n.sink(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

func (n *intake) skip(ev event) {
	switch {
	case ev.bad:
		n.t.skipped.Add(1)
		n.t.deps.Log.Warn("update skipped", "update", ev.id, "why", ev.skip)
	case strings.HasPrefix(ev.skip, "membership"), strings.HasPrefix(ev.skip, "business"):
		n.t.deps.Log.Info(ev.skip, "update", ev.id)
	default:
		n.t.deps.Log.Debug("update passed over", "update", ev.id, "why", ev.skip)
	}
}

func (n *intake) waiting(chat string) *album {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.albums[chat]
}

// join stores a part of an album, in the lane of its chat.
func (n *intake) join(ctx context.Context, ev event) error {
	chatID := ev.in.Addr.Chat
	a := n.waiting(chatID)
	if a != nil && a.Group != ev.album {
		if err := n.flush(ctx, chatID); err != nil {
			return err
		}
		a = nil
	}
	next := &album{Group: ev.album, due: time.Now().Add(n.t.pace.album)}
	if a != nil {
		next.Parts = slices.Clone(a.Parts)
	}
	if !slices.ContainsFunc(next.Parts, func(p chat.Inbound) bool { return p.ID == ev.in.ID }) {
		next.Parts = append(next.Parts, *ev.in)
	}
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("store part of album: %w", err)
	}
	tctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if _, err := n.t.deps.Table.Update(tctx, albumPrefix+"."+chatID, data, 0, albumKept); err != nil {
		return fmt.Errorf("store part of album: %w", err)
	}
	n.mu.Lock()
	n.albums[chatID] = next
	n.mu.Unlock()
	if len(next.Parts) >= albumFull {
		return n.flush(ctx, chatID)
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
	return nil
}

// flush gives the waiting album of a chat to the sink, in the lane of the chat.
func (n *intake) flush(ctx context.Context, chatID string) error {
	a := n.waiting(chatID)
	if a == nil {
		return nil
	}
	all := merge(a.Parts)
	if err := n.sink(ctx, all); err != nil {
		return err
	}
	n.ack(&all)
	n.mu.Lock()
	delete(n.albums, chatID)
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if err := n.t.deps.Table.Delete(ctx, albumPrefix+"."+chatID); err != nil {
		// It comes once more after a restart, with the same id.
		n.t.deps.Log.Warn("a delivered album stays in the table", "chat", chatID, "err", err)
	}
	return nil
}

// merge makes one message of the parts, under the id of the first.
func merge(parts []chat.Inbound) chat.Inbound {
	all := parts[0]
	all.Attachments = slices.Clone(all.Attachments)
	for _, p := range parts[1:] {
		all.Attachments = append(all.Attachments, p.Attachments...)
		if p.Text != "" && p.Text != all.Text {
			all.Text = strings.TrimPrefix(all.Text+"\n"+p.Text, "\n")
		}
		all.Mentioned = all.Mentioned || p.Mentioned
		if all.ReplyTo == nil {
			all.ReplyTo = p.ReplyTo
		}
	}
	return all
}

// run delivers albums that are complete, until ctx ends.
func (n *intake) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(n.deliver(ctx))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-n.wake:
		}
	}
}

// deliver flushes what is due and returns the time until the next.
func (n *intake) deliver(ctx context.Context) time.Duration {
	next := time.Hour
	n.mu.Lock()
	var due []string
	for chatID, a := range n.albums {
		if left := time.Until(a.due); left > 0 {
			next = min(next, left)
		} else {
			due = append(due, chatID)
		}
	}
	n.mu.Unlock()
	for _, chatID := range due {
		if err := n.flushDue(ctx, chatID); err != nil && ctx.Err() == nil {
			n.t.deps.Log.Warn("an album was not stored and is tried again", "chat", chatID, "err", err)
			next = min(next, n.t.pace.retry)
		}
	}
	return next
}

func (n *intake) flushDue(ctx context.Context, chatID string) error {
	return n.chats.Do(chatID, func() error {
		if a := n.waiting(chatID); a == nil || time.Until(a.due) > 0 {
			return nil // a new part came meanwhile
		}
		return n.flush(ctx, chatID)
	})
}
