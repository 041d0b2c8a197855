// Package discord is the Discord channel: a bot user on the gateway. It
// translates and transports; retrying, splitting and rates are dispatch's, who
// may speak is access's.
//
// REST calls and outgoing types are discordgo's. The gateway is read by a
// small client of our own: discordgo moves its sequence on before anybody has
// stored the event, tries again for ever after close codes that no trying can
// heal, notices a dead connection after five heartbeats, and leaves goroutines
// behind. Here the sequence moves when the sink has stored the event; what the
// sink refuses comes again by a resume, what no resume can bring is fetched by
// REST.
//
// Run owns all goroutines and waits for them.
package discord

import (
	"context"
	"sync/atomic"
	"time"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

// Discord is one bot.
type Discord struct {
	name    string
	cfg     Config
	deps    channels.Deps
	pace    pace
	api     *client
	places  *places
	uses    *uses
	me      atomic.Pointer[self]
	skipped atomic.Uint64
}

var (
	_ channels.Channel      = (*Discord)(nil)
	_ channels.Typer        = (*Discord)(nil)
	_ channels.Editor       = (*Discord)(nil)
	_ channels.Deleter      = (*Discord)(nil)
	_ channels.Reactor      = (*Discord)(nil)
	_ channels.MediaSender  = (*Discord)(nil)
	_ channels.MediaFetcher = (*Discord)(nil)
	_ channels.Buttoner     = (*Discord)(nil)
	_ channels.Checker      = (*Discord)(nil)
	_ channels.Surveyor     = (*Discord)(nil)
)

// pace holds the pauses, so that tests can be quick.
type pace struct {
	retry    time.Duration // first pause after a failure; doubles
	retryMax time.Duration
	hello    time.Duration // how long the gateway may take to greet and to say ready
	flush    time.Duration // between two writes of how far the chats were read
	reply    time.Duration // how long the answer to an interaction may take
	tidy     time.Duration // between two looks for commands without an answer
	menu     time.Duration // between two looks at Discord's list of commands
}

func normalPace() pace {
	// A day has 1000 identifications, and Discord resets the token of a bot that
	// needs more: 2 min keeps a bot that never gets further below that.
	return pace{retry: time.Second, retryMax: 2 * time.Minute, hello: 20 * time.Second, flush: 10 * time.Second, reply: replyPatience, tidy: 5 * time.Second, menu: 6 * time.Hour}
}

// self is the bot as the gateway presents it.
type self struct {
	ID, Name string
	App      string // application id
	// Blind: the session was begun without the content intent.
	Blind bool `json:",omitempty"`
}

// New is the channels.Factory of Discord.
func New(name string, decode func(any) error, d channels.Deps) (channels.Channel, error) {
	var cfg Config
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return newDiscord(name, cfg, d, normalPace()), nil
}

func newDiscord(name string, cfg Config, d channels.Deps, p pace) *Discord {
	d = d.Complete()
	return &Discord{
		name: name, cfg: cfg, deps: d, pace: p,
		api:    newClient(name, cfg, d.HTTP),
		places: newPlaces(d.Table), uses: newUses(d.Table, d.Now),
	}
}

// Name is the instance name.
func (d *Discord) Name() string { return d.name }

const (
	// maxText is the longest message, in UTF-16 units.
	maxText = 2000
	// upload is the largest file.
	upload = 10 << 20
	// allPerSecond is what Discord lets a bot call in a second, whatever it calls;
	// the messages of dispatch leave a part of it to typing, reactions and reads.
	allPerSecond = 50
	perSecond    = allPerSecond * 4 / 5
	atOnce       = allPerSecond / 5
	// chatBurst messages in chatWindow are what one channel takes.
	chatBurst  = 5
	chatWindow = 5 * time.Second
	// editPause keeps to 5 edits in 5 s with a margin.
	editPause = 1200 * time.Millisecond
	// typingShown is for how long one call shows "… is typing".
	typingShown = 10 * time.Second
)

// Limits are those of the API for a bot without boosts
// (https://docs.discord.com/developers: resources/message, reference
// "Uploading Files", topics/rate-limits; read November 2026). The limit of
// one chat is not documented; 5 messages in 5 seconds is what the headers of
// its bucket say.
func (d *Discord) Limits() channels.Limits {
	return channels.Limits{
		Text: maxText, Caption: maxText, Size: render.DiscordSize,
		Media: map[chat.Kind]int64{
			chat.Image: upload, chat.Audio: upload, chat.Voice: upload, chat.Video: upload, chat.File: upload,
		},
		Album: maxFiles,
		Rate:  channels.Rate{PerSecond: perSecond, Burst: atOnce, PerChat: chatWindow / chatBurst, ChatBurst: chatBurst},
		Edit:  editPause, Typing: typingShown, Resend: true, RepeatKnown: nonceLife,
	}
}

// Skipped is how many events were passed over since the start because they
// could not be read.
func (d *Discord) Skipped() uint64 { return d.skipped.Load() }

// Check asks Discord who the bot is.
func (d *Discord) Check(ctx context.Context) error {
	_, err := d.application(ctx)
	return err
}

// Run receives until ctx ends. It returns an Unauthorized error when Discord
// does not know the token, and a Rejected one when it does not grant what the
// bot needs.
func (d *Discord) Run(ctx context.Context, sink channels.Sink) error {
	defer d.api.CloseIdle()
	return d.deps.Status.End(ctx, newReceiver(d, sink).run(ctx))
}
