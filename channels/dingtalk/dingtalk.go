// Package dingtalk is the DingTalk channel: a robot of an organisation's own
// application, received over DingTalk's stream (a WebSocket, no public address
// needed), answering by the session webhook while that is valid and by the
// robot API otherwise, and by AI cards when a template is configured. It
// translates and transports; retrying, splitting and rates are dispatch's, who
// may speak is access's.
//
// DingTalk pushes a robot message once: what is received is held and given to
// the sink until that has stored it, and only then acknowledged. The vendor's
// SDK provides the frames; its client does not run here, because it handles
// frames out of order, drops them over 100 at once, leaves goroutines behind,
// tells nobody when the connection ends, and breaks it before it has the next
// (see docs/design.md).
//
// Run owns all goroutines and waits for them.
package dingtalk

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/channels/rest"
	"magpie/chat"
)

// DingTalk is one robot without a card template.
type DingTalk struct {
	name     string
	cfg      Config
	deps     channels.Deps
	pace     pace
	api      *client
	sessions sessions
	cards    *desk // nil: no card template
	memory
	quota   quota
	signs   signs
	skipped atomic.Uint64
	nick    atomic.Pointer[string] // the robot's name in chats; "" until a quote of it tells
}

var (
	_ channels.Channel      = (*DingTalk)(nil)
	_ channels.Deleter      = (*DingTalk)(nil)
	_ channels.MediaSender  = (*DingTalk)(nil)
	_ channels.MediaFetcher = (*DingTalk)(nil)
	_ channels.Checker      = (*DingTalk)(nil)
	_ channels.Typer        = (*DingTalk)(nil)
	_ channels.Surveyor     = (*DingTalk)(nil)
)

// pace holds the pauses, so that tests can be quick.
type pace struct {
	retry    time.Duration // first pause after a failure; doubles
	retryMax time.Duration
	ping     time.Duration // silence after which the connection is probed
	pong     time.Duration // how long the answer to a probe may take
	silent   time.Duration // without any frame: a new connection is made
	bye      time.Duration // how long the gateway may take to confirm a close frame
	linger   time.Duration // how long a replaced connection is still read
	sweep    time.Duration // between two looks at open cards
	orphan   time.Duration // after which an open card that nobody touches is completed
	settle   time.Duration // how long an answer waits for its card while cards change too fast
}

func normalPace() pace {
	return pace{
		retry:    time.Second,
		retryMax: time.Minute,
		ping:     30 * time.Second,
		pong:     10 * time.Second,
		silent:   2 * time.Minute, // the gateway pings every 20 to 30 s
		bye:      2 * time.Second,
		linger:   12 * time.Second, // the gateway closes 10 s after its disconnect frame
		sweep:    30 * time.Second,
		orphan:   10 * time.Minute,
		settle:   500 * time.Millisecond, // an answer is there within a second
	}
}

// New is the channels.Factory of DingTalk. What the channel can do depends on
// the configuration: with a card template also *Carded's, with buttons in the
// template also *Buttoned's.
func New(name string, decode func(any) error, d channels.Deps) (channels.Channel, error) {
	var cfg Config
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return newChannel(name, cfg, d, normalPace()), nil
}

func newChannel(name string, cfg Config, d channels.Deps, p pace) channels.Channel {
	t := newDingTalk(name, cfg, d, p)
	switch {
	case t.cards == nil:
		return t
	case cfg.CardButtonsKey == "":
		return &Carded{t}
	}
	return &Buttoned{Carded{t}}
}

func newDingTalk(name string, cfg Config, d channels.Deps, p pace) *DingTalk {
	d = d.Complete()
	t := &DingTalk{name: name, cfg: cfg, deps: d, pace: p, api: newClient(name, cfg, d.HTTP, d.Now)}
	t.nick.Store(new(string))
	t.sessions = sessions{table: d.Table, now: d.Now, trusted: t.api.trusted, known: map[string]session{}}
	t.signs = newSigns()
	t.presses.known = map[string]pressed{}
	t.heard = hearing{table: d.Table, log: d.Log, known: map[string]heardMessage{}}
	t.sent = sending{table: d.Table, log: d.Log, now: d.Now}
	if cfg.CardTemplateID != "" {
		t.cards = newDesk(t)
	}
	return t
}

