package qq

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"path"
	"strings"
	"time"

	"github.com/tencent-connect/botgo/dto"

	"magpie/chat"
)

// event is a frame that was understood.
type event struct {
	kind   dto.EventType
	chat   string        // "": it is about no chat
	in     *chat.Inbound // nil: nothing for the sink
	window window        // what can be replied to; ID "" for nothing
	state  func(*account)
	index  line // what a later quote of this message refers to
	button string
	skip   string // why in is nil
	bad    bool   // broken or unknown
}

// event reads one dispatched frame.
func (q *QQ) event(f *frame) event {
	ev := event{kind: f.Type}
	switch f.Type {
	case dto.EventC2CMessageCreate, dto.EventGroupAtMessageCreate, groupMessage:
		q.message(&ev, f)
	case dto.EventInteractionCreate:
		q.press(&ev, f)
	case dto.EventC2CFriendAdd, dto.EventC2CFriendDel, directReject, directAccept, groupAdd, groupDel, groupReject, groupReceive:
		q.change(&ev, f)
	case memberAdd, memberRemove:
		q.memberChange(&ev, f)
	default:
		ev.skip = "not used"
	}
	return ev
}

func (ev *event) broken(why string, err error) {
	ev.bad, ev.skip = true, why
	if err != nil {
		ev.skip += ": " + err.Error()
	}
}

func (q *QQ) message(ev *event, f *frame) {
	var m message
	var form *json.UnmarshalTypeError
	if err := json.Unmarshal(f.Data, &m); err != nil && !errors.As(err, &form) {
		ev.broken("undecodable", err)
		return
	} // a field of another form than documented costs that field
	who := cmp.Or(m.Author.User, m.Author.Member)
	private := f.Type == dto.EventC2CMessageCreate
	ev.chat = direct + m.Author.User
	if !private {
		ev.chat, who = group+m.Group, m.Author.Member
	}
	if m.ID == "" || who == "" || (!private && m.Group == "") {
		ev.broken("message without id, sender or group", nil)
		return
	}
	if m.Author.Bot {
		ev.skip = "a bot's message"
		return
	}
	in := &chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: q.inboundID(ev.chat, m.ID), At: m.Time.Time,
			Addr: chat.Address{Channel: q.name, Chat: ev.chat},
		},
		Origin: chat.FromPerson, From: chat.Sender{ID: who, Name: m.Author.Name}, MessageID: m.ID,
		Direct: private, Mentioned: f.Type == dto.EventGroupAtMessageCreate,
	}
	if in.At.IsZero() {
		in.At = q.deps.Now().UTC()
	}
	q.readText(in, &m)
	for _, a := range m.Attachments {
		in.Attachments = append(in.Attachments, q.attachment(a))
	}
	in.ReplyTo = q.quoted(&m)
	ev.window = window{ID: m.ID, At: in.At}
	ev.index = line{Index: m.scene("msg_idx"), ID: m.ID, From: m.Author.Name, Text: in.Text, Files: in.Attachments}
	// A mention and nothing else, or a quote, means something to the one who
	// writes it.
	if in.Text == "" && len(in.Attachments) == 0 && in.ReplyTo == nil && (private || !in.Mentioned) {
		ev.skip = "nothing that can be read"
		return
	}
	ev.in = in
}

func (q *QQ) inboundID(chatID, id string) string {
	return fmt.Sprintf("qq:%s:%s:%s", q.name, chatID, id)
}

// attachment describes a file of a message. Its Source is the URL: the
// platform has no other handle.
func (q *QQ) attachment(a attachment) chat.Attachment {
	out := chat.Attachment{Kind: kindOf(a), Name: path.Base("/" + a.Name), Size: a.Size, Source: q.address(a.URL), Text: strings.TrimSpace(a.Words)}
	if out.Name == "/" {
		out.Name = ""
	}
	out.MIME = mime.TypeByExtension(path.Ext(out.Name))
	if strings.Contains(a.Type, "/") {
		out.MIME = a.Type
	}
	// The voice itself is silk, whatever its name says.
	if out.Kind == chat.Voice {
		out.MIME = "audio/silk"
		if wav := q.address(a.Wav); a.Wav != "" && q.fetchable(wav) == nil {
			out.Source, out.MIME, out.Size = wav, "audio/wav", 0
			out.Name = strings.TrimSuffix(out.Name, path.Ext(out.Name)) + ".wav"
		}
	}
	return out
}

func kindOf(a attachment) chat.Kind {
	switch kind, _, _ := strings.Cut(strings.ToLower(a.Type), "/"); kind {
	case "image":
		return chat.Image
	case "voice":
		return chat.Voice
	case "audio":
		return chat.Audio
	case "video":
		return chat.Video
	}
	return chat.File
}

