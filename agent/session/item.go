// Package session keeps the conversations of chats: how a history entry is
// written (Item), how a history that was cut or left by a crash is made legal
// again (Legalise), how large it is (Tokens), and how it is loaded, kept ready
// and compacted (Store, Session). The entries themselves stand in the chat's
// durable history, which the caller reads and appends to. The package starts
// no goroutine.
package session

import (
	"encoding/json"
	"fmt"
	"time"

	"magpie/agent/llm"
	"magpie/chat"
)

// version is the schema version of an Item.
const version = 1

// Item is one entry of a chat's history: a message of the conversation, or the
// mark after which the conversation begins anew.
type Item struct {
	V  int       `json:"v"`
	At time.Time `json:"at"`
	// Inputs names the inbound messages behind a user message.
	Inputs  []chat.Input `json:"inputs,omitempty"`
	Message llm.Message  `json:"message,omitzero"`
	// Sources are of the text from outside that the message holds, by a tool's
	// result or because it passes on what others wrote.
	Sources []chat.Source `json:"sources,omitempty"`
	// Outside is what older versions wrote in place of Sources.
	Outside bool `json:"outside,omitempty"`
	// Reset marks a new beginning (/new): what stands before it is kept but no
	// longer shown to the model.
	Reset bool `json:"reset,omitempty"`
}

// Encode writes an item for a chat.Record. Images are written by reference.
func Encode(it Item) (json.RawMessage, error) {
	it.V = version
	data, err := json.Marshal(it)
	if err != nil {
		return nil, fmt.Errorf("encode history item: %w", err)
	}
	return data, nil
}

// Decode reads what Encode wrote. An item of a later version is an error: it
// was written by a newer program.
func Decode(data json.RawMessage) (Item, error) {
	var it Item
	if err := json.Unmarshal(data, &it); err != nil {
		return Item{}, fmt.Errorf("decode history item: %w", err)
	}
	if it.V > version {
		return Item{}, fmt.Errorf("decode history item: version %d is newer than this program's %d", it.V, version)
	}
	if it.Outside && len(it.Sources) == 0 {
		it.Sources = []chat.Source{{Kind: chat.SourceUnknown, At: it.At}}
	}
	return it, nil
}
