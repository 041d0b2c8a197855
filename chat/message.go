package chat

import "time"

// Version is the schema version written into every Meta.
const Version = 1

// Meta is what every message carries.
type Meta struct {
	V int `json:"v"`
	// ID is unique over all messages and is the de-duplication id. A channel
	// derives it from the platform's own id ("telegram:main:<chat>:<message>"),
	// so that a redelivered event has the same ID.
	ID string `json:"id"`
	// Trace follows one message from the platform event to the receipt.
	Trace string    `json:"trace,omitempty"`
	At    time.Time `json:"at"`
	Addr  Address   `json:"addr"`
}

// Origin says who put an inbound message into a chat.
type Origin string

// The origins.
const (
	FromPerson Origin = "person" // a human being through a channel
	FromSystem Origin = "system" // a subagent's report
	FromCron   Origin = "cron"   // a fired job
	FromTask   Origin = "task"   // the task of a subagent, in a mailbox of its own
	// FromBot is what the bot has shown in the chat without a turn, such as a
	// reminder: it joins the conversation and gets no answer.
	FromBot Origin = "bot"
)

// Sender is the person (or job, or subagent) behind an inbound message.
type Sender struct {
	ID       string `json:"id"` // platform user id, stable
	Name     string `json:"name,omitempty"`
	Username string `json:"username,omitempty"`
	Lang     string `json:"lang,omitempty"` // BCP 47 tag as the platform gives it
	Zone     string `json:"zone,omitempty"` // IANA name of the time zone, where the platform gives it
	Bot      bool   `json:"bot,omitempty"`
	Job      bool   `json:"job,omitempty"` // not the person speaks but what a job of theirs has begun
}

// Quote is the message that another message replies to.
type Quote struct {
	ID   string `json:"id"` // platform message id
	From string `json:"from,omitempty"`
	Text string `json:"text,omitempty"`
	Mine bool   `json:"mine,omitempty"` // the quoted message was the bot's
	// Passage is what the person has marked of it, where the platform lets them.
	Passage string `json:"passage,omitempty"`
	// Attachments are the files of the quoted message, fetched as those of the
	// message itself are.
	Attachments []Attachment `json:"attachments,omitempty"`
	// Sources are, of a message of the bot, those of the turn that wrote it.
	Sources []Source `json:"sources,omitempty"`
}

// Press is a button that somebody pressed. It arrives as an Inbound with an
// empty Text.
type Press struct {
	ID      string `json:"id"`                // the platform's id of the press, for Answer.Press
	Data    string `json:"data"`              // Button.Data as it was sent
	Message string `json:"message,omitempty"` // platform id of the message with the button
}

// Happening is what an Inbound tells when it is no message: such a one has no
// text, costs no turn and is never a command.
type Happening string

// The happenings. A platform that does not tell one never sends it.
const (
	Joined   Happening = "joined"   // Inbound.From came into the group
	Left     Happening = "left"     // Inbound.From left the group, or was removed
	Recalled Happening = "recalled" // the message Inbound.MessageID was taken back
	Added    Happening = "added"    // Inbound.From added the bot to the group, or began a private chat with it
)

// Overheard is what was said in a group without addressing the bot.
type Overheard struct {
	MessageID string    `json:"message_id,omitempty"`
	At        time.Time `json:"at"`
	From      Sender    `json:"from"`
	Text      string    `json:"text,omitempty"`
	// Files names what was sent along; the bytes are not fetched.
	Files []Attachment `json:"files,omitempty"`
	// Happening is set where nothing was said: somebody joined or left.
	Happening Happening `json:"happening,omitempty"`
	// Outside: the sender is not let in, so the words may want to mislead.
	Outside bool `json:"outside,omitempty"`
}

// Inbound is one message that enters a chat, whoever sent it.
type Inbound struct {
	Meta
	Origin      Origin       `json:"origin"`
	From        Sender       `json:"from"`
	MessageID   string       `json:"message_id,omitempty"` // platform message id, for replies
	Text        string       `json:"text"`                 // valid UTF-8, mention of the bot removed
	Attachments []Attachment `json:"attachments,omitempty"`
	ReplyTo     *Quote       `json:"reply_to,omitempty"`
	Press       *Press       `json:"press,omitempty"`
	Direct      bool         `json:"direct,omitempty"`    // a private chat
	Mentioned   bool         `json:"mentioned,omitempty"` // the bot was addressed: mention, reply to it, or command
	Named       []Sender     `json:"named,omitempty"`     // the others that the text mentions, each as "@" and the name; not the bot
	Edited      bool         `json:"edited,omitempty"`    // a changed version of an earlier message
	Forwarded   bool         `json:"forwarded,omitempty"` // the sender passes on what others have written
	Happening   Happening    `json:"happening,omitempty"` // set: no message but news of the chat
	// Room is what was said in the group before, since the bot was last
	// addressed, oldest first. Channels leave it empty.
	Room []Overheard `json:"room,omitempty"`
	// Sources are of text from outside that stands in Text although the program
	// has put it there: what a job or a task says, of the report of a task nil
	// when it is not known. Channels leave it empty.
	Sources []Source `json:"sources,omitzero"`
}