// address is where a file is fetched: over TLS, where QQ names it without.
func (q *QQ) address(s string) string {
	at := fullURL(s)
	if bare, ok := strings.CutPrefix(at, "http://"); ok && q.fetchable(at) != nil {
		return "https://" + bare
	}
	return at
}

// fullURL completes the addresses that the platform gives without a scheme.
func fullURL(s string) string {
	switch {
	case s == "", strings.Contains(s, "://"):
		return s
	case strings.HasPrefix(s, "//"):
		return "https:" + s
	}
	return "https://" + s
}

func (q *QQ) press(ev *event, f *frame) {
	var p dto.Interaction
	err := json.Unmarshal(f.Data, &p)
	if err == nil && p.Type == switchType && p.UserOpenID != "" {
		q.switched(ev, direct+p.UserOpenID)
		return
	}
	var b pressed
	if err == nil && p.Data != nil {
		err = json.Unmarshal(p.Data.Resolved, &b)
	}
	who := cmp.Or(p.GroupMemberOpenID, p.UserOpenID, b.User)
	switch {
	case err != nil:
		ev.broken("undecodable", err)
		return
	case p.Data == nil || p.Data.Type != dto.InteractionDataTypeInlineKeyboardClick:
		ev.skip = "not the press of a button"
		return
	case p.GroupOpenID != "":
		ev.chat = group + p.GroupOpenID
	case p.ChatType == 2 || p.Scene == "c2c":
		ev.chat = direct + who
	}
	if ev.chat == "" || who == "" || p.ID == "" {
		ev.broken("press without chat, person or id", nil)
		return
	}
	now := q.deps.Now().UTC()
	ev.button = b.Button
	ev.window = window{ID: f.EventID, Event: true, At: now}
	ev.in = &chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: q.inboundID(ev.chat, "press:"+p.ID), At: now,
			Addr: chat.Address{Channel: q.name, Chat: ev.chat},
		},
		Origin: chat.FromPerson, From: chat.Sender{ID: who}, Direct: p.GroupOpenID == "", Mentioned: true,
		Press: &chat.Press{ID: p.ID, Data: b.Data},
	}
}

// switched is a person's switch of active messages. It does not say which way,
// so they are tried again after a while.
func (q *QQ) switched(ev *event, chatID string) {
	ev.chat, ev.skip = chatID, "active messages switched"
	until := q.deps.Now().UTC().Add(askAgain)
	ev.state = func(a *account) { a.Spent = until }
}

// change reads what happened to the relation with a person or group: some of
// it can be replied to, all of it says whether active messages are welcome.
func (q *QQ) change(ev *event, f *frame) {
	var c change
	if err := json.Unmarshal(f.Data, &c); err != nil || c.Open+c.Group == "" {
		ev.broken("change without a person or group", err)
		return
	}
	ev.chat, ev.skip = direct+c.Open, "relation changed"
	if c.Group != "" {
		ev.chat = group + c.Group
	}
	switch f.Type {
	case dto.EventC2CFriendAdd, directAccept, groupAdd, groupReceive:
		ev.window = window{ID: f.EventID, Event: true, At: c.Time.Time}
		ev.state = func(a *account) { a.Closed, a.Spent = false, time.Time{} }
	case directReject, groupReject:
		ev.state = func(a *account) { a.Closed = true }
	default:
		ev.state = func(a *account) { a.Closed, a.Windows = true, nil }
	}
	if f.Type == dto.EventC2CFriendAdd || f.Type == groupAdd {
		q.happened(ev, f.EventID, chat.Added, &c)
	}
}

// memberChange is somebody who came into a group or left it.
func (q *QQ) memberChange(ev *event, f *frame) {
	var c change
	if err := json.Unmarshal(f.Data, &c); err != nil || c.Group == "" || c.Member == "" {
		ev.broken("change without a group or member", err)
		return
	}
	ev.chat = group + c.Group
	what := chat.Joined
	if f.Type == memberRemove {
		what = chat.Left
	}
	q.happened(ev, f.EventID, what, &c)
}

// happened makes the news that an event is.
func (q *QQ) happened(ev *event, id string, what chat.Happening, c *change) {
	who := cmp.Or(c.Member, c.Operator, c.Open)
	if id == "" || who == "" {
		ev.skip = "news without an id or a person"
		return
	}
	when := c.Time.Time
	if when.IsZero() {
		when = q.deps.Now().UTC()
	}
	ev.skip = ""
	ev.in = &chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: q.inboundID(ev.chat, "event:"+id), At: when,
			Addr: chat.Address{Channel: q.name, Chat: ev.chat},
		},
		Origin: chat.FromPerson, From: chat.Sender{ID: who}, Direct: strings.HasPrefix(ev.chat, direct), Happening: what,
	}
}
