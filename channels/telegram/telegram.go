// Package telegram is the Telegram channel: a bot of the Bot API, by long
// polling or webhook. It translates and transports; retrying, splitting and
// rates are dispatch's, who may speak is access's.
//
// Telegram's acknowledgement is the offset of the next getUpdates (or the 200
// of a webhook call); it is given only for what the sink has stored. The SDK
// serves as transport and for outgoing types; updates are decoded here, each
// by itself, so that one that cannot be read does not hide the others.
//
// Run owns all goroutines and waits for them.
package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

// Telegram is one bot.
type Telegram struct {
	name    string
	cfg     Config
	deps    channels.Deps
	pace    pace
	api     *client
	me      atomic.Pointer[user]
	moved   moved
	hook    channels.Gate[*intake]
	skipped atomic.Uint64
	// versions tell edits that change nothing.
	versions *versions
}

var (
	_ channels.Channel      = (*Telegram)(nil)
	_ channels.Typer        = (*Telegram)(nil)
	_ channels.Editor       = (*Telegram)(nil)
	_ channels.Drafter      = (*Telegram)(nil)
	_ channels.Deleter      = (*Telegram)(nil)
	_ channels.Reactor      = (*Telegram)(nil)
	_ channels.MediaSender  = (*Telegram)(nil)
	_ channels.MediaFetcher = (*Telegram)(nil)
	_ channels.Buttoner     = (*Telegram)(nil)
	_ channels.Hooker       = (*Telegram)(nil)
	_ channels.Checker      = (*Telegram)(nil)
	_ channels.Surveyor     = (*Telegram)(nil)
)

// pace holds the pauses, so that tests can be quick.
type pace struct {
	poll     time.Duration // how long the platform may keep a getUpdates waiting
	retry    time.Duration // first pause after a failure; doubles
	retryMax time.Duration
	album    time.Duration // silence after which an album is complete
	hook     time.Duration // between two looks at the webhook
	menu     time.Duration // between two looks at the menu of commands
	last     time.Duration // bounds the call that acknowledges at the end
}

func normalPace() pace {
	return pace{
		poll:     50 * time.Second, // the most that Telegram grants
		retry:    time.Second,
		retryMax: time.Minute,
		album:    800 * time.Millisecond, // parts come within a few 100 ms of each other
		hook:     time.Minute,
		menu:     time.Hour,
		last:     2 * time.Second,
	}
}

// New is the channels.Factory of Telegram.
func New(name string, decode func(any) error, d channels.Deps) (channels.Channel, error) {
	var cfg Config
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	if err := errors.Join(cfg.complete(), cfg.checkForm()); err != nil {
		return nil, err
	}
	return newTelegram(name, cfg, d, normalPace()), nil
}

func newTelegram(name string, cfg Config, d channels.Deps, p pace) *Telegram {
	d = d.Complete()
	return &Telegram{
		name: name, cfg: cfg, deps: d, pace: p,
		api:   newClient(name, string(cfg.Token), cfg.APIBase, d.HTTP),
		moved: moved{table: d.Table, to: map[string]string{}}, versions: newVersions(),
	}
}

// Name is the instance name.
func (t *Telegram) Name() string { return t.name }

// Limits of the Bot API (https://core.telegram.org/bots/api and /bots/faq, read
// November 2026).
const (
	maxText    = 4096 // UTF-16 units after formatting
	maxCaption = 1024
	maxUpload  = 50 << 20 // photos over 10 MB go as documents
	perSecond  = 30
	perMinute  = 20 // in a group
	typingLife = 5 * time.Second
)

// Limits are those of the Bot API.
func (t *Telegram) Limits() channels.Limits {
	return channels.Limits{
		Text: maxText, Caption: maxCaption, Size: render.TelegramSize,
		Media: map[chat.Kind]int64{
			chat.Image: maxUpload, chat.Audio: maxUpload, chat.Voice: maxUpload, chat.Video: maxUpload, chat.File: maxUpload,
		},
		Album: albumFull,
		Rate: channels.Rate{
			PerSecond: perSecond, Burst: perSecond, PerChat: time.Second, ChatBurst: 3, PerGroup: time.Minute / perMinute,
			IsGroup: isGroup,
		},
		Edit: editPace, EditIn: editIn, DraftIn: draftIn, DraftLife: draftLife, Typing: typingLife,
		Resend: true, // a repeat is not recognised; a double is better than a loss
	}
}

// Skipped is how many updates were passed over since the start because they
// could not be read or were of a kind that the bot does not know.
func (t *Telegram) Skipped() uint64 { return t.skipped.Load() }

// Check asks Telegram who the bot is.
func (t *Telegram) Check(ctx context.Context) error {
	_, err := t.whoAmI(ctx)
	return err
}

func (t *Telegram) whoAmI(ctx context.Context) (*user, error) {
	raw, err := t.api.call(ctx, "getMe", nil)
	if err != nil {
		return nil, err
	}
	var me user
	if err := json.Unmarshal(raw, &me); err != nil || me.ID == 0 {
		return nil, t.api.Fail("getMe", channels.Temporary, fmt.Errorf("answer without a user: %w", err))
	}
	return &me, nil
}

// Run receives until ctx ends. It returns an Unauthorized error when Telegram
// does not know the token, and a Rejected one when it refuses the webhook.
func (t *Telegram) Run(ctx context.Context, sink channels.Sink) error {
	defer t.api.CloseIdle()
	in, err := t.connect(ctx, sink)
	if err == nil && in != nil {
		err = t.receiveAll(ctx, in)
	}
	return t.deps.Status.End(ctx, err)
}

// receiveAll receives in the way that is configured, and looks after the menu of
// commands meanwhile.
func (t *Telegram) receiveAll(ctx context.Context, in *intake) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { t.keepMenu(ctx) })
	wg.Go(func() { in.react(ctx) })
	if t.cfg.Mode == modeWebhook {
		return t.serveHook(ctx, in)
	}
	return t.receive(ctx, in)
}

// connect makes everything ready, however long it takes; nil without an error
// means that ctx ended.
func (t *Telegram) connect(ctx context.Context, sink channels.Sink) (*intake, error) {
	wait := t.backoff()
	for {
		in, err := t.prepare(ctx, sink)
		if err == nil {
			t.deps.Status.Connected()
			t.greet()
			return in, nil
		}
		if ctx.Err() != nil {
			return nil, nil
		}
		if channels.Final(err) {
			return nil, err
		}
		t.trouble(err)
		wait.Pause(ctx, err)
	}
}

func (t *Telegram) prepare(ctx context.Context, sink channels.Sink) (*intake, error) {
	if err := t.identify(ctx); err != nil {
		return nil, err
	}
	in := newIntake(t, sink)
	if t.cfg.Mode == modeWebhook {
		return in, t.setWebhook(ctx)
	}
	_, err := t.api.call(ctx, "deleteWebhook", nil)
	return in, err
}

// identify finds out what has to be known to read updates.
func (t *Telegram) identify(ctx context.Context) error {
	me, err := t.whoAmI(ctx)
	if err != nil {
		return err
	}
	t.me.Store(me)
	return t.moved.load(ctx)
}

// trouble notes that receiving does not work at the moment.
func (t *Telegram) trouble(err error) {
	t.deps.Status.Failed(err)
	t.deps.Log.Warn("telegram does not answer as it should", "err", err)
}

// Hook takes Telegram's calls in webhook mode; in poll mode there is nothing
// to call.
func (t *Telegram) Hook() http.Handler { return http.HandlerFunc(t.serveUpdate) }
