package command

import (
	"context"
	"time"

	"magpie/chat"
)

// Chat is the held chat that a command acts on. Package agent implements it;
// its methods may be called while a turn runs.
type Chat interface {
	// Stop ends the running turn and its tools at once; false when none ran.
	Stop(ctx context.Context) (stopped bool, err error)
	// Reset begins a new conversation: the model sees nothing older.
	Reset(ctx context.Context) error
	Status(ctx context.Context) Status
	// Said is the last text of the bot in the conversation, "" when there is none.
	Said(ctx context.Context) string
	// Say puts a message into the chat's mailbox as if its sender had written
	// it. A message with an ID that was said before is said once.
	Say(ctx context.Context, in chat.Inbound) error
}

// Status is a moment's view of a chat.
type Status struct {
	Running  bool
	Since    time.Time // start of the running turn
	Tool     string    // the tool that runs just now, "" none
	Asks     []string  // the tools whose calls wait for a person's approval
	Queued   int       // messages that wait
	Messages int       // in the conversation that the model sees
	Tokens   int       // of that conversation, estimated
	Model    string    // that answered last, or will be asked
	// Why is what the conversation holds of text from outside, with what the
	// running turn has read; nil when that could not be looked up.
	Why *Why
}
