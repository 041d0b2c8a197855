package telegram

import (
	"fmt"
	"strconv"
	"strings"

	"magpie/internal/fakes/driver"
)

// Driver is how people act on this Telegram: see package driver.
type Driver struct{ *Server }

// Drive returns the driver of a server.
func Drive(s *Server) *Driver { return &Driver{s} }

// kinds are Telegram's names for the kinds of files.
var kinds = driver.Kinds{
	driver.Image: "photo", driver.Document: "document", driver.Voice: "voice", driver.Audio: "audio", driver.Video: "video", driver.Sticker: "sticker",
}

// Name is the bot's word for the platform.
func (d *Driver) Name() string { return "telegram" }

// Section is the bot's configuration.
func (d *Driver) Section(base string) map[string]any {
	return map[string]any{"token": d.Token(), "api_base": base}
}

// Person is who has that number.
func (d *Driver) Person(n int) driver.Person {
	id := strconv.Itoa(5000 + n)
	return driver.Person{ID: id, Chat: id}
}

// Join makes a person.
func (d *Driver) Join(n int, name string) driver.Person {
	p := d.Person(n)
	d.AddPerson(Person{ID: number(p.ID), Name: name, Username: strings.ToLower(name)})
	return p
}

// Group makes a supergroup.
func (d *Driver) Group(n int, title string) string {
	id := int64(-100_700 - n)
	d.AddGroup(Group{ID: id, Title: title})
	return strconv.FormatInt(id, 10)
}

// number is an id of Telegram; what is none is the id of nothing.
func number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Say writes.
func (d *Driver) Say(s driver.Said) string {
	said := Said{From: number(s.By()), Chat: number(s.Chat), Text: s.Text, ReplyTo: int(number(s.ReplyTo))}
	if s.Mention {
		said.Text = "@" + d.opts.Username + " " + s.Text
	}
	for _, f := range s.Files {
		kind := kinds.Name(f)
		if f.Kind == "" && (f.MIME == "image/gif" || f.MIME == "image/svg+xml") { // no photos
			kind = "document"
		}
		said.Files = append(said.Files, File{Kind: kind, Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	return strconv.Itoa(d.Server.Say(said))
}

// Edit changes a message of a person.
func (d *Driver) Edit(by, chat, message, text string) {
	d.Server.Edit(Said{From: number(by), Chat: number(chat), Text: text}, int(number(message)))
}

// Enter lets a person into a group.
func (d *Driver) Enter(by, group string) { d.Server.Join(number(group), number(by)) }

// Invite lets a person add the bot to a group.
func (d *Driver) Invite(by, group string) { d.Server.Invite(number(group), number(by)) }

// Press presses a button.
func (d *Driver) Press(by, chat, message, data string) (string, error) {
	return d.Server.Press(number(by), number(chat), int(number(message)), data)
}

// Shown is what a chat shows.
func (d *Driver) Shown(chat string) (all []driver.Message) {
	for _, m := range d.Messages(number(chat)) {
		shown := driver.Message{ID: strconv.Itoa(m.ID), Text: m.Text, Buttons: driver.Rows(m.Keyboard, func(b Button) (string, string) { return b.Text, b.Data })}
		if m.File != nil {
			shown.Files = []driver.File{{Kind: kinds.Named(m.Kind), Name: m.File.Name, MIME: m.File.MIME, Data: m.File.Data}}
		}
		all = append(all, shown)
	}
	return all
}

// Draft is the draft that a chat shows now.
func (d *Driver) Draft(chat string) string { return d.Server.Draft(number(chat)) }

// Fail makes calls go wrong.
func (d *Driver) Fail(t driver.Trouble, times int) bool {
	var fault Fault
	switch t {
	case driver.BadRequest:
		fault = Fault{Code: 400, Text: "Bad Request: group is deactivated"}
	case driver.Unauthorized:
		fault = Fault{Code: 401, Text: "Unauthorized"}
	case driver.Forbidden:
		fault = Fault{Code: 403, Text: "Forbidden: bot was blocked by the user"}
	case driver.RateLimited:
		fault = Fault{Code: 429, Text: fmt.Sprint("Too Many Requests: retry after ", driver.Wait), RetryAfter: driver.Wait}
	case driver.BadMarkup:
		fault = Fault{Formatted: true, Code: 400, Text: "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\""}
	default:
		way, ok := t.OnTheWay()
		if !ok {
			return false
		}
		fault = Fault{Code: way.Status, Page: way.Page, Drop: way.Drop, After: way.After}
	}
	fault.Times = times
	d.Server.Fail(fault)
	return true
}

// Sends counts sent texts.
func (d *Driver) Sends() int { return d.Calls("sendMessage") }

// Connected says whether a poll waits.
func (d *Driver) Connected() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.updates.poller != nil
}

// Cut fails a poll.
func (d *Driver) Cut() { d.Server.Fail(Fault{Method: "getUpdates", Code: 502, Text: "Bad Gateway"}) }

// Typed counts the chat actions of a chat.
func (d *Driver) Typed(chat string) (n int) {
	for _, call := range d.Requests("sendChatAction") {
		if call.Params["chat_id"] == chat {
			n++
		}
	}
	return n
}

// Note is the text of the answer to a press.
func (d *Driver) Note(press string) string {
	for _, call := range d.Requests("answerCallbackQuery") {
		if call.Params["callback_query_id"] == press {
			return call.Params["text"]
		}
	}
	return ""
}
