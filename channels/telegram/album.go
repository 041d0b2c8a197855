package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

const (
	// albumKept is how long parts of an album wait for a bot that is down;
	// Telegram keeps updates as long.
	albumKept = 24 * time.Hour
	// albumOver is for how long a part that comes once more is known.
	albumOver = time.Hour
	// albumFull is the most that an album holds.
	albumFull   = 10
	albumPrefix = "album"
)

// album is the newest album of a chat, as it stands in the table. Calls of the
// webhook may bring its parts to several processes: each adds to what is there,
// and one of them closes it, so that what goes to the sink is the same for all
// who may have to repeat that.
type album struct {
	Group string         `json:"group"`
	Parts []chat.Inbound `json:"parts,omitempty"`
	// Closed: no more parts are added, it is on its way to the sink.
	Closed bool `json:"closed,omitempty"`
	// Taken are the parts of one that the sink has.
	Taken []string `json:"taken,omitempty"`
}

func (a *album) over() bool { return len(a.Parts) == 0 }

func (a *album) has(id string) bool {
	return slices.Contains(a.Taken, id) || slices.ContainsFunc(a.Parts, func(p chat.Inbound) bool { return p.ID == id })
}

// waiting is an album of which more parts may come, as this process last saw it.
type waiting struct {
	revision uint64
	due      time.Time // then it is complete, unless it was changed since
}

func albumKey(chatID string) string { return albumPrefix + "." + chatID }

// album reads the album of a chat; one that was never there is over.
func (n *intake) album(ctx context.Context, chatID string) (a *album, revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	a = &album{}
	e, err := n.t.deps.Table.Get(ctx, albumKey(chatID))
	if errors.Is(err, kv.ErrNotFound) {
		return a, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("look for an album: %w", err)
	}
	if err := json.Unmarshal(e.Value, a); err != nil {
		n.t.deps.Log.Error("a waiting album cannot be read and is lost", "chat", chatID, "err", err)
		return &album{}, e.Revision, nil
	}
	return a, e.Revision, nil
}

// write stores the album of a chat in the place of that revision.
func (n *intake) write(ctx context.Context, chatID string, a *album, revision uint64, life time.Duration) (uint64, error) {
	data, err := json.Marshal(a)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if revision == 0 {
		return n.t.deps.Table.Create(ctx, albumKey(chatID), data, life)
	}
	return n.t.deps.Table.Update(ctx, albumKey(chatID), data, revision, life)
}

// join stores a part of an album, in the lane of its chat.
func (n *intake) join(ctx context.Context, ev event) error {
	chatID := ev.in.Addr.Chat
	for {
		a, revision, err := n.album(ctx, chatID)
		switch {
		case err != nil:
			return err
		case a.Group != ev.album && a.over():
			a = &album{Group: ev.album}
		case a.Group != ev.album, a.Closed:
			if err := n.flush(ctx, chatID); err != nil {
				return err
			}
			continue
		case a.has(ev.in.ID):
			return nil
		case a.over():
			err := n.sink(ctx, *ev.in) // the others have gone without it
			if err == nil {
				n.ack(ev.in)
			}
			return err
		}
		a.Parts = append(a.Parts, *ev.in)
		revision, err = n.write(ctx, chatID, a, revision, albumKept)
		if errors.Is(err, kv.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("store part of album: %w", err)
		}
		n.wait(chatID, revision, n.t.pace.album)
		if len(a.Parts) >= albumFull {
			return n.flush(ctx, chatID)
		}
		return nil
	}
}

