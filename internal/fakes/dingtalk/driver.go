package dingtalk

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"sync"

	"magpie/internal/fakes/driver"
)

// Driver is how people act on this DingTalk: see package driver.
type Driver struct {
	*Server
	Cards bool // the bot is configured with a card template

	frames sync.Map // id of the frame, by the message that it carried
}

// Drive returns the driver of a server.
func Drive(s *Server) *Driver { return &Driver{Server: s} }

// kinds are DingTalk's names for the kinds of files of people.
var kinds = driver.Kinds{driver.Image: "picture", driver.Document: "file", driver.Voice: "audio", driver.Video: "video"}

// Name is the bot's word for the platform.
func (d *Driver) Name() string { return "dingtalk" }

// Section is the bot's configuration.
func (d *Driver) Section(base string) map[string]any {
	id, secret := d.Credentials()
	section := map[string]any{"client_id": id, "client_secret": secret, "api_base": base, "oapi_base": base}
	if d.Cards {
		section["card_template_id"], section["card_buttons_key"] = DefaultTemplate, ButtonsKey
	}
	return section
}

// Person is who of the organisation has that number.
func (d *Driver) Person(n int) driver.Person {
	p := Person{StaffID: fmt.Sprintf("staff%05d", n)}
	return driver.Person{ID: p.StaffID, Chat: p.Chat()}
}

// Join makes a person.
func (d *Driver) Join(n int, name string) driver.Person {
	p := d.Person(n)
	d.AddPerson(Person{StaffID: p.ID, Name: name})
	return p
}

// Group makes a group.
func (d *Driver) Group(n int, title string) string {
	g := Group{ID: fmt.Sprintf("cid6KeBBLoveMJOGXoYKF5x7Eei%05d==", n), Title: title}
	d.AddGroup(g)
	return g.Chat()
}

// Say writes.
func (d *Driver) Say(s driver.Said) string {
	said := Said{From: s.From, Chat: s.Chat, Text: s.Text, Mention: s.Mention}
	if s.ReplyTo != "" {
		said.Quote = &Quote{ID: s.ReplyTo, Bare: s.Bare}
	}
	for _, f := range s.Files {
		said.Files = append(said.Files, File{Kind: kinds.Name(f), Name: f.Name, MIME: f.MIME, Data: f.Data, Transcript: f.Words})
	}
	id, frame := d.Server.Say(said)
	if !d.opts.Forget {
		d.frames.Store(id, frame)
	}
	return id
}

// Delivered says whether the bot has acknowledged a message. DingTalk pushes it
// once; one that nobody acknowledged is gone.
func (d *Driver) Delivered(message string) bool {
	frame, ok := d.frames.Load(message)
	if !ok {
		return false
	}
	ack, ok := d.Ack(frame.(string))
	return ok && ack.Code == 200
}

// Press presses a button of a card.
func (d *Driver) Press(by, _, message, data string) (string, error) {
	return d.Server.Press(by, message, data)
}

var escaped = regexp.MustCompile(`\\([!-/:-@\[-\x60{-~])`)

// Read is a text as DingTalk's clients show it, but for its marks.
func Read(m Message) string {
	if m.Kind != "markdown" && m.Kind != "card" {
		return m.Text
	}
	return html.UnescapeString(strings.ReplaceAll(escaped.ReplaceAllString(m.Text, "$1"), "  \n", "\n"))
}

// sent are the names of the kinds of files in messages of the robot.
var sent = driver.Kinds{driver.Image: "image", driver.Document: "file", driver.Voice: "audio", driver.Video: "video"}

// Shown is what a chat shows.
func (d *Driver) Shown(chat string) (all []driver.Message) {
	for _, m := range d.Messages(chat) {
		shown := driver.Message{ID: m.ID, Text: Read(m)}
		for i, b := range m.Buttons {
			shown.Buttons = append(shown.Buttons, driver.Button{Label: b.Label, Data: b.Data, Row: i})
		}
		if m.File != nil {
			shown.Files = []driver.File{{Kind: sent.Named(m.Kind), Name: m.File.Name, MIME: m.File.MIME, Data: m.File.Data}}
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
		fault = Fault{Code: "contain.notAllowed.text", Errcode: 430102, Message: "含有不合适的文本"}
	case driver.Unauthorized: // a client asks for a new token and tries once more
		fault = Fault{Times: 2 * times, Code: "InvalidAuthentication", Errcode: 40014, Message: "不合法的access_token"}
	case driver.Forbidden:
		fault = Fault{Status: 403, Code: "Forbidden.AccessDenied.AccessTokenPermissionDenied", Message: "没有调用该接口的权限", Scopes: []string{"qyapi_robot_sendmsg"}}
	case driver.RateLimited:
		fault = Fault{Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", Errcode: 90002, Message: "发送速度太快而限流", RetryAfter: driver.Wait}
	case driver.BadMarkup:
		fault = Fault{Formatted: true, Code: "invalidParameter.msgParam.invalid", Errcode: 400105, Message: "不支持的消息类型"}
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
func (d *Driver) Sends() int { return d.Calls(OpWebhook) + d.Calls(OpPerson) + d.Calls(OpGroup) }

// Connected says whether there is a stream connection.
func (d *Driver) Connected() bool { return d.Connections() > 0 }
