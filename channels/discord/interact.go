package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
	"magpie/chat"
)

const (
	// replyPatience: an interaction that is not answered after 3 s has failed
	// (interactions/receiving-and-responding, read November 2026).
	replyPatience = 3 * time.Second
	// maxReplies is how many interactions are answered at the same time.
	maxReplies = 16
	// tokenKept is how long an interaction can be followed up.
	tokenKept   = 15 * time.Minute
	pressPrefix = "press"
	// maxNotice is the longest content of a message, in UTF-16 units.
	maxNotice = 2000
)

// pressed is what it takes to answer a press later. The token stays in the
// table: Press.ID travels through logs and histories.
type pressed struct {
	App   string `json:"app"`
	Token string `json:"token"`
}

// interaction hands a slash command or a press to the sink, and then tells
// Discord within its 3 s that it was taken.
func (r *receiver) interaction(ctx context.Context, i *interaction) error {
	who := i.User
	if i.Member != nil && i.Member.User != nil {
		who = i.Member.User
	}
	if who == nil || i.Channel == "" || who.Bot {
		r.d.deps.Log.Debug("interaction passed over", "interaction", i.ID, "why", "nobody's")
		return nil
	}
	where, err := r.locate(ctx, spot{i.Channel, i.Guild, nil, i.ID})
	if err != nil {
		return err
	}
	in := chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: r.d.id(i.Channel, "i"+i.ID), At: timeOf(i.ID), Addr: r.d.addr(i.Channel, where),
		},
		Origin: chat.FromPerson, From: who.sender(i.Member), Direct: i.Guild == "", Mentioned: true,
	}
	in.From.Lang = i.Locale
	var reply discordgo.InteractionResponse
	switch {
	case i.Type == discordgo.InteractionApplicationCommand && i.Data.Name != "":
		in.Text = i.command()
		reply = taken(in.Text)
	case i.Type == discordgo.InteractionMessageComponent && i.Message != nil:
		in.Press = &chat.Press{ID: i.ID, Data: i.Data.CustomID, Message: i.Message.ID}
		reply.Type = discordgo.InteractionResponseDeferredMessageUpdate
		if err := r.keep(ctx, i); err != nil {
			return &notStored{err}
		}
	default:
		r.d.deps.Log.Debug("interaction passed over", "interaction", i.ID, "type", int(i.Type))
		return nil
	}
	if err := r.stored(ctx, in); err != nil {
		return err
	}
	r.replies.Go(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.d.pace.reply)
		defer cancel()
		r.d.reply(ctx, i, reply)
		return nil
	})
	return nil
}

// command is a slash command as it would be typed.
func (i *interaction) command() string {
	text := "/" + i.Data.Name
	for _, o := range i.Data.Options {
		text += " " + strings.TrimSpace(fmt.Sprint(o.Value))
	}
	return text
}

// taken is seen by the one who used the command only; the answer follows as an
// ordinary message.
func taken(command string) discordgo.InteractionResponse {
	name, _, _ := strings.Cut(command, " ")
	return discordgo.InteractionResponse{
		Type: discordgo.InteractionResponseChannelMessageWithSource,
		Data: &discordgo.InteractionResponseData{
			Content: "✓ " + name, Flags: discordgo.MessageFlagsEphemeral, AllowedMentions: nobody(),
		},
	}
}

func (r *receiver) keep(ctx context.Context, i *interaction) error {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	app := cmp.Or(i.App, r.d.me.Load().App)
	return put(ctx, r.d.deps.Table, pressPrefix+"."+i.ID, pressed{app, i.Token}, tokenKept)
}

// reply ends the waiting mark in people's clients. Without it they read that
// the application did not respond, although it did; so it is only logged.
func (d *Discord) reply(ctx context.Context, i *interaction, with discordgo.InteractionResponse) {
	body, err := json.Marshal(with)
	if err == nil {
		_, err = d.api.call(ctx, request{
			op: "answer interaction", method: http.MethodPost,
			url: discordgo.EndpointInteractionResponse(i.ID, i.Token), body: body,
		})
	}
	if err != nil && !said(err, codeAcknowledged, codeUnknownInteraction) {
		d.deps.Log.Warn("an interaction was taken, but Discord does not know it", "err", err)
	}
}

// AnswerPress takes the buttons away and shows the notice to the one who
// pressed. A press that is too old to answer is no error.
func (d *Discord) AnswerPress(ctx context.Context, a chat.Address, ans chat.Answer) error {
	if ans.Message != "" {
		err := d.change(ctx, target(a), ans.Message, edit{Components: &[]discordgo.MessageComponent{}})
		if err != nil && !said(err, codeUnknownMessage) {
			return err
		}
	}
	if ans.Press == "" || ans.Notice == "" {
		return nil
	}
	return d.notice(ctx, ans.Press, ans.Notice)
}

func (d *Discord) notice(ctx context.Context, press, text string) error {
	const op = "follow up"
	key := pressPrefix + "." + press
	tctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	var p pressed
	found, err := look(tctx, d.deps.Table, key, &p)
	if err != nil {
		return d.api.Fail(op, channels.Temporary, fmt.Errorf("look for the press: %w", err))
	}
	if !found {
		return nil
	}
	body, err := json.Marshal(map[string]any{
		"content": cutNotice(text), "flags": discordgo.MessageFlagsEphemeral, "allowed_mentions": nobody(),
	})
	if err != nil {
		return d.api.Fail(op, channels.Rejected, err)
	}
	_, err = d.api.call(ctx, request{
		op: op, method: http.MethodPost, url: discordgo.EndpointFollowupMessage(p.App, p.Token), body: body,
	})
	if err != nil && !said(err, codeUnknownInteraction, codeUnknownWebhook, codeBadWebhookToken) {
		return err
	}
	if err := d.deps.Table.Delete(tctx, key); err != nil {
		d.deps.Log.Warn("an answered press stays in the table", "err", err)
	}
	return nil
}

// cutNotice makes a notice short enough.
func cutNotice(s string) string {
	if units(s) <= maxNotice {
		return s
	}
	size := 1 // of the ellipsis
	for i, r := range s {
		if size += units(string(r)); size > maxNotice {
			return s[:i] + "…"
		}
	}
	return s
}
