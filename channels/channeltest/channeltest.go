// Package channeltest is the conformance suite that every channel runs against
// its fake platform: Run checks the rules of channels.Channel and of the
// capabilities the channel has, and names the rule that is broken. It is not a
// fake itself and knows no platform; a Harness connects the two.
//
// A channel's test is
//
//	func TestConformance(t *testing.T) { channeltest.Run(t, setup) }
//
// where setup makes a fresh fake platform and says how a person acts on it.
// Rules that need something the Harness leaves nil, or a capability the channel
// does not implement, are not run. Every goroutine the suite starts has ended
// when Run returns.
package channeltest

import (
	"testing"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/fakes/driver"
)

// Harness connects the suite with one channel on one fresh fake platform. New,
// Direct, Say and Shown are required; a nil function or zero value elsewhere
// means that the platform has no such thing and its rules are not run.
type Harness struct {
	// New makes the channel as the program would, with short pauses between
	// attempts so that the suite is quick. Called several times on the same
	// platform: that is a restart. The suite fills Deps (Table, Log, Status).
	New func(t *testing.T, d channels.Deps) channels.Channel
	// Direct are three private chats in which the bot may write. Address.Channel
	// is the Name of the channel.
	Direct []chat.Address
	// Group is a group in which the bot may write.
	Group chat.Address
	// Secrets must never be seen in an error or a log line.
	Secrets []string
	// Say lets a person write; it returns the platform's message id without
	// waiting for the channel. A platform whose people send again what was not
	// accepted (a page that repeats its POST) does so in the background.
	Say func(t *testing.T, s Said) (messageID string)
	// Shown is what the bot has put into a chat, oldest first, with edits and
	// deletions applied. It is complete when the sending call has returned.
	Shown func(t *testing.T, a chat.Address) []Message
	// Fail makes the next call that sends text go wrong, and reports whether
	// the platform can go wrong like this.
	Fail func(t *testing.T, f Fault) bool
	// Sends is how many calls that send text have come to the platform; it is
	// needed for the faults that hang.
	Sends func() int
	// Press lets a person press the button that has this data.
	Press func(t *testing.T, a chat.Address, messageID, data string)
	// Cut breaks the connection on which the channel receives, once.
	Cut func(t *testing.T)
	// Revoke makes the credentials invalid from now on.
	Revoke func(t *testing.T)
	// Ways are what this platform does otherwise than most.
	Ways Ways
}

// Ways are peculiarities of a platform.
type Ways struct {
	Bare   bool // files of people come without text; Said has none beside Files
	Lossy  bool // a message that was not acknowledged is never repeated
	Drafts bool // only what was sent as a Draft can be edited
	// Drafted is the draft of a Drafter that a chat shows now, "" if none.
	Drafted func(t *testing.T, a chat.Address) string
	// Settled, if not nil, waits until the people whose message was taken know
	// it, so that nobody sends again what Say sent.
	Settled func()
}

// Said is something that a person writes.
type Said struct {
	At      chat.Address
	Text    string
	Mention bool // the bot is mentioned before Text
	Files   []File
}

// File is a file with its bytes.
type File struct {
	Kind       chat.Kind
	Name, MIME string
	Data       []byte
}

// Message is something that a chat shows.
type Message struct {
	ID      string
	Text    string // as a person reads it, without markup; of a file its caption
	Buttons [][]chat.Button
	Files   []File
}

// Fault is a way in which a call can go wrong.
type Fault = driver.Trouble

// The faults that the rules know.
const (
	BadRequest   = driver.BadRequest
	Unauthorized = driver.Unauthorized
	Forbidden    = driver.Forbidden
	RateLimited  = driver.RateLimited // says to come back after driver.Wait
	ServerError  = driver.ServerError
	HangBefore   = driver.HangBefore
	HangAfter    = driver.HangAfter
	BadMarkup    = driver.BadMarkup
)

// Run checks every rule that applies. setup is called once for each, so that
// rules do not disturb each other.
func Run(t *testing.T, setup func(t *testing.T) Harness) {
	rules := []struct {
		name string
		rule func(*rig)
	}{
		{"names and limits are constant", (*rig).constant},
		{"run returns nil when the context ends and leaves no goroutine", (*rig).cancel},
		{"messages of a chat arrive in order and complete", (*rig).order},
		{"an inbound message carries its address, id, sender and time", (*rig).fields},
		{"what the sink refused comes again in order with the same id", (*rig).refused},
		{"what the sink refused comes again after a restart", (*rig).restart},
		{"the connection is made again and the status tells the truth", (*rig).reconnect},
		{"revoked credentials end run with Unauthorized", (*rig).revoked},
		{"a mention marks the message and is taken out of the text", (*rig).mention},
		{"sixteen sends at once all arrive once", (*rig).concurrent},
		{"a text of exactly the limit is taken and one more is TooLong", (*rig).limit},
		{"unusual text arrives", (*rig).unusual},
		{"markup that is refused arrives as plain text", (*rig).markup},
		{"errors are classified", (*rig).kinds},
		{"a send without an answer is Ambiguous and is not sent twice", (*rig).ambiguous},
		{"an edit replaces the text and the same again is success", (*rig).edit},
		{"a draft is shown, is no message and goes with the answer", (*rig).draft},
		{"a deleted message is gone and deleting again is success", (*rig).remove},
		{"typing and reactions are taken", (*rig).signals},
		{"a press arrives with its data and answering it takes the buttons away", (*rig).press},
		{"files arrive whole", (*rig).filesIn},
		{"files are sent whole with their caption", (*rig).filesOut},
		{"a file that cannot be read is an error and nothing hangs", (*rig).badFile},
		{"check proves the credentials", (*rig).check},
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			rig := newRig(t, setup(t))
			r.rule(rig)
			rig.noSecrets()
		})
	}
}
