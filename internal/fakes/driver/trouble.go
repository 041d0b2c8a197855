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

// Way is what goes wrong between a bot and its platform, whatever the platform.
type Way struct {
	Status int  // of the page of a proxy
	Page   bool // an HTML page is the answer
	Drop   bool // the connection ends instead of an answer
	After  bool // the call has its effect first
}

// OnTheWay is the trouble where it comes from between the bot and the platform,
// the zero Way for a call that is never answered; ok is false for a refusal,
// which has the platform's own words.
func (t Trouble) OnTheWay() (w Way, ok bool) {
	switch t {
	case ServerError:
		return Way{Status: 502, Page: true}, true
	case HangBefore:
		return Way{}, true
	case HangAfter:
		return Way{After: true}, true
	case Dropped:
		return Way{Drop: true}, true
	case Answered:
		return Way{Drop: true, After: true}, true
	}
	return Way{}, false
}
