package dingtalk

import (
	"net/http"

	"magpie/internal/fakes/trouble"
)

// The names of calls, for Fault.
const (
	OpOpen       = "open"        // of a stream connection
	OpToken      = "token"       // access token
	OpWebhook    = "webhook"     // session webhook
	OpPerson     = "person"      // robot message to people
	OpGroup      = "group"       // robot message to a group
	OpRecall     = "recall"      // of a robot message
	OpUpload     = "upload"      // media
	OpDownload   = "download"    // where an inbound file is
	OpCardCreate = "card.create" // create and deliver
	OpCardStream = "card.stream"
	OpCardUpdate = "card.update"
)

// Fault makes calls go wrong. With nothing but Op and Times set it is a hang:
// the call is read and never answered.
type Fault struct {
	// Op to which it applies; "" = every call that sends a message, "*" = all.
	Op    string
	Times int // how many calls; 0 = one
	// Formatted: only messages in Markdown.
	Formatted bool
	// After: the call has its effect first, and only its answer is lost.
	After bool
	// Status, Code and Message are the answer on the API host, Errcode and
	// Message the one on the oapi host.
	Status     int
	Code       string
	Errcode    int
	Message    string
	Scopes     []string // permissions that are missing
	RetryAfter int      // seconds
	Page       bool     // the answer is an HTML page with Status, as a proxy gives
	Drop       bool     // the connection is closed instead of an answer
}

// Fail arranges a fault for calls to come. Faults are used up in the order in
// which they were arranged.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.Add(f, f.Times)
}

// Calls says how often a call was made, by its name.
func (s *Server) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.calls[op]
}

// Unasked is how many calls did not ask for JSON.
func (s *Server) Unasked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.unasked
}

// pick counts a call and takes the fault for it.
func (s *Server) pick(r *request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.calls[r.op]++
	if !r.wantsJSON() {
		s.store.unasked++
	}
	return s.faults.Pick(func(f *Fault) bool { return f.matches(r) })
}

func (f *Fault) matches(r *request) bool {
	if f.Formatted && !r.formatted() {
		return false
	}
	switch f.Op {
	case "*":
		return true
	case "":
		return r.op == OpWebhook || r.op == OpPerson || r.op == OpGroup
	}
	return f.Op == r.op
}

func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, rt route, f *Fault) {
	switch {
	case f.Drop:
		trouble.Cut()
	case f.Page:
		trouble.Page(w, f.Status, "Tengine")
	case f.Code != "" || f.Errcode != 0:
		status := f.Status
		if status == 0 {
			status = http.StatusBadRequest
		}
		refuse(w, rt.kind, &refusal{Status: status, Code: f.Code, Errcode: f.Errcode, Message: f.Message, Scopes: f.Scopes, RetryAfter: f.RetryAfter})
	default:
		trouble.Hang(r.Context(), s.life.Done())
	}
}
