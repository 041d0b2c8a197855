// Package qq is a strict fake of QQ's open platform for bots: one handler for
// access tokens, the REST API of version 2, the gateway (WebSocket) and the
// files of messages, and signed webhook calls. It refuses what the platform
// refuses, with the platform's codes: wrong tokens, messages without a
// window, the fifth reply (in groups the sixth), the same msg_seq twice, active
// messages over the day's quota, native markdown, streams and addresses without
// permission, a stream that takes back what it said, files of the wrong type.
// People act through Say, Press, Befriend and the like; Messages shows what
// their chats show. Grant says what the account may do, and how the platform
// behaves where the sources differ.
//
// It is stricter than the platform in one thing: an unknown field is an error.
// It is checked by botgo, the platform's own SDK.
//
// Goroutines are those of the HTTP server and the webhook's delivery; Close
// ends all connections and waits for the delivery. A Server may be used from
// many goroutines.
package qq

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"

	"magpie/internal/fakes/served"
)

// Credentials of a server that was given none.
const (
	DefaultAppID  = "102000001"
	DefaultSecret = "FakeSecretFakeSecretFake"
)

// BotID is the bot's own id.
const BotID = "6158788878435714165"

// Options adjust a Server; the zero value is good for tests.
type Options struct {
	AppID, Secret string
	Markdown      bool          // native markdown and keyboards are allowed
	URLs          bool          // addresses in texts are allowed
	Active        int           // active messages a day for each chat; 0 = 1000
	Numbers       bool          // expires_in comes as a number
	Heartbeat     time.Duration // that clients are told; 0 = 45 s
	Delay         time.Duration // before an event is pushed
	Rates         bool          // refuse what is faster than the platform allows
	Forget        bool          // keep no messages and files: memory stays flat under load
	Now           func() time.Time
	// OnMessage is told of each message of the bot, also of one that grows each
	// time it does, in order, while the Server
	// is locked: it must be quick and must not call the Server.
	OnMessage func(Message)
}

// Server is one fake platform with one bot.
type Server struct {
	opts Options
	mux  *http.ServeMux
	life served.Life
	wg   sync.WaitGroup

	mu      sync.Mutex
	base    string      // how clients reach this server
	news    served.News // of what is sent
	access  access
	rooms   map[string]*room
	gateway gateway
	hook    hook
	store   store
}

// New makes a server with nobody on it. Close it.
func New(o *Options) *Server {
	s := &Server{life: served.NewLife(), rooms: map[string]*room{}, store: newStore()}
	if o != nil {
		s.opts = *o
	}
	s.opts.AppID = cmp.Or(s.opts.AppID, DefaultAppID)
	s.opts.Secret = cmp.Or(s.opts.Secret, DefaultSecret)
	s.opts.Active = cmp.Or(s.opts.Active, maxActive)
	s.opts.Heartbeat = cmp.Or(s.opts.Heartbeat, 45*time.Second)
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	s.access.tokens = map[string]time.Time{}
	s.routes()
	return s
}

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("POST /app/getAppAccessToken", s.giveToken)
	s.mux.HandleFunc("GET /websocket", s.serveGateway)
	s.mux.HandleFunc("GET /download/{id}/{name}", s.serveFile)
	s.mux.HandleFunc("PUT /parts/{upload}/{part}", s.takePart)
	for pattern, fn := range map[string]func(*Server, *http.Request, []byte) (any, *refusal){
		"GET /gateway":                                 (*Server).getGateway,
		"GET /gateway/bot":                             (*Server).getGatewayBot,
		"GET /users/@me":                               (*Server).getMe,
		"POST /v2/users/{id}/messages":                 (*Server).postMessage,
		"POST /v2/groups/{id}/messages":                (*Server).postMessage,
		"DELETE /v2/users/{id}/messages/{message...}":  (*Server).deleteMessage,
		"DELETE /v2/groups/{id}/messages/{message...}": (*Server).deleteMessage,
		"POST /v2/users/{id}/stream_messages":          (*Server).postStream,
		"POST /v2/users/{id}/files":                    (*Server).postFile,
		"POST /v2/groups/{id}/files":                   (*Server).postFile,
		"POST /v2/users/{id}/upload_prepare":           (*Server).prepareUpload,
		"POST /v2/groups/{id}/upload_prepare":          (*Server).prepareUpload,
		"POST /v2/users/{id}/upload_part_finish":       (*Server).finishPart,
		"POST /v2/groups/{id}/upload_part_finish":      (*Server).finishPart,
		"PUT /interactions/{id}":                       (*Server).putInteraction,
	} {
		s.mux.HandleFunc(pattern, s.api(fn))
	}
}

// Close ends every connection and waiting call, and the webhook's delivery.
func (s *Server) Close() {
	s.mu.Lock()
	s.life.End()
	s.mu.Unlock()
	s.Cut()
	s.wg.Wait()
}

// Secret is what the bot has to present for a token.
func (s *Server) Secret() string { return s.opts.Secret }

// AppID is the bot's.
func (s *Server) AppID() string { return s.opts.AppID }

// Handler serves everything under one address, REST and gateway.
func (s *Server) Handler() http.Handler {
	return served.Whole(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.base = "http://" + r.Host
		s.mu.Unlock()
		s.mux.ServeHTTP(w, r)
	}))
}

// refusal is an answer of the platform that says no.
type refusal struct {
	Status     int
	Code       int
	ErrCode    int // 0: the same as Code
	Text       string
	RetryAfter int // seconds
}

func bad(code int, format string, args ...any) *refusal {
	return &refusal{Status: http.StatusBadRequest, Code: code, Text: fmt.Sprintf(format, args...)}
}

func refuse(w http.ResponseWriter, e *refusal) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(e.RetryAfter))
	}
	body := map[string]any{"message": e.Text, "code": e.Code, "err_code": cmp.Or(e.ErrCode, e.Code), "trace_id": "fake0000000000000000000000000000"}
	answer(w, e.Status, body)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("X-Tps-Trace-Id", "fake0000000000000000000000000000")
	served.JSON(w, status, body)
}
