// Package telegram is a strict fake of the Telegram Bot API: an http.Handler
// with the methods a chat bot uses, that refuses what Telegram refuses and in
// Telegram's words, with true getUpdates offsets, webhooks, files, rate rules
// and faults on demand. Tests act as people (Say, Press, …) and read what the
// chats show (Messages, Wait). It is checked against an independent client.
//
// It is stricter than Telegram in one thing: an unknown parameter is an error,
// since Telegram's silence about a misspelt one helps nobody.
//
// The only goroutine is the webhook's delivery; Close waits for it. A Server
// may be used from many goroutines, and a call costs the same however much
// went through before.
package telegram

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"magpie/internal/fakes/served"
	"magpie/internal/fakes/trouble"
)

// DefaultToken is the bot token of a server that was given none.
const DefaultToken = "123456:fake-token-AbCdEf"

// revoked is the token that takes the place of a revoked one.
const revoked = "0:revoked"

// BotID is the user id of the bot.
const BotID int64 = 123456

// Options adjust a Server; the zero value is good for tests.
type Options struct {
	Token    string           // "" = DefaultToken
	Username string           // of the bot; "" = "magpie_test_bot"
	Rates    bool             // refuse what is faster than Telegram allows
	Forget   bool             // keep no messages, calls or sent files: memory stays flat under load
	HTTPHook bool             // accept webhooks without TLS, as a local Bot API server does
	Client   *http.Client     // delivers webhooks; nil = http.DefaultClient
	Retry    time.Duration    // pause before a webhook call is repeated; 0 = 1 s
	Now      func() time.Time // nil = time.Now
	// OnMessage is told of each message of the bot that is sent or edited, and of
	// each draft (Kind "draft", without an ID), in order, while the Server is locked: it must be quick and must not call
	// the Server.
	OnMessage func(Message)
	Ways      Ways
}

// Ways are what one Telegram does otherwise than another.
type Ways struct {
	Old      bool   // a Bot API server from before 9.3, which knows no drafts
	NoDrafts bool   // the bot may show no drafts, as before 9.5 without topics
	NoGroups bool   // the bot cannot be added to groups
	Privacy  bool   // of groups only what is meant for the bot is delivered
	Admin    bool   // the bot is an administrator of its groups
	Hasty    bool   // a poll is answered at once, whatever its timeout
	Local    string // folder of a server with --local: files stand there
}

// Server is one fake Telegram with one bot.
type Server struct {
	opts    Options
	methods map[string]method
	life    served.Life
	wg      sync.WaitGroup

	mu      sync.Mutex
	news    served.News // of what the bot sends
	chats   map[int64]*room
	people  map[int64]Person
	updates queue
	faults  trouble.List[Fault]
	store   store
	rates   rates
}

// New makes a server with nobody on it. Close it.
func New(o *Options) *Server {
	s := &Server{
		life:  served.NewLife(),
		chats: map[int64]*room{}, people: map[int64]Person{},
		updates: newQueue(), store: newStore(), methods: methods(),
	}
	if o != nil {
		s.opts = *o
	}
	s.opts.Token = cmp.Or(s.opts.Token, DefaultToken)
	s.opts.Username = cmp.Or(s.opts.Username, "magpie_test_bot")
	s.opts.Client = cmp.Or(s.opts.Client, http.DefaultClient)
	s.opts.Retry = cmp.Or(s.opts.Retry, time.Second)
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	return s
}

// Close ends every waiting call and the webhook's delivery.
func (s *Server) Close() {
	s.mu.Lock()
	s.life.End()
	if s.updates.hook != nil {
		s.updates.hook.stop()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// Token is what the bot has to present.
func (s *Server) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Token
}

// Revoke makes the token invalid, as /revoke at @BotFather does. Calls that
// wait end.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Token = revoked
	s.updates.interrupt(unauthorized())
}

// Handler serves /bot<token>/<method> and /file/bot<token>/<path>.
func (s *Server) Handler() http.Handler { return served.Whole(http.HandlerFunc(s.serve)) }

// apiError is an answer with ok=false.
type apiError struct {
	Code       int
	Text       string
	RetryAfter int
	MigrateTo  int64
}

func badRequest(format string, args ...any) *apiError {
	return &apiError{Code: http.StatusBadRequest, Text: "Bad Request: " + fmt.Sprintf(format, args...)}
}

func unauthorized() *apiError { return &apiError{Code: http.StatusUnauthorized, Text: "Unauthorized"} }

// method is one method of the Bot API. run is called with the server locked.
type method struct {
	params string // accepted parameters, separated by spaces
	run    func(*Server, *request) (any, *apiError)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path, isFile := strings.CutPrefix(r.URL.Path, "/file")
	token, rest, ok := strings.Cut(strings.TrimPrefix(path, "/bot"), "/")
	if !strings.HasPrefix(path, "/bot") || !ok || !wellFormed(token) {
		refuse(w, &apiError{Code: http.StatusNotFound, Text: "Not Found"})
		return
	}
	if token != s.Token() {
		refuse(w, unauthorized())
		return
	}
	if isFile {
		s.serveFile(w, rest)
		return
	}
	m, ok := s.methods[strings.ToLower(rest)]
	if !ok {
		refuse(w, &apiError{Code: http.StatusNotFound, Text: "Not Found: method not found"})
		return
	}
	req, e := parse(r, rest)
	if e != nil {
		refuse(w, e)
		return
	}
	s.call(w, req, m)
}

// wellFormed tells a token that Telegram looks up (then 401) from one that it
// does not even recognise as such (404).
func wellFormed(token string) bool {
	id, key, ok := strings.Cut(token, ":")
	return ok && id != "" && key != "" && strings.Trim(id, "0123456789") == ""
}

func (s *Server) call(w http.ResponseWriter, req *request, m method) {
	fault := s.note(req)
	if fault != nil && !fault.After {
		s.misbehave(w, req, fault)
		return
	}
	var result any
	e := req.onlyKnown(m.params)
	if e == nil {
		if strings.EqualFold(req.method, "getUpdates") {
			result, e = s.getUpdates(req)
		} else {
			s.mu.Lock()
			result, e = m.run(s, req)
			s.mu.Unlock()
		}
	}
	if fault != nil {
		s.misbehave(w, req, fault)
		return
	}
	if e != nil {
		refuse(w, e)
		return
	}
	served.JSON(w, http.StatusOK, map[string]any{"ok": true, "result": result})
}

func refuse(w http.ResponseWriter, e *apiError) {
	body := map[string]any{"ok": false, "error_code": e.Code, "description": e.Text}
	if e.RetryAfter > 0 {
		body["parameters"] = map[string]any{"retry_after": e.RetryAfter}
	}
	if e.MigrateTo != 0 {
		body["parameters"] = map[string]any{"migrate_to_chat_id": e.MigrateTo}
	}
	served.JSON(w, e.Code, body)
}
