// Package discord is a strict fake of Discord: an http.Handler with the REST
// API (v9 and v10), the gateway on "/" and the file server of one bot. It
// refuses what Discord refuses, with Discord's codes, keeps sessions that can
// be resumed with every event since the sequence that is named, and goes wrong
// on demand. Tests act as people (Say, Press, Use, …) and read what the chats
// show (Messages, Wait). It is checked against an independent client.
//
// It is stricter than Discord in two things: an unknown field of a message is
// an error, and lengths count in UTF-16 units, the larger of the measures that
// Discord may be using.
//
// Each gateway connection has a goroutine that writes; Close waits for all. A
// Server may be used from many goroutines.
package discord

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"magpie/internal/fakes/served"
	"magpie/internal/fakes/trouble"
)

// DefaultToken is the bot token of a server that was given none.
const DefaultToken = "MTIzNDU2Nzg5MDEyMzQ1Njc4.FakeTk.fake-token-for-tests-0123456789"

// BotID is the user id of the bot, and the id of its application.
const BotID = "290926444748734465"

// Options adjust a Server; the zero value is good for tests.
type Options struct {
	Token     string        // "" = DefaultToken
	Username  string        // of the bot; "" = "magpie-test"
	Heartbeat time.Duration // interval that the greeting asks for; 0 = 41.25 s
	PushDelay time.Duration // how late events are pushed
	NoContent bool          // the Message Content Intent is off; see Grant
	Members   bool          // the Server Members Intent is on
	Rates     bool          // refuse what is faster than Discord allows
	// ReplyWithin is how soon an interaction has to be answered; 0 = 3 s.
	ReplyWithin time.Duration
	Forget      bool             // keep no calls and only the last messages: memory stays flat under load
	Now         func() time.Time // nil = time.Now
	// OnMessage is told of each message of the bot that is sent or edited, in
	// order, while the Server is locked: it must be quick and must not call
	// the Server.
	OnMessage func(Message)
}

// Server is one fake Discord with one bot.
type Server struct {
	opts Options
	mux  *http.ServeMux
	life served.Life
	wg   sync.WaitGroup

	mu      sync.Mutex
	news    served.News // of what is shown
	world   world
	gateway gateway
	faults  trouble.List[Fault]
	record  record
	rates   map[string]*window
	lastID  uint64
}

// record is what was asked of the server.
type record struct {
	calls    served.Calls[Call]
	commands []byte // as they were registered
	limited  int    // calls that came too fast
}

// Call is one call of the REST API.
type Call struct {
	Route string // such as "create message"
	Body  string // JSON
}

// New makes a server with nobody on it. Close it.
func New(o *Options) *Server {
	s := &Server{
		life:  served.NewLife(),
		world: newWorld(), gateway: newGateway(), rates: map[string]*window{},
	}
	if o != nil {
		s.opts = *o
	}
	s.opts.Token = cmp.Or(s.opts.Token, DefaultToken)
	s.opts.Username = cmp.Or(s.opts.Username, "magpie-test")
	s.opts.Heartbeat = cmp.Or(s.opts.Heartbeat, 41250*time.Millisecond)
	s.opts.ReplyWithin = cmp.Or(s.opts.ReplyWithin, 3*time.Second)
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	s.mux = s.routes()
	return s
}

// Close ends every connection and every waiting call.
func (s *Server) Close() {
	s.mu.Lock()
	s.life.End()
	s.gateway.each(func(c *conn) { c.end(0) })
	s.mu.Unlock()
	s.wg.Wait()
}

// Token is what the bot has to present.
func (s *Server) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Token
}

// Revoke makes the token invalid, as Reset Token in the Developer Portal does.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Token = "revoked"
	s.gateway.each(func(c *conn) { c.end(4004) })
}

// Handler serves the API under /api/v9, the gateway and the files.
func (s *Server) Handler() http.Handler {
	return served.Whole(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && r.Header.Get("Upgrade") != "" {
			s.serveGateway(w, r)
			return
		}
		s.mux.ServeHTTP(w, r)
	}))
}

// newID is a snowflake of now. The server is locked.
func (s *Server) newID() string {
	const epoch = 1420070400000
	id := uint64(s.opts.Now().UnixMilli()-epoch) << 22
	s.lastID = max(s.lastID+1, id)
	return strconv.FormatUint(s.lastID, 10)
}

// Calls is how often a route was called.
func (s *Server) Calls(route string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.calls.Made(route)
}

// Requests are the calls of a route, oldest first; empty with Options.Forget.
func (s *Server) Requests(route string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.calls.Kept(route)
}

// Wait waits until a chat shows what ok accepts, and returns what it shows
// then; the error says what it showed at the end of ctx.
func (s *Server) Wait(ctx context.Context, channel string, ok func([]Message) bool) ([]Message, error) {
	return served.Wait(ctx, &s.news, channel, s.Messages, ok)
}
