// Package dingtalk is a strict fake of DingTalk's open platform for one robot:
// an http.Handler with the stream gateway (JSON frames over a WebSocket), the
// session webhooks, the robot API, media and AI cards, that refuses what
// DingTalk refuses and with its codes. A robot message is pushed once, to one
// connection, and never again. Tests act as people (Say, Press) and read what
// the chats show (Messages). The vendor's own stream client checks it.
//
// Chats are named "user:<staff id>" (or "user:<sender id>" for people outside
// the organisation) and "group:<open conversation id>".
//
// Every connection has its goroutines; Close waits for them. A Server may be
// used from many goroutines.
package dingtalk

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"magpie/internal/fakes/served"
	"magpie/internal/fakes/trouble"
)

// What a Server knows when it was told nothing else.
const (
	DefaultClientID     = "dingfakeclient00000"
	DefaultClientSecret = "fake-client-secret-QwErTy-0123456789"
	DefaultTemplate     = "fake-0000-card.schema"
	ContentKey          = "content" // the template's streamed Markdown variable
	ButtonsKey          = "buttons" // the template's list of buttons
	BotUserID           = "$:LWCP_v1:$fakeBotUser"
	BotName             = "喜鹊"
	corpID              = "dingfakecorp0000"
)

// maxParam is the largest msgParam, in bytes
// (https://help.dingtalk.io/open/development/the-robot-sends-a-group-message,
// read November 2026, of messages to groups; for those to people it names none).
const maxParam = 15_000

// Options adjust a Server; the zero value is good for tests.
type Options struct {
	ClientID, ClientSecret string        // "" = the defaults; the robot code is the client id
	Forget                 bool          // keep no messages and files: memory stays flat under load
	Rates                  bool          // refuse more than 20 API calls a second, or 20 webhook calls a minute and group
	Ping                   time.Duration // between two ping frames; 0 = none
	Grace                  time.Duration // from a disconnect frame to the closing; 0 = 10 s
	SessionLife            time.Duration // of a session webhook; 0 = 90 min
	MaxParam               int           // largest msgParam in bytes; 0 = 15000
	Ghosts                 bool          // a connection that ends without a close frame takes one push yet
	StrictFiles            bool          // take only the documented file types
	Now                    func() time.Time
	// OnMessage is told of each message of the bot that is sent or changed, in
	// order, while the Server is locked: it must be quick and must not call
	// the Server.
	OnMessage func(Message)
}

// Server is one fake DingTalk with one robot.
type Server struct {
	opts   Options
	routes map[string]route
	life   served.Life
	wg     sync.WaitGroup

	mu     sync.Mutex
	people map[string]Person // by chat
	groups map[string]Group  // by chat
	faults trouble.List[Fault]
	gate   gateway
	store  store
	access access
	quota  bool // of the month is used up
}

// New makes a server with nobody on it. Close it.
func New(o *Options) *Server {
	s := &Server{life: served.NewLife(), people: map[string]Person{}, groups: map[string]Group{}, routes: routes()}
	if o != nil {
		s.opts = *o
	}
	s.opts.ClientID = cmp.Or(s.opts.ClientID, DefaultClientID)
	s.opts.ClientSecret = cmp.Or(s.opts.ClientSecret, DefaultClientSecret)
	s.opts.Grace = cmp.Or(s.opts.Grace, 10*time.Second)
	s.opts.SessionLife = cmp.Or(s.opts.SessionLife, 90*time.Minute)
	s.opts.MaxParam = cmp.Or(s.opts.MaxParam, maxParam)
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	s.gate = newGateway()
	s.store = newStore()
	s.access = access{tokens: map[string]time.Time{}, sessions: map[string]session{}, downloads: map[string]File{}}
	return s
}

// Close ends every connection and every call that waits.
func (s *Server) Close() {
	s.mu.Lock()
	s.life.End()
	s.mu.Unlock()
	s.Cut()
	s.wg.Wait()
}

// ClientID and secret are what the bot has to present.
func (s *Server) Credentials() (clientID, secret string) { return s.opts.ClientID, s.opts.ClientSecret }

// Revoke makes the secret and every token invalid and cuts the connections, as
// resetting the secret in the console does.
func (s *Server) Revoke() {
	s.mu.Lock()
	s.access.revoked = true
	clear(s.access.tokens)
	s.mu.Unlock()
	s.Cut()
}

// Expire makes the present access tokens invalid before their time.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access.tokens)
}

// Handler serves the API, the oapi host and the stream gateway on one base.
func (s *Server) Handler() http.Handler { return served.Whole(http.HandlerFunc(s.serve)) }

// route is one call. run is called with the server locked.
type route struct {
	op   string // its name for faults
	kind routeKind
	run  func(*Server, *request) (any, *refusal)
}

type routeKind int

const (
	openly   routeKind = iota // no token
	api                       // token in a header, JSON, refusals with HTTP status
	oapi                      // token in the query, refusals as errcode in a 200
	bySecret                  // the session in the query, else as oapi
)

