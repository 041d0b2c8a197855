package prompt

import (
	"time"

	"magpie/chat"
	"magpie/tools"
)

// Input is what the prompt of one turn depends on.
type Input struct {
	Addr    chat.Address
	Sender  chat.Sender // whose message started the turn
	Direct  bool        // a private chat
	Zone    *time.Location
	Lang    string // of the chat: "en" or "zh"
	Specs   []tools.Spec
	Summary string // of the conversation's older part, "" none
}
