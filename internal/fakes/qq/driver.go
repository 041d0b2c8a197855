package qq

import (
	"fmt"
	"html"
	"strings"

	"magpie/internal/fakes/driver"
)

// Driver is how people act on this QQ: see package driver.
type Driver struct{ *Server }

// Drive returns the driver of a server.
func Drive(s *Server) *Driver { return &Driver{s} }

// names are QQ's names for the kinds of files.
var names = driver.Kinds{driver.Image: "image", driver.Document: "file", driver.Voice: "voice", driver.Video: "video"}

// Name is the bot's word for the platform.
func (d *Driver) Name() string { return "qq" }

// Section is the bot's configuration.
func (d *Driver) Section(base string) map[string]any {
	return map[string]any{"app_id": d.AppID(), "app_secret": d.Secret(), "api_base": base, "token_base": base, "markdown": d.opts.Markdown}
}

// Person is who has that number, by the id of private chats.
func (d *Driver) Person(n int) driver.Person {
	id := fmt.Sprintf("E4F4AEA33253A2797FB897C5%08d", n)
	return driver.Person{ID: id, Chat: direct + id}
}

// Join makes a friend of the bot.
func (d *Driver) Join(n int, name string) driver.Person {
	p := d.Person(n)
	d.AddPerson(p.ID, name)
	return p
}

// Group makes a group.
func (d *Driver) Group(n int, title string) string {
	id := fmt.Sprintf("C9F778FE6ADF9D1D1DBE395B%08d", n)
	d.AddGroup(id) // whose title no bot is told
	return groups + id
}

// Say writes; in a group a message without a mention reaches bots that may read
// everything.
func (d *Driver) Say(s driver.Said) string {
	said := Said{Chat: s.Chat, From: strings.TrimPrefix(s.By(), direct), Text: s.Text, All: strings.HasPrefix(s.Chat, groups) && !s.Mention}
	if s.ReplyTo != "" {
		said.Quote, said.Bare = d.index(s.Chat, s.ReplyTo), s.Bare
	}
	for _, f := range s.Files {
		said.Files = append(said.Files, File{Kind: names.Name(f), Name: f.Name, MIME: f.MIME, Data: f.Data, Words: f.Words})
	}
	return d.Server.Say(said)
}

// index is with what a quote names a message: one of the bot has an index.
func (d *Driver) index(chat, message string) string {
	for _, m := range d.Messages(chat) {
		if m.ID == message {
			return m.Index
		}
	}
	return message
}

// Enter lets a person into a group.
func (d *Driver) Enter(by, group string) {
	d.Server.Join(group, strings.TrimPrefix(by, direct))
}

// Press presses a button.
func (d *Driver) Press(by, chat, message, data string) (string, error) {
	return d.Server.Press(chat, strings.TrimPrefix(by, direct), message, data)
}

// Read is what a person sees of a message, but for the marks of Markdown.
func Read(m Message) string {
	if !m.Markdown {
		return m.Text
	}
	var b strings.Builder
	for i := 0; i < len(m.Text); i++ {
		if m.Text[i] == '\\' && i+1 < len(m.Text) && strings.IndexByte("\\*_~`<[]&!#", m.Text[i+1]) >= 0 {
			i++
		}
		b.WriteByte(m.Text[i])
	}
	return html.UnescapeString(b.String())
}

// Shown is what a chat shows.
func (d *Driver) Shown(chat string) (all []driver.Message) {
	for _, m := range d.Messages(chat) {
		shown := driver.Message{
			ID: m.ID, Text: Read(m), Open: m.Stream == "open",
			Buttons: driver.Rows(m.Keyboard, func(b Button) (string, string) { return b.Label, b.Data }),
		}
		if m.File != nil {
			shown.Files = []driver.File{{Kind: names.Named(m.File.Kind), Name: m.File.Name, MIME: m.File.MIME, Data: m.File.Data}}
		}
		all = append(all, shown)
	}
	return all
}

// Draft is what is shown of an answer that is being written, without marks.
func (d *Driver) Draft(chat string) string {
	for _, m := range d.Shown(chat) {
		if m.Open {
			return strings.ReplaceAll(m.Text, "**", "")
		}
	}
	return ""
}

// Invite has the bot added to a group. The event always names the same operator.
func (d *Driver) Invite(_, group string) { d.Befriend(group) }

// Fail makes calls go wrong.
func (d *Driver) Fail(t driver.Trouble, times int) bool {
	var fault Fault
	switch t {
	case driver.BadRequest:
		fault = Fault{Status: 400, Code: 40034006, Text: "消息内容违规"}
	case driver.Unauthorized: // a client asks for a new token and tries once more
		fault = Fault{Times: 2 * times, Status: 401, Code: 11244, Text: "token not exist or expire"}
	case driver.Forbidden:
		fault = Fault{Status: 403, Code: 11253, Text: "ErrorCheckAppPrivilegeNotPass"}
	case driver.RateLimited:
		fault = Fault{Status: 429, Code: 20028, Text: "ChannelHitWriteRateLimit", RetryAfter: driver.Wait}
	case driver.BadMarkup:
		if !d.opts.Markdown {
			return false
		}
		fault = Fault{Markdown: true, Status: 400, Code: 50056, Text: "不允许发送原生 markdown"}
	default:
		way, ok := t.OnTheWay()
		if !ok {
			return false
		}
		fault = Fault{Status: way.Status, Page: way.Page, Drop: way.Drop, After: way.After}
	}
	fault.Times = max(fault.Times, times)
	d.Server.Fail(fault)
	return true
}

// Sends counts sent texts.
func (d *Driver) Sends() int { return d.Calls("messages") }

// Connected says whether there is a connection with a session.
func (d *Driver) Connected() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gateway.conn != nil
}
