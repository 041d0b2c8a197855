package channeltest

import (
	"testing"

	"magpie/chat"
	"magpie/internal/fakes/driver"
)

// Driven is the harness of a channel whose platform has a driver: all but New,
// Secrets and what only this channel knows. The chats are the bot's names of
// three private chats and a group.
func Driven(p driver.Platform, channel string, direct []string, group string) Harness {
	at := func(id string) chat.Address { return chat.Address{Channel: channel, Chat: id} }
	h := Harness{
		Direct: []chat.Address{at(direct[0]), at(direct[1]), at(direct[2])},
		Group:  at(group),
		Shown:  func(_ *testing.T, a chat.Address) []Message { return shown(p.Shown(a.Chat)) },
		Fail:   func(_ *testing.T, f Fault) bool { return p.Fail(f, 1) },
		Sends:  p.Sends,
		Press: func(t *testing.T, a chat.Address, message, data string) {
			t.Helper()
			if _, err := p.Press(a.Chat, a.Chat, message, data); err != nil {
				t.Fatal(err)
			}
		},
		Cut:    func(*testing.T) { p.Cut() },
		Revoke: func(*testing.T) { p.Revoke() },
	}
	h.Say = func(_ *testing.T, s Said) string {
		said := driver.Said{From: s.At.Chat, Chat: s.At.Chat, Text: s.Text, Mention: s.Mention}
		if s.At.Chat == group {
			said.From = direct[0]
		}
		for _, f := range s.Files {
			said.Files = append(said.Files, driver.File{Kind: driver.Kind(f.Kind), Name: f.Name, MIME: f.MIME, Data: f.Data})
		}
		return p.Say(said)
	}
	if d, ok := p.(driver.Drafter); ok {
		h.Ways.Drafted = func(_ *testing.T, a chat.Address) string { return d.Draft(a.Chat) }
	}
	_, h.Ways.Lossy = p.(driver.Lossy)
	return h
}

// shown is what stands in a chat, without what is still being written.
func shown(messages []driver.Message) (all []Message) {
	for _, m := range messages {
		if m.Open {
			continue
		}
		one := Message{ID: m.ID, Text: m.Text}
		for _, b := range m.Buttons {
			for len(one.Buttons) <= b.Row {
				one.Buttons = append(one.Buttons, nil)
			}
			one.Buttons[b.Row] = append(one.Buttons[b.Row], chat.Button{Label: b.Label, Data: b.Data})
		}
		for _, f := range m.Files {
			one.Files = append(one.Files, File{Kind: chat.Kind(f.Kind), Name: f.Name, MIME: f.MIME, Data: f.Data})
		}
		all = append(all, one)
	}
	return all
}
