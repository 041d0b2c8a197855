// Package qq is the QQ channel: an official bot of q.qq.com in private chats
// and groups, over the gateway (WebSocket) or a webhook. It translates and
// transports; retrying, splitting and rates are dispatch's, who may speak is
// access's.
//
// A message can be replied to four times within an hour, in groups five times
// within five minutes; anything else is an active message, of which there are
// so many a day for each chat, and none where people have switched them off.
// The ledger keeps the replies per chat, over restarts, and what the platform
// has said of active messages; what found no place is kept and told when the
// person writes next.
//
// Run owns all goroutines and waits for them.
package qq

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"magpie/channels"
	"magpie/chat"
)

// QQ is one bot.
type QQ struct {
	name    string
	cfg     Config
	deps    channels.Deps
	pace    pace
	api     *client
	ledger  *ledger
	learnt  *learnt
	streams streams
	hook    channels.Gate[*intake]
	me      atomic.Pointer[string] // the bot's id; "" until it is known
	skipped atomic.Uint64
}

var (
	_ channels.Channel      = (*QQ)(nil)
	_ channels.Typer        = (*QQ)(nil)
	_ channels.Drafter      = (*QQ)(nil)
	_ channels.Deleter      = (*QQ)(nil)
	_ channels.MediaSender  = (*QQ)(nil)
	_ channels.MediaFetcher = (*QQ)(nil)
	_ channels.Buttoner     = (*QQ)(nil)
	_ channels.Hooker       = (*QQ)(nil)
	_ channels.Checker      = (*QQ)(nil)
)

// pace holds the pauses, so that tests can be quick.
type pace struct {
	retry    time.Duration // first pause after a failure; doubles
	retryMax time.Duration
	save     time.Duration // between two saves of the session
	hook     time.Duration // between two proofs of the credentials in webhook mode
	slow     time.Duration // first wait of a message that was too fast; five times as long each time
}

func normalPace() pace {
	return pace{retry: time.Second, retryMax: time.Minute, save: time.Second, hook: 5 * time.Minute, slow: 2 * time.Second}
}

// New makes the channel from its section of the configuration.
func New(name string, decode func(any) error, d channels.Deps) (channels.Channel, error) {
	var cfg Config
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	if err := cfg.complete(d.Public != nil); err != nil {
		return nil, err
	}
	return newQQ(name, cfg, d, normalPace()), nil
}

func newQQ(name string, cfg Config, d channels.Deps, p pace) *QQ {
	d = d.Complete()
	q := &QQ{
		name: name, cfg: cfg, deps: d, pace: p, api: newClient(name, &cfg, &d),
		ledger: &ledger{table: d.Table, now: d.Now, most: cfg.ActivePerDay},
		learnt: &learnt{table: d.Table, now: d.Now, log: d.Log},
	}
	if cfg.moves {
		q.api.HTTP().Transport = newHomes(q.api.HTTP().Transport, q.learnt)
	}
	q.me.Store(new(string))
	return q
}

// Name is the instance name.
func (q *QQ) Name() string { return q.name }

const (
	// maxText is the most that one text may measure, in runes. The platform
	// has a limit (codes 40054007, 40054018) without saying which; public bots
	// use 4000 to 5000, and phones fold what is longer than 15000 (read November
	// 2026).
	maxText = 4000
	// maxParts: a group's message has five replies, a private one four with an
	// input notify among them; what is over goes as active messages.
	maxParts = 5
	// notifySeconds is how long an input notify is shown, the most there is.
	notifySeconds = 60
	// perMinute is how many messages a group takes in a minute, perSecond how
	// many a bot that is not verified may send to private chats
	// (bot.q.qq.com/wiki/develop/api-v2/autogen/api/, July 2026, read November
	// 2026).
	perMinute, perSecond = 20, 5
)

// Limits are those of the platform's version 2 API.
func (q *QQ) Limits() channels.Limits {
	return channels.Limits{
		Text: maxText, Parts: maxParts, Size: q.measure, Mute: true,
		Media: map[chat.Kind]int64{chat.Image: maxImage, chat.Video: maxFile, chat.Voice: maxVoice, chat.File: maxFile},
		Album: 1,
		// Bots that are not verified send 30 a minute to groups in all, and as
		// many to private chats; the platform says when it is too fast.
		Rate: channels.Rate{
			PerSecond: perSecond, Burst: 10, ChatBurst: 5, PerChat: 500 * time.Millisecond, PerGroup: time.Minute / perMinute,
			IsGroup: func(a chat.Address) bool { return strings.HasPrefix(a.Chat, group) },
		},
		// There is no editing, but a private message can be streamed.
		DraftIn: q.streamIn, DraftLife: streamLife, Grows: true,
		// A repeat has the same msg_seq while the message it replies to can be
		// replied to, which may have begun before; five minutes in groups.
		Typing: notifySeconds * time.Second, Resend: true, RepeatKnown: groupWindow / 2,
	}
}

// Skipped is how many events were passed over since the start because they
// could not be read.
func (q *QQ) Skipped() uint64 { return q.skipped.Load() }

// Check proves the credentials, in mode ws also that a gateway is offered.
func (q *QQ) Check(ctx context.Context) error {
	if q.cfg.Mode == modeWebhook {
		return q.whoAmI(ctx)
	}
	_, err := q.gatewayURL(ctx, false)
	return err
}

// whoAmI asks for the bot's own id.
func (q *QQ) whoAmI(ctx context.Context) error {
	var me struct {
		ID string `json:"id"`
	}
	const op = "users/@me"
	if err := q.api.call(ctx, request{op: op, method: http.MethodGet, path: "/users/@me"}, &me); err != nil {
		return err
	}
	if me.ID == "" {
		return q.api.Fail(op, channels.Temporary, errors.New("answer without an id"))
	}
	q.me.Store(&me.ID)
	return nil
}

// Run receives until ctx ends. It returns an Unauthorized error when the
// credentials are wrong or the bot is banned, a Rejected one when it may not
// receive its events.
func (q *QQ) Run(ctx context.Context, sink channels.Sink) error {
	defer q.api.CloseIdle()
	in := newIntake(q, sink)
	var wg sync.WaitGroup
	inner, cancel := context.WithCancel(ctx)
	wg.Go(func() { in.run(inner) })
	wg.Go(func() { q.clearLeft(inner) })
	err := q.work(inner, in)
	cancel()
	wg.Wait()
	return q.deps.Status.End(ctx, err)
}

func (q *QQ) work(ctx context.Context, in *intake) error {
	if q.cfg.Mode == modeWS {
		return q.receive(ctx, in)
	}
	for wait := q.backoff(); ; {
		err := q.whoAmI(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil || channels.KindOf(err) == channels.Unauthorized {
			return err
		}
		q.deps.Status.Failed(err)
		wait.Pause(ctx, err)
	}
	q.deps.Status.Connected()
	return q.serveHook(ctx, in)
}

// Hook takes the platform's calls in webhook mode; in mode ws there is nothing
// to call.
func (q *QQ) Hook() http.Handler { return http.HandlerFunc(q.serve) }
