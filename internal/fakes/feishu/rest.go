package feishu

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	tokenLife = 2 * time.Hour
	maxBody   = 40 << 20
)

// auth is who may call.
type auth struct {
	secret   string // "" = revoked
	tokens   map[string]time.Time
	withheld []string // scopes
	month    time.Time
	calls    int // in month
	// registered is the newest app that somebody is making
	registered registration
	hurry      time.Duration // pause between polls; 0 = the platform's
}

// serveToken gives out a tenant_access_token.
func (s *Server) serveToken(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	s.mu.Lock()
	f := s.faults.pick("token", "")
	s.mu.Unlock()
	if f != nil {
		s.misbehave(w, r, f)
		return
	}
	var in struct {
		ID     string `json:"app_id"`
		Secret string `json:"app_secret"`
	}
	if json.Unmarshal(raw, &in) != nil || in.ID == "" || in.Secret == "" {
		answer(w, http.StatusOK, object{"code": 10003, "msg": "invalid param"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.ID != s.opts.AppID || in.Secret != s.auth.secret {
		answer(w, http.StatusOK, object{"code": 10014, "msg": "app secret invalid"})
		return
	}
	token := "t-g1FAKE" + strings.Repeat("0", 24) + s.next()
	s.auth.tokens[token] = s.opts.Now().Add(tokenLife)
	answer(w, http.StatusOK, object{"code": 0, "msg": "ok", "tenant_access_token": token, "expire": int(tokenLife.Seconds())})
}

// RevokeTokens makes all tokens invalid, as the platform does now and then;
// with the secret a new one can be had.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.auth.tokens)
}

// Revoke makes the secret and all tokens invalid and ends the connections.
func (s *Server) Revoke() {
	s.mu.Lock()
	clear(s.auth.tokens)
	s.auth.secret = ""
	s.mu.Unlock()
	s.CutLines()
}

// Deny takes permissions away: calls whose path begins like this are refused.
func (s *Server) Deny(paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.denied = paths
}

// authorize checks the token of a call; s.mu is held.
func (s *Server) authorize(r *http.Request) *refusal {
	given := r.Header.Get("Authorization")
	token, ok := strings.CutPrefix(given, "Bearer ")
	switch {
	case given == "":
		return bad(99991661, "Missing access token for authorization. Please make a request with token attached.")
	case !ok || !strings.HasPrefix(token, "t-"):
		return bad(99991671, "Invalid token: must start with t-/u-")
	}
	until, known := s.auth.tokens[token]
	if !known || s.opts.Now().After(until) {
		return bad(99991663, "Invalid access token for authorization. Please make a request with token attached.")
	}
	for _, path := range s.faults.denied {
		if strings.HasPrefix(r.URL.Path, path) {
			return bad(99991672, "Access denied. One of the following scopes is required: ["+scopeOf(path)+"]")
		}
	}
	return nil
}

func scopeOf(path string) string {
	switch {
	case strings.Contains(path, "cardkit"):
		return "cardkit:card:write"
	case strings.Contains(path, "contact"):
		return "contact:user.base:readonly"
	}
	return "im:message"
}

// serve lets a call in, or has it go wrong.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, op string, h handler) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the client broke off
	}
	c := &call{Request: r, op: op, body: body, host: r.Host}
	s.mu.Lock()
	s.faults.count(op)
	var data any
	refused := s.authorize(r)
	if refused == nil {
		refused = properType(r)
	}
	if refused == nil {
		refused = s.permitted(op)
	}
	if refused == nil {
		refused = s.counted(op)
	}
	if refused == nil && s.opts.Rates {
		refused = s.faults.tooFast(s.opts.Now())
	}
	var f *Fault
	if refused == nil {
		f = s.faults.pick(op, messageType(body))
		if f == nil || f.After {
			data, refused = h(s, c)
		}
	}
	s.mu.Unlock()
	switch {
	case f != nil:
		s.misbehave(w, r, f)
	case refused != nil:
		refuse(w, refused)
	default:
		s.give(w, data)
	}
}

// counted counts the month's calls; those for a token and of the contacts are
// free (platform-notices/platform-updates-/custom-app-api-call-limit, of November
// 2025).
func (s *Server) counted(op string) *refusal {
	if op == "user" {
		return nil
	}
	now := s.opts.Now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	if !month.Equal(s.auth.month) {
		s.auth.month, s.auth.calls = month, 0
	}
	if s.auth.calls++; s.opts.Monthly > 0 && s.auth.calls > s.opts.Monthly {
		return &refusal{status: http.StatusTooManyRequests, code: 99991403, msg: "This month's API call quota has been exceeded."}
	}
	return nil
}

// ThisMonth is how many calls of the month have been counted.
func (s *Server) ThisMonth() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.auth.calls
}

func (s *Server) give(w http.ResponseWriter, data any) {
	switch data := data.(type) {
	case *File:
		w.Header().Set("Content-Type", data.MIME)
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", data.Name))
		_, _ = w.Write(data.Data) // the client may be gone
	case bot:
		answer(w, http.StatusOK, object{"code": 0, "msg": "ok", "bot": object(data)})
	default:
		if data == nil {
			data = object{}
		}
		answer(w, http.StatusOK, object{"code": 0, "msg": "success", "data": data})
	}
}

// properType checks the content type of a body.
func properType(r *http.Request) *refusal {
	if r.Method == http.MethodGet || r.Method == http.MethodDelete {
		return nil
	}
	kind := r.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "application/json") && !strings.HasPrefix(kind, "multipart/form-data") {
		return bad(9499, "Bad Request: Content-Type "+kind)
	}
	return nil
}

// messageType is the msg_type of a call that sends.
func messageType(body []byte) string {
	var b struct {
		Type string `json:"msg_type"`
	}
	_ = json.Unmarshal(body, &b) // others have none
	return b.Type
}

type bot object

func (s *Server) botInfo(*call) (any, *refusal) {
	return bot{"activate_status": 2, "app_name": BotName, "avatar_url": "", "ip_white_list": []string{}, "open_id": BotID}, nil
}

func (s *Server) getUser(c *call) (any, *refusal) {
	p, ok := s.store.people[c.PathValue("user")]
	if !ok || p.Hidden || c.URL.Query().Get("user_id_type") != "open_id" {
		return nil, bad(41050, "no user authority error")
	}
	user := object{"open_id": p.ID, "union_id": "on_" + p.ID}
	if s.granted("contact:user.base:readonly") {
		user["name"] = p.Name
	}
	return object{"user": user}, nil
}