// Name is the instance name.
func (t *DingTalk) Name() string { return t.name }

const (
	// maxText is the longest text of one message, in characters. DingTalk names
	// no figure for robot messages; clients show an AI card with more than about
	// 3000 characters blank, and Markdown of more than about 3500 as source
	// (reports of 2026-04 and 2026-09, read November 2026). "Not more than 3 K"
	// is also the documented advice for cards
	// (https://open.dingtalk.com/document/development/api-streamingupdate, 2026-06).
	maxText = 3000
	// maxParam is the largest msgParam of a group message, in bytes
	// (https://help.dingtalk.io/open/development/the-robot-sends-a-group-message,
	// read November 2026); paramFrame of them are the title and the JSON.
	maxParam   = 15_000
	paramFrame = 6*maxTitle + 64

	megabyte = 1 << 20
)

// Limits: media sizes are those of
// https://open.dingtalk.com/document/development/upload-media-files (page of
// 2026-06). The API takes 20 calls a second of one application in the standard
// edition (developer.aliyun.com/ask/585193, read November 2026), of which a
// message or an edit of a card needs one, rarely three; a webhook takes 20
// messages a minute in a group.
func (t *DingTalk) Limits() channels.Limits {
	l := channels.Limits{
		Text: maxText, Size: size, Mute: true,
		Media: map[chat.Kind]int64{
			chat.Image: 20 * megabyte, chat.Voice: 2 * megabyte, chat.Audio: 2 * megabyte,
			chat.Video: 20 * megabyte, chat.File: 20 * megabyte,
		},
		Rate: channels.Rate{
			PerSecond: 15, Burst: 15, PerChat: time.Second, ChatBurst: 5, PerGroup: 3 * time.Second,
			IsGroup: func(a chat.Address) bool { return strings.HasPrefix(a.Chat, groupPrefix) },
		},
		Resend: true, // a repeat is not recognised; a double is better than a loss
	}
	if t.cfg.WorkingSign != noSign {
		l.Typing = signLife
	}
	if t.cards != nil {
		l.Edit, l.Seal, l.Typing, l.Size = time.Second, true, 30*time.Second, cardSize
	}
	return l
}

// size counts the characters of a text as it is sent; more where characters are
// so large that the bytes are the limit, in JSON.
func size(text string) int { return measure(render.DingTalk(text)) }

// cardSize is size where the text may go as a message or in a card.
func cardSize(text string) int {
	return max(size(text), utf8.RuneCountInString(render.DingTalkCard(text)))
}

func measure(rendered string) int {
	const most = maxParam - paramFrame
	return max(utf8.RuneCountInString(rendered), (len(jsonText(rendered))*maxText+most-1)/most)
}

// jsonText is JSON as short as it gets.
func jsonText(v any) string {
	data, _ := rest.Encode(v) // of strings
	return string(data)
}

// Skipped is how many pushes were passed over since the start because they
// could not be read.
func (t *DingTalk) Skipped() uint64 { return t.skipped.Load() }

// Check gets a new access token and a ticket for a connection, which proves the
// credentials and that the application is in stream mode.
func (t *DingTalk) Check(ctx context.Context) error {
	t.api.Token().Evict(t.api.Token().Current())
	if _, err := t.api.Token().Get(ctx); err != nil {
		return err
	}
	_, err := t.ticket(ctx)
	return err
}

// Run receives until ctx ends. It returns an Unauthorized error when DingTalk
// does not know the credentials.
func (t *DingTalk) Run(ctx context.Context, sink channels.Sink) error {
	defer t.api.CloseIdle()
	if t.cards != nil {
		stop := t.cards.start(ctx)
		defer stop()
	}
	if t.cards == nil && t.cfg.WorkingSign != noSign {
		watched, stop := context.WithCancel(ctx)
		var signs sync.WaitGroup
		defer signs.Wait()
		defer stop()
		signs.Go(func() { t.watchSigns(watched) })
	}
	in := newIntake(t, sink)
	err := (&stream{t: t, in: in}).run(ctx)
	in.wait()
	return t.deps.Status.End(ctx, err)
}
