package simulate

import (
	"strconv"
	"sync/atomic"

	fake "magpie/internal/fakes/telegram"
)

const (
	telegramPerson int64 = 1001
	telegramGroup  int64 = -1002001
	telegramBot          = "magpie_bot"
)

// telegram is the fake Telegram with one person and one group.
type telegram struct {
	*fake.Server
	polls *atomic.Int64
}

func newTelegram() house {
	s := fake.New(&fake.Options{Username: telegramBot, Rates: true})
	s.AddPerson(fake.Person{ID: telegramPerson, Name: "Ada", Username: "ada"})
	s.AddGroup(fake.Group{ID: telegramGroup, Title: "Group"})
	handler, polls := counted(s.Handler(), "/getUpdates")
	return house{
		platform: &telegram{s, polls}, handler: handler, close: s.Close, sender: strconv.FormatInt(telegramPerson, 10),
		section: func(base string) map[string]any { return map[string]any{"token": s.Token(), "api_base": base} },
	}
}

func (t *telegram) chat(at Place) int64 {
	if at == Group {
		return telegramGroup
	}
	return telegramPerson
}

func (t *telegram) Say(at Place, text string, files []File) (string, error) {
	said := fake.Said{From: telegramPerson, Chat: t.chat(at), Text: text}
	if at == Group {
		said.Text = "@" + telegramBot + " " + text
	}
	for _, f := range files {
		kind := "document"
		switch {
		case f.MIME == "image/gif", f.MIME == "image/svg+xml":
		case f.is("image"):
			kind = "photo"
		case f.is("audio"), f.is("video"):
			kind = f.MIME[:len("audio")]
		}
		said.Files = append(said.Files, fake.File{Kind: kind, Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	return strconv.Itoa(t.Server.Say(said)), nil
}

func (t *telegram) Press(at Place, message, data string) (string, error) {
	id, err := strconv.Atoi(message)
	if err != nil {
		return "", err
	}
	return t.Server.Press(telegramPerson, t.chat(at), id, data)
}

func (t *telegram) Shown(at Place) []Message {
	var all []Message
	for _, m := range t.Messages(t.chat(at)) {
		shown := Message{ID: strconv.Itoa(m.ID), Text: m.Text}
		for i, row := range m.Keyboard {
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

func (t *telegram) Fail(trouble Trouble, times int) {
	fault := map[Trouble]fake.Fault{
		TooFast:  {Code: 429, Text: "Too Many Requests: retry after 2", RetryAfter: waitFor},
		Broken:   {Code: 502, Page: true},
		Dropped:  {Drop: true},
		Answered: {Drop: true, After: true},
	}[trouble]
	fault.Times = times
	t.Server.Fail(fault)
}

func (t *telegram) Connected() bool { return t.polls.Load() > 0 }

// Typed counts the chat actions of a chat.
func (t *telegram) Typed(at Place) int {
	n, chat := 0, strconv.FormatInt(t.chat(at), 10)
	for _, call := range t.Requests("sendChatAction") {
		if call.Params["chat_id"] == chat {
			n++
		}
	}
	return n
}

// Note is the text of the answer to a press.
func (t *telegram) Note(press string) string {
	for _, call := range t.Requests("answerCallbackQuery") {
		if call.Params["callback_query_id"] == press {
			return call.Params["text"]
		}
	}
	return ""
}
