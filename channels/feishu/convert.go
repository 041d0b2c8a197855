package feishu

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"magpie/chat"
)

// event is one event made ready for the intake.
type event struct {
	in   *chat.Inbound // nil: nothing for the sink
	also []*chat.Inbound
	skip string // why
	bad  bool   // it could not be read

	person bool   // the address holds a person whose private chat is meant
	parent string // message that is quoted
	thread string // as the platform names it
	root   string // message with which the thread, or the replies, began
	topics bool   // in this chat every message begins a thread
}

// read turns an event into what the sink gets. It only decodes: what has to be
// looked up is added by complete.
func (f *Feishu) read(raw []byte) event {
	e, err := open(raw)
	if err != nil {
		return event{skip: err.Error(), bad: true}
	}
	switch e.Header.Type {
	case eventMessage:
		var r received
		var form *json.UnmarshalTypeError
		if err := json.Unmarshal(e.Event, &r); err != nil && !errors.As(err, &form) {
			return event{skip: "message that cannot be read: " + err.Error(), bad: true}
		} // a field of another form than documented costs that field
		return f.message(&r)
	case eventPress:
		var p pressed
		if err := json.Unmarshal(e.Event, &p); err != nil {
			return event{skip: "press that cannot be read: " + err.Error(), bad: true}
		}
		return f.press(e.Header.ID, &p)
	case eventAdded, eventEntered, eventJoined, eventLeft, eventUninvited:
		return f.happening(e)
	case eventRecalled:
		return f.recalled(e)
	case eventMenu:
		return f.menu(e)
	case eventRemoved:
		return event{skip: "membership changed: " + e.Header.Type}
	}
	return event{skip: "event " + e.Header.Type}
}

func (f *Feishu) message(r *received) event {
	m, me := &r.Message, f.me.Load()
	switch {
	case m.ID == "" || m.Chat == "" || r.Sender.ID == "":
		return event{skip: "message without id, chat or sender", bad: true}
	case string(r.Sender.ID) == me.OpenID:
		return event{skip: "own message"}
	}
	said, ok := m.read()
	if !ok {
		return event{skip: "message of type " + m.Kind}
	}
	f.calls(m.Mentions)
	text, mentioned := resolve(said.text, m.Mentions, me)
	in := &chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: "feishu:" + f.name + ":" + m.ID, At: f.time(m.At),
			Addr: chat.Address{Channel: f.name, Chat: m.Chat, Thread: m.thread()},
		},
		Origin: chat.FromPerson, From: chat.Sender{ID: string(r.Sender.ID), Bot: r.Sender.Type != "" && r.Sender.Type != "user"},
		MessageID: m.ID, Text: text, Attachments: said.files,
		Direct: m.ChatType == "p2p", Mentioned: mentioned, Forwarded: m.Kind == "merge_forward",
	}
	for _, who := range m.Mentions {
		if id := string(who.ID); id != "" && id != me.OpenID {
			in.Named = append(in.Named, chat.Sender{ID: id, Name: who.Name})
		}
	}
	if m.Parent != "" && m.Parent != in.Addr.Thread {
		in.ReplyTo = &chat.Quote{ID: m.Parent}
	}
	if at := f.rewritten(m); at != 0 {
		in.Edited, in.ID = true, fmt.Sprintf("%s:%d", in.ID, at)
	}
	return event{in: in, parent: m.Parent, thread: m.Thread, root: m.Root, topics: m.ChatType == "topic_group"}
}

// rewritten is the time of a change to a message that came before, or 0. There
// is no event for changes; a changed message may come once more
// (agentscope-ai/QwenPaw pull 4708, May 2026).
func (f *Feishu) rewritten(m *message) int64 {
	changed := time.Time(m.Changed)
	if changed.IsZero() {
		return 0
	}
	before, seen := f.known.changed.get(m.ID)
	if !seen {
		f.known.changed.put(m.ID, changed.UnixMilli())
		return 0
	}
	if changed.UnixMilli() <= before {
		return 0
	}
	return changed.UnixMilli()
}

// thread is the message that the thread began with: an answer is sent by
// replying to it, which the platform's thread_id is no good for.
func (m *message) thread() string {
	switch {
	case m.Thread == "":
		return ""
	case m.Root != "":
		return m.Root
	}
	return m.ID
}

func (f *Feishu) time(m millis) time.Time {
	if t := time.Time(m); !t.IsZero() {
		return t.UTC()
	}
	return f.deps.Now().UTC()
}

// press reads a callback of a card. It does not say in what thread and kind of
// chat the card stands; complete finds that.
func (f *Feishu) press(id string, p *pressed) event {
	data, ok := p.data()
	if p.Context.Message == "" {
		p.Context = p.stands
	}
	if !ok || id == "" || p.Context.Message == "" || p.Context.Chat == "" || p.Operator.Open == "" {
		return event{skip: "press of something that is no button of ours"}
	}
	return event{in: &chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: fmt.Sprintf("feishu:%s:%s:press:%s", f.name, p.Context.Message, id), At: f.deps.Now().UTC(),
			Addr: chat.Address{Channel: f.name, Chat: p.Context.Chat},
		},
		Origin: chat.FromPerson, From: chat.Sender{ID: p.Operator.Open}, Mentioned: true,
		Press: &chat.Press{ID: id, Data: data, Message: p.Context.Message},
	}}
}

// resolve replaces the places of mentions by names and takes the bot's out. Of
// a message that is nothing but a mention of the bot no text is left.
func resolve(text string, mentions []mention, me *bot) (clean string, mentioned bool) {
	names := map[string]string{"@_all": "@all"}
	for _, m := range mentions {
		names[m.Key] = "@" + m.Name
		if me.OpenID != "" && string(m.ID) == me.OpenID {
			names[m.Key] = ""
			mentioned = true
		}
	}
	var b strings.Builder
	rest := text
	for {
		at := places.FindStringIndex(rest)
		if at == nil {
			return strings.TrimSpace(b.String() + rest), mentioned
		}
		key := rest[at[0]:at[1]]
		b.WriteString(rest[:at[0]])
		rest = rest[at[1]:]
		switch name, ok := names[key]; {
		case !ok:
			b.WriteString(key)
		case name == "":
			rest = strings.TrimPrefix(rest, " ")
		default:
			b.WriteString(name)
		}
	}
}
