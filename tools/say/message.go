// Package say holds the tools with which the agent sends messages of its own,
// message and send_media. It hands them to an Outbox, which stores them; delivery is not
// its business. It starts no goroutine.
package say

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"magpie/chat"
	"magpie/tools"
)

//go:embed message.md
var messageText string

// Outbox takes messages for delivery. A message with an ID that it has taken
// before is the same message.
type Outbox interface {
	Publish(ctx context.Context, out chat.Outbound) error
}

// Options of the tools. Nil fields take the feature away: the tool says
// so when it is asked for.
type Options struct {
	// Elsewhere says whether the scope may write to another chat: nil error
	// yes, else the reason, for the model. nil: no other chat.
	Elsewhere func(ctx context.Context, sc tools.Scope, to chat.Address) error
	// Buttons makes buttons of labels, one row for each slice.
	Buttons func(ctx context.Context, sc tools.Scope, labels []string) ([][]chat.Button, error)
	// Files opens what may be sent; nil: no files.
	Files Files
	// Media stores what is sent; nil: no files.
	Media Media
	// MaxBytes bounds one file; 20 MiB.
	MaxBytes int64
	// Largest is how many bytes a file of that kind may have on a channel, 0:
	// it takes none; known is false when that cannot be said. nil: never known.
	Largest func(channel string, kind chat.Kind) (most int64, known bool)
}

type messageIn struct {
	Content string   `json:"content,omitempty" jsonschema:"The text, in Markdown."`
	Channel string   `json:"channel,omitempty" jsonschema:"Another channel to send to; the current one when it is not given."`
	ChatID  string   `json:"chat_id,omitempty" jsonschema:"Another chat to send to; the current one when it is not given."`
	Media   []string `json:"media,omitempty" jsonschema:"Paths of files to send along." rule:"maxitems=10,minlen=1"`
	Buttons []string `json:"buttons,omitempty" jsonschema:"Labels of buttons under the message; a press comes back as a message." rule:"maxitems=12,minlen=1,maxlen=40"`
}

// Message makes message.
func Message(out Outbox, o *Options) tools.Tool {
	m := newMessenger(out, o)
	spec := tools.Spec{
		Name: "message", Description: strings.TrimSpace(messageText), Category: tools.System, Effect: tools.Acts, Main: "content",
		Aliases: map[string]string{"to": "chat_id", "text": "content", "message": "content", "file_paths": "media", "files": "media"},
	}
	return tools.New(spec, m.send, tools.WithStays(stays), tools.WithSubjects(m.subjects))
}

// subjects are what a rule that allows must match: the text and every file.
func (m messenger) subjects(args json.RawMessage) []string {
	var in messageIn
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	all := m.opt.canonical(in.Media)
	if in.Content != "" {
		all = append(all, in.Content)
	}
	return all
}

// canonical writes paths in their one spelling.
func (o *Options) canonical(names []string) (all []string) {
	files, ok := o.Files.(interface{ Name(string) string })
	for _, name := range names {
		if ok {
			name = files.Name(name)
		}
		all = append(all, name)
	}
	return all
}

// stays says whether a call writes to the current chat only.
func stays(sc tools.Scope, args json.RawMessage) bool {
	var in messageIn
	if json.Unmarshal(args, &in) != nil {
		return false
	}
	_, here := in.address(sc)
	return here
}

type messenger struct {
	out Outbox
	opt Options
}

func newMessenger(out Outbox, o *Options) messenger {
	m := messenger{out: out}
	if o != nil {
		m.opt = *o
	}
	if m.opt.MaxBytes <= 0 {
		m.opt.MaxBytes = defaultMaxBytes
	}
	return m
}

// draft is a message of this call to that chat. The same call has the same id,
// so that a repeated turn sends nothing twice. In the chat of the turn it is a
// part of the turn's answer; elsewhere nobody has asked for it.
func draft(sc tools.Scope, to chat.Address, text string) chat.Outbound {
	out := chat.Outbound{
		Meta: chat.Meta{V: chat.Version, ID: "out:" + string(sc.Addr.Session()) + ":" + sc.CallID, Trace: sc.Trace, At: time.Now(), Addr: to},
		Text: sc.Guarded(text), Sources: sc.Sources,
	}
	if to == sc.Addr {
		out.Turn, out.Unasked = sc.Turn, sc.FromJob
	}
	return out
}

func (m messenger) send(ctx context.Context, sc tools.Scope, in messageIn) (tools.Result, error) {
	if strings.TrimSpace(in.Content) == "" && len(in.Media) == 0 {
		return tools.Result{}, tools.Errorf(tools.InvalidArgs, "the message is empty; want content, media or both")
	}
	to, here := in.address(sc)
	if !here {
		if err := m.allowed(ctx, sc, to); err != nil {
			return tools.Result{}, err
		}
	}
	msg := draft(sc, to, in.Content)
	var err error
	if msg.Buttons, err = m.buttons(ctx, sc, in.Buttons); err != nil {
		return tools.Result{}, err
	}
	var from []chat.Source
	if msg.Attachments, from, err = m.opt.attach(ctx, to.Channel, in.Media); err != nil {
		return tools.Result{}, err
	}
	if err := m.out.Publish(ctx, msg); err != nil {
		return tools.Result{}, fmt.Errorf("send message: %w", err)
	}
	text := "sent to this chat; this is your answer, do not repeat it"
	if !here {
		text = "sent to " + to.String()
	}
	return tools.Result{Text: text, Answered: here, Sources: from}, nil
}

// address is where the message goes, and whether that is the current chat.
func (in messageIn) address(sc tools.Scope) (to chat.Address, here bool) {
	sameChannel := in.Channel == "" || in.Channel == sc.Addr.Channel
	if sameChannel && (in.ChatID == "" || in.ChatID == sc.Addr.Chat) {
		return sc.Addr, true
	}
	to = chat.Address{Channel: sc.Addr.Channel, Chat: in.ChatID}
	if in.Channel != "" {
		to.Channel = in.Channel
	}
	return to, false
}

func (m messenger) allowed(ctx context.Context, sc tools.Scope, to chat.Address) error {
	if to.Chat == "" {
		return tools.Errorf(tools.InvalidArgs, "channel %q without chat_id; give both, or neither for the current chat", to.Channel)
	}
	if m.opt.Elsewhere == nil {
		return tools.Errorf(tools.Permission, "messages to other chats are not allowed here; leave out channel and chat_id to write to the current chat")
	}
	if err := m.opt.Elsewhere(ctx, sc, to); err != nil {
		return tools.Errorf(tools.Permission, "a message to %s is not allowed: %w; leave out channel and chat_id to write to the current chat", to, err)
	}
	return nil
}

func (m messenger) buttons(ctx context.Context, sc tools.Scope, labels []string) ([][]chat.Button, error) {
	if len(labels) == 0 {
		return nil, nil
	}
	if m.opt.Buttons == nil {
		return nil, tools.Errorf(tools.Failed, "buttons are not possible here; write the choices as text")
	}
	shown := make([]string, len(labels)) // a press says the label in the person's name
	for i, l := range labels {
		shown[i] = sc.Guarded(l)
	}
	rows, err := m.opt.Buttons(ctx, sc, shown)
	if err != nil {
		return nil, fmt.Errorf("make buttons: %w", err)
	}
	return rows, nil
}
