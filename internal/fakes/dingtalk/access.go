package dingtalk

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"magpie/internal/fakes/trouble"
)

// maxBody bounds a call: a file of 20 MB and its form.
const maxBody = 24 << 20

// access is who may do what for how long.
type access struct {
	revoked   bool
	tokens    map[string]time.Time
	sessions  map[string]session // by the secret of the URL
	downloads map[string]File    // by download code
	calls     trouble.Bucket
	nonce     string // of a registration
	device    string
	agreed    bool
	declined  string
	expired   bool
}

type session struct {
	chat  string
	until time.Time
}

// request is one call, read and parsed as far as its kind says.
type request struct {
	*http.Request
	op    string
	base  string
	raw   []byte
	token string
}

// parse reads a call. The refusal comes with the request, so that faults can
// be told apart by it.
func parse(r *http.Request, rt route) (*request, *refusal) {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	req := &request{Request: r, op: rt.op, base: scheme + "://" + r.Host}
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return req, &refusal{Status: http.StatusRequestEntityTooLarge, Code: "RequestEntityTooLarge", Errcode: 40009, Message: "不合法的媒体文件大小"}
	}
	req.raw = raw
	if r.Method == http.MethodGet {
		return req, nil
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch rt.kind {
	case api:
		req.token = r.Header.Get("x-acs-dingtalk-access-token")
	case oapi:
		req.token = r.URL.Query().Get("access_token")
		return req, nil // forms are parsed by the call
	case bySecret:
		req.token = r.URL.Query().Get("session")
	}
	if kind != "application/json" {
		return req, &refusal{Status: http.StatusBadRequest, Code: "InvalidContentType", Errcode: 43004, Message: "无效的HTTP HEADER Content-Type"}
	}
	if !json.Valid(raw) {
		return req, bad("invalidParameter.msgBody.invalid", "body必须是JSON")
	}
	return req, nil
}

// into fills v from the body, refusing types that do not fit.
func (r *request) into(v any) *refusal {
	if err := json.Unmarshal(r.raw, v); err != nil {
		return bad("invalidParameter.param.invalid", "参数不合法")
	}
	return nil
}

func (r *request) wantsJSON() bool { return r.Header.Get("Accept") == "application/json" }

func (s *Server) authorize(rt route, r *request) *refusal {
	switch rt.kind {
	case api, oapi:
		if s.opts.Rates && s.access.calls.Take(s.opts.Now(), 20, 20) > 0 {
			return &refusal{Status: http.StatusForbidden, Code: "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", Errcode: 90002, Message: "您的企业应用调用钉钉开放平台当前接口的所有请求都被暂时禁用了"}
		}
		until, ok := s.access.tokens[r.token]
		switch {
		case r.token == "" && rt.kind == oapi:
			return &refusal{Errcode: 41001, Message: "缺少access_token参数"}
		case !ok || !s.opts.Now().Before(until):
			return &refusal{Status: http.StatusBadRequest, Code: "InvalidAuthentication", Errcode: 40014, Message: "不合法的access_token"}
		}
	}
	return nil
}

func (s *Server) known(clientID, secret string) bool {
	return !s.access.revoked && clientID == s.opts.ClientID && secret == s.opts.ClientSecret
}

func wrongCredentials() *refusal {
	return &refusal{Status: http.StatusBadRequest, Code: "invalidClientIdOrSecret", Message: "无效的clientId或者clientSecret"}
}

func (s *Server) issueToken(r *request) (any, *refusal) {
	var in struct{ AppKey, AppSecret string }
	if e := r.into(&in); e != nil {
		return nil, e
	}
	if !s.known(in.AppKey, in.AppSecret) {
		return nil, wrongCredentials()
	}
	token := s.next("fakeaccesstoken")
	s.access.tokens[token] = s.opts.Now().Add(2 * time.Hour)
	return map[string]any{"accessToken": token, "expireIn": 7200}, nil
}

// oldToken is how the SDK for Node gets a token.
func (s *Server) oldToken(r *request) (any, *refusal) {
	q := r.URL.Query()
	if !s.known(q.Get("appkey"), q.Get("appsecret")) {
		return nil, wrongCredentials()
	}
	token := s.next("fakeaccesstoken")
	s.access.tokens[token] = s.opts.Now().Add(2 * time.Hour)
	return map[string]any{"errcode": 0, "errmsg": "ok", "access_token": token, "expires_in": 7200}, nil
}

// webhook gives the session webhook of a chat, the same as long as it lives;
// s.mu is held.
func (s *Server) webhook(chat string) (secret string, until time.Time) {
	now := s.opts.Now()
	for secret, old := range s.access.sessions {
		if old.chat == chat && now.Before(old.until) {
			return secret, old.until
		}
	}
	secret = s.next("fakesession") + strings.Repeat("0", 12)
	until = now.Add(s.opts.SessionLife)
	s.access.sessions[secret] = session{chat: chat, until: until}
	return secret, until
}

// DropSessions makes every session webhook invalid before its time.
func (s *Server) DropSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access.sessions)
}

// Session gives the present session webhook of a chat at that base URL, as a
// message of the chat would carry it.
func (s *Server) Session(base, chat string) (url string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	secret, until := s.webhook(chat)
	return base + "/robot/sendBySession?session=" + secret, until
}
