package discord

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

// Limits of components (components/reference, read November 2026).
const (
	maxRows     = 5
	maxInRow    = 5
	maxLabel    = 80  // UTF-16 units
	maxCustomID = 100 // characters
	nonceLength = 25
	// nonceLife is for how long a nonce surely holds: "unique in the past few
	// minutes" (resources/message "Create Message", read November 2026).
	nonceLife = 2 * time.Minute
)

// create is a new message. discordgo's MessageSend has no nonce.
type create struct {
	Content       string                            `json:"content"`
	Mentions      *discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	Reference     *discordgo.MessageReference       `json:"message_reference,omitempty"`
	Components    []discordgo.MessageComponent      `json:"components,omitempty"`
	Attachments   []fileInfo                        `json:"attachments,omitempty"`
	Flags         discordgo.MessageFlags            `json:"flags,omitempty"`
	Nonce         string                            `json:"nonce,omitempty"`
	EnforceUnique bool                              `json:"enforce_nonce,omitempty"`
}

// edit is a change of a message; nil leaves alone.
type edit struct {
	Content    *string                           `json:"content,omitempty"`
	Mentions   *discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	Components *[]discordgo.MessageComponent     `json:"components,omitempty"`
	Flags      *discordgo.MessageFlags           `json:"flags,omitempty"`
}

// nobody is who may be pinged by the bot, whatever a text says.
func nobody() *discordgo.MessageAllowedMentions {
	return &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}
}

// nonce is the same for the same message: Discord answers a repeat within
// some minutes with the message that is there already.
func nonce(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:nonceLength]
}

// target is the channel that holds the messages of an address.
func target(a chat.Address) string {
	if a.Thread != "" {
		return a.Thread
	}
	return a.Chat
}

// Send delivers one text. Discord recognises a repeat by its nonce.
func (d *Discord) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	c := d.envelope(msg)
	c.Nonce = nonce(msg.ID)
	return d.post(ctx, msg, c, nil)
}

func (d *Discord) envelope(msg chat.Outbound) create {
	c := create{
		Content: d.mentioning(msg, msg.Text), Mentions: called(msg), Components: components(msg.Buttons), EnforceUnique: true, Flags: d.flags(msg),
	}
	if msg.ReplyTo != "" {
		gone := false // a quoted message that was deleted is no reason not to answer
		c.Reference = &discordgo.MessageReference{MessageID: msg.ReplyTo, FailIfNotExists: &gone}
	}
	return c
}

// called are those whom a message may ping: whom it is for.
func called(msg chat.Outbound) *discordgo.MessageAllowedMentions {
	m := nobody()
	if id, _ := channels.Mentioned(msg); id != "" {
		m.Users = []string{id}
	}
	return m
}

// mentioning renders a text of a message behind whom that is for.
func (d *Discord) mentioning(msg chat.Outbound, text string) string {
	text = d.render(msg, text)
	if id, _ := channels.Mentioned(msg); id != "" {
		return "<@" + id + "> " + text
	}
	return channels.Named(msg, text)
}

// render writes a text for Discord. Links have no previews unless they are
// wanted: a text that came into an answer from outside must not make Discord
// fetch an address.
func (d *Discord) render(msg chat.Outbound, text string) string {
	if d.previews(msg) {
		return render.DiscordPreviews(text)
	}
	return render.Discord(text)
}

// previews reports whether a message may have previews: one whose writer has read
// text from outside has none.
func (d *Discord) previews(msg chat.Outbound) bool {
	return d.cfg.LinkPreviews && len(msg.Sources) == 0
}

func (d *Discord) flags(msg chat.Outbound) discordgo.MessageFlags {
	if d.previews(msg) {
		return 0
	}
	return discordgo.MessageFlagsSuppressEmbeds
}

// post sends a message, as the answer to a slash command where it is one, and,
// when Discord does not take it as it is, a simpler one. Each was refused before
// the next is tried, so nothing is sent twice.
func (d *Discord) post(ctx context.Context, msg chat.Outbound, c create, files []*file) (chat.MessageRef, error) {
	at := target(msg.Addr)
	send := func() (chat.MessageRef, error) {
		ref, err := d.answer(ctx, msg, c, files)
		if errors.Is(err, errNoUse) {
			return d.create(ctx, at, c, files)
		}
		return ref, err
	}
	ref, err := send()
	if c.Reference != nil && (said(err, codeNoHistory) || badField(err, "message_reference")) {
		c.Reference = nil
		ref, err = send()
	}
	if len(c.Components) > 0 && badField(err, "components") {
		d.deps.Log.Warn("discord refused the buttons, writing them out", "err", err)
		c.Components, c.Content = nil, d.mentioning(msg, written(msg))
		ref, err = send()
	}
	if msg.Addr.Thread != "" && said(err, codeUnknownChannel, codeLocked, codeArchived) {
		d.deps.Log.Info("a thread is gone or closed, using its channel", "chat", msg.Addr.Chat, "err", err)
		c.Reference = nil
		ref, err = d.create(ctx, msg.Addr.Chat, c, files)
	}
	return ref, err
}

// written is a message with its buttons as lines of the text.
func written(msg chat.Outbound) string {
	text := msg.Text + "\n"
	for _, row := range msg.Buttons {
		for _, b := range row {
			text += "\n- " + b.Label
		}
	}
	return text
}

