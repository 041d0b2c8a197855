package simulate

import (
	"errors"
	"html"
	"regexp"
	"strings"

	fake "magpie/internal/fakes/dingtalk"
)

// dingtalk is the fake DingTalk with one person and one group.
type dingtalk struct {
	*fake.Server
	person fake.Person
	group  fake.Group
}

func newDingTalk() house {
	p := &dingtalk{
		Server: fake.New(&fake.Options{Rates: true}),
		person: fake.Person{StaffID: "ada01", Name: "Ada"},
		group:  fake.Group{ID: "cidGroup00000000000000==", Title: "Group"},
	}
	p.AddPerson(p.person)
	p.AddGroup(p.group)
	return house{
		platform: p, handler: p.Handler(), close: p.Close, sender: p.person.StaffID,
		section: func(base string) map[string]any {
			id, secret := p.Credentials()
			return map[string]any{
				"client_id": id, "client_secret": secret, "api_base": base, "oapi_base": base,
				"card_template_id": fake.DefaultTemplate, "card_buttons_key": fake.ButtonsKey,
			}
		},
	}
}

func (d *dingtalk) chat(at Place) string {
	if at == Group {
		return d.group.Chat()
	}
	return d.person.Chat()
}

// errLost is what happens to a message that no connection takes: DingTalk
// does not push the messages of robots again.
var errLost = errors.New("the bot is not connected, and DingTalk does not bring a message to a robot again: this one is lost")

func (d *dingtalk) Say(at Place, text string, files []File) (string, error) {
	said := fake.Said{From: d.person.Chat(), Chat: d.chat(at), Text: text, Mention: at == Group}
	for _, f := range files {
		kind := "file"
		switch {
		case f.is("image"):
			kind = "picture"
		case f.is("video"):
			kind = "video"
		}
		said.Files = append(said.Files, fake.File{Kind: kind, Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	if !d.Connected() {
		return "", errLost
	}
	id, _ := d.Server.Say(said)
	return id, nil
}

func (d *dingtalk) Press(_ Place, message, data string) (string, error) {
	if !d.Connected() {
		return "", errLost
	}
	return d.Server.Press(d.person.Chat(), message, data)
}

var escaped = regexp.MustCompile(`\\([!-/:-@\[-\x60{-~])`)

// plain is a text as DingTalk's clients show it, but for its marks.
func plain(m fake.Message) string {
	if m.Kind != "markdown" && m.Kind != "card" {
		return m.Text
	}
	return html.UnescapeString(strings.ReplaceAll(escaped.ReplaceAllString(m.Text, "$1"), "  \n", "\n"))
}

func (d *dingtalk) Shown(at Place) []Message {
	var all []Message
	for _, m := range d.Messages(d.chat(at)) {
		shown := Message{ID: m.ID, Text: plain(m)}
		for i, b := range m.Buttons {
			shown.Buttons = append(shown.Buttons, Button{b.Label, b.Data, i})
		}
		if m.File != nil {
			shown.Files = []File{{m.File.Name, m.File.MIME, m.File.Data}}
		}
		all = append(all, shown)
	}
	return all
}

func (d *dingtalk) Fail(trouble Trouble, times int) {
	fault := map[Trouble]fake.Fault{
		TooFast:  {Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", Errcode: 410100, Message: "发送速度太快而限流", RetryAfter: waitFor},
		Broken:   {Status: 502, Page: true},
		Dropped:  {Drop: true},
		Answered: {Drop: true, After: true},
	}[trouble]
	fault.Times = times
	d.Server.Fail(fault)
}

func (d *dingtalk) Connected() bool { return d.Connections() > 0 }
