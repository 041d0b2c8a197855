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
	// tokenKept is how long an interaction can be answered and followed up.
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
// Discord within its 3 s that it was taken. A command shows "… is thinking"
// from then on, until its answer takes that place.
func (r *receiver) interaction(ctx context.Context, i *interaction) error {
	who := i.User
	if i.Member != nil && i.Member.User != nil {
		who = i.Member.User
	}
	if who == nil || i.Channel == "" || who.Bot {
		r.d.deps.Log.Debug("interaction passed over", "interaction", i.ID, "why", "nobody's")
		return nil
	}
	at := spot{channel: i.Channel, guild: i.Guild, event: i.ID}
	if i.Where != nil && i.Where.ID == i.Channel { // the bot may be unable to ask for it
		at.kind, at.parent = &i.Where.Type, i.Where.Parent
	}
	where, err := r.locate(ctx, at)
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
	switch {
	case i.Type == discordgo.InteractionApplicationCommand && i.Data.Name != "":
		in.Text, in.Trace = i.command(), traceMark+i.ID
		return r.used(ctx, i, in)
	case i.Type == discordgo.InteractionMessageComponent && i.Message != nil:
		in.Press = &chat.Press{ID: i.ID, Data: i.Data.CustomID, Message: i.Message.ID}
		return r.pressed(ctx, i, in)
	}
	r.d.deps.Log.Debug("interaction passed over", "interaction", i.ID, "type", int(i.Type))
	return nil
}

// used takes a slash command in.
func (r *receiver) used(ctx context.Context, i *interaction, in chat.Inbound) error {
	o, err := r.d.uses.begin(ctx, i.ID, use{
		App: cmp.Or(i.App, r.d.me.Load().App), Token: i.Token, Channel: i.Channel, At: r.d.deps.Now(),
	})
	if err != nil {
		return &notStored{err}
	}
	if err := r.stored(ctx, in); err != nil {
		return err
	}
	r.reply(ctx, i, discordgo.InteractionResponseDeferredChannelMessageWithSource, o.told)
	return nil
}

// pressed takes a press in.
func (r *receiver) pressed(ctx context.Context, i *interaction, in chat.Inbound) error {
	if err := r.keep(ctx, i); err != nil {
		return &notStored{err}
	}
	if err := r.stored(ctx, in); err != nil {
		return err
	}
	r.reply(ctx, i, discordgo.InteractionResponseDeferredMessageUpdate, func() {})
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

func (r *receiver) keep(ctx context.Context, i *interaction) error {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	app := cmp.Or(i.App, r.d.me.Load().App)
	return put(ctx, r.d.deps.Table, pressPrefix+"."+i.ID, pressed{app, i.Token}, tokenKept)
}

// reply tells Discord in the background that an interaction was taken. Without
// it people read that the application did not respond, although it did; so a
// failure is only logged.
func (r *receiver) reply(ctx context.Context, i *interaction, kind discordgo.InteractionResponseType, done func()) {
	r.replies.Go(func() error {
		defer done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.d.pace.reply)
		defer cancel()
		body, err := json.Marshal(discordgo.InteractionResponse{Type: kind})
		if err == nil {
			_, err = r.d.api.call(ctx, request{
				op: "answer interaction", method: http.MethodPost,
				url: discordgo.EndpointInteractionResponse(i.ID, i.Token), body: body,
			})
		}
		if err != nil && !said(err, codeAcknowledged) {
			r.d.deps.Log.Warn("an interaction was taken, but Discord does not know it", "err", err)
		}
		return nil
	})
}

// AnswerPress takes the buttons away and shows the notice to the one who
// pressed. A press that is too old to answer is no error.
func (d *Discord) AnswerPress(ctx context.Context, a chat.Address, ans chat.Answer) error {
	if ans.Message != "" {
		err := d.change(ctx, target(a), ans.Message, edit{Components: &[]discordgo.MessageComponent{}})
		if channels.KindOf(err) == channels.Rejected && ans.Press != "" {
			err = d.changePressed(ctx, ans.Press, err)
		}
		if err != nil && !said(err, codeUnknownMessage) {
			return err
		}
	}
	if ans.Press == "" || ans.Notice == "" {
		return nil
	}
	return d.notice(ctx, ans.Press, ans.Notice)
}

// changePressed takes the buttons away through the press itself, where the bot
// may not see the channel; refused is why it could not otherwise.
func (d *Discord) changePressed(ctx context.Context, press string, refused error) error {
	p, found, err := d.pressOf(ctx, press)
	if err != nil || !found {
		return cmp.Or(err, refused)
	}
	err = d.edited(ctx, discordgo.EndpointWebhookMessage(p.App, p.Token, original), edit{Components: &[]discordgo.MessageComponent{}})
	if err != nil && expired(err) {
		return refused
	}
	return err
}

func (d *Discord) pressOf(ctx context.Context, press string) (p pressed, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	found, err = look(ctx, d.deps.Table, pressPrefix+"."+press, &p)
	if err != nil {
		err = d.api.Fail("follow up", channels.Temporary, fmt.Errorf("look for the press: %w", err))
	}
	return p, found, err
}

func (d *Discord) notice(ctx context.Context, press, text string) error {
	const op = "follow up"
	p, found, err := d.pressOf(ctx, press)
	if err != nil || !found {
		return err
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
	if err != nil && !expired(err) {
		return err
	}
	tctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if err := d.deps.Table.Delete(tctx, pressPrefix+"."+press); err != nil {
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
