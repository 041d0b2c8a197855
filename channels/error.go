package channels

import (
	"errors"
	"fmt"
	"time"
)

// Kind classifies an error by what the caller does next.
type Kind int

// The kinds of channel errors.
const (
	Temporary    Kind = iota // try again later, nothing was sent
	RateLimited              // try again after RetryAfter, nothing was sent
	TooLong                  // the message is over a limit: split smaller or send otherwise
	Rejected                 // the platform will never take this message (or this chat is closed to the bot)
	Unauthorized             // credentials are wrong or revoked: stop, tell the operator
	Ambiguous                // no answer: it may have been sent
)

var kindNames = [...]string{"temporary", "rate limited", "too long", "rejected", "unauthorized", "ambiguous"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return kindNames[k]
}

// Error is what every failed call of a channel returns. Its text never holds
// a secret.
type Error struct {
	Channel    string // instance name
	Op         string // the platform's method, or what was tried
	Kind       Kind
	RetryAfter time.Duration // with RateLimited; 0 unknown
	Global     bool          // with RateLimited: the whole bot has to wait, not this chat alone
	Err        error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s: %s: %v", e.Channel, e.Op, e.Kind, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Final tells errors that no waiting can heal: the credentials or what they
// allow must be changed.
func Final(err error) bool {
	kind := KindOf(err)
	return kind == Unauthorized || kind == Rejected
}

// KindOf returns the kind of err, and Temporary for errors of other types.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Temporary
}

// Limit returns what a RateLimited error says: for how long to wait (0 unknown),
// and whether the limit is the whole bot's.
func Limit(err error) (after time.Duration, global bool) {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter, e.Global
	}
	return 0, false
}
