package chat

import "time"

// EventKind names what an Event tells.
type EventKind string

// The kinds of events.
const (
	TurnStarted   EventKind = "turn.started"
	TurnEnded     EventKind = "turn.ended"
	TurnDelta     EventKind = "turn.delta"    // Text: the reply so far, whole
	TurnProgress  EventKind = "turn.progress" // Text: one line about what goes on
	TurnWaits     EventKind = "turn.waits"    // for a person's answer to a question
	TurnGoesOn    EventKind = "turn.goes_on"  // after TurnWaits
	ToolRequested EventKind = "tool.requested"
	ToolCompleted EventKind = "tool.completed"
	ToolFailed    EventKind = "tool.failed"
	MessageSent   EventKind = "message.sent" // Text: outbound id
)

// Event is something to watch while it happens. Events may be lost; nothing
// that must happen may depend on one.
type Event struct {
	V     int       `json:"v"`
	Kind  EventKind `json:"kind"`
	At    time.Time `json:"at"`
	Addr  Address   `json:"addr"`
	Trace string    `json:"trace,omitempty"`
	// Turn is the id of the turn; the final Outbound of the turn carries the
	// same one.
	Turn string     `json:"turn,omitempty"`
	Text string     `json:"text,omitempty"`
	Tool *ToolEvent `json:"tool,omitempty"`
	// Took is how long the turn took (turn.ended).
	Took time.Duration `json:"took,omitempty"`
	// Sources are as those of Outbound, of the text of a turn.delta.
	Sources []Source `json:"sources,omitempty"`
	// Quiet: nobody waits for this turn, and it may end without a word, so its
	// chat shows no sign of it before its answer.
	Quiet bool `json:"quiet,omitempty"`
}

// ToolEvent describes a tool call in an Event.
type ToolEvent struct {
	CallID   string        `json:"call_id"`
	Name     string        `json:"name"`
	Duration time.Duration `json:"duration,omitempty"`
	Err      string        `json:"err,omitempty"`
}
