package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"

	"magpie/chat"
)

const (
	// quotePatience bounds the look-up of a quoted message: without it the
	// message goes on.
	quotePatience = 5 * time.Second
	deletedQuote  = "[The message was deleted.]"
)

// replied is the message that another replies to. Discord gives null for one
// that was deleted, and nothing when it has not looked (resources/message
// "Message Object", footnote 4, read November 2026).
type replied struct {
	*message
	deleted bool
}

// UnmarshalJSON implements json.Unmarshaler; it sees null too.
func (r *replied) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*r = replied{deleted: true}
		return nil
	}
	r.message = new(message)
	return json.Unmarshal(data, r.message)
}

// replies reports whether a message replies to another.
func (m *message) replies() bool {
	return m.Type == discordgo.MessageTypeReply && m.Reference != nil
}

// quoted is the message this one replies to, with its files.
func (d *Discord) quoted(m *message, own *roles) *chat.Quote {
	if !m.replies() {
		return nil
	}
	q := &chat.Quote{ID: m.Reference.Message}
	r := m.Replied.message
	switch {
	case m.Replied.deleted:
		q.Text = deletedQuote
		return q
	case r == nil:
		return q
	}
	me := d.me.Load()
	if r.Author != nil {
		q.From, q.Mine = r.Author.sender(r.Member).Name, r.Author.ID == me.ID
	}
	q.Text, _ = r.read(me, own)
	q.Attachments = r.files(d.cdn())
	return q
}

// lookUp asks for the message that another replies to, where Discord did not
// send it along. One that cannot be had stays unknown.
func (d *Discord) lookUp(ctx context.Context, m *message) {
	if !m.replies() || m.Replied.message != nil || m.Replied.deleted {
		return
	}
	at := m.Reference.Channel
	if at == "" {
		at = m.Channel
	}
	ctx, cancel := context.WithTimeout(ctx, quotePatience)
	defer cancel()
	found, err := d.getMessage(ctx, at, m.Reference.Message)
	switch {
	case err == nil:
		m.Replied.message = found
	case said(err, codeUnknownMessage):
		m.Replied.deleted = true
	default:
		d.deps.Log.Info("a quoted message cannot be looked up", "chat", at, "message", m.Reference.Message, "err", err)
	}
}

// getMessage gets one message.
func (d *Discord) getMessage(ctx context.Context, channel, id string) (*message, error) {
	const op = "get message"
	raw, err := d.api.call(ctx, request{op: op, method: http.MethodGet, url: discordgo.EndpointChannelMessage(channel, id)})
	if err != nil {
		return nil, err
	}
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return &m, nil
}

// maxPictures is how many pictures of embeds are taken from one message.
const maxPictures = 4

// pictures are the pictures that embeds show, as far as they stand on Discord's
// servers. The preview of a linked page is none.
func (t *matter) pictures(m *message) (all []chat.Attachment) {
	for i, e := range t.Embeds {
		p := e.picture()
		if p == nil || p.Proxy == "" || len(all) == maxPictures {
			continue
		}
		all = append(all, chat.Attachment{
			Kind: chat.Image, Name: fmt.Sprintf("embed%d", i+1), MIME: p.MIME,
			Source: source{Channel: m.Channel, Message: m.ID, File: embedFile(i), URL: p.Proxy}.String(),
		})
	}
	return all
}

// embedFile names the picture of an embed, as attachments have an id.
func embedFile(n int) string { return fmt.Sprintf("embed:%d", n) }

func (e *embed) picture() *picture {
	switch {
	case e.Image != nil:
		return e.Image
	case e.Type == "image", e.Type == "gifv", e.Type == "rich":
		return e.Thumbnail
	}
	return nil
}

// address is where a file of a message is now; "" when the message has it no
// more.
func (m *message) address(file string) string {
	for _, part := range append([]matter{m.matter}, m.forwarded()...) {
		for _, a := range part.Attachments {
			if a.ID == file {
				return a.URL
			}
		}
		for i, e := range part.Embeds {
			if p := e.picture(); p != nil && embedFile(i) == file {
				return p.Proxy
			}
		}
		for i, p := range componentFiles(part.Components) {
			if mediaFile(i) == file {
				return p.Proxy
			}
		}
	}
	return ""
}