func routes() map[string]route {
	return map[string]route{
		"POST /v1.0/gateway/connections/open":        {OpOpen, openly, (*Server).openGateway},
		"POST /v1.0/oauth2/accessToken":              {OpToken, openly, (*Server).issueToken},
		"GET /gettoken":                              {OpToken, openly, (*Server).oldToken},
		"POST /v1.0/robot/oToMessages/batchSend":     {OpPerson, api, (*Server).sendToPeople},
		"POST /v1.0/robot/groupMessages/send":        {OpGroup, api, (*Server).sendToGroup},
		"POST /v1.0/robot/otoMessages/batchRecall":   {OpRecall, api, (*Server).recallFromPeople},
		"POST /v1.0/robot/groupMessages/recall":      {OpRecall, api, (*Server).recallFromGroup},
		"POST /v1.0/robot/messageFiles/download":     {OpDownload, api, (*Server).fileLocation},
		"POST /v1.0/robot/emotion/reply":             {OpEmotion, api, (*Server).putEmotion},
		"POST /v1.0/robot/emotion/recall":            {OpEmotionRecall, api, (*Server).takeEmotion},
		"POST /v1.0/card/instances/createAndDeliver": {OpCardCreate, api, (*Server).createCard},
		"PUT /v1.0/card/streaming":                   {OpCardStream, api, (*Server).streamCard},
		"PUT /v1.0/card/instances":                   {OpCardUpdate, api, (*Server).updateCard},
		"POST /app/registration/init":                {OpRegister, bySecret, (*Server).registerInit},
		"POST /app/registration/begin":               {OpRegister, bySecret, (*Server).registerBegin},
		"POST /app/registration/poll":                {OpRegister, bySecret, (*Server).registerPoll},
		"POST /media/upload":                         {OpUpload, oapi, (*Server).upload},
		"POST /robot/sendBySession":                  {OpWebhook, bySecret, (*Server).sendBySession},
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/connect":
		s.connect(w, r)
		return
	case strings.HasPrefix(r.URL.Path, "/files/"):
		s.serveFile(w, r)
		return
	}
	rt, ok := s.routes[r.Method+" "+r.URL.Path]
	if !ok {
		refuse(w, api, &refusal{Status: http.StatusNotFound, Code: "InvalidAction.NotFound", Message: "Specified api is not found, please check your url and method."})
		return
	}
	req, e := parse(r, rt)
	fault := s.pick(req)
	if rt.op == OpOpen && !req.wantsJSON() {
		xml(w)
		return
	}
	if fault != nil && !fault.After {
		s.misbehave(w, r, rt, fault)
		return
	}
	var result any
	if e == nil {
		s.mu.Lock()
		if e = s.authorize(rt, req); e == nil {
			result, e = rt.run(s, req)
		}
		s.mu.Unlock()
	}
	switch {
	case fault != nil:
		s.misbehave(w, r, rt, fault)
	case e != nil:
		refuse(w, rt.kind, e)
	default:
		served.JSON(w, http.StatusOK, result)
	}
}

// xml is the answer of the stream gateway to a call that does not ask for JSON
// and nothing else: axios' own "application/json, text/plain, */*" does not do
// (dingtalk-stream-sdk-nodejs 2.1.5, client.ts, getEndpoint: "by default what
// comes back is XML"; read November 2026).
func xml(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><OpenConnectionResponse><endpoint>wss://fake</endpoint><ticket>fake</ticket></OpenConnectionResponse>`) // the client may be gone
}

// refusal is a refused call: Code with a Status on the API host, Errcode in a
// 200 on the oapi host.
type refusal struct {
	Status     int
	Code       string
	Errcode    int
	Message    string
	Scopes     []string
	RetryAfter int
}

func bad(code, message string) *refusal {
	return &refusal{Status: http.StatusBadRequest, Code: code, Message: message, Errcode: 40035}
}

// within is the errcode of the older server when its gateway refuses a call: Code
// is the sub_code then, a number as text (an answer to a wrong token in a public
// log of 2026-09, read November 2026).
const within = 88

func refuse(w http.ResponseWriter, kind routeKind, e *refusal) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(e.RetryAfter))
	}
	if kind == oapi || kind == bySecret {
		body := map[string]any{"errcode": e.Errcode, "errmsg": e.Message}
		if e.Errcode == within {
			body["sub_code"], body["sub_msg"], body["errmsg"] = e.Code, e.Message, fmt.Sprintf("ding talk error[subcode=%s,submsg=%s]", e.Code, e.Message)
		}
		served.JSON(w, http.StatusOK, body)
		return
	}
	body := map[string]any{"code": e.Code, "requestid": "FAKE0000-0000-7000-8000-000000000001", "message": e.Message}
	if len(e.Scopes) > 0 {
		body["accessdenieddetail"] = map[string]any{"requiredScopes": e.Scopes}
	}
	served.JSON(w, e.Status, body)
}

// next numbers things; s.mu is held.
func (s *Server) next(prefix string) string {
	s.store.serial++
	return fmt.Sprintf("%s%08d", prefix, s.store.serial)
}
