package simulate

import (
	fake "magpie/internal/fakes/feishu"
)

const (
	feishuPerson = "ou_0000000000000000000000000000ada1"
	feishuGroup  = "oc_000000000000000000000000000group"
)

// feishu is the fake Feishu with one person and one group.
type feishu struct {
	*fake.Server
	private string // the chat with the person
}

func newFeishu() house {
	s := fake.New(&fake.Options{Rates: true})
	p := &feishu{s, s.AddPerson(fake.Person{ID: feishuPerson, Name: "Ada"})}
	s.AddGroup(fake.Group{ID: feishuGroup, Title: "Group"})
	return house{
		platform: p, handler: s.Handler(), close: s.Close, sender: feishuPerson,
		section: func(base string) map[string]any {
			return map[string]any{"app_id": s.AppID(), "app_secret": s.Secret(), "api_base": base}
		},
	}
}

func (f *feishu) chat(at Place) string {
	if at == Group {
		return feishuGroup
	}
	return f.private
}

func (f *feishu) Say(at Place, text string, files []File) (string, error) {
	said := fake.Said{From: feishuPerson, Chat: f.chat(at), Text: text}
	if at == Group {
		said.Text, said.Mentions = "@_user_1 "+text, []string{fake.BotID}
	}
	for _, file := range files {
		kind := "file"
		switch {
		case file.is("image"):
			kind = "image"
		case file.MIME == "video/mp4":
			kind = "media"
		}
		said.Files = append(said.Files, fake.File{Kind: kind, Name: file.Name, MIME: file.MIME, Data: file.Data})
	}
	return f.Server.Say(said), nil
}

func (f *feishu) Press(_ Place, message, data string) (string, error) {
	return f.Server.Press(feishuPerson, message, data)
}

func (f *feishu) Shown(at Place) []Message {
	var all []Message
	for _, m := range f.Messages(f.chat(at)) {
		shown := Message{ID: m.ID, Text: m.Text}
		for i, row := range m.Buttons {
			for _, b := range row {
				shown.Buttons = append(shown.Buttons, Button{b.Text, b.Data, i})
			}
		}
		if m.File != nil {
			shown.Files = []File{{m.File.Name, m.File.MIME, m.File.Data}}
		}
		all = append(all, shown)
	}
	return all
}

func (f *feishu) Fail(trouble Trouble, times int) {
	fault := map[Trouble]fake.Fault{
		TooFast:  {Status: 429, Code: 99991400, Msg: "request trigger frequency limit", Reset: waitFor},
		Broken:   {Status: 502, Page: true},
		Dropped:  {Drop: true},
		Answered: {Drop: true, After: true},
	}[trouble]
	fault.Times = times
	f.Server.Fail(fault)
}

func (f *feishu) Connected() bool {
	now, _, _ := f.Lines()
	return now > 0
}

// Reactions are the emojis on a message, by Feishu's names.
func (f *feishu) Reactions(_ Place, message string) []string { return f.Server.Reactions(message) }
