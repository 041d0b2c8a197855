package simulate

import (
	"strings"

	fake "magpie/internal/fakes/discord"
)

const (
	discordPerson  = "1001"
	discordPrivate = "2001"
	discordGuild   = "3001"
	discordGroup   = "3002"
)

// discord is the fake Discord with one person and one server.
type discord struct{ *fake.Server }

func newDiscord() house {
	s := fake.New(&fake.Options{Username: "magpie", Rates: true})
	s.AddPerson(fake.Person{ID: discordPerson, Name: "Ada", Username: "ada", DM: discordPrivate})
	s.AddGuild(fake.Guild{ID: discordGuild, Name: "Guild", BotRole: "3009", Channels: []fake.Channel{{ID: discordGroup, Name: "group"}}})
	return house{
		platform: &discord{s}, handler: s.Handler(), close: s.Close, sender: discordPerson,
		section: func(base string) map[string]any { return map[string]any{"token": s.Token(), "api_base": base} },
	}
}

func (d *discord) chat(at Place) string {
	if at == Group {
		return discordGroup
	}
	return discordPrivate
}

func (d *discord) Say(at Place, text string, files []File) (string, error) {
	said := fake.Said{From: discordPerson, Channel: d.chat(at), Text: text}
	if at == Group {
		said.Text = "<@" + fake.BotID + "> " + text
	}
	for _, f := range files {
		said.Files = append(said.Files, fake.File{Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	return d.Server.Say(said), nil
}

func (d *discord) Press(at Place, message, data string) (string, error) {
	return d.Server.Press(discordPerson, d.chat(at), message, data)
}

func (d *discord) Shown(at Place) []Message {
	var all []Message
	for _, m := range d.Messages(d.chat(at)) {
		shown := Message{ID: m.ID, Text: m.Text}
		for i, row := range m.Buttons {
			for _, b := range row {
				shown.Buttons = append(shown.Buttons, Button{b.Label, b.Data, i})
			}
		}
		for _, f := range m.Files {
			shown.Files = append(shown.Files, File{f.Name, f.MIME, f.Data})
		}
		all = append(all, shown)
	}
	return all
}

func (d *discord) Fail(trouble Trouble, times int) {
	fault := map[Trouble]fake.Fault{
		TooFast:  {Status: 429, RetryAfter: waitFor},
		Broken:   {Status: 502, Page: true},
		Dropped:  {Drop: true},
		Answered: {Drop: true, After: true},
	}[trouble]
	fault.Times = times
	d.Server.Fail(fault)
}

// Connected is true once there is a session: it keeps what a client misses.
func (d *discord) Connected() bool { return d.Connections() > 0 && d.Opened("identify") > 0 }

// Reactions are the bot's reactions to a message.
func (d *discord) Reactions(at Place, message string) []string {
	return d.Server.Reactions(d.chat(at), message)
}

// Note is what the person alone is shown after a press.
func (d *discord) Note(press string) string {
	in := d.Interaction(press)
	return strings.TrimSpace(strings.Join(append([]string{in.Shown}, in.Notices...), "\n"))
}
