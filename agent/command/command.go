// Package command answers slash commands and button presses without a model,
// also while a turn runs. Is decides what is a command; Set answers it. Each
// command is one entry of the table and one file. The package starts no
// goroutine.
//
// Who may do what: everyone who may talk to the bot may use all commands, with
// four exceptions. /pair is for admins. /model changes the model only in a
// private chat or for admins, because in a group it spends other people's
// money. /usage shows the bot's whole account only to admins. /memory removes
// the notes of a group only for admins; a person's own are seen in their
// private chat only.
package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"magpie/agent/buttons"
	"magpie/agent/model"
	"magpie/agent/settings"
	"magpie/chat"
)

// Ports are the parts that commands act on. Settings is required; a command
// whose port is nil says that it is not available.
type Ports struct {
	Settings Settings
	Buttons  Buttons
	// Models lists the models of the configuration.
	Models func() []model.Info
	// Tools lists what the model may call in the chat of that message.
	Tools func(d chat.Delivery) []Tool
	Usage Usage
	// MCP lists the servers of tools.
	MCP func() []MCPServer
	// Approvals are the questions about tool calls.
	Approvals Approvals
	// Tasks are the background tasks of chats; nil = there are none.
	Tasks Tasks
	// Approve lets in the person with that pairing code and returns their name;
	// ErrNoCode when there is no such code.
	Approve   func(ctx context.Context, code string) (who string, err error)
	Reminders Reminders
	Kept
	// Admin says whether that person may administer the bot; nil = nobody.
	Admin func(channel, sender string) bool
}

// Kept is what is kept of chats beside their conversations.
type Kept struct {
	Memory Memory // the long-term notes
	Room   Room   // the talk of groups that does not address the bot
}

// Settings reads and changes a chat's choices.
type Settings interface {
	Load(ctx context.Context, session chat.SessionKey) (settings.Settings, error)
	Change(ctx context.Context, session chat.SessionKey, fn func(*settings.Settings)) error
	Zone(set settings.Settings) *time.Location
}

// Buttons handles presses.
type Buttons interface {
	Press(ctx context.Context, in chat.Inbound, lang string, say func(context.Context, chat.Inbound) error) (buttons.Outcome, error)
}

// Usage reports what was used today.
type Usage interface {
	Report(ctx context.Context, session chat.SessionKey, payer string) (model.Report, error)
}

// ErrNoCode says that a pairing code is unknown or has expired.
var ErrNoCode = errors.New("no such pairing code")

// Payer is the name under which a sender's tokens are counted.
func Payer(channel, sender string) string { return channel + ":" + sender }

// Options are the optional parts of a Set.
type Options struct {
	Now func() time.Time // nil = time.Now
	Log *slog.Logger     // nil = silent
}

// Set answers commands. Safe for concurrent use.
type Set struct {
	ports Ports
	now   func() time.Time
	log   *slog.Logger
}

// New returns a Set over ports.
func New(ports Ports, opts *Options) *Set {
	if opts == nil {
		opts = &Options{}
	}
	s := &Set{ports: ports, now: opts.Now, log: opts.Log}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// request is one command on its way through.
type request struct {
	d    chat.Delivery
	chat Chat
	args string
	set  settings.Settings
	lang string
	rows [][]chat.Button // under the answer
	file []chat.Attachment
	// sources are of the text from outside that the answer may hold.
	sources []chat.Source
}

// follow finds the chat's language.
func (r *request) follow(ctx context.Context) {
	r.lang = settings.LangAfter(r.set, r.d.From, r.d.Text, func() string { return r.chat.Said(ctx) })
}

// pick chooses by the chat's language.
func (r *request) pick(en, zh string) string {
	if r.lang == settings.Chinese {
		return zh
	}
	return en
}

// Handle answers a control message: a press, a command, or a near miss, which
// gets a suggestion. false = there is nothing to send. The Outbound's ID
// follows from d, so that handling d again sends nothing twice.
func (s *Set) Handle(ctx context.Context, d chat.Delivery, c Chat) (chat.Outbound, bool, error) {
	r := &request{d: d, chat: c}
	var err error
	if r.set, err = s.ports.Settings.Load(ctx, d.Addr.Session()); err != nil {
		// /stop must work whatever became of the settings.
		s.log.Warn("settings are not known", "session", d.Addr.Session(), "err", err)
	}
	r.follow(ctx)
	if d.Press != nil {
		return s.press(ctx, r)
	}
	word, args, ok := split(d.Text)
	if !ok {
		return chat.Outbound{}, false, nil
	}
	r.args = args
	text, err := s.answer(ctx, word, r)
	if err != nil {
		return chat.Outbound{}, false, fmt.Errorf("command /%s: %w", word, err)
	}
	out := s.outbound(d)
	out.Text, out.Buttons, out.Attachments, out.Sources = text, r.rows, r.file, r.sources
	return out, text != "", nil
}

// answer runs the command of that name, or suggests one.
func (s *Set) answer(ctx context.Context, word string, r *request) (string, error) {
	if e := find(word); e != nil {
		if e.wired != nil && !e.wired(&s.ports) {
			return r.pick("This command is not available here.", "这里不能使用这个命令。"), nil
		}
		return e.run(ctx, s, r)
	}
	if e := nearMiss(word); e != nil {
		return fmt.Sprintf(r.pick("I do not know /%s. Did you mean /%s?", "没有 /%s 这个命令。您是想用 /%s 吗？"), word, r.pick(e.names[0], e.names[1])), nil
	}
	return "", nil
}

// outbound is an empty answer to d.
func (s *Set) outbound(d chat.Delivery) chat.Outbound {
	out := chat.Outbound{Meta: chat.Meta{
		V: chat.Version, ID: fmt.Sprintf("out:%s:%d:0", d.Addr.Session(), d.Seq), Trace: d.Trace, At: s.now(), Addr: d.Addr,
	}, Final: true}
	if !d.Direct {
		out.ReplyTo = d.MessageID
	}
	return out
}

func (s *Set) admin(r *request) bool {
	return s.ports.Admin != nil && s.ports.Admin(r.d.Addr.Channel, r.d.From.ID)
}
