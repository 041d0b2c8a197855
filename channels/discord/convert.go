package discord

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"magpie/chat"
)

// unwanted says why a message is not for the sink; "" when it is.
func (d *Discord) unwanted(m *message, edited bool) string {
	switch {
	case m.Author == nil:
		return "nobody wrote it"
	case m.Author.ID == d.me.Load().ID:
		return "the bot's own message"
	case m.Author.Bot || m.Webhook != "":
		return "written by a bot"
	case m.Type != discordgo.MessageTypeDefault && m.Type != discordgo.MessageTypeReply:
		return fmt.Sprintf("service message of type %d", m.Type)
	case edited && m.Edited == nil:
		return "Discord added a preview"
	}
	return ""
}

// inbound is a person's message as the rest of the program knows it.
func (d *Discord) inbound(m *message, where place, own *roles) chat.Inbound {
	me := d.me.Load()
	text, mentioned := m.read(me, own)
	in := chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: d.id(m.Channel, m.ID), At: timeOf(m.ID), Addr: d.addr(m.Channel, where),
		},
		Origin: chat.FromPerson, From: m.Author.sender(m.Member), MessageID: m.ID,
		Text: text, Attachments: m.files(d.cdn()),
		ReplyTo: d.quoted(m, own), Direct: where.Guild == "", Mentioned: mentioned,
		Forwarded: m.isForward(),
	}
	for i := range m.Mentions {
		if who := &m.Mentions[i]; who.ID != me.ID {
			in.Named = append(in.Named, who.sender(who.Member))
		}
	}
	if in.ReplyTo != nil && in.ReplyTo.Mine {
		in.Mentioned = true
	}
	return in
}

func (d *Discord) id(channel, event string) string {
	return fmt.Sprintf("discord:%s:%s:%s", d.name, channel, event)
}

// addr: a thread is a channel of its own, which is where messages go; the
// address names both.
func (d *Discord) addr(channel string, where place) chat.Address {
	if where.Parent == "" {
		return chat.Address{Channel: d.name, Chat: channel}
	}
	return chat.Address{Channel: d.name, Chat: where.Parent, Thread: channel}
}

func (u *user) name() string { return cmp.Or(u.GlobalName, u.Username) }

// sender is a person; in a guild people may have another name.
func (u *user) sender(m *member) chat.Sender {
	s := chat.Sender{ID: u.ID, Name: u.name(), Username: u.Username, Bot: u.Bot}
	if m != nil && m.Nick != "" {
		s.Name = m.Nick
	}
	return s
}

// read is the message as text, with the bot's mention taken out.
func (m *message) read(me *self, own *roles) (text string, mentioned bool) {
	text, mentioned = m.spelled(m.Content, me, own)
	mentioned = mentioned || m.names(me, own) // where the words are withheld
	lines := m.describe(text, m.Webhook != "" || m.Author != nil && m.Author.Bot)
	if m.isForward() {
		lines = append(lines, "[Forwarded]")
		for i := range m.Snapshots {
			inner := &m.Snapshots[i].Message
			words, _ := inner.spelled(inner.Content, me, own)
			lines = append(lines, inner.describe(words, true)...) // it is not told who wrote it
		}
	}
	return strings.Join(lines, "\n"), mentioned
}

func (m *message) isForward() bool { return m.Reference != nil && m.Reference.Type == 1 }

// marks are the mentions, custom emoji and commands in a text
// (https://docs.discord.com/developers/reference "Message Formatting", read
// November 2026).
var marks = regexp.MustCompile(`<(?:@!?(\d{1,20})|@&(\d{1,20})|a?(:\w{2,32}:)\d{1,20}|(/[^:<>\n]{1,100}):\d{1,20})>`)

// spelled writes them as people see them.
func (t *matter) spelled(text string, me *self, own *roles) (string, bool) {
	mentioned, rest := false, strings.Builder{}
	at := 0
	for _, hit := range marks.FindAllStringSubmatchIndex(text, -1) {
		part := func(n int) string {
			if hit[2*n] < 0 {
				return ""
			}
			return text[hit[2*n]:hit[2*n+1]]
		}
		word, end := text[hit[0]:hit[1]], hit[1]
		switch who, role := part(1), part(2); {
		case who == me.ID && who != "", own.has(role):
			mentioned, word = true, ""
			if end < len(text) && text[end] == ' ' && (hit[0] == 0 || text[hit[0]-1] == ' ') {
				end++
			}
		case who != "":
			if name := t.named(who); name != "" {
				word = "@" + name
			}
		case role != "":
			word = "@role"
		default:
			word = cmp.Or(part(3), part(4))
		}
		rest.WriteString(text[at:hit[0]] + word)
		at = end
	}
	if at == 0 {
		return text, false
	}
	rest.WriteString(text[at:])
	return strings.TrimSpace(rest.String()), mentioned
}

