package discord

import (
	"errors"
	"io"
	"net/http"
	"strings"
)

// request is one call of the API.
type request struct {
	*http.Request
	route string
	body  []byte
	kind  string // Content-Type
	rated *rated // where it stands in its bucket; nil: nothing is said of it
}

// handler answers a call; it runs with the server locked. nil without an error
// is 204.
type handler func(*Server, *request) (any, *apiError)

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	add := func(pattern, route string, h handler) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /api/{version}"+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route, h) })
	}
	add("GET /gateway", "get gateway", (*Server).getGateway)
	add("GET /gateway/bot", "get gateway bot", (*Server).getGatewayBot)
	add("GET /users/@me", "get me", func(s *Server, _ *request) (any, *apiError) { return s.bot(), nil })
	add("GET /users/@me/guilds", "get guilds", (*Server).myGuilds)
	add("GET /guilds/{guild}/channels", "get guild channels", (*Server).guildChannels)
	add("GET /guilds/{guild}/members/{user}", "get member", (*Server).guildMember)
	add("GET /applications/@me", "get application", (*Server).getApplication)
	add("GET /applications/{app}/commands", "get commands", (*Server).getCommands)
	add("PUT /applications/{app}/commands", "register commands", (*Server).putCommands)
	add("GET /channels/{channel}", "get channel", (*Server).getChannel)
	add("GET /channels/{channel}/messages", "get messages", (*Server).getMessages)
	add("POST /channels/{channel}/messages", "create message", (*Server).createMessage)
	add("GET /channels/{channel}/messages/{message}", "get message", (*Server).getMessage)
	add("PATCH /channels/{channel}/messages/{message}", "edit message", (*Server).editMessage)
	add("DELETE /channels/{channel}/messages/{message}", "delete message", (*Server).deleteMessage)
	add("POST /channels/{channel}/typing", "typing", (*Server).typing)
	add("PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me", "react", (*Server).react)
	add("DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me", "take reaction away", (*Server).unreact)
	add("POST /interactions/{id}/{token}/callback", "answer interaction", (*Server).answerInteraction)
	add("POST /webhooks/{app}/{token}", "follow up", (*Server).followUp)
	add("GET /webhooks/{app}/{token}/messages/{message}", "get follow-up", (*Server).getFollowUp)
	add("PATCH /webhooks/{app}/{token}/messages/{message}", "edit follow-up", (*Server).editFollowUp)
	add("DELETE /webhooks/{app}/{token}/messages/{message}", "delete follow-up", (*Server).deleteFollowUp)
	mux.HandleFunc("GET /attachments/", s.serveFile)
	mux.HandleFunc("GET /stickers/", s.serveFile)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, no(404, 0, "404: Not Found")) })
	return mux
}

// maxRequest bounds a request: 25 MiB and a form around them.
const maxRequest = 25<<20 + 128<<10

func (s *Server) serve(w http.ResponseWriter, r *http.Request, route string, h handler) {
	if v := r.PathValue("version"); v != "v9" && v != "v10" {
		refuse(w, no(http.StatusBadRequest, 50041, "Invalid API version"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxRequest))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		refuse(w, no(http.StatusRequestEntityTooLarge, 40005, "Request entity too large"))
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
	req := &request{Request: r, route: route, body: body, kind: r.Header.Get("Content-Type")}
	fault := s.note(route, r.PathValue("channel"), body)
	if fault != nil && !fault.After {
		s.misbehave(w, r, fault)
		return
	}
	s.mu.Lock()
	result, e := s.run(req, h)
	s.mu.Unlock()
	if req.rated != nil {
		req.rated.headers(w.Header())
	}
	switch {
	case fault != nil:
		s.misbehave(w, r, fault)
	case e != nil:
		refuse(w, e)
	case result == nil:
		answer(w, http.StatusNoContent, nil)
	default:
		answer(w, http.StatusOK, result)
	}
}

// run checks what every call has to fulfil. The server is locked.
func (s *Server) run(r *request, h handler) (any, *apiError) {
	s.world.host = r.Host
	// What has a token of its own in the path needs no other, and no more does
	// the address of the gateway.
	free := r.PathValue("token") != "" || r.route == "get gateway"
	if !free && r.Header.Get("Authorization") != "Bot "+s.opts.Token {
		return nil, no(http.StatusUnauthorized, 0, "401: Unauthorized")
	}
	if !strings.HasPrefix(r.UserAgent(), "DiscordBot (") {
		return nil, no(http.StatusForbidden, 40333, "internal network error")
	}
	if len(r.body) == 0 && r.kind != "" && r.Method != http.MethodPost {
		return nil, no(http.StatusBadRequest, 50035, "Invalid Form Body")
	}
	if e := s.tooFast(r); e != nil {
		return nil, e
	}
	return h(s, r)
}

func (s *Server) getGateway(r *request) (any, *apiError) {
	return map[string]any{"url": "ws://" + r.Host}, nil
}

func (s *Server) getGatewayBot(r *request) (any, *apiError) {
	return map[string]any{
		"url": "ws://" + r.Host, "shards": 1,
		"session_start_limit": map[string]any{"total": 1000, "remaining": 999, "reset_after": 14400000, "max_concurrency": 1},
	}, nil
}

func (s *Server) getApplication(*request) (any, *apiError) {
	return map[string]any{
		"id": BotID, "name": s.opts.Username, "icon": nil, "description": "", "bot_public": true, "bot_require_code_grant": false,
		"verify_key": "", "flags": s.appFlags(),
	}, nil
}

// at finds the channel of a call, if the bot may use it.
func (s *Server) at(r *request) (*room, *apiError) {
	room, ok := s.world.rooms[r.PathValue("channel")]
	if !ok {
		return nil, no(http.StatusNotFound, 10003, "Unknown Channel")
	}
	if room.closed != nil {
		return room, room.closed
	}
	return room, s.may(room, 0)
}

// postAt finds the message of a call.
func (s *Server) postAt(r *request) (*room, *post, *apiError) {
	room, e := s.at(r)
	if e != nil {
		return nil, nil, e
	}
	p := room.find(r.PathValue("message"))
	if p == nil {
		return nil, nil, no(http.StatusNotFound, 10008, "Unknown Message")
	}
	return room, p, nil
}
