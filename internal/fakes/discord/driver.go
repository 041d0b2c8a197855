package discord

import (
	"fmt"
	"strings"

	"magpie/internal/fakes/driver"
)

// Driver is how people act on this Discord: see package driver.
type Driver struct{ *Server }

// Drive returns the driver of a server.
func Drive(s *Server) *Driver { return &Driver{s} }

// Name is the bot's word for the platform.
func (d *Driver) Name() string { return "discord" }

// Section is the bot's configuration.
func (d *Driver) Section(base string) map[string]any {
	return map[string]any{"token": d.Token(), "api_base": base}
}

// Person is who has that number.
func (d *Driver) Person(n int) driver.Person {
	return driver.Person{ID: fmt.Sprintf("7%017d", n), Chat: fmt.Sprintf("8%017d", n)}
}

// Join makes a person with a private channel.
func (d *Driver) Join(n int, name string) driver.Person {
	p := d.Person(n)
	d.AddPerson(Person{ID: p.ID, Name: name, DM: p.Chat})
	return p
}

// Group makes a server with one channel, which says who has come.
func (d *Driver) Group(n int, title string) string {
	id := func(part int) string { return fmt.Sprintf("6%016d%d", n, part) }
	d.AddGuild(Guild{ID: id(1), Name: title, BotRole: id(2), System: id(3), Channels: []Channel{{ID: id(3), Name: "general"}}})
	return id(3)
}

// person is who has that private channel.
func (d *Driver) person(channel string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.room(channel).with
}

// Say writes.
func (d *Driver) Say(s driver.Said) string {
	said := Said{From: d.person(s.By()), Channel: s.Chat, Text: s.Text, ReplyTo: s.ReplyTo}
	if s.Mention {
		said.Text = "<@" + BotID + "> " + s.Text
	}
	for _, f := range s.Files {
		said.Files = append(said.Files, File{Name: f.Name, MIME: f.MIME, Data: f.Data, Voice: f.Kind == driver.Voice})
	}
	return d.Server.Say(said)
}

// Edit changes a message.
func (d *Driver) Edit(_, chat, message, text string) { d.Server.Edit(chat, message, text) }

// Recall takes a message back.
func (d *Driver) Recall(chat, message string) { d.Delete(chat, message) }

// Enter lets a person into the server that a channel belongs to.
func (d *Driver) Enter(by, group string) { d.Server.Join(d.person(by), d.guild(group)) }

func (d *Driver) guild(channel string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.room(channel).guild
}

// Press presses a button.
func (d *Driver) Press(by, chat, message, data string) (string, error) {
	return d.Server.Press(d.person(by), chat, message, data)
}

// Shown is what a channel shows.
func (d *Driver) Shown(chat string) (all []driver.Message) {
	for _, m := range d.Messages(chat) {
		shown := driver.Message{ID: m.ID, Text: m.Text, Buttons: driver.Rows(m.Buttons, func(b Button) (string, string) { return b.Label, b.Data })}
		for _, f := range m.Files {
			file := driver.File{Kind: driver.Document, Name: f.Name, MIME: f.MIME, Data: f.Data}
			if file.Is(driver.Image) {
				file.Kind = driver.Image // as Discord shows it
			}
			shown.Files = append(shown.Files, file)
		}
		all = append(all, shown)
	}
	return all
}

// Fail makes calls go wrong; Discord never refuses markup.
func (d *Driver) Fail(t driver.Trouble, times int) bool {
	var fault Fault
	switch t {
	case driver.BadRequest:
		fault = Fault{Status: 400, Code: 50006, Text: "Cannot send an empty message"}
	case driver.Unauthorized:
		fault = Fault{Status: 401, Text: "401: Unauthorized"}
	case driver.Forbidden:
		fault = Fault{Status: 403, Code: 50013, Text: "Missing Permissions"}
	case driver.RateLimited:
		fault = Fault{Status: 429, RetryAfter: driver.Wait}
	default:
		way, ok := t.OnTheWay()
		if !ok {
			return false
		}
		fault = Fault{Status: way.Status, Page: way.Page, Drop: way.Drop, After: way.After}
	}
	fault.Times = times
	d.Server.Fail(fault)
	return true
}

// Sends counts sent texts.
func (d *Driver) Sends() int { return d.Calls("create message") }

// Connected is true once there is a session: it keeps what a client misses.
func (d *Driver) Connected() bool { return d.Connections() > 0 && d.Opened("identify") > 0 }

// Cut breaks the connections.
func (d *Driver) Cut() { d.Drop() }

// Reactions are the bot's reactions to a message.
func (d *Driver) Reactions(chat, message string) []string { return d.Server.Reactions(chat, message) }

// Note is what the person alone is shown after a press.
func (d *Driver) Note(press string) string {
	in := d.Interaction(press)
	return strings.TrimSpace(strings.Join(append([]string{in.Shown}, in.Notices...), "\n"))
}
