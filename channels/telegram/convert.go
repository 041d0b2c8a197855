package telegram

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/chat"
)

// event is an update that was understood: either something for the sink, or a
// reason to pass it over.
type event struct {
	id    int64
	known bool // id is one
	in    *chat.Inbound
	also  []chat.Inbound // after in, of the same chat
	album string         // media_group_id when in is a part of one
	skip  string         // why in is nil
	bad   bool           // the update is broken or of an unknown kind
	moved [2]int64
}

// event reads one raw update.
func (t *Telegram) event(raw []byte) event {
	u, err := decodeUpdate(raw)
	ev := event{known: u.ID != nil}
	if ev.known {
		ev.id = *u.ID
	}
	switch {
	case err != nil:
		ev.skip, ev.bad = "undecodable: "+err.Error(), true
	case u.Message != nil:
		t.message(&ev, u.Message, false)
	case u.Post != nil:
		t.message(&ev, u.Post, false)
	case u.Edited != nil:
		t.message(&ev, u.Edited, true)
	case u.EditedPost != nil:
		t.message(&ev, u.EditedPost, true)
	case u.Press != nil:
		t.press(&ev, u.Press)
	case u.MyMember != nil:
		t.myself(&ev, u.MyMember)
	case u.Member != nil:
		t.member(&ev, u.Member)
	case u.Business != nil:
		ev.skip = fmt.Sprintf("business: connected %v by %s; messages to that account are not read", u.Business.Enabled, u.Business.User.name())
	default:
		ev.skip, ev.bad = "unknown kind: "+kindOf(raw), true
	}
	return ev
}

func (t *Telegram) message(ev *event, m *message, edited bool) {
	me := t.me.Load()
	switch {
	case m.Chat.ID == 0 || m.ID == 0:
		ev.skip, ev.bad = "message without chat or id", true
		return
	case m.MigrateTo != 0:
		ev.skip, ev.moved = "group moved", [2]int64{m.Chat.ID, m.MigrateTo}
		return
	case m.MigrateFrom != 0:
		ev.skip, ev.moved = "group moved", [2]int64{m.MigrateFrom, m.Chat.ID}
		return
	case m.From != nil && m.From.ID == me.ID:
		ev.skip = "the bot's own message"
		return
	case edited && m.Location != nil:
		ev.skip = "live location"
		return
	case len(m.Joined) > 0 || m.Left != nil:
		t.comings(ev, m)
		return
	}
	w := m.words(me)
	in := t.inbound(m, w)
	switch {
	case w.foreign:
		ev.skip = "command for another bot"
		return
	case in.Text == "" && len(in.Attachments) == 0 && !w.mentioned: // who only mentions the bot wants something
		ev.skip = "service message"
		return
	}
	if edited {
		in.Edited = true
		in.ID += ":e" + strconv.FormatInt(m.EditDate, 10)
	} else {
		ev.album = m.Album
	}
	if t.versions.note(in) && edited {
		ev.skip = "edited, but nothing that is read"
		return
	}
	ev.in = in
}

func (t *Telegram) inbound(m *message, w words) *chat.Inbound {
	me := t.me.Load()
	in := &chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: t.messageID(m), At: time.Unix(m.Date, 0).UTC(), Addr: t.address(m),
		},
		Origin: chat.FromPerson, From: m.sender(), MessageID: strconv.FormatInt(m.ID, 10),
		Text: m.describe(w.text), Attachments: m.attachments(),
		ReplyTo: m.quoted(me), Direct: m.Chat.private(), Mentioned: w.mentioned, Named: w.named,
		Forwarded: m.forwardedFrom() != "",
	}
	if q := in.ReplyTo; q != nil && q.Mine && q.ID != "" { // not what the bot has said elsewhere
		in.Mentioned = true
	}
	return in
}

func (t *Telegram) messageID(m *message) string {
	return fmt.Sprintf("telegram:%s:%d:%d", t.name, m.Chat.ID, m.ID)
}

