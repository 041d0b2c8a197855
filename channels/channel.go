// Package channels says what a chat platform has to offer to be part of
// Magpie: Channel, a handful of optional capabilities found by type assertion,
// Limits as plain data, and errors classified by what the caller does next.
//
// Adapters stand in channels/<platform>. They translate and transport; they do
// not retry, split, rate-limit, filter senders or know the bus. That is
// wrapped around them by channels/dispatch (out) and channels/access (in).
package channels

import (
	"context"
	"io"
	"net/http"
	"time"

	"magpie/chat"
)

// Sink takes an inbound message. nil means durably stored; on an error the
// channel must not acknowledge the message to its platform, so that it comes
// again. It may block, and may be called from many goroutines; calls for one
// chat must be made one after the other, in the order of the platform.
type Sink func(ctx context.Context, in chat.Inbound) error

// Channel is one configured instance of a platform. All methods are safe for
// concurrent use.
type Channel interface {
	// Name is the instance name of the configuration, Address.Channel.
	Name() string
	// Limits is pure data: no IO, same value every time.
	Limits() Limits
	// Run receives messages and hands them to sink. It blocks until ctx is
	// done and every goroutine it started has ended (then nil), or until it
	// cannot go on (then an *Error; Unauthorized means that trying again is
	// useless). Temporary trouble is handled inside, with back-off.
	Run(ctx context.Context, sink Sink) error
	// Send delivers one message that fits Limits. No retry and no splitting;
	// text is rendered to the platform's dialect here, and when the platform
	// refuses the dialect it is sent as plain text. Idempotent by
	// Outbound.ID where the platform can. Errors are *Error. Attachments are
	// not Send's business (see MediaSender).
	Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error)
}

// Limits describes what one message may hold.
type Limits struct {
	// Text is the most that one message's text may measure, in the unit of
	// Size. Caption likewise for the text beside a file; 0 = none allowed.
	Text, Caption int
	// Parts is how many messages one text may become, where each has its price:
	// what does not fit before the last of them goes as a file in its place.
	// 0 = any number.
	Parts int
	// Size measures CommonMark text as the platform will count it, after
	// rendering. nil counts runes.
	Size func(markdown string) int
	// Media is the largest file in bytes that can be sent, by kind; a missing
	// kind cannot be sent as such and goes as chat.File.
	Media map[chat.Kind]int64
	// Mute: no words are shown to whoever presses a button. A notice that has no
	// message beside it becomes one.
	Mute bool
	// Album is how many files one message may carry; 0 and 1: one.
	Album int
	// Rate is what the platform allows.
	Rate Rate
	// Edit is the shortest useful pause between two edits of one streamed
	// message; 0 = the channel does not show replies while they are written.
	Edit time.Duration
	// EditIn is Edit by chat, where kinds of chats differ; 0 = replies are not
	// streamed by edits there. nil = Edit everywhere.
	EditIn func(a chat.Address) time.Duration
	// DraftIn is the shortest useful pause between two drafts of a Drafter in a
	// chat; 0, and nil everywhere, = there are none, and edits are used.
	DraftIn func(a chat.Address) time.Duration
	// DraftLife is for how long a draft is shown that is not shown again.
	DraftLife time.Duration
	// Grows says that drafts can only get longer, so that nothing is shown in one
	// that the answer does not begin with.
	Grows bool
	// Seal says that the platform has to be told when a streamed message is
	// complete: its last Edit, which is no Draft, is made even when the text is
	// the same as before.
	Seal bool
	// Typing is how long one Typing call is shown.
	Typing time.Duration
	// Resend says whether a send that may have arrived (Ambiguous) is sent
	// again: true where the platform recognises the repeat, or where a double
	// is better than a loss.
	Resend bool
	// RepeatKnown is for how long the platform surely recognises a repeat of a
	// send, by Outbound.ID; within it, it is sent again like one that failed.
	// 0 = never: there is one repeat. So there is when the time is over.
	RepeatKnown time.Duration
}

// Rate is a platform's sending limit. Zero fields mean no limit.
type Rate struct {
	PerSecond float64       // all messages of this bot
	Burst     int           // how many may go at once
	PerChat   time.Duration // steady pause between messages to one chat
	ChatBurst int           // how many may go to one chat at once
	PerGroup  time.Duration // as PerChat, for groups
	IsGroup   func(a chat.Address) bool
}

// Typer can show that the bot is at work. One call lasts Limits.Typing.
type Typer interface {
	Typing(ctx context.Context, a chat.Address) error
}

// Editor can change a text message that was sent. "Not modified" is success.
type Editor interface {
	Edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error
}

// Drafter can show a reply while it is written as a draft, which is no message:
// it goes by itself, at the latest with the next message of the bot. The answer
// is then sent as any other message.
type Drafter interface {
	// Draft shows text, which fits Limits, in place of the draft before it. id
	// is the same for all drafts of a reply. Rejected means that this chat shows
	// no drafts: its replies are streamed by edits from then on.
	Draft(ctx context.Context, a chat.Address, id, text string) error
}

// Deleter can remove a message that was sent. "Already gone" is success.
type Deleter interface {
	Delete(ctx context.Context, ref chat.MessageRef) error
}

// Reactor can put an emoji on a message; "" takes it away.
type Reactor interface {
	React(ctx context.Context, ref chat.MessageRef, emoji string) error
}

// Upload is a file on its way out.
type Upload struct {
	chat.Attachment
	// Open gives the bytes; it can be called again for a second try.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// MediaSender can send files. msg.Text goes along as the caption of the first
// file (it fits Limits.Caption); len(files) ≤ Limits.Album.
type MediaSender interface {
	SendMedia(ctx context.Context, msg chat.Outbound, files []Upload) ([]chat.MessageRef, error)
}

// MediaFetcher can get the bytes of an inbound attachment by its Source, which
// must be enough for it: Fetch is called after the message was stored, maybe
// after a restart, or in a process where Run is not running.
type MediaFetcher interface {
	Fetch(ctx context.Context, a chat.Attachment) (io.ReadCloser, error)
}

// Buttoner can answer a press of a button. Channels without it get their
// buttons written out as text by dispatch.
type Buttoner interface {
	AnswerPress(ctx context.Context, a chat.Address, ans chat.Answer) error
}

// Hooker takes the platform's webhook calls at /hooks/<instance>. The handler
// authenticates every call by the platform's signature; it answers 503 while
// neither Run nor Receive is running.
type Hooker interface {
	Hook() http.Handler
	// Receive has Hook take calls and hand them to sink, until ctx ends: in any
	// process, beside its Run, and beside that of another. It keeps nothing right
	// on the platform, that is Run's. It returns nil at once when the channel
	// takes no calls, and an *Error when it cannot go on.
	Receive(ctx context.Context, sink Sink) error
}

// Checker proves credentials and permissions by a real call.
type Checker interface {
	Check(ctx context.Context) error
}

// Surveyor tells what the bot has to do without: each line names a permission,
// scope or setting that the platform did not give, the feature that is lost,
// and how to get it. An error means that it could not be looked at; what makes
// the channel useless is Check's.
type Surveyor interface {
	Survey(ctx context.Context) ([]string, error)
}
