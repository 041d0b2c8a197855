// Package feishu is a strict fake of Feishu's open platform: an http.Handler
// with the calls a chat bot makes, CardKit, the long connection with its binary
// frames, and webhooks. It refuses what the platform refuses, with its codes
// and in its words, brings events that were not acknowledged again, and goes
// wrong on demand. Tests act as people (Say, Press, …) and read what the chats
// show (Messages, Wait). It is checked against the platform's own Node.js SDK.
//
// It is stricter than Feishu in one thing: an unknown field in the body of a
// call is an error, since silence about a misspelt one helps nobody.
//
// The goroutines that push events belong to the Server; Close waits for them.
// A Server may be used from many goroutines.
package feishu

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"magpie/internal/fakes/served"
)

// What a Server uses that was given nothing else.
const (
	DefaultAppID  = "cli_a0fa6e0000000001"
	DefaultSecret = "FakeSecretFakeSecretFakeSecret00"
	// BotID is the open id of the bot, BotName its name.
	BotID   = "ou_fakebot0000000000000000000000000"
	BotName = "Magpie Test"
)

// Options adjust a Server; the zero value is good for tests.
type Options struct {
	AppID, Secret                 string
	EncryptKey, VerificationToken string // of webhooks
	Rates                         bool   // refuse what is faster than Feishu allows
	Monthly                       int    // calls in a month, as free plans have 10 000; 0 = any number
	Forget                        bool   // keep no messages and files: memory stays flat under load
	Client                        *http.Client
	// AckWait is how long an event waits for its answer; 0 = 3 s. Repush are the
	// pauses before it comes again; nil = 15 s, 5 min, 1 h, 6 h.
	AckWait time.Duration
	Repush  []time.Duration
	Now     func() time.Time // nil = time.Now
	// OnMessage is told of each message of the bot that is sent or changed, in
	// order, while the Server is locked: it must be quick and must not call the
	// Server.
	OnMessage func(Message)
}

// Server is one fake platform with one app.
type Server struct {
	opts Options
	mux  *http.ServeMux
	life served.Life
	wg   sync.WaitGroup

	mu     sync.Mutex
	news   served.News // of what the chats show
	serial int64
	auth   auth
	store  store
	pushes pushes
	faults faults
	// degraded is what a card says instead of itself
	degraded string
}

// New makes a server with nobody on it. Close it.
func New(o *Options) *Server {
	s := &Server{life: served.NewLife(), store: newStore(), degraded: upgrade}
	if o != nil {
		s.opts = *o
	}
	s.opts.AppID = cmp.Or(s.opts.AppID, DefaultAppID)
	s.opts.Secret = cmp.Or(s.opts.Secret, DefaultSecret)
	s.opts.Client = cmp.Or(s.opts.Client, http.DefaultClient)
	s.opts.AckWait = cmp.Or(s.opts.AckWait, 3*time.Second)
	if s.opts.Repush == nil {
		s.opts.Repush = []time.Duration{15 * time.Second, 5 * time.Minute, time.Hour, 6 * time.Hour}
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	s.auth.tokens = map[string]time.Time{}
	s.auth.secret = s.opts.Secret
	s.pushes = newPushes()
	s.mux = s.routes()
	s.wg.Go(s.pump)
	return s
}

// Close ends every connection and waiting call.
func (s *Server) Close() {
	s.mu.Lock()
	s.life.End()
	s.mu.Unlock()
	s.CutLines()
	s.wg.Wait()
}

// AppID and Secret are what the bot has to present.
func (s *Server) AppID() string { return s.opts.AppID }

// Secret is the app's secret.
func (s *Server) Secret() string { return s.opts.Secret }

// Handler serves the open platform: calls and the long connection.
func (s *Server) Handler() http.Handler { return served.Whole(s.mux) }

type object = map[string]any

// refusal is an answer with a code that is not 0.
type refusal struct {
	status int
	code   int
	msg    string
	reset  int // seconds until the rate limit is over
}

func bad(code int, msg string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: code, msg: msg}
}

func badParameter(what string) *refusal {
	return bad(230001, "Your request contains an invalid request parameter, ext="+what)
}

// call is one request that was let in.
type call struct {
	*http.Request
	op   string
	body []byte
	host string
}

// decode reads the JSON body into v, strictly.
func (c *call) decode(v any) *refusal {
	dec := json.NewDecoder(strings.NewReader(string(c.body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return bad(99992402, "field validation failed: "+err.Error())
	}
	return nil
}

// handler answers a call; it runs with the server locked and returns data.
type handler func(*Server, *call) (any, *refusal)

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	on := func(pattern, op string, h handler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, op, h) })
	}
	mux.HandleFunc("POST /open-apis/auth/v3/tenant_access_token/internal", s.serveToken)
	mux.HandleFunc("POST "+registrationPath, s.serveRegistration)
	mux.HandleFunc("POST /callback/ws/endpoint", s.serveEndpoint)
	mux.HandleFunc("GET /ws/v2", s.serveLine)
	const im = "/open-apis/im/v1/messages"
	on("POST "+im, "create", (*Server).createMessage)
	on("POST "+im+"/{id}/reply", "reply", (*Server).replyMessage)
	on("GET "+im, "list", (*Server).listMessages)
	on("GET "+im+"/{id}", "get", (*Server).getMessage)
	on("PUT "+im+"/{id}", "update", (*Server).updateMessage)
	on("PATCH "+im+"/{id}", "patch", (*Server).patchMessage)
	on("DELETE "+im+"/{id}", "delete", (*Server).deleteMessage)
	on("GET "+im+"/{id}/resources/{key}", "resource", (*Server).getResource)
	on("POST "+im+"/{id}/reactions", "react", (*Server).createReaction)
	on("GET "+im+"/{id}/reactions", "reactions", (*Server).listReactions)
	on("DELETE "+im+"/{id}/reactions/{reaction}", "unreact", (*Server).deleteReaction)
	on("POST /open-apis/im/v1/images", "image", (*Server).createImage)
	on("POST /open-apis/im/v1/files", "file", (*Server).createFile)
	const kit = "/open-apis/cardkit/v1/cards"
	on("POST "+kit, "card", (*Server).createCard)
	on("POST "+kit+"/id_convert", "convert", (*Server).convertCard)
	on("PUT "+kit+"/{card}", "cardupdate", (*Server).updateCard)
	on("PATCH "+kit+"/{card}/settings", "settings", (*Server).cardSettings)
	on("PUT "+kit+"/{card}/elements/{element}/content", "content", (*Server).cardContent)
	on("GET /open-apis/bot/v3/info", "info", (*Server).botInfo)
	on("GET /open-apis/contact/v3/users/{user}", "user", (*Server).getUser)
	on("GET /open-apis/im/v1/chats/{chat}/members", "members", (*Server).getMembers)
	on("GET /open-apis/application/v6/scopes", "scopes", (*Server).listScopes)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, &refusal{status: http.StatusNotFound, code: 99991201, msg: "resource not find"})
	})
	return mux
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	served.JSON(w, status, body)
}

func refuse(w http.ResponseWriter, r *refusal) {
	if r.reset > 0 {
		w.Header().Set("x-ogw-ratelimit-limit", "100")
		w.Header().Set("x-ogw-ratelimit-reset", strconv.Itoa(r.reset))
	}
	answer(w, r.status, object{"code": r.code, "msg": r.msg, "error": object{"log_id": "20261101000000FAKE"}})
}

// next is a number that nothing else has; s.mu is held.
func (s *Server) next() string {
	s.serial++
	return strconv.FormatInt(s.serial, 16)
}
