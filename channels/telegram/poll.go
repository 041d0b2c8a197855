package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"golang.org/x/sync/errgroup"

	"magpie/channels"
)

const (
	// batchChats is how many chats of one batch are handled at once.
	batchChats = 16
	// hastyPoll: a server that answers sooner although it has nothing new does
	// not wait for updates, as a poor proxy or another's imitation may.
	hastyPoll = time.Second
	// storePause is the longest pause while the sink refuses.
	storePause = 10 * time.Second
)

// poller receives by getUpdates.
type poller struct {
	t      *Telegram
	in     *intake
	offset int64 // every update below it is stored

	mu     sync.Mutex
	stored map[int64]bool // updates at or above offset
}

// receive polls until ctx ends or the token is refused.
func (t *Telegram) receive(ctx context.Context, in *intake) error {
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { in.run(ctx) })
	p := &poller{t: t, in: in, stored: map[int64]bool{}}
	defer p.acknowledge(ctx)
	wait, probe := t.backoff(), false
	idle := channels.NewBackoff(t.pace.retry, min(t.pace.retryMax, 2*hastyPoll))
	storing := channels.NewBackoff(t.pace.retry, min(t.pace.retryMax, storePause))
	for ctx.Err() == nil {
		began, before := time.Now(), p.offset
		batch, err := p.fetch(ctx, probe)
		if err == nil {
			t.deps.Status.Connected()
			if err := p.handle(ctx, batch); err != nil && ctx.Err() == nil {
				t.deps.Log.Warn("updates were not stored and will come again", "err", err)
				storing.Pause(ctx, err)
				probe = false
				continue
			}
			storing.Reset()
			switch {
			case probe: // it was asked not to wait
			case p.offset == before && time.Since(began) < hastyPoll && t.pace.poll > hastyPoll:
				idle.Pause(ctx, nil) // else it would be asked as fast as it answers
			default:
				idle.Reset()
				wait.Reset()
			}
			probe = false
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if channels.KindOf(err) == channels.Unauthorized {
			return err
		}
		t.trouble(p.explain(ctx, err))
		probe = true
		wait.Pause(ctx, err)
	}
	return nil
}

// fetch gets the next batch. After a failure it does not wait for updates, so
// that the state is known at once.
func (p *poller) fetch(ctx context.Context, probe bool) ([]json.RawMessage, error) {
	wait := p.t.pace.poll
	if probe {
		wait = 0
	}
	params := tgbotapi.Params{"timeout": strconv.Itoa(int(wait.Seconds())), "limit": "100", "allowed_updates": allowedUpdates}
	if p.offset != 0 {
		params["offset"] = strconv.FormatInt(p.offset, 10)
	}
	raw, err := p.t.api.callFor(ctx, wait+pollMargin, "getUpdates", params)
	if err != nil {
		return nil, err
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(raw, &batch); err != nil {
		return nil, p.t.api.Fail("getUpdates", channels.Temporary, fmt.Errorf("not a list of updates: %w", err))
	}
	return batch, nil
}

// explain says what a conflict is about, and removes a webhook that somebody
// set meanwhile.
func (p *poller) explain(ctx context.Context, err error) error {
	var r *refusal
	if !errors.As(err, &r) || r.code != http.StatusConflict {
		return err
	}
	if strings.Contains(r.text, "deleteWebhook") {
		if _, err := p.t.api.call(ctx, "deleteWebhook", nil); err != nil {
			return err
		}
		return fmt.Errorf("a webhook was active and has been removed: %w", err)
	}
	return fmt.Errorf("another program polls with the same token; stop it: %w", err)
}

// handle stores a batch, chats side by side and each in order, and moves the
// offset past what is stored without a gap.
func (p *poller) handle(ctx context.Context, batch []json.RawMessage) error {
	byChat := map[string][]event{}
	var ids []int64
	for _, raw := range batch {
		ev := p.t.event(raw)
		if !ev.known {
			p.in.skip(ev) // it has no place in the order and goes with the next that has
			continue
		}
		ids = append(ids, ev.id)
		key := ""
		switch {
		case ev.in != nil:
			key = ev.in.Addr.Chat
		case ev.moved[1] != 0: // before what is said in the new group
			key = strconv.FormatInt(ev.moved[1], 10)
		}
		byChat[key] = append(byChat[key], ev)
	}
	var g errgroup.Group
	g.SetLimit(batchChats)
	for _, events := range byChat {
		g.Go(func() error { return p.inOrder(ctx, events) })
	}
	err := g.Wait()
	p.advance(ids)
	if len(batch) > 0 && len(ids) == 0 {
		return errors.New("a batch without any update_id")
	}
	return err
}

func (p *poller) inOrder(ctx context.Context, events []event) error {
	for _, ev := range events {
		p.mu.Lock()
		done := p.stored[ev.id]
		p.mu.Unlock()
		if done {
			continue
		}
		if err := p.in.take(ctx, ev); err != nil {
			return fmt.Errorf("store update %d: %w", ev.id, err)
		}
		p.mu.Lock()
		p.stored[ev.id] = true
		p.mu.Unlock()
	}
	return nil
}

func (p *poller) advance(ids []int64) {
	for _, id := range ids {
		if !p.stored[id] {
			break
		}
		p.offset = id + 1
	}
	for id := range p.stored {
		if id < p.offset {
			delete(p.stored, id)
		}
	}
}

// acknowledge confirms what is stored when Run ends: without it the last
// batch would come once more after a restart.
func (p *poller) acknowledge(ctx context.Context) {
	if p.offset == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	params := tgbotapi.Params{"offset": strconv.FormatInt(p.offset, 10), "limit": "1", "timeout": "0", "allowed_updates": allowedUpdates}
	if _, err := p.t.api.callFor(ctx, p.t.pace.last, "getUpdates", params); err != nil {
		p.t.deps.Log.Debug("the last updates were not confirmed and will come again", "err", err)
	}
}

func (t *Telegram) backoff() *channels.Backoff {
	return channels.NewBackoff(t.pace.retry, t.pace.retryMax)
}
