package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
	"magpie/chat"
)

// original names the answer of an interaction in its webhook's addresses.
const original = "@original"

// errNoUse: a message cannot go as the answer to a slash command any more, and
// goes as an ordinary one.
var errNoUse = errors.New("the command cannot be answered in its place")

// answer sends a message as the answer to the slash command that it belongs to,
// and errNoUse where it belongs to none. The first one takes the place of "… is
// thinking"; that is an edit and can be repeated. The bot needs no permission in
// the channel for it.
func (d *Discord) answer(ctx context.Context, msg chat.Outbound, c create, files []*file) (chat.MessageRef, error) {
	o, err := d.uses.of(ctx, msg.Trace, target(msg.Addr))
	if err != nil {
		return chat.MessageRef{}, d.api.Fail("answer command", channels.Temporary, err)
	}
	if o == nil {
		return chat.MessageRef{}, errNoUse
	}
	select {
	case <-o.deferred.told:
	case <-ctx.Done():
		return chat.MessageRef{}, d.api.Fail("answer command", channels.Temporary, ctx.Err())
	}
	o.one.Lock()
	defer o.one.Unlock()
	c.Nonce, c.EnforceUnique, c.Reference = "", false, nil
	ref, err := d.inPlace(ctx, o, msg, c, files)
	if err == nil || !expired(err) {
		return ref, err
	}
	d.deps.Log.Info("a command cannot be answered in its place", "chat", o.Channel, "err", err)
	if err := d.uses.forget(ctx, o.id); err != nil {
		d.deps.Log.Warn("a command that is over stays in the table", "err", err)
	}
	return chat.MessageRef{}, errNoUse
}

// expired reports that the token of an interaction is worth nothing: it is too
// old, or Discord was told too late that the command was taken.
func expired(err error) bool {
	// The token of the interaction is all that such a call is authorised by.
	return said(err, codeUnknownInteraction, codeUnknownWebhook, codeBadWebhookToken, codeFollowUps) ||
		channels.KindOf(err) == channels.Unauthorized
}

// inPlace is answer for a use that is open; it is locked.
func (d *Discord) inPlace(ctx context.Context, o *open, msg chat.Outbound, c create, files []*file) (chat.MessageRef, error) {
	if o.First == "" {
		o.First = msg.ID
		if err := d.uses.keep(ctx, o.id, o.use); err != nil {
			o.First = ""
			return chat.MessageRef{}, d.api.Fail("answer command", channels.Temporary, err)
		}
	}
	if o.First != msg.ID {
		return d.followUp(ctx, o, msg, c, files)
	}
	r := request{op: "answer command", method: http.MethodPatch, url: discordgo.EndpointWebhookMessage(o.App, o.Token, original)}
	ref, err := d.put(ctx, r, c, files)
	if said(err, codeUnknownMessage) { // somebody has deleted it
		o.First = taken
		return d.followUp(ctx, o, msg, c, files)
	}
	if err == nil {
		d.uses.shown(o)
		o.Answer = ref.ID
		d.remember(ctx, o)
	}
	return ref, err
}

// followUp sends what comes after the answer. Discord does not recognise a
// repeat of it, so what may have been sent is looked for first.
func (d *Discord) followUp(ctx context.Context, o *open, msg chat.Outbound, c create, files []*file) (chat.MessageRef, error) {
	before, tried := o.More[msg.ID]
	if before == "" && tried {
		before = d.findFollowUp(ctx, o, c)
	}
	if before != "" {
		o.More[msg.ID] = before
		return chat.MessageRef{Channel: d.name, Chat: o.Channel, ID: before}, nil
	}
	if o.More == nil {
		o.More = map[string]string{}
	}
	o.More[msg.ID] = ""
	if err := d.uses.keep(ctx, o.id, o.use); err != nil {
		return chat.MessageRef{}, d.api.Fail("follow up", channels.Temporary, err)
	}
	r := request{op: "follow up", method: http.MethodPost, url: discordgo.EndpointWebhookToken(o.App, o.Token), sends: true}
	ref, err := d.put(ctx, r, c, files)
	switch {
	case err == nil:
		o.More[msg.ID] = ref.ID
		d.remember(ctx, o)
	case channels.KindOf(err) != channels.Ambiguous:
		delete(o.More, msg.ID)
	}
	return ref, err
}

