package feishu

import (
	"net/http"
	"slices"
	"time"

	"magpie/internal/fakes/trouble"
)

// Fault makes calls go wrong. With none of Code, Page and Drop it is a hang:
// the call is read and never answered.
type Fault struct {
	// Op is what it applies to: "" = sending (create and reply), "*" = all calls
	// with a token, else one of create, reply, get, update, patch, delete,
	// resource, react, unreact, reactions, image, file, card, cardupdate, content,
	// settings, convert, info, user, token, endpoint, handshake.
	Op    string
	Times int // how many calls; 0 = one
	// Types: only sends of these types (msg_type).
	Types []string
	// After: the call has its effect first, and only its answer is lost.
	After bool
	// Status, Code and Msg are the answer; Status 0 = 400.
	Status, Code int
	Msg          string
	Reset        int  // seconds in x-ogw-ratelimit-reset
	Page         bool // the answer is an HTML page, as a proxy gives
	Drop         bool // the connection is closed instead of an answer
}

// Fail arranges a fault for calls to come, used up in order.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.list.Add(f, f.Times)
}

// Calls is how many calls of an op were made.
func (s *Server) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.calls[op]
}

type faults struct {
	list   trouble.List[Fault]
	calls  map[string]int
	denied []string
	all    trouble.Bucket
}

func (f *faults) count(op string) {
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[op]++
}

// pick uses up a fault for a call, or returns nil.
func (f *faults) pick(op, messageType string) *Fault {
	return f.list.Pick(func(one *Fault) bool {
		sends := op == "create" || op == "reply"
		special := op == "token" || op == "endpoint" || op == "handshake"
		if one.Op != op && (one.Op != "" || !sends) && (one.Op != "*" || special) {
			return false
		}
		return len(one.Types) == 0 || slices.Contains(one.Types, messageType)
	})
}

func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, f *Fault) {
	switch {
	case f.Drop:
		trouble.Cut()
	case f.Page:
		trouble.Page(w, f.Status, "nginx")
	case f.Code != 0:
		status := f.Status
		if status == 0 {
			status = http.StatusBadRequest
		}
		refuse(w, &refusal{status: status, code: f.Code, msg: f.Msg, reset: f.Reset})
	default:
		trouble.Hang(r.Context(), s.life.Done())
	}
}

// Feishu's rate rules (im/v1/message/create, read November 2026).
const (
	allPerSecond  = 50
	chatPerSecond = 5
)

func (f *faults) tooFast(now time.Time) *refusal {
	if f.all.Take(now, allPerSecond, allPerSecond) == 0 {
		return nil
	}
	return &refusal{status: http.StatusTooManyRequests, code: 99991400, msg: "request trigger frequency limit", reset: 1}
}
