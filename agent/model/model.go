// Package model asks language models: it retries, falls back from one model to
// the next, keeps away from a model that keeps failing, stops before a budget
// is passed and keeps the account of what was used. The models themselves are
// llm.Providers. Chain starts no goroutine; Ledger.Run is its owner's to start.
package model

import (
	"time"

	"magpie/agent/llm"
)

// Model is a provider with what the operator says of it.
type Model struct {
	Provider  llm.Provider
	Context   int // tokens of prompt and reply together; 0 unknown
	MaxOutput int // tokens of a reply; 0 unknown
	Vision    bool
	Price     Price
	// Timeout bounds one try; 0 = 120 s.
	Timeout time.Duration
	// Unmetered marks a model that uses no tokens of anybody's, such as the
	// offline assistant: nothing is counted and no budget stops it.
	Unmetered bool
}

// Price is in USD per million tokens.
type Price struct{ Input, Output float64 }

// defaultTimeout bounds one try: long enough for a slow model to write a long
// reply, short enough that a person still waits.
const defaultTimeout = 120 * time.Second

// Info describes a model for people (/model).
type Info struct {
	Name      string
	Context   int
	MaxOutput int
	Vision    bool
	Price     Price
	// Cooling is the end of the time during which the model is avoided because
	// it kept failing; zero when it is in use.
	Cooling time.Time
	// Trouble is the kind of the failure behind Cooling.
	Trouble llm.Kind
}