func (d *Discord) create(ctx context.Context, at string, c create, files []*file) (chat.MessageRef, error) {
	return d.put(ctx, request{
		op: "create message", method: http.MethodPost, url: discordgo.EndpointChannelMessages(at), sends: true,
	}, c, files)
}

// Edit replaces the text and buttons of a message.
func (d *Discord) Edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	content, buttons, flags := d.render(msg, msg.Text), components(msg.Buttons), d.flags(msg)
	if buttons == nil {
		buttons = []discordgo.MessageComponent{}
	}
	err := d.change(ctx, ref.Chat, ref.ID, edit{Content: &content, Components: &buttons, Flags: &flags})
	if len(msg.Buttons) > 0 && badField(err, "components") {
		content = d.render(msg, written(msg))
		err = d.change(ctx, ref.Chat, ref.ID, edit{Content: &content, Components: &[]discordgo.MessageComponent{}, Flags: &flags})
	}
	return err
}

// change edits a message, over the interaction that it answers where it is such
// an answer: that needs no permission in the channel.
func (d *Discord) change(ctx context.Context, at, id string, e edit) error {
	if o, ok := d.uses.ofMessage(id); ok {
		err := d.edited(ctx, discordgo.EndpointWebhookMessage(o.App, o.Token, id), e)
		if !expired(err) {
			return err
		}
	}
	return d.edited(ctx, discordgo.EndpointChannelMessage(at, id), e)
}

func (d *Discord) edited(ctx context.Context, address string, e edit) error {
	const op = "edit message"
	e.Mentions = nobody()
	body, err := json.Marshal(e)
	if err != nil {
		return d.api.Fail(op, channels.Rejected, err)
	}
	_, err = d.api.call(ctx, request{op: op, method: http.MethodPatch, url: address, body: body})
	return err
}

// Delete removes a message.
func (d *Discord) Delete(ctx context.Context, ref chat.MessageRef) error {
	const op = "delete message"
	remove := func(address string) error {
		_, err := d.api.call(ctx, request{op: op, method: http.MethodDelete, url: address})
		return err
	}
	err := errNoUse
	if o, ok := d.uses.ofMessage(ref.ID); ok {
		err = remove(discordgo.EndpointWebhookMessage(o.App, o.Token, ref.ID))
	}
	if errors.Is(err, errNoUse) || expired(err) {
		err = remove(discordgo.EndpointChannelMessage(ref.Chat, ref.ID))
	}
	if said(err, codeUnknownMessage) {
		return nil
	}
	return err
}

// React puts an emoji on a message; "" takes the bot's own away.
func (d *Discord) React(ctx context.Context, ref chat.MessageRef, emoji string) error {
	if emoji != "" {
		_, err := d.api.call(ctx, request{
			op: "react", method: http.MethodPut,
			url: discordgo.EndpointMessageReaction(ref.Chat, ref.ID, url.PathEscape(emoji), "@me"),
		})
		return err
	}
	mine, err := d.ownReactions(ctx, ref)
	if err != nil {
		return err
	}
	for _, emoji := range mine {
		_, err := d.api.call(ctx, request{
			op: "take reaction away", method: http.MethodDelete,
			url: discordgo.EndpointMessageReaction(ref.Chat, ref.ID, url.PathEscape(emoji), "@me"),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Discord) ownReactions(ctx context.Context, ref chat.MessageRef) (mine []string, err error) {
	const op = "get message"
	raw, err := d.api.call(ctx, request{op: op, method: http.MethodGet, url: discordgo.EndpointChannelMessage(ref.Chat, ref.ID)})
	if err != nil {
		return nil, err
	}
	var m struct {
		Reactions []struct {
			Me    bool            `json:"me"`
			Emoji discordgo.Emoji `json:"emoji"`
		} `json:"reactions"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, d.api.Fail(op, channels.Temporary, err)
	}
	for _, r := range m.Reactions {
		if r.Me {
			mine = append(mine, r.Emoji.APIName())
		}
	}
	return mine, nil
}

// Typing shows "… is typing" for 10 seconds, or until a message comes.
func (d *Discord) Typing(ctx context.Context, a chat.Address) error {
	if d.uses.work(target(a)) {
		return nil // "… is thinking" is shown
	}
	_, err := d.api.call(ctx, request{op: "typing", method: http.MethodPost, url: discordgo.EndpointChannelTyping(target(a))})
	return err
}

// components are rows of buttons in Discord's measure. What has no data that
// Discord takes is left out.
func components(rows [][]chat.Button) []discordgo.MessageComponent {
	var all []discordgo.MessageComponent
	for _, row := range channels.Rows(rows, maxRows, maxInRow) {
		var line discordgo.ActionsRow
		for _, b := range row {
			if b.Data != "" && len(b.Data) <= maxCustomID {
				line.Components = append(line.Components, discordgo.Button{
					Label: cutLabel(b.Label), Style: discordgo.SecondaryButton, CustomID: b.Data,
				})
			}
		}
		if len(line.Components) > 0 {
			all = append(all, line)
		}
	}
	return all
}

func cutLabel(s string) string {
	if units(s) <= maxLabel {
		return s
	}
	size := 1
	for i, r := range s {
		if size += units(string(r)); size > maxLabel {
			return s[:i] + "…"
		}
	}
	return s
}

// units is the length of a text in UTF-16 units.
func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// retryAfter is how long the platform asked to wait.
func retryAfter(err error) time.Duration {
	var ce *channels.Error
	if errors.As(err, &ce) {
		return ce.RetryAfter
	}
	return 0
}