// remember writes down what the messages of a use are called. Without it, it is
// known until the restart.
func (d *Discord) remember(ctx context.Context, o *open) {
	if err := d.uses.keep(context.WithoutCancel(ctx), o.id, o.use); err != nil {
		d.deps.Log.Warn("how a command was answered is known until the restart only", "err", err)
	}
}

// findFollowUp looks for a message that may have been sent; "" when it is not
// there, or when the bot may not look.
func (d *Discord) findFollowUp(ctx context.Context, o *open, c create) string {
	page, err := d.page(ctx, o.Channel, before(snowflake(o.At.Add(-time.Minute))), catchUpTries)
	if err != nil {
		d.deps.Log.Info("whether a part of an answer was sent is not known", "chat", o.Channel, "err", err)
		return ""
	}
	known := map[string]bool{o.Answer: true}
	for _, id := range o.More {
		known[id] = true
	}
	for _, m := range page {
		if me := d.me.Load(); m.Author != nil && me != nil && m.Author.ID == me.ID && m.Webhook == o.App && m.Content == c.Content && !known[m.ID] {
			return m.ID
		}
	}
	return ""
}

// put makes a call that gives back a message.
func (d *Discord) put(ctx context.Context, r request, c create, files []*file) (chat.MessageRef, error) {
	var err error
	if len(files) == 0 {
		r.body, err = json.Marshal(c)
	} else {
		r.kind, r.body, err = form(c, files)
	}
	if err != nil {
		return chat.MessageRef{}, d.api.Fail(r.op, channels.Rejected, err)
	}
	raw, err := d.api.call(ctx, r)
	if err != nil {
		return chat.MessageRef{}, err
	}
	var sent struct {
		ID      string `json:"id"`
		Channel string `json:"channel_id"`
	}
	if err := json.Unmarshal(raw, &sent); err != nil || sent.ID == "" {
		return chat.MessageRef{}, d.api.Fail(r.op, channels.Ambiguous, errors.New("answer without a message"))
	}
	return chat.MessageRef{Channel: d.name, Chat: sent.Channel, ID: sent.ID}, nil
}

// tidyUses takes "… is thinking" away where no answer comes, until ctx ends.
func (r *receiver) tidyUses(ctx context.Context) {
	tick := time.NewTicker(r.d.pace.tidy)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, id := range r.d.uses.idle() {
				if err := r.d.stopThinking(ctx, id); err != nil && ctx.Err() == nil {
					r.d.deps.Log.Warn("a command seems to be thinking for ever", "err", err)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// stopThinking takes away the mark of a use that has no answer. What comes
// later goes after it.
func (d *Discord) stopThinking(ctx context.Context, id string) error {
	o := d.uses.get(id)
	if o == nil {
		return nil
	}
	if !o.one.TryLock() {
		return nil // it is being answered
	}
	defer o.one.Unlock()
	var now use // another process may have answered
	tctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	found, err := look(tctx, d.deps.Table, usePrefix+"."+id, &now)
	if err != nil {
		return fmt.Errorf("look for its answer: %w", err)
	}
	if found {
		o.First, o.Answer, o.More = now.First, now.Answer, now.More
	}
	if o.First != "" {
		d.uses.shown(o)
		return nil
	}
	_, err = d.api.call(ctx, request{
		op: "take the mark away", method: http.MethodDelete, url: discordgo.EndpointWebhookMessage(o.App, o.Token, original),
	})
	if err != nil && !expired(err) && !said(err, codeUnknownMessage) {
		return err
	}
	o.First = taken
	d.uses.shown(o)
	d.remember(ctx, o)
	return nil
}
