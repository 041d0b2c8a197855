package feishu

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

// The making of an app by a scanned code (larksuite/node-sdk 1.74.0
// scene/registration, larksuite/cli internal/auth, read November 2026): begin
// gives a link to show, poll waits for the one who scans it. Pending is told
// with HTTP 400, as RFC 8628 wants it.
const (
	registrationPath  = "/oauth/v1/app/registration"
	registrationEvery = 5 * time.Second
	registrationLife  = 10 * time.Minute
)

// registration is one app that somebody may make.
type registration struct {
	code    string
	began   time.Time
	polled  time.Time
	every   time.Duration
	brand   string // feishu or lark; "" = not confirmed yet
	refused bool
	over    bool
	slowed  int // polls that are yet to be told to slow down
}

// Confirm lets a person scan the newest code and confirm; their organisation is
// of this brand, feishu or lark. An app of Lark is given out by Lark's host only.
func (s *Server) Confirm(brand string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auth.registered.brand = brand
}

// Decline lets a person scan the newest code and say no.
func (s *Server) Decline() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auth.registered.refused = true
}

// Hurry makes new codes ask for a poll so often instead of every five seconds,
// for tests that wait in real time.
func (s *Server) Hurry(every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auth.hurry = every
}

// Outdate makes the newest code too old.
func (s *Server) Outdate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auth.registered.over = true
}

// Slow makes the platform say slow_down so many times, as it does when more ask
// than it likes.
func (s *Server) Slow(times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auth.registered.slowed = times
}

func (s *Server) serveRegistration(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		answer(w, http.StatusBadRequest, object{"error": "invalid_request", "error_description": "not a form"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status, body := http.StatusBadRequest, object{"error": "invalid_request", "error_description": "action"}
	switch f := r.PostForm; f.Get("action") {
	case "begin":
		if f.Get("archetype") != "PersonalAgent" || f.Get("auth_method") != "client_secret" || f.Get("request_user_info") != "open_id" {
			break
		}
		s.auth.registered = registration{code: "dc-" + s.next(), began: s.opts.Now(), every: cmp.Or(s.auth.hurry, registrationEvery)}
		status, body = http.StatusOK, object{
			"device_code": s.auth.registered.code, "user_code": "ABCD-EFGH", "verification_uri": "https://open.feishu.cn/page/launcher",
			"verification_uri_complete": "https://open.feishu.cn/page/launcher?user_code=ABCD-EFGH",
			"interval":                  int(s.auth.registered.every.Seconds()), "expires_in": int(registrationLife.Seconds()),
		}
	case "poll":
		status, body = s.pollRegistration(f.Get("device_code"), strings.Contains(r.Host, "lark"))
	}
	answer(w, status, body)
}

// pollRegistration says how far the newest registration is; s.mu is held.
func (s *Server) pollRegistration(code string, lark bool) (int, object) {
	g, now := &s.auth.registered, s.opts.Now()
	pending := func(why string) (int, object) {
		return http.StatusBadRequest, object{"error": why, "error_description": why}
	}
	early := !g.polled.IsZero() && now.Sub(g.polled) < g.every
	g.polled = now
	switch {
	case code == "" || code != g.code || now.Sub(g.began) > registrationLife, g.over:
		return pending("expired_token")
	case g.slowed > 0:
		g.slowed--
		g.every += 5 * time.Second
		return pending("slow_down")
	case g.refused:
		return pending("access_denied")
	case g.brand == "lark" && !lark:
		return http.StatusOK, object{"user_info": object{"tenant_brand": "lark"}}
	case g.brand != "":
		return http.StatusOK, object{
			"client_id": s.opts.AppID, "client_secret": s.opts.Secret, "user_info": object{"open_id": "ou_owner", "tenant_brand": g.brand},
		}
	case early:
		g.every += 5 * time.Second
		return pending("slow_down")
	}
	return pending("authorization_pending")
}
