package model

import (
	"magpie/agent/llm"
	"magpie/chat"
)

// Question is one request to whichever model can answer it.
type Question struct {
	Session chat.SessionKey
	// Trace of the message that is being answered, for the log.
	Trace string
	// Payer is who the tokens are counted for: "<channel>:<sender id>"; "" is
	// nobody in particular.
	Payer string
	// Prefer is the name of the model to ask first; "" or an unknown name is
	// the first of the configuration.
	Prefer  string
	Request llm.Request
	// OnText, if not nil, is called with the whole text so far while the reply
	// is written. It starts again from "" when another try or model begins.
	OnText func(soFar string)
}

// Limits says what the model that is asked first can take.
type Limits struct {
	Context   int // tokens of prompt and reply together; 0 unknown
	MaxOutput int // tokens of a reply; 0 unknown
	Vision    bool
}
