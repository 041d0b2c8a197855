package feishu

import (
	"encoding/json"
	"strings"

	"magpie/chat"
)

// membership is the body of the events about who is in a group, and of the one
// about the private chat that somebody opens.
type membership struct {
	Chat     string   `json:"chat_id"`
	Operator identity `json:"operator_id"`
	Users    []struct {
		Name string   `json:"name"`
		ID   identity `json:"user_id"`
	} `json:"users"`
}

// recalled is the body of eventRecalled; it does not say who took the message
// back.
type recalled struct {
	Message string `json:"message_id"`
	Chat    string `json:"chat_id"`
}

// chosen is the body of eventMenu; it does not say in what chat.
type chosen struct {
	Operator struct {
		Name string   `json:"operator_name"`
		ID   identity `json:"operator_id"`
	} `json:"operator"`
	Key string `json:"event_key"`
}

// happening reads an event that is no message.
func (f *Feishu) happening(e *envelope) event {
	var m membership
	if err := json.Unmarshal(e.Event, &m); err != nil || m.Chat == "" || e.Header.ID == "" {
		return event{skip: "event " + e.Header.Type + " without a chat or an id", bad: true}
	}
	kind := map[string]chat.Happening{
		eventAdded: chat.Added, eventEntered: chat.Added, eventJoined: chat.Joined, eventLeft: chat.Left, eventUninvited: chat.Left,
	}[e.Header.Type]
	var all []*chat.Inbound
	for _, u := range m.Users {
		if u.ID != "" {
			f.known.called.put(string(u.ID), u.Name)
			all = append(all, f.news(e, m.Chat, kind, chat.Sender{ID: string(u.ID), Name: u.Name}))
		}
	}
	if kind == chat.Added && m.Operator != "" {
		all = []*chat.Inbound{f.news(e, m.Chat, kind, chat.Sender{ID: string(m.Operator)})}
	}
	if len(all) == 0 {
		return event{skip: "membership changed: " + e.Header.Type} // it names nobody
	}
	if e.Header.Type == eventEntered { // it comes whenever the chat is opened
		all[0].Direct, all[0].ID = true, "feishu:"+f.name+":entered:"+m.Chat
	}
	return event{in: all[0], also: all[1:]}
}

func (f *Feishu) news(e *envelope, in string, kind chat.Happening, from chat.Sender) *chat.Inbound {
	return &chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: strings.TrimSuffix("feishu:"+f.name+":"+e.Header.ID+":"+from.ID, ":"), At: f.time(e.Header.At),
			Addr: chat.Address{Channel: f.name, Chat: in},
		},
		Origin: chat.FromPerson, From: from, Happening: kind,
	}
}

// recalled reads that a message was taken back; complete finds the thread.
func (f *Feishu) recalled(e *envelope) event {
	var r recalled
	if err := json.Unmarshal(e.Event, &r); err != nil || r.Message == "" || r.Chat == "" || e.Header.ID == "" {
		return event{skip: "recall without a message, a chat or an id", bad: true}
	}
	in := f.news(e, r.Chat, chat.Recalled, chat.Sender{})
	in.MessageID = r.Message
	return event{in: in}
}

// menu reads that somebody chose from the bot's menu: the key of the entry is a
// command, with or without the slash. Until the chat is found the address holds
// the person.
func (f *Feishu) menu(e *envelope) event {
	var c chosen
	if err := json.Unmarshal(e.Event, &c); err != nil || c.Operator.ID == "" || c.Key == "" || e.Header.ID == "" {
		return event{skip: "choice of a menu without a person, a key or an id", bad: true}
	}
	in := f.news(e, string(c.Operator.ID), "", chat.Sender{ID: string(c.Operator.ID), Name: c.Operator.Name})
	in.Text, in.Direct, in.Mentioned = "/"+strings.TrimPrefix(strings.TrimSpace(c.Key), "/"), true, true
	return event{in: in, person: true}
}
