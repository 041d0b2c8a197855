package driver

// Trouble is a way in which a call goes wrong, in the words of HTTP; a platform
// with another protocol takes what means the same.
type Trouble string

// The troubles.
const (
	BadRequest   Trouble = "400"        // the message will never be taken
	Unauthorized Trouble = "401"        // the credentials are refused, new ones too
	Forbidden    Trouble = "403"        // the chat is closed to the bot
	RateLimited  Trouble = "429"        // too fast; says to come back after Wait
	ServerError  Trouble = "502"        // a page of a proxy; nothing was sent
	HangBefore   Trouble = "hang"       // no answer, nothing was sent
	HangAfter    Trouble = "hang after" // it was sent, but no answer comes
	Dropped      Trouble = "drop"       // the connection ends instead of an answer
	Answered     Trouble = "lost"       // it was sent, and the connection ends before the answer
	BadMarkup    Trouble = "markup"     // the formatted text is refused, plain text would be taken
)

// Wait is how many seconds a bot is asked to wait by RateLimited.
const Wait = 3
