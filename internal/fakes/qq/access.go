package qq

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	// maxBody is where the platform answers 413 (seen by public bots).
	maxBody   = 32 << 20
	tokenLife = 7200 * time.Second
	// TokenPrefix begins every access token.
	TokenPrefix = "FAKE_ACCESS_TOKEN_"
)

// access is who may call.
type access struct {
	tokens  map[string]time.Time // and when they end
	issued  int
	revoked bool
}

func (s *Server) giveToken(w http.ResponseWriter, r *http.Request) {
	body, e := readBody(w, r)
	var ask struct {
		AppID  string `json:"appId"`
		Secret string `json:"clientSecret"`
	}
	if e == nil && strict(body, &ask) != nil {
		e = bad(100001, "invalid request")
	}
	if e != nil {
		refuse(w, e)
		return
	}
	if f := s.fault("token", 0); f != nil {
		s.misbehave(w, r, f)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ask.AppID != s.opts.AppID || ask.Secret != s.opts.Secret || s.access.revoked {
		answer(w, http.StatusOK, map[string]any{"code": 100016, "message": "invalid appid or secret"})
		return
	}
	s.access.issued++
	token := fmt.Sprintf("%s%d", TokenPrefix, s.access.issued)
	s.access.tokens[token] = s.opts.Now().Add(tokenLife)
	life := any(fmt.Sprint(int(tokenLife.Seconds())))
	if s.opts.Numbers {
		life = int(tokenLife.Seconds())
	}
	answer(w, http.StatusOK, map[string]any{"access_token": token, "expires_in": life})
}

// Tokens is how many access tokens were given out.
func (s *Server) Tokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.access.issued
}

// ForgetTokens makes every token invalid before its time; new ones are given.
func (s *Server) ForgetTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access.tokens)
}

// Revoke makes the secret invalid, as resetting it does: tokens end and the
// gateway closes.
func (s *Server) Revoke() {
	s.mu.Lock()
	s.access.revoked = true
	clear(s.access.tokens)
	s.mu.Unlock()
	s.Kick(4004)
}

func (s *Server) authorized(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ends, ok := s.access.tokens[token]
	return ok && s.opts.Now().Before(ends)
}

// api wraps a call of the REST API: authorization, body, faults.
func (s *Server) api(fn func(*Server, *http.Request, []byte) (any, *refusal)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "QQBot ")
		if !ok || !s.authorized(token) {
			refuse(w, &refusal{Status: http.StatusUnauthorized, Code: 11244, Text: "token not exist or expire"})
			return
		}
		body, e := readBody(w, r)
		if e != nil {
			refuse(w, e)
			return
		}
		f := s.fault(opOf(r), typeOf(body))
		if f != nil && !f.After {
			s.misbehave(w, r, f)
			return
		}
		result, e := fn(s, r, body)
		switch {
		case f != nil:
			s.misbehave(w, r, f)
		case e != nil:
			refuse(w, e)
		default:
			answer(w, http.StatusOK, result)
		}
	}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	if r.Method == http.MethodPost {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return nil, bad(50035, "content type must be application/json")
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, &refusal{Status: http.StatusRequestEntityTooLarge, Text: "Request Entity Too Large"}
	}
	if err != nil {
		return nil, bad(12002, "body cannot be read")
	}
	return body, nil
}

// strict decodes what has known fields only.
func strict(body []byte, into any) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// opOf names a call for faults.
func opOf(r *http.Request) string {
	switch {
	case strings.HasPrefix(r.URL.Path, "/gateway"):
		return "gateway"
	case strings.HasSuffix(r.URL.Path, "/files"):
		return "files"
	case strings.HasSuffix(r.URL.Path, "/stream_messages"):
		return "stream"
	case strings.HasSuffix(r.URL.Path, "/upload_prepare"):
		return "prepare"
	case strings.HasSuffix(r.URL.Path, "/upload_part_finish"):
		return "part"
	case r.Method == http.MethodPost:
		return "messages"
	}
	return strings.ToLower(r.Method)
}

func typeOf(body []byte) int {
	var m struct {
		Type int `json:"msg_type"`
	}
	_ = json.Unmarshal(body, &m) // whatever else it is, it has no type
	return m.Type
}

func (s *Server) getMe(*http.Request, []byte) (any, *refusal) {
	return map[string]any{"id": BotID, "username": "magpie", "avatar": "", "bot": true}, nil
}

func (s *Server) getGateway(*http.Request, []byte) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{"url": "ws" + strings.TrimPrefix(s.base, "http") + "/websocket"}, nil
}

func (s *Server) getGatewayBot(r *http.Request, body []byte) (any, *refusal) {
	result, e := s.getGateway(r, body)
	all := result.(map[string]any)
	all["shards"] = 1
	s.mu.Lock()
	defer s.mu.Unlock()
	all["session_start_limit"] = map[string]any{
		"total": 1000, "remaining": max(0, 1000-s.gateway.begun), "reset_after": 86400000, "max_concurrency": 1,
	}
	return all, e
}
