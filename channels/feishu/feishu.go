// Package feishu is the Feishu (and Lark) channel: an app of the open platform,
// by long connection or webhook. It translates and transports; retrying,
// splitting and rates are dispatch's, who may speak is access's.
//
// The platform counts an event as taken when it is answered with 200 within 3 s;
// that answer is given only for what the sink has stored. Of the SDK the wire
// format is used (frames, signature, decryption); the connection is held here,
// since the SDK's client runs every frame in a goroutine of its own, which
// loses the order of a chat and pieces of long events, and leaves a goroutine
// behind for ever.
//
// Run owns all goroutines and waits for them.
package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"magpie/channels"
	"magpie/chat"
)

// Feishu is one app.
type Feishu struct {
	name  string
	cfg   Config
	deps  channels.Deps
	pace  pace
	api   *client
	me    atomic.Pointer[bot]
	hook  channels.Gate[*intake]
	signs *signs
	cards *cards
	known *known
}

var (
	_ channels.Channel      = (*Feishu)(nil)
	_ channels.Typer        = (*Feishu)(nil)
	_ channels.Editor       = (*Feishu)(nil)
	_ channels.Deleter      = (*Feishu)(nil)
	_ channels.Reactor      = (*Feishu)(nil)
	_ channels.MediaSender  = (*Feishu)(nil)
	_ channels.MediaFetcher = (*Feishu)(nil)
	_ channels.Buttoner     = (*Feishu)(nil)
	_ channels.Hooker       = (*Feishu)(nil)
	_ channels.Checker      = (*Feishu)(nil)
	_ channels.Surveyor     = (*Feishu)(nil)
)

// pace holds the pauses, so that tests can be quick.
type pace struct {
	ping     time.Duration // longest pause between two pings; the platform may ask for less
	pong     time.Duration // silence after a ping that means a dead connection
	retry    time.Duration // first pause after a failure; doubles
	retryMax time.Duration
	store    time.Duration // first pause while the sink refuses
	answer   time.Duration // after it an event is answered as failed
	lookup   time.Duration // for a quote and a name, before the event is stored
	sweep    time.Duration // between two looks for signs that nobody renews
	look     time.Duration // between two looks at the credentials in webhook mode
}

func normalPace() pace {
	return pace{
		ping:     2 * time.Minute, // the SDK's default
		pong:     15 * time.Second,
		retry:    time.Second,
		retryMax: time.Minute,
		store:    200 * time.Millisecond,
		answer:   2500 * time.Millisecond, // the platform waits 3 s
		lookup:   time.Second,
		sweep:    30 * time.Second,
		look:     6 * time.Hour, // a free plan has 10 000 calls a month
	}
}

// New is the channels.Factory of Feishu.
func New(name string, decode func(any) error, d channels.Deps) (channels.Channel, error) {
	var cfg Config
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return newFeishu(name, cfg, d, normalPace()), nil
}

func newFeishu(name string, cfg Config, d channels.Deps, p pace) *Feishu {
	d = d.Complete()
	return &Feishu{
		name: name, cfg: cfg, deps: d, pace: p,
		api:   newClient(name, cfg, d.HTTP, d.Now),
		signs: newSigns(), cards: newCards(), known: newKnown(),
	}
}

// Name is the instance name.
func (f *Feishu) Name() string { return f.name }

// perMinute is how many messages the app may send in a minute.
const perMinute = 1000

// Limits are those of the open platform: bodies of 30 KB, 5 messages a second
// to one chat, 50 a second and 1000 a minute in all (im/v1/message/create),
// pictures 10 MB and files 30 MB (im/v1/image/create, im/v1/file/create), 10
// updates a second of one card (cardkit/v1); https://open.feishu.cn/document,
// read November 2026.
func (f *Feishu) Limits() channels.Limits {
	return channels.Limits{
		Text: maxText, Size: sizeOf,
		Media: map[chat.Kind]int64{
			chat.Image: maxFile, chat.Audio: maxFile, chat.Voice: maxFile, chat.Video: maxFile, chat.File: maxFile,
		},
		Rate: channels.Rate{PerSecond: perMinute / 60.0, Burst: 50, PerChat: 200 * time.Millisecond, ChatBurst: 5},
		Edit: 700 * time.Millisecond, Seal: true,
		// A sign stays until it is taken away; the next call only says that it
		// is still needed.
		Typing: signLife / 2,
		Resend: true, RepeatKnown: uuidLife - uuidSlack,
	}
}

// bot is who the app is in chats.
type bot struct {
	OpenID string `json:"open_id"`
	Name   string `json:"app_name"`
}

// Check asks the platform who the bot is, whether it may send, and for a message
// that does not exist: the answer names the permission for messages if the app
// lacks it. What features lack Survey tells.
func (f *Feishu) Check(ctx context.Context) error {
	if _, err := f.whoAmI(ctx); err != nil {
		return err
	}
	if have, err := f.scopes(ctx); err == nil {
		for _, l := range without(have) {
			if l.vital {
				return f.api.Fail("application/scopes", channels.Rejected, errors.New(l.String()))
			}
		}
	}
	_, err := f.lookUp(ctx, "om_0")
	if refused(err, codeScope) {
		return err
	}
	if channels.KindOf(err) == channels.Rejected {
		return nil
	}
	return err
}

func (f *Feishu) whoAmI(ctx context.Context) (*bot, error) {
	const op = "bot/info"
	raw, err := f.api.call(ctx, request{op: op, method: http.MethodGet, path: "/open-apis/bot/v3/info"})
	if err != nil {
		if channels.KindOf(err) == channels.Rejected {
			return nil, f.api.Fail(op, channels.Rejected, fmt.Errorf("is the bot ability added to the app and a version published? %w", err))
		}
		return nil, err
	}
	var me bot
	if err := json.Unmarshal(raw, &me); err != nil || me.OpenID == "" {
		return nil, f.api.Fail(op, channels.Temporary, errors.New("answer without an open_id"))
	}
	return &me, nil
}

// Run receives until ctx ends. It returns an Unauthorized error when the
// platform does not know the credentials, and a Rejected one when the app may
// not hold a long connection.
func (f *Feishu) Run(ctx context.Context, sink channels.Sink) error {
	defer f.api.CloseIdle()
	err := f.connect(ctx)
	if err == nil && ctx.Err() == nil {
		in := newIntake(f, sink)
		if f.cfg.Mode == modeWebhook {
			err = f.serveHook(ctx, in)
		} else {
			err = f.holdLine(ctx, in)
		}
	}
	return f.deps.Status.End(ctx, err)
}

// connect proves the credentials, however long it takes; nil when ctx ended.
func (f *Feishu) connect(ctx context.Context) error {
	for wait := f.backoff(); ; {
		me, err := f.whoAmI(ctx)
		if err == nil {
			f.me.Store(me)
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		if channels.Final(err) {
			return err
		}
		f.trouble(err)
		wait.Pause(ctx, err)
	}
}

// trouble notes that receiving does not work at the moment.
func (f *Feishu) trouble(err error) {
	f.deps.Status.Failed(err)
	f.deps.Log.Warn("feishu does not answer as it should", "err", err)
}
