package chat

import (
	"encoding/json"
	"time"
)

// Delivery is an inbound message as its chat's mailbox hands it out.
type Delivery struct {
	Inbound
	// Seq is its place in the order of all inbound messages; later is larger.
	Seq uint64 `json:"seq"`
	// Stored is when the mailbox took it.
	Stored time.Time `json:"stored,omitzero"`
	// Again is true when an earlier holder of the mailbox may have begun to
	// work on this message: it was stored before this holder's time.
	Again bool `json:"again,omitempty"`
}

// Input names an inbound message that a turn has answered. The fields after ID
// stand in records only, for those who follow a message.
type Input struct {
	Seq    uint64    `json:"seq"`
	ID     string    `json:"id"`
	Trace  string    `json:"trace,omitempty"`
	At     time.Time `json:"at,omitzero"`     // Meta.At of the message
	Stored time.Time `json:"stored,omitzero"` // Delivery.Stored
}

// Record is what a turn leaves behind, written in one durable step: which
// messages it answered, what the history gains and what is to be sent.
// Everything else (cursor, outbound queue, seen ids) follows from it.
type Record struct {
	V      int       `json:"v"`
	Turn   string    `json:"turn"`
	Trace  string    `json:"trace,omitempty"`
	Addr   Address   `json:"addr,omitzero"`
	Began  time.Time `json:"began,omitzero"` // of the turn
	At     time.Time `json:"at"`
	Inputs []Input   `json:"inputs,omitempty"`
	// Items are history entries in the encoding of agent/session.
	Items []json.RawMessage `json:"items,omitempty"`
	Out   []Outbound        `json:"out,omitempty"`
	// Say goes into the mailboxes of other chats: the report of a task.
	Say []Inbound `json:"say,omitempty"`
	// Dead, when set, says why the inputs were given up: they go to the dead
	// letters instead of being forgotten.
	Dead string `json:"dead,omitempty"`
}

// Stored is a Record with its place in the chat's history.
type Stored struct {
	Record
	Seq uint64 `json:"-"`
}
