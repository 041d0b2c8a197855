// Package driver is how people act on a fake platform, in words that are the
// same for all platforms. Each fake has one driver, the type Driver of its own
// package, which turns these words into what the platform does; the conformance
// suite of the channels, `bot simulate` and the tests of the whole program all
// speak to the fakes through it.
//
// A chat is called as the bot calls it, and a person by their private chat with
// the bot. What one platform has and another has not is an interface of its own
// (Lossy, Drafter, Reactor, Typer, Noter, Editor, Recaller, Entrance).
package driver

import "net/http"

// Platform is a fake platform with one bot.
type Platform interface {
	Account
	Members
	People
	Network
}

// Account is what whoever runs the bot knows of the platform.
type Account interface {
	// Name is the bot's word for the platform, such as telegram.
	Name() string
	// Section is the bot's configuration for a platform that is at base.
	Section(base string) map[string]any
	Handler() http.Handler
	// Close lets go of every call that is under way.
	Close()
}

// Members are who is on the platform.
type Members interface {
	// Person is person number n, also one who has not joined.
	Person(n int) Person
	// Join lets person number n write to the bot.
	Join(n int, name string) Person
	// Group makes group number n, with the bot in it and everybody who joined.
	Group(n int, title string) (chat string)
}

// People is what people do on a platform, and what they see.
type People interface {
	// Say writes and returns the message's id.
	Say(s Said) (id string)
	// Press has a person press the button with this data. It is an error when
	// the message shows no such button.
	Press(by, chat, message, data string) (press string, err error)
	// Shown is what the bot has put into a chat, oldest first, with edits and
	// deletions applied.
	Shown(chat string) []Message
}

// Network is what lies between the bot and the platform.
type Network interface {
	// Fail makes the next calls that send a message go wrong. It reports whether
	// the platform can go wrong like this.
	Fail(t Trouble, times int) bool
	// Sends is how many calls that send text have come.
	Sends() int
	// Connected says whether the bot waits for messages.
	Connected() bool
	// Cut breaks the connection on which the bot waits, once.
	Cut()
	// Revoke makes the bot's credentials invalid.
	Revoke()
}

// Lossy is a platform that brings a message once: what is said or pressed while
// the bot is away is gone.
type Lossy interface {
	// Delivered says whether the bot has taken a message.
	Delivered(message string) bool
}

// Drafter is a platform that shows an answer while it is being written.
type Drafter interface {
	// Draft is what a chat shows of it now, "" if nothing.
	Draft(chat string) string
}

// Reactor is a platform that shows the bot's reactions to a message of people.
type Reactor interface {
	Reactions(chat, message string) []string
}

// Typer is a platform that counts how often the bot said that it writes.
type Typer interface {
	Typed(chat string) int
}

// Noter is a platform that shows the answer to a press to the person alone.
type Noter interface {
	Note(press string) string
}

// Editor is a platform that tells the bot when people change a message.
type Editor interface {
	Edit(by, chat, message, text string)
}

// Recaller is a platform that tells the bot when people take a message back.
type Recaller interface {
	Recall(chat, message string)
}

// Entrance is a platform that tells the bot who comes into a group.
type Entrance interface {
	Enter(by, group string)
}

// Inviter is a platform that tells the bot who adds it to a group.
type Inviter interface {
	Invite(by, group string)
}

// Person is somebody on the platform.
type Person struct {
	ID   string // by which the bot lets people in
	Chat string // with the bot
}

// Said is what a person writes.
type Said struct {
	From    string // "" = whose private chat Chat is
	Chat    string
	Text    string
	Mention bool   // the bot is mentioned before Text
	ReplyTo string // id of a message
	Bare    bool   // the platform tells of that message as little as it may
	Files   []File
}

// By is who says it.
func (s Said) By() string {
	if s.From == "" {
		return s.Chat
	}
	return s.From
}

// Message is a message of the bot as its chat shows it.
type Message struct {
	ID      string
	Text    string // as a person reads it; of a file its caption
	Buttons []Button
	Files   []File
	Open    bool // is still being written: see Drafter
}

// Button is a button under a message.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"-"`
	// Row counts from 0; buttons of one row stand side by side.
	Row int `json:"row"`
}

// Rows are the buttons of a platform's own rows.
func Rows[B any](rows [][]B, button func(B) (label, data string)) (all []Button) {
	for i, row := range rows {
		for _, b := range row {
			label, data := button(b)
			all = append(all, Button{label, data, i})
		}
	}
	return all
}
