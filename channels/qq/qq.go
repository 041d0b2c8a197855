// Package qq is the QQ channel: an official bot of q.qq.com in private chats
// and groups, over the gateway (WebSocket) or a webhook. It translates and
// transports; retrying, splitting and rates are dispatch's, who may speak is
// access's.
//
// A bot on QQ may hardly speak unasked: a message can be replied to five times
// within an hour (in groups five minutes), anything else is an active message
// with a small quota. The ledger keeps both per chat, over restarts; answers
// never use up active messages, and what found no place is kept and told when
// the person writes next.
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
	"unicode/utf8"

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
	hook    channels.Gate[*intake]
	me      atomic.Pointer[string] // the bot's id; "" until it is known
	skipped atomic.Uint64
}

var (
	_ channels.Channel      = (*QQ)(nil)
	_ channels.Typer        = (*QQ)(nil)
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
}

func normalPace() pace {
	return pace{retry: time.Second, retryMax: time.Minute, save: time.Second, hook: 5 * time.Minute}
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
		ledger: &ledger{table: d.Table, now: d.Now, quota: *cfg.ActivePerMonth},
	}
	q.me.Store(new(string))
	return q
}

// Name is the instance name.
func (q *QQ) Name() string { return q.name }

const (
	// maxText is the most that one text may measure, in runes. The platform
	// has a limit (code 40054007) without saying which; public bots use 4000
	// to 5000 (read November 2026).
	maxText = 4000
	// maxParts leaves room for the input notify and a notice of what was
	// missed among the five replies to a message.
	maxParts = 3
	// maxFile is the largest file in bytes: a request of 32 MB is refused with
	// 413, and base64 makes a third more of it.
	maxFile = 20 << 20
	// notifySeconds is how long an input notify is shown, the most there is.
	notifySeconds = 60
)

// Limits are those of the platform's version 2 API; there is no editing.
func (q *QQ) Limits() channels.Limits {
	return channels.Limits{
		Text: maxText, Parts: maxParts, Size: func(markdown string) int { return utf8.RuneCountInString(q.words(markdown)) },
		Media: map[chat.Kind]int64{chat.Image: maxFile, chat.Video: maxFile, chat.Voice: maxFile, chat.File: maxFile},
		Album: 1,
		// Private chats 5 a second and 30 a minute for unverified bots, groups
		// 30 a minute in all and 20 in one
		// (bot.q.qq.com/wiki/develop/api-v2/autogen/api/, read November 2026).
		Rate: channels.Rate{
			PerSecond: 5, Burst: 10, ChatBurst: 5, PerChat: 500 * time.Millisecond, PerGroup: 3 * time.Second,
			IsGroup: func(a chat.Address) bool { return strings.HasPrefix(a.Chat, group) },
		},
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
