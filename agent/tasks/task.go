// Package tasks keeps what is known of background tasks: what each is to do
// and for whom (Task), and on a board that all processes share how far it is
// (State). It runs none; package subagent does. It starts no goroutine.
package tasks

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"magpie/chat"
)

// Task is work for a background agent.
type Task struct {
	ID     string       `json:"id"`
	Label  string       `json:"label"` // a few words for people
	Text   string       `json:"-"`     // what is to be done
	Origin chat.Address `json:"origin"`
	From   chat.Sender  `json:"from"` // with whose rights, and at whose cost
	Direct bool         `json:"direct,omitempty"`
	Lang   string       `json:"lang,omitempty"` // of the chat of origin: "en" or "zh"
	Trace  string       `json:"trace,omitempty"`
	At     time.Time    `json:"at"`
	Wait   bool         `json:"wait,omitempty"` // a turn waits for the report; it goes nowhere else
	Job    bool         `json:"job,omitempty"`  // a job has begun it
	// Sources are of the text from outside that the turn had read which asked.
	Sources []chat.Source `json:"sources,omitempty"`
}

// idLength makes 50 bits: enough for the tasks of a day.
const idLength = 10

// ID derives a task's id from the id of the call that starts it, so that the
// call leads to the same task whenever it is repeated.
func ID(call string) string {
	sum := sha256.Sum256([]byte("task:" + call))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:idLength])
}

// Addr is the task's own mailbox.
func (t Task) Addr() chat.Address {
	return chat.Address{Channel: chat.SystemChannel, Chat: t.ID}
}

// Payer is who the task's tokens are counted for.
func (t Task) Payer() string { return t.Origin.Channel + ":" + t.From.ID }

// Message is the task as the one message of its mailbox. It holds everything,
// so that a task does not depend on the board: a line of JSON, then the text.
func (t Task) Message() (chat.Inbound, error) {
	head, err := json.Marshal(t)
	if err != nil {
		return chat.Inbound{}, fmt.Errorf("encode task %s: %w", t.ID, err)
	}
	return chat.Inbound{
		Meta:   chat.Meta{V: chat.Version, ID: "task:" + t.ID, Trace: t.Trace, At: t.At, Addr: t.Addr()},
		Origin: chat.FromTask, From: t.From, Direct: t.Direct, Text: string(head) + "\n" + t.Text,
	}, nil
}

// Parse reads what Message has written.
func Parse(in chat.Inbound) (Task, error) {
	var t Task
	head, text, _ := strings.Cut(in.Text, "\n")
	if err := json.Unmarshal([]byte(head), &t); err != nil {
		return Task{}, fmt.Errorf("read task %q: %w", in.ID, err)
	}
	if t.ID == "" || t.Origin.Channel == "" || in.Addr != t.Addr() {
		return Task{}, fmt.Errorf("read task %q: it does not say whose it is", in.ID)
	}
	t.Text = text
	var older struct{ Tainted bool } // what there was in place of Sources
	if json.Unmarshal([]byte(head), &older) == nil && older.Tainted {
		t.Sources = []chat.Source{{Kind: chat.SourceUnknown, At: t.At}}
	}
	return t, nil
}
