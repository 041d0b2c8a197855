package app_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/qq"
)

type onDingTalk struct {
	*dingtalk.Server
	cards bool
}

func (p *onDingTalk) name() string { return "dingtalk" }

func (p *onDingTalk) section(base string) string {
	id, secret := p.Credentials()
	s := fmt.Sprintf("client_id: %s, client_secret: %s, api_base: %s, oapi_base: %s", id, secret, base, base)
	if p.cards {
		s += fmt.Sprintf(", card_template_id: %s, card_buttons_key: %s", dingtalk.DefaultTemplate, dingtalk.ButtonsKey)
	}
	return s
}

func (p *onDingTalk) join(n int) string {
	who := dingtalk.Person{StaffID: dingtalkID(n), Name: fmt.Sprint("P", n)}
	p.AddPerson(who)
	return who.Chat()
}

// say returns the id of the frame, by which delivered knows it.
func (p *onDingTalk) say(chat, text string, files ...sentFile) string {
	said := dingtalk.Said{Chat: chat, Text: text}
	for _, f := range files {
		kind := map[string]string{"image": "picture", "voice": "audio"}[f.kind]
		if kind == "" {
			kind = f.kind
		}
		said.Files = append(said.Files, dingtalk.File{Kind: kind, Name: f.name, MIME: f.mime, Data: f.data, Transcript: f.words})
	}
	_, frame := p.Say(said)
	return frame
}

// delivered says whether the bot has acknowledged a frame. DingTalk pushes a
// message once; one that nobody acknowledged is gone.
func (p *onDingTalk) delivered(frame string) bool {
	ack, ok := p.Ack(frame)
	return ok && ack.Code == 200
}

var backslashed = regexp.MustCompile(`\\([!-/:-@\[-\x60{-~])`)

// unescaped is a text in an escaping dialect as people read it.
func unescaped(text string) string {
	return html.UnescapeString(strings.ReplaceAll(backslashed.ReplaceAllString(text, "$1"), "  \n", "\n"))
}

func (p *onDingTalk) shown(chat string) (all []line) {
	for _, m := range p.Messages(chat) {
		l := line{id: m.ID, text: m.Text}
		if m.Kind == "markdown" || m.Kind == "card" {
			l.text = unescaped(m.Text)
		}
		for _, b := range m.Buttons {
			l.buttons = append(l.buttons, b.Data)
		}
		if m.File != nil {
			l.files = []shownFile{{m.File.Name, m.File.Data}}
		}
		all = append(all, l)
	}
	return all
}

type onQQ struct {
	*qq.Server
	markdown bool
}

func (p *onQQ) name() string { return "qq" }

func (p *onQQ) section(base string) string {
	return fmt.Sprintf(`app_id: "%s", app_secret: %s, api_base: %s, token_base: %s, markdown: %v`, p.AppID(), p.Secret(), base, base, p.markdown)
}

func (p *onQQ) join(n int) string {
	p.AddPerson(qqID(n), fmt.Sprint("P", n))
	return "c2c:" + qqID(n)
}

func (p *onQQ) say(chat, text string, files ...sentFile) string {
	said := qq.Said{Chat: chat, Text: text}
	for _, f := range files {
		said.Files = append(said.Files, qq.File{Kind: f.kind, Name: f.name, MIME: f.mime, Data: f.data, Words: f.words})
	}
	return p.Say(said)
}

func (p *onQQ) shown(chat string) (all []line) {
	for _, m := range p.Messages(chat) {
		l := line{id: m.ID, text: m.Text}
		if m.Markdown {
			l.text = unescaped(m.Text)
		}
		for _, row := range m.Keyboard {
			for _, b := range row {
				l.buttons = append(l.buttons, b.Data)
			}
		}
		if m.File != nil {
			l.files = []shownFile{{m.File.Name, m.File.Data}}
		}
		all = append(all, l)
	}
	return all
}