// flush gives the waiting album of a chat to the sink, in the chat's lane.
func (n *intake) flush(ctx context.Context, chatID string) error {
	for {
		a, revision, err := n.album(ctx, chatID)
		if err != nil {
			return err
		}
		if a.over() {
			n.forget(chatID)
			return nil
		}
		if !a.Closed {
			a.Closed = true
			revision, err = n.write(ctx, chatID, a, revision, albumKept)
			if errors.Is(err, kv.ErrConflict) {
				continue
			}
			if err != nil {
				return fmt.Errorf("close an album: %w", err)
			}
		}
		all := merge(a.Parts)
		if err := n.sink(ctx, all); err != nil {
			return err
		}
		n.ack(&all)
		taken := &album{Group: a.Group}
		for _, p := range a.Parts {
			taken.Taken = append(taken.Taken, p.ID)
		}
		if _, err := n.write(ctx, chatID, taken, revision, albumOver); err != nil && !errors.Is(err, kv.ErrConflict) {
			// It comes once more, with the same id.
			n.t.deps.Log.Warn("a delivered album stays in the table", "chat", chatID, "err", err)
			return nil
		}
		n.forget(chatID)
		return nil
	}
}

// merge makes one message of the parts, under the id of the first.
func merge(parts []chat.Inbound) chat.Inbound {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b chat.Inbound) int { return byNumber(a.MessageID, b.MessageID) })
	all := parts[0]
	all.Attachments = slices.Clone(all.Attachments)
	for _, p := range parts[1:] {
		all.Attachments = append(all.Attachments, p.Attachments...)
		if from, rest, _ := strings.Cut(p.Text, "\n"); p.Forwarded && strings.HasPrefix(all.Text, from) {
			p.Text = rest // where it comes from is said once
		}
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

// byNumber orders decimal numbers.
func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// wait notes that the album of a chat is complete when nothing has changed for
// so long.
func (n *intake) wait(chatID string, revision uint64, quiet time.Duration) {
	n.mu.Lock()
	if old := n.albums[chatID]; old.revision < revision {
		n.albums[chatID] = waiting{revision: revision, due: time.Now().Add(quiet)}
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *intake) forget(chatID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.albums, chatID)
}

// mayWait reports whether an album of a chat may be waiting in the table. One
// who polls is given every part, and is told by watch what others have left; the
// calls of a webhook bring parts to other processes at any moment.
func (n *intake) mayWait(chatID string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, known := n.albums[chatID]
	return known || !n.seen || n.t.cfg.Mode == modeWebhook
}

// run delivers albums that are complete, until ctx ends.
func (n *intake) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { n.watch(ctx) })
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

// watch looks at the albums that other processes gather, or have left behind:
// one of them that nobody closes in its time is closed here.
func (n *intake) watch(ctx context.Context) {
	for pause := n.t.backoff(); ctx.Err() == nil; {
		err := n.t.deps.Table.Watch(ctx, albumPrefix, func(e kv.Entry) error {
			var a album
			if e.Key == "" {
				n.see(true)
			}
			if e.Key == "" || e.Deleted || json.Unmarshal(e.Value, &a) != nil || a.over() {
				return nil
			}
			n.wait(strings.TrimPrefix(e.Key, albumPrefix+"."), e.Revision, 2*n.t.pace.album)
			return nil
		})
		n.see(false)
		if err != nil && ctx.Err() == nil {
			n.t.deps.Log.Warn("albums of other processes are not seen", "err", err)
			pause.Pause(ctx, nil)
		}
	}
}

// see notes whether all albums of the table are known.
func (n *intake) see(all bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen = all
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
		err := n.chats.Do(chatID, func() error { return n.flushDue(ctx, chatID) })
		if err != nil && ctx.Err() == nil {
			n.t.deps.Log.Warn("an album was not stored and is tried again", "chat", chatID, "err", err)
			next = min(next, n.t.pace.retry)
		}
	}
	return next
}

func (n *intake) flushDue(ctx context.Context, chatID string) error {
	n.mu.Lock()
	seen, ok := n.albums[chatID]
	n.mu.Unlock()
	if !ok || time.Until(seen.due) > 0 {
		return nil // a new part came meanwhile
	}
	if a, revision, err := n.album(ctx, chatID); err == nil && !a.over() && !a.Closed && revision > seen.revision {
		n.wait(chatID, revision, n.t.pace.album) // and went to another process
		return nil
	}
	return n.flush(ctx, chatID)
}
