// Package chat is Magpie's vocabulary: where a message belongs (Address), what
// comes in (Inbound), what goes out (Outbound), what a turn leaves behind
// (Record) and what can be watched while it runs (Event). It knows no platform,
// no bus and no model, starts no goroutine and imports only the standard
// library; it is the one package that everybody may import.
package chat

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// Address says where a message belongs. Two messages with equal addresses are
// in the same conversation and are handled strictly one after the other.
type Address struct {
	// Channel is the configured instance name, for example "telegram".
	Channel string `json:"channel"`
	// Chat is the platform's chat in the form in which sending later needs it,
	// for example "-100123" or "group:abc".
	Chat string `json:"chat"`
	// Thread is the topic or thread inside Chat; "" is the chat itself.
	Thread string `json:"thread,omitempty"`
}

// SystemChannel is the channel of mailboxes that no platform has: those of
// background tasks. No configured instance may have this name.
const SystemChannel = "system"

// SessionKey is the short name of an Address that is safe in subjects, keys
// and file names: 20 characters of a–z and 2–7.
type SessionKey string

// Session derives the key of the conversation at a. It is stable over
// restarts and processes.
func (a Address) Session() SessionKey {
	sum := sha256.Sum256([]byte(a.Channel + "|" + a.Chat + "|" + a.Thread))
	return SessionKey(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:20]))
}

// String writes the address for people and logs: "channel/chat" or
// "channel/chat#thread".
func (a Address) String() string {
	if a.Thread == "" {
		return a.Channel + "/" + a.Chat
	}
	return a.Channel + "/" + a.Chat + "#" + a.Thread
}

// Secret is a string that must not be seen: it prints as *** under every
// verb and marshals as "***". The value itself is string(s).
type Secret string

const hidden = "***"

// String returns "***", or "" for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the value under %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the value in JSON, YAML and logs.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