// directMark begins the thread of one person's messages to a channel, which
// are numbered apart from topics
// (https://core.telegram.org/bots/api#directmessagestopic, read November 2026).
const directMark = "d"

// address: replies in plain groups carry a thread id too; only real topics are
// threads.
func (t *Telegram) address(m *message) chat.Address {
	a := chat.Address{Channel: t.name, Chat: m.Chat.key()}
	switch {
	case m.Direct != nil && m.Direct.ID != 0:
		a.Thread = directMark + strconv.FormatInt(m.Direct.ID, 10)
	case m.InTopic && m.Thread != 0:
		a.Thread = strconv.FormatInt(m.Thread, 10)
	}
	return a
}

func (t *Telegram) press(ev *event, p *press) {
	if p.ID == "" || p.From == nil || p.Message == nil || p.Message.Chat.ID == 0 {
		ev.skip, ev.bad = "press without sender or message", true
		return
	}
	ev.in = &chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: t.messageID(p.Message) + ":cb:" + p.ID,
			At: t.deps.Now().UTC(), Addr: t.address(p.Message),
		},
		Origin: chat.FromPerson, From: p.From.sender(), Direct: p.Message.Chat.private(), Mentioned: true,
		Press: &chat.Press{ID: p.ID, Data: p.Data, Message: strconv.FormatInt(p.Message.ID, 10)},
	}
}

func (u *user) sender() chat.Sender {
	return chat.Sender{ID: strconv.FormatInt(u.ID, 10), Name: u.name(), Username: u.Username, Lang: u.Lang, Bot: u.Bot}
}

func (m *message) words(me *user) words {
	switch {
	case m.Text != "":
		return readText(m.Text, m.Entities, me)
	case m.Rich != nil:
		return m.Rich.words(me)
	}
	return readText(m.Caption, m.CaptionEntities, me)
}

// describe adds to a text what came beside it and has no file, a line each.
func (m *message) describe(text string) string {
	var lines []string
	if text != "" {
		lines = append(lines, text)
	}
	if v := m.Venue; v != nil {
		lines = append(lines, fmt.Sprintf("[Venue: %s, %s]", v.Title, v.Address))
	}
	if l := m.Location; l != nil {
		lines = append(lines, fmt.Sprintf("[Location: %.6f, %.6f]", l.Latitude, l.Longitude))
	}
	if c := m.Contact; c != nil {
		lines = append(lines, fmt.Sprintf("[Contact: %s, %s]", strings.TrimSpace(c.First+" "+c.Last), c.Phone))
	}
	if d := m.Dice; d != nil {
		lines = append(lines, fmt.Sprintf("[%s shows %d]", d.Emoji, d.Value))
	}
	if p := m.Poll; p != nil {
		var options []string
		for _, o := range p.Options {
			options = append(options, o.Text)
		}
		lines = append(lines, fmt.Sprintf("[Poll: %s (%s)]", p.Question, strings.Join(options, " / ")))
	}
	lines = append(lines, m.messageContent.describe()...)
	if from := m.forwardedFrom(); from != "" && (len(lines) > 0 || len(m.attachments()) > 0) {
		lines = slices.Insert(lines, 0, "[Forwarded from "+from+"]")
	}
	return strings.Join(lines, "\n")
}

func (m *message) forwardedFrom() string {
	if m.Origin != nil {
		return cmp.Or(m.Origin.name(), "somebody")
	}
	return cmp.Or(m.ForwardFrom.name(), m.ForwardChat.name(), m.ForwardName)
}

