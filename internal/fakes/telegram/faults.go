package telegram

import (
	"net/http"
	"strings"
	"time"
)

// Fault makes calls go wrong. The zero Code with no other field set is a hang:
// the call is read and never answered.
type Fault struct {
	// Method to which it applies; "" = every method that sends ("send…"),
	// "*" = all.
	Method string
	Times  int // how many calls; 0 = one
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
	f.Times = max(f.Times, 1)
	s.faults = append(s.faults, f)
	if f.Method == "getUpdates" && f.Code != 0 && !f.Page {
		// A poll that waits already is what goes wrong.
		if s.updates.interrupt(&apiError{Code: f.Code, Text: f.Text, RetryAfter: f.RetryAfter}) {
			s.faults = s.faults[:len(s.faults)-1]
		}
	}
}

// note counts a call and picks the fault for it.
func (s *Server) note(req *request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.count(req, s.opts.Forget)
	for i := range s.faults {
		f := &s.faults[i]
		if !f.matches(req) {
			continue
		}
		found := *f
		if f.Times--; f.Times == 0 {
			s.faults = append(s.faults[:i], s.faults[i+1:]...)
		}
		return &found
	}
	return nil
}

func (f *Fault) matches(req *request) bool {
	if f.Formatted && req.params["parse_mode"] == "" {
		return false
	}
	switch f.Method {
	case "*":
		return true
	case "":
		return strings.HasPrefix(req.method, "send") && req.method != "sendChatAction"
	}
	return strings.EqualFold(f.Method, req.method)
}

func (s *Server) misbehave(w http.ResponseWriter, req *request, f *Fault) {
	switch {
	case f.Drop:
		panic(http.ErrAbortHandler) // net/http's way to cut a connection
	case f.Page:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Code)
		_, _ = w.Write([]byte("<html>\r\n<head><title>Bad Gateway</title></head>\r\n<body><center>nginx</center></body>\r\n</html>\r\n"))
	case f.Code != 0:
		refuse(w, &apiError{Code: f.Code, Text: f.Text, RetryAfter: f.RetryAfter})
	default:
		select {
		case <-req.ctx.Done():
		case <-s.closed:
		}
		panic(http.ErrAbortHandler)
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

// bucket fills with time and empties with messages.
type bucket struct {
	left float64
	at   time.Time
}

// take takes one message, or says after how many seconds to come again.
func (b *bucket) take(now time.Time, perSecond, size float64) int {
	if b.at.IsZero() {
		b.left = size
	} else {
		b.left = min(size, b.left+now.Sub(b.at).Seconds()*perSecond)
	}
	b.at = now
	if b.left < 1 {
		return int((1-b.left)/perSecond) + 1
	}
	b.left--
	return 0
}

type rates struct{ all bucket }

// tooFast applies the rate rules to n messages for a chat.
func (s *Server) tooFast(r *room, n int) *apiError {
	if !s.opts.Rates {
		return nil
	}
	now, wait := s.opts.Now(), 0
	for range n {
		if r.id < 0 {
			wait = max(wait, r.rate.take(now, groupPerMinute/60.0, groupPerMinute))
		} else {
			wait = max(wait, r.rate.take(now, chatPerSecond, chatBurst))
		}
		wait = max(wait, s.rates.all.take(now, allPerSecond, allPerSecond))
	}
	if wait > 0 {
		return flood(wait)
	}
	return nil
}
