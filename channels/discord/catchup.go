package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"magpie/channels"
)

const (
	// catchUpChats is how many channels are asked about after a break: at 50
	// requests a second that is done in seconds.
	catchUpChats = 200
	// catchUpAtOnce is how many are asked about at the same time.
	catchUpAtOnce = 8
	// catchUpPages bounds what is fetched of one channel.
	catchUpPages = 10
	pageSize     = 100
	// catchUpAge: older messages are not answered any more.
	catchUpAge = 24 * time.Hour
	// catchUpTries is how often one page is asked for.
	catchUpTries = 5
	// stuckAfter: a channel that could not be read so often in a row, while
	// Discord answered otherwise, does not hold up the others any more.
	stuckAfter = 3
)

// catchUp fetches what was written while no session was there, in the channels
// that spoke last, and hands it to the sink in order.
func (r *receiver) catchUp(ctx context.Context) error {
	chats := r.d.places.recent(catchUpChats)
	missed, failed := make([][]message, len(chats)), make([]error, len(chats))
	var group errgroup.Group
	group.SetLimit(catchUpAtOnce)
	for i, id := range chats {
		group.Go(func() error {
			missed[i], failed[i] = r.d.missed(ctx, id, catchUpTries)
			return nil
		})
	}
	_ = group.Wait()
	if err := r.unread(ctx, chats, failed); err != nil {
		return fmt.Errorf("fetch what was written meanwhile: %w", err)
	}
	r.filled = map[string]bool{}
	n := 0
	for _, messages := range missed {
		if err := r.fill(ctx, messages); err != nil {
			return err
		}
		n += len(messages)
	}
	if n > 0 {
		r.d.deps.Log.Info("fetched what was written meanwhile", "messages", n)
	}
	return nil
}

// unread judges the channels that could not be read. An error holds up all;
// without one the channels that are stuck are left behind.
func (r *receiver) unread(ctx context.Context, chats []string, failed []error) error {
	stuck, answers := map[string]int{}, false
	for i, id := range chats {
		switch err := failed[i]; {
		case err == nil:
			answers = true
		case ctx.Err() != nil || channels.KindOf(err) != channels.Temporary:
			return err
		default:
			stuck[id] = r.stuck[id] + 1
		}
	}
	if len(stuck) > 0 && !answers {
		if err := r.d.get(ctx, "get user", discordgo.EndpointUser("@me"), new(user)); err != nil {
			return err // Discord is out of reach altogether
		}
	}
	r.stuck = stuck
	for i, id := range chats {
		switch n := stuck[id]; {
		case n == 0:
		case n < stuckAfter:
			return failed[i]
		default:
			r.d.deps.Log.Warn("a channel cannot be read up: what is written there is heard, what was missed is tried again with it", "chat", id, "err", failed[i])
		}
	}
	return nil
}

// fill hands in what was fetched of one channel.
func (r *receiver) fill(ctx context.Context, messages []message) error {
	for i := range messages {
		m := &messages[i]
		if err := r.message(ctx, m, false); err != nil {
			return err
		}
		r.filled[m.ID] = true
	}
	return nil
}

// unstick tries once more to fetch what was missed in a channel that could not
// be read. Until that is done the channel counts as read up to there.
func (r *receiver) unstick(ctx context.Context, id string) error {
	messages, err := r.d.missed(ctx, id, 1)
	if err != nil {
		r.d.deps.Log.Debug("a channel still cannot be read up", "chat", id, "err", err)
		return nil
	}
	delete(r.stuck, id)
	return r.fill(ctx, messages)
}

// missed are the messages of a channel after the last one that is stored,
// oldest first. tries is how often each page is asked for.
func (d *Discord) missed(ctx context.Context, id string, tries int) ([]message, error) {
	pl, ok := d.places.get(id)
	if !ok {
		return nil, nil
	}
	after := pl.Last
	if oldest := snowflake(d.deps.Now().Add(-catchUpAge)); number(after) < number(oldest) {
		after = oldest
	}
	var all []message
	for range catchUpPages {
		page, err := d.page(ctx, id, after, tries)
		if channels.KindOf(err) == channels.Rejected {
			d.deps.Log.Info("a channel is closed to the bot and forgotten", "chat", id, "err", err)
			return nil, d.places.forget(ctx, id)
		}
		if err != nil {
			return nil, err
		}
		for i := range page {
			page[i].Guild = pl.Guild
		}
		all = append(all, page...)
		if len(page) < pageSize {
			break
		}
		after = page[len(page)-1].ID
	}
	return all, nil
}

// page is the next messages after one, oldest first. It tries again for a
// while: without the page nothing after it may be handled.
func (d *Discord) page(ctx context.Context, id, after string, tries int) ([]message, error) {
	const op = "get messages"
	address := fmt.Sprintf("%s?limit=%d&after=%s", discordgo.EndpointChannelMessages(id), pageSize, after)
	wait := d.backoff()
	for try := 1; ; try++ {
		raw, err := d.api.call(ctx, request{op: op, method: http.MethodGet, url: address})
		if err == nil {
			return d.messages(op, raw)
		}
		kind := channels.KindOf(err)
		if try >= tries || ctx.Err() != nil || kind != channels.Temporary && kind != channels.RateLimited {
			return nil, err
		}
		wait.Pause(ctx, err)
	}
}

func (d *Discord) messages(op string, raw []byte) ([]message, error) {
	var each []json.RawMessage
	if err := json.Unmarshal(raw, &each); err != nil {
		return nil, d.api.Fail(op, channels.Temporary, fmt.Errorf("not a list of messages: %w", err))
	}
	page := make([]message, 0, len(each))
	for _, raw := range each {
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			d.skipped.Add(1)
			d.deps.Log.Warn("message skipped", "err", err)
			continue
		}
		page = append(page, m)
	}
	// Discord gives the newest first.
	sort.Slice(page, func(i, j int) bool { return number(page[i].ID) < number(page[j].ID) })
	return page, nil
}
