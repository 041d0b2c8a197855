package simulate

import (
	"html"
	"strings"
	"sync/atomic"

	fake "magpie/internal/fakes/qq"
)

const (
	qqPerson = "0000000000000000000000000000ADA1"
	qqMember = "0000000000000000000000000000ADA2" // the person in the group
	qqGroup  = "000000000000000000000000000GROUP"
)

// qq is the fake QQ with one person and one group, for an account that may send
// Markdown and so has buttons.
type qq struct {
	*fake.Server
	sockets *atomic.Int64
}

func newQQ() house {
	s := fake.New(&fake.Options{Markdown: true, Rates: true})
	s.AddPerson(qqPerson, "Ada")
	s.AddGroup(qqGroup)
	handler, sockets := counted(s.Handler(), "/websocket")
	return house{
		platform: &qq{s, sockets}, handler: handler, close: s.Close, sender: qqPerson,
		section: func(base string) map[string]any {
			return map[string]any{"app_id": s.AppID(), "app_secret": s.Secret(), "api_base": base, "token_base": base, "markdown": true}
		},
	}
}

func (q *qq) chat(at Place) string {
	if at == Group {
		return "group:" + qqGroup
	}
	return "c2c:" + qqPerson
}

func (q *qq) Say(at Place, text string, files []File) (string, error) {
	said := fake.Said{Chat: q.chat(at), From: qqMember, Text: text}
	for _, f := range files {
		kind := "file"
		switch {
		case f.is("image"):
			kind = "image"
		case f.is("video"):
			kind = "video"
		}
		said.Files = append(said.Files, fake.File{Kind: kind, Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	return q.Server.Say(said), nil
}

func (q *qq) Press(at Place, message, data string) (string, error) {
	return q.Server.Press(q.chat(at), qqMember, message, data)
}

// unescaped is native Markdown as a person sees it, but for its marks.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("\\*_~`<[]&!#", text[i+1]) >= 0 {
			i++
		}
		b.WriteByte(text[i])
	}
	return html.UnescapeString(b.String())
}

func (q *qq) Shown(at Place) []Message {
	var all []Message
	for _, m := range q.Messages(q.chat(at)) {
		shown := Message{ID: m.ID, Text: m.Text}
		if m.Markdown {
			shown.Text = unescaped(m.Text)
		}
		for i, row := range m.Keyboard {
			for _, b := range row {
				shown.Buttons = append(shown.Buttons, Button{b.Label, b.Data, i})
			}
		}
		if m.File != nil {
			shown.Files = []File{{m.File.Name, m.File.MIME, m.File.Data}}
		}
		all = append(all, shown)
	}
	return all
}

func (q *qq) Fail(trouble Trouble, times int) {
	fault := map[Trouble]fake.Fault{
		TooFast:  {Status: 429, Code: 20028, Text: "ChannelHitWriteRateLimit", RetryAfter: waitFor},
		Broken:   {Status: 502, Page: true},
		Dropped:  {Drop: true},
		Answered: {Drop: true, After: true},
	}[trouble]
	fault.Times = times
	q.Server.Fail(fault)
}

func (q *qq) Connected() bool { return q.sockets.Load() > 0 && q.Sessions() > 0 }