// quoted is the message this one replies to. Every message in a topic replies
// to the topic's creation, which is no quote.
func (m *message) quoted(me *user) *chat.Quote {
	var q chat.Quote
	switch r := m.ReplyTo; {
	case r != nil && len(r.TopicCreated) == 0 && (!m.InTopic || r.ID != m.Thread):
		q = chat.Quote{
			ID: strconv.FormatInt(r.ID, 10), From: r.sender().Name,
			Text: r.describe(r.words(&user{}).text), Mine: r.From != nil && r.From.ID == me.ID,
		}
		q.Attachments = r.attachments()
	case m.External != nil:
		other := message{messageFiles: m.External.messageFiles, messageExtras: m.External.messageExtras, messageContent: m.External.messageContent}
		q.From, q.Text, q.Attachments = m.External.Origin.name(), other.describe(""), other.attachments()
		q.Mine = m.External.Origin.User != nil && m.External.Origin.User.ID == me.ID
		if in := m.External.Chat; in != nil && in.ID == m.Chat.ID { // of another topic; other chats have the same numbers
			q.ID = strconv.FormatInt(m.External.ID, 10)
		}
	case m.ReplyToStory != nil:
		told := messageContent{Story: m.ReplyToStory}
		q.From, q.Text = m.ReplyToStory.Chat.name(), strings.Join(told.describe(), "\n")
	default:
		return nil
	}
	if m.Quote == nil || m.Quote.Text == "" {
		return &q
	}
	if m.Quote.Manual {
		q.Passage = m.Quote.Text
	}
	if !m.Quote.Manual || q.Text == "" {
		q.Text = m.Quote.Text
	}
	return &q
}

// attachments lists the files.
func (m *message) attachments() []chat.Attachment {
	switch {
	case m.Rich != nil:
		return m.Rich.attachments()
	case m.Paid != nil:
		return m.Paid.attachments()
	}
	return m.messageFiles.attachments()
}

// photo is the largest size of a photo.
func photo(sizes []blob) []chat.Attachment {
	largest := sizes[0]
	for _, p := range sizes {
		if p.Width*p.Height > largest.Width*largest.Height {
			largest = p
		}
	}
	a := largest.attachment(chat.Image)
	a.MIME = "image/jpeg" // photos always are
	return []chat.Attachment{a}
}

// attachments lists the files. An animation comes with a document field of the
// same file for old clients.
func (m *messageFiles) attachments() []chat.Attachment {
	switch {
	case len(m.Photo) > 0:
		return photo(m.Photo)
	case m.Live != nil && len(m.Live.Photo) > 0:
		return photo(m.Live.Photo)
	case m.Live != nil:
		return []chat.Attachment{m.Live.blob.attachment(chat.Video)}
	case m.Voice != nil:
		return []chat.Attachment{m.Voice.attachment(chat.Voice)}
	case m.Audio != nil:
		return []chat.Attachment{m.Audio.attachment(chat.Audio)}
	case m.Video != nil:
		return []chat.Attachment{m.Video.attachment(chat.Video)}
	case m.VideoNote != nil:
		a := m.VideoNote.attachment(chat.Video)
		a.MIME = cmp.Or(a.MIME, "video/mp4")
		return []chat.Attachment{a}
	case m.Animation != nil:
		return []chat.Attachment{m.Animation.attachment(chat.Video)}
	case m.Sticker != nil:
		return []chat.Attachment{m.Sticker.sticker()}
	case m.Document != nil:
		return []chat.Attachment{m.Document.attachment(chat.File)}
	}
	return nil
}

func (b *blob) attachment(kind chat.Kind) chat.Attachment {
	name := b.Name
	if name == "" && b.Title != "" {
		name = strings.TrimPrefix(b.Performer+" - "+b.Title, " - ")
	}
	return chat.Attachment{
		Kind: kind, Name: name, MIME: b.MIME, Size: b.Size, Source: b.ID,
		Duration: time.Duration(b.Duration * float64(time.Second)),
	}
}

func (b *blob) sticker() chat.Attachment {
	a := b.attachment(chat.Sticker)
	a.Text, a.MIME = b.Emoji, "image/webp"
	switch {
	case b.Animated:
		a.MIME = "application/x-tgsticker"
	case b.Motion:
		a.MIME = "video/webm"
	}
	return a
}