// Button is one choice under an outbound message.
type Button struct {
	Label string `json:"label"`
	Data  string `json:"data"` // comes back in Press.Data; at most 64 bytes
}

// Answer reacts to a press: Notice is shown to the one who pressed, and the
// message that held the buttons loses them. Or it tells, without a press, how a
// question of the bot's ended: then it is Under that only.
type Answer struct {
	Press   string `json:"press"`             // Press.ID
	Notice  string `json:"notice,omitempty"`  // short plain text, "" for none
	Message string `json:"message,omitempty"` // Press.Message; "" leaves the message alone
	// Under is the ID of an earlier Outbound of the chat: where the channel can
	// change messages, Outbound.Text is written under what that one says, and its
	// buttons go. Else the text is a message of its own.
	Under string `json:"under,omitempty"`
}

// Outbound is one message that leaves a chat. Text is CommonMark of any
// length; dispatch splits it and the channel renders it.
type Outbound struct {
	Meta
	Text        string       `json:"text,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	Buttons     [][]Button   `json:"buttons,omitempty"` // rows, under the last part
	ReplyTo     string       `json:"reply_to,omitempty"`
	// Mention is the person of a group for whom the message is: the channel puts
	// them before the text in such a way that the platform tells them. Without
	// an ID, or where that cannot be, the name stands there.
	Mention Sender `json:"mention,omitzero"`
	// Answer, when set, answers a press; Text may be empty then.
	Answer *Answer `json:"answer,omitempty"`
	// Final marks the answer of a turn, or of a command: nothing more follows
	// by itself. It replaces the streamed draft with the same Turn.
	Final bool   `json:"final,omitempty"`
	Turn  string `json:"turn,omitempty"`
	// Unasked says that a job or the report of a task has begun the turn, no
	// person: a platform that counts what it sends unasked may count this.
	Unasked bool `json:"unasked,omitempty"`
	// Slot, when set, says that this is the outcome of a job's slot. One that is
	// Quiet comes without a text, and no channel is given it.
	Slot *Slot `json:"slot,omitempty"`
	// Draft marks a reply that is still being written: it is sent once and
	// edited as it grows, and the last edit is the one that is no Draft.
	Draft bool `json:"draft,omitempty"`
	// Sources are of the text from outside that was before who wrote it.
	Sources []Source `json:"sources,omitempty"`
}

// Slot is one time of a job that a turn has answered.
type Slot struct {
	ID    string `json:"id"`              // of the inbound message that the job was
	Err   string `json:"err,omitempty"`   // why it failed, whatever the chat is told
	Quiet bool   `json:"quiet,omitempty"` // the turn ended without an answer
}

// Kind is the kind of an attachment.
type Kind string

// The kinds of attachments.
const (
	Image   Kind = "image"
	Audio   Kind = "audio"
	Voice   Kind = "voice" // recorded speech
	Video   Kind = "video"
	File    Kind = "file"
	Sticker Kind = "sticker"
)

// Attachment is a file that travels with a message. The bytes stand in the
// media store under Ref once they were stored.
type Attachment struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name,omitempty"`
	MIME   string `json:"mime,omitempty"`
	Size   int64  `json:"size,omitempty"` // bytes, 0 unknown
	Ref    string `json:"ref,omitempty"`
	Source string `json:"source,omitempty"` // what the channel needs to fetch it; opaque to others
	Text   string `json:"text,omitempty"`   // transcript of a voice, emoji of a sticker
	// Failed says to people what is wrong: why the bytes are missing, or, beside
	// a Ref, what else could not be done with the file.
	Failed string `json:"failed,omitempty"`
	// Pending names the file in the list of those that are still on their way
	// (media.Arrivals); "" = there is nothing to wait for.
	Pending  string        `json:"pending,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
}

// MessageRef names a message on its platform.
type MessageRef struct {
	Channel string `json:"channel"`
	Chat    string `json:"chat"`
	ID      string `json:"id"`
	// Index is how quotes name the message, where that is not its ID.
	Index string `json:"index,omitempty"`
}

// Part is what one message of the bot on its platform holds.
type Part struct {
	Text  string       `json:"text,omitempty"` // CommonMark, as it was given to the channel
	Files []Attachment `json:"files,omitempty"`
	// Sources are Outbound.Sources; nil: an older version has not kept them.
	Sources []Source `json:"sources,omitzero"`
}

// Receipt says what became of an outbound message: the platform's message
// ids in the order of the parts. It is what makes a repeat recognisable.
type Receipt struct {
	ID    string       `json:"id"` // Outbound.ID
	Trace string       `json:"trace,omitempty"`
	Addr  Address      `json:"addr,omitzero"`  // to which it went
	Began time.Time    `json:"began,omitzero"` // of the delivery that did it
	At    time.Time    `json:"at"`
	Refs  []MessageRef `json:"refs,omitempty"`
	// Parts are what the messages of Refs hold, in their order, so that a quote
	// of one is known by what it really said.
	Parts []Part `json:"parts,omitempty"`
	Err   string `json:"err,omitempty"` // set when it was given up (dead letter)
}
