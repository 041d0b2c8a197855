package discord

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
)

// Intents are what a session is told of. The privileged ones have to be
// switched on in the Developer Portal; a bot that more than 10,000 people can
// see has to apply for them (events/gateway "Privileged Intents", changed
// 10 June 2026, read November 2026).
const (
	// baseIntents: guilds, and what people write in them and in private chats.
	baseIntents = int(discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages)
	// contentIntent: the words of messages that are neither private nor mention
	// the bot.
	contentIntent = int(discordgo.IntentMessageContent)
	// membersIntent: who comes and goes.
	membersIntent = int(discordgo.IntentGuildMembers)
	privileged    = contentIntent | membersIntent
)

// Flags of an application for which the Developer Portal has switched an intent
// on; the second is that of a bot which not many can see (resources/application
// "Application Flags", read November 2026).
const (
	flagsMembers = 1<<14 | 1<<15
	flagsContent = 1<<18 | 1<<19
)

// lostContent is what does not work without the content intent.
const lostContent = "without the Message Content Intent the bot reads private chats, commands, and messages that mention it or answer it, but not the rest of a group's talk " +
	"(no group: open, no group context), no mention of its role, and not what a quoted message of somebody else says; " +
	"switch it on in the Developer Portal (your application, Bot, Privileged Gateway Intents) and restart the bot"

// application is the bot's application as it describes itself.
type application struct {
	ID    string `json:"id"`
	Flags int    `json:"flags"`
}

func (d *Discord) application(ctx context.Context) (application, error) {
	const op = "get application"
	var app application
	raw, err := d.api.call(ctx, request{op: op, method: "GET", url: discordgo.EndpointApplication("@me")})
	if err != nil {
		return app, err
	}
	if err := json.Unmarshal(raw, &app); err != nil || app.ID == "" {
		return app, d.api.Fail(op, channels.Temporary, fmt.Errorf("answer without an application: %w", err))
	}
	return app, nil
}

// granted are the privileged intents that the Developer Portal shows as on.
func (a application) granted() (intents int) {
	if a.Flags&flagsContent != 0 {
		intents |= contentIntent
	}
	if a.Flags&flagsMembers != 0 {
		intents |= membersIntent
	}
	return intents
}

const refusedKey = "refused"

// refused are the privileged intents that the gateway has refused although they
// looked granted, and what the application looked like then: when it looks
// otherwise they are asked for again.
type refused struct {
	Flags   int `json:"flags"`
	Intents int `json:"intents"`
}

// intents decides what to ask the gateway for. When the application cannot be
// looked at, the content is asked for: the gateway says if that is too much.
func (r *receiver) intents(ctx context.Context) int {
	app, err := r.d.application(ctx)
	want := contentIntent
	if err != nil {
		r.d.deps.Log.Info("which intents the bot has been granted is not known", "err", err)
	} else {
		want = app.granted()
		if r.known.refused.Flags != app.Flags {
			r.known.refused = refused{Flags: app.Flags}
		}
	}
	return baseIntents | want&^r.known.refused.Intents
}

// disallowed remembers that the gateway has refused what it was asked for, and
// reports whether less can be asked: first the members are given up, then the
// content.
func (r *receiver) disallowed(ctx context.Context) bool {
	switch asked := r.session.Intents; {
	case asked&membersIntent != 0:
		r.known.refused.Intents |= membersIntent
	case asked&contentIntent != 0:
		r.known.refused.Intents |= contentIntent
	default:
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	if err := put(ctx, r.d.deps.Table, refusedKey, r.known.refused, 0); err != nil {
		r.d.deps.Log.Warn("that intents were refused is known until the restart only", "err", err)
	}
	return true
}

// outdated reports whether a session lacks an intent that the bot has been
// granted since: it is not gone on with then. Nothing is asked for one that has
// what matters.
func (r *receiver) outdated(ctx context.Context) bool {
	return r.session.Intents&contentIntent == 0 && r.intents(ctx)&contentIntent != 0
}