// names reports whether the lists of a message name the bot or a role of its
// own. Everybody's mention does not.
func (m *message) names(me *self, own *roles) bool {
	return slices.ContainsFunc(m.Mentions, func(who mention) bool { return who.ID == me.ID }) ||
		slices.ContainsFunc(m.Roles, own.has)
}

// named is the name of somebody who is mentioned.
func (t *matter) named(id string) string {
	for i := range t.Mentions {
		if who := &t.Mentions[i]; who.ID == id {
			return who.sender(who.Member).Name
		}
	}
	return ""
}

// describe adds to a text what came beside it and has no file, a line each. The
// embeds of people only repeat a link of the text, those of programs do not.
func (t *matter) describe(text string, program bool) []string {
	var lines []string
	if text != "" {
		lines = append(lines, text)
	}
	if p := t.Poll; p != nil {
		var options []string
		for _, a := range p.Answers {
			options = append(options, a.Media.Text)
		}
		lines = append(lines, fmt.Sprintf("[Poll: %s (%s)]", p.Question.Text, strings.Join(options, " / ")))
	}
	lines = append(lines, componentTexts(t.Components)...)
	beside := text != "" || len(t.Attachments) > 0
	for _, e := range t.Embeds {
		if beside && !(program && e.Type == "rich") {
			continue
		}
		parts := []string{e.Title, e.Description, e.URL}
		for _, f := range e.Fields {
			parts = append(parts, f.Name+": "+f.Value)
		}
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		lines = append(lines, strings.Join(parts, "\n"))
	}
	return slices.DeleteFunc(lines, func(s string) bool { return s == "" })
}

// files lists the attachments and stickers, those of a forwarded message too.
func (m *message) files(cdn string) []chat.Attachment {
	var all []chat.Attachment
	for _, part := range append([]matter{m.matter}, m.forwarded()...) {
		voice := part.Flags&int(discordgo.MessageFlagsIsVoiceMessage) != 0
		for _, a := range part.Attachments {
			all = append(all, a.attachment(m, voice))
		}
		for _, s := range part.Stickers {
			all = append(all, s.attachment(cdn))
		}
		all = append(all, part.pictures(m)...)
		all = append(all, part.shown(m)...)
	}
	return all
}

func (m *message) forwarded() []matter {
	var all []matter
	for _, s := range m.Snapshots {
		all = append(all, s.Message)
	}
	return all
}

func (a *attachment) attachment(m *message, voice bool) chat.Attachment {
	kind := chat.File
	switch family, _, _ := strings.Cut(a.MIME, "/"); family {
	case "image":
		kind = chat.Image
	case "video":
		kind = chat.Video
	case "audio":
		kind = chat.Audio
		if voice {
			kind = chat.Voice
		}
	}
	return chat.Attachment{
		Kind: kind, Name: a.Name, MIME: a.MIME, Size: a.Size,
		Source:   source{Channel: m.Channel, Message: m.ID, File: a.ID, URL: a.URL}.String(),
		Duration: time.Duration(a.Duration * float64(time.Second)),
	}
}

// attachment: a sticker is a picture at a known address
// (https://docs.discord.com/developers/reference "CDN Endpoints", read
// November 2026); Lottie ones are JSON.
func (s *sticker) attachment(cdn string) chat.Attachment {
	ending, mime := "png", "image/png"
	switch s.Format {
	case discordgo.StickerFormatTypeLottie:
		ending, mime = "json", "application/json"
	case discordgo.StickerFormatTypeGIF:
		ending, mime = "gif", "image/gif"
		if cdn == publicCDN {
			cdn = publicMedia
		}
	}
	return chat.Attachment{
		Kind: chat.Sticker, Name: s.Name + "." + ending, MIME: mime, Text: s.Name,
		Source: source{URL: fmt.Sprintf("%s/stickers/%s.%s", cdn, s.ID, ending)}.String(),
	}
}
