package telegram

import (
	"net/http"
	"strings"

	"magpie/internal/fakes/trouble"
)

// Fault makes calls go wrong. The zero Code with no other field set is a hang:
// the call is read and never answered.
type Fault struct {
	// Method to which it applies; "" = every method that sends a message,
	// "*" = all.
	Method string
	Times  int // how many calls; 0 = one
	Skip   int // how many calls go well before
	// Formatted: only calls with a parse_mode.
	Formatted bool
	// After: the call has its effect first, and only its answer is lost.
	After bool
	// Code and Text are the answer with ok=false.
	Code       int
	Text       string
	RetryAfter int // seconds
	// Page: the answer is an HTML page with status Code, as a proxy gives.
	Page bool
	// Drop: the connection is closed instead of an answer.
	Drop bool
}

// Fail arranges a fault for calls to come. Faults are used up in the order in
// which they were arranged.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.Add(f, f.Times)
	if f.Method == "getUpdates" && f.Code != 0 && !f.Page {
		// A poll that waits already is what goes wrong.
		if s.updates.interrupt(&apiError{Code: f.Code, Text: f.Text, RetryAfter: f.RetryAfter}) {
			s.faults.Drop()
		}
	}
}

// note counts a call and picks the fault for it.
func (s *Server) note(req *request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.count(req, s.opts.Forget)
	return s.faults.Pick(func(f *Fault) bool {
		fits := f.matches(req)
		if fits && f.Skip > 0 {
			f.Skip--
			return false
		}
		return fits
	})
}

func (f *Fault) matches(req *request) bool {
	if f.Formatted && req.params["parse_mode"] == "" {
		return false
	}
	switch f.Method {
	case "*":
		return true
	case "":
		return strings.HasPrefix(req.method, "send") && req.method != "sendChatAction" && req.method != "sendMessageDraft"
	}
	return strings.EqualFold(f.Method, req.method)
}

func (s *Server) misbehave(w http.ResponseWriter, req *request, f *Fault) {
	switch {
	case f.Drop:
		trouble.Cut()
	case f.Page:
		trouble.Page(w, f.Code, "nginx")
	case f.Code != 0:
		refuse(w, &apiError{Code: f.Code, Text: f.Text, RetryAfter: f.RetryAfter})
	default:
		trouble.Hang(req.ctx, s.life.Done())
	}
}

// Telegram's rate rules (https://core.telegram.org/bots/faq#broadcasting-to-users,
// read November 2026). The burst of one chat is measured by others, not documented.
const (
	allPerSecond   = 30
	chatPerSecond  = 1
	chatBurst      = 3
	groupPerMinute = 20
)

type rates struct{ all trouble.Bucket }

// tooFast applies the rate rules to n messages for a chat.
func (s *Server) tooFast(r *room, n int) *apiError {
	if !s.opts.Rates {
		return nil
	}
	now, wait := s.opts.Now(), 0.0
	for range n {
		if r.id < 0 {
			wait = max(wait, r.streams.rate.Take(now, groupPerMinute/60.0, groupPerMinute))
		} else {
			wait = max(wait, r.streams.rate.Take(now, chatPerSecond, chatBurst))
		}
		wait = max(wait, s.rates.all.Take(now, allPerSecond, allPerSecond))
	}
	if wait > 0 {
		return s.floods(int(wait) + 1)
	}
	return nil
}
