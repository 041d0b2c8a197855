package qq

import (
	"net/http"

	"magpie/internal/fakes/trouble"
)

// Fault makes calls go wrong. The zero Status with no other field set is a
// hang: the call is read and never answered.
type Fault struct {
	// Op to which it applies: messages ("" too), stream, files, prepare, part,
	// "put part", gateway, token, put, delete.
	Op       string
	Times    int  // how many calls; 0 = one
	Skip     int  // how many calls go well before
	Markdown bool // only messages of type 2
	// After: the call has its effect first, and only its answer is lost.
	After bool
	// Status, Code and Text are the answer.
	Status, Code int
	Text         string
	RetryAfter   int // seconds
	// Page: the answer is an HTML page with that Status, as a proxy gives.
	Page bool
	// Drop: the connection is closed instead of an answer.
	Drop bool
}

// Fail arranges a fault for calls to come. Faults are used up in the order in
// which they were arranged.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Op == "" {
		f.Op = "messages"
	}
	s.store.faults.Add(f, f.Times)
}

// fault counts a call and picks the fault for it.
func (s *Server) fault(op string, kind int) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.calls[op]++
	return s.store.faults.Pick(func(f *Fault) bool {
		fits := f.Op == op && (!f.Markdown || kind == typeMarkdown)
		if fits && f.Skip > 0 {
			f.Skip--
			return false
		}
		return fits
	})
}

// Calls is how often an operation was called, in the words of Fault.Op.
func (s *Server) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.calls[op]
}

func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, f *Fault) {
	switch {
	case f.Drop:
		trouble.Cut()
	case f.Page:
		trouble.Page(w, f.Status, "stgw")
	case f.Status != 0:
		refuse(w, &refusal{Status: f.Status, Code: f.Code, Text: f.Text, RetryAfter: f.RetryAfter})
	default:
		trouble.Hang(r.Context(), s.life.Done())
	}
}
