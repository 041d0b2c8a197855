package feishu

import (
	"fmt"

	"magpie/internal/fakes/driver"
)

// Driver is how people act on this Feishu: see package driver.
type Driver struct{ *Server }

// Drive returns the driver of a server.
func Drive(s *Server) *Driver { return &Driver{s} }

// kinds are Feishu's names for the kinds of files.
var kinds = driver.Kinds{driver.Image: "image", driver.Document: "file", driver.Voice: "audio", driver.Video: "media"}

// Name is the bot's word for the platform.
func (d *Driver) Name() string { return "feishu" }

// Section is the bot's configuration.
func (d *Driver) Section(base string) map[string]any {
	return map[string]any{"app_id": d.AppID(), "app_secret": d.Secret(), "api_base": base}
}

// Person is who has that number.
func (d *Driver) Person(n int) driver.Person {
	return driver.Person{ID: fmt.Sprintf("ou_p%05d", n), Chat: fmt.Sprintf("oc_p%05d", n)}
}

// Join makes a person.
func (d *Driver) Join(n int, name string) driver.Person {
	p := d.Person(n)
	d.AddPerson(Person{ID: p.ID, Name: name, Chat: p.Chat})
	return p
}

// Group makes a group.
func (d *Driver) Group(n int, title string) string {
	id := fmt.Sprintf("oc_g%05d", n)
	d.AddGroup(Group{ID: id, Title: title})
	return id
}

// person is who has that private chat.
func (d *Driver) person(chat string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.room(chat).person
}

// Say writes.
func (d *Driver) Say(s driver.Said) string {
	said := Said{From: d.person(s.By()), Chat: s.Chat, Text: s.Text, ReplyTo: s.ReplyTo}
	if s.Mention {
		said.Text, said.Mentions = "@_user_1 "+s.Text, []string{BotID}
	}
	for _, f := range s.Files {
		kind := kinds.Name(f)
		if f.Kind == "" && kind == "media" && f.MIME != "video/mp4" { // other films are files
			kind = "file"
		}
		said.Files = append(said.Files, File{Kind: kind, Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	return d.Server.Say(said)
}

// Edit changes a message.
func (d *Driver) Edit(_, _, message, text string) { d.Rewrite(message, text) }

// Recall takes a message back.
func (d *Driver) Recall(_, message string) { d.Server.Recall(message) }

// Enter lets a person into a group.
func (d *Driver) Enter(by, group string) { d.Server.Join(group, d.person(by)) }

// Invite lets a person add the bot to a group.
func (d *Driver) Invite(by, group string) { d.Server.Invite(d.person(by), group) }

// Press presses a button of a card.
func (d *Driver) Press(by, _, message, data string) (string, error) {
	return d.Server.Press(d.person(by), message, data)
}

// Shown is what a chat shows.
func (d *Driver) Shown(chat string) (all []driver.Message) {
	for _, m := range d.Messages(chat) {
		shown := driver.Message{ID: m.ID, Text: m.Text, Buttons: driver.Rows(m.Buttons, func(b Button) (string, string) { return b.Text, b.Data })}
		if m.File != nil {
			shown.Files = []driver.File{{Kind: kinds.Named(m.File.Kind), Name: m.File.Name, MIME: m.File.MIME, Data: m.File.Data}}
		}
		all = append(all, shown)
	}
	return all
}

// Fail makes calls go wrong.
func (d *Driver) Fail(t driver.Trouble, times int) bool {
	var fault Fault
	switch t {
	case driver.BadRequest:
		fault = Fault{Code: 230001, Msg: "Your request contains an invalid request parameter."}
	case driver.Unauthorized: // a client asks for a new token and tries once more
		fault = Fault{Times: 2 * times, Code: 99991663, Msg: "Invalid access token for authorization."}
	case driver.Forbidden:
		fault = Fault{Code: 230002, Msg: "The bot can not be outside the group."}
	case driver.RateLimited:
		fault = Fault{Status: 429, Code: 99991400, Msg: "request trigger frequency limit", Reset: driver.Wait}
	case driver.BadMarkup:
		fault = Fault{Types: []string{"interactive", "post"}, Code: 230099, Msg: "Failed to create card content, ext=ErrCode: 200621; ErrMsg: parse card json err"}
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
func (d *Driver) Sends() int { return d.Calls("create") + d.Calls("reply") }

// Connected says whether there is a long connection.
func (d *Driver) Connected() bool {
	now, _, _ := d.Lines()
	return now > 0
}

// Cut breaks the long connections.
func (d *Driver) Cut() { d.CutLines() }

// Reactions are the emojis on a message, by Feishu's names.
func (d *Driver) Reactions(_, message string) []string { return d.Server.Reactions(message) }
