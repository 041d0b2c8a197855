package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"magpie/internal/fakes/served"
	"magpie/internal/fakes/trouble"
)

// Fault makes calls go wrong. One with no field set is a hang: the call is
// read and never answered.
type Fault struct {
	Route   string // "" = "create message", "*" = all
	Channel string // only calls about that one; "" = any
	Times   int    // how many calls; 0 = one
	// After: the call has its effect first, and only its answer is lost.
	After bool
	// Status, Code and Text are the answer.
	Status int
	Code   int
	Text   string
	// Fields is the "errors" of the answer, in JSON.
	Fields     string
	RetryAfter float64 // seconds
	Global     bool    // the limit is the whole bot's
	// Page: the answer is an HTML page, as a proxy gives, with Text in it.
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
}

// note counts a call and picks the fault for it.
func (s *Server) note(route, channel string, body []byte) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.calls.Count(route)
	if !s.opts.Forget {
		s.record.calls.Keep(route, Call{route, string(body)})
	}
	return s.faults.Pick(func(f *Fault) bool {
		return (f.Channel == "" || f.Channel == channel) && (f.Route == "*" || f.Route == route || f.Route == "" && route == "create message")
	})
}

func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, f *Fault) {
	switch {
	case f.Drop:
		trouble.Cut()
	case f.Page:
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter))))
		}
		trouble.Page(w, f.Status, cmp.Or(f.Text, "cloudflare"))
	case f.Status != 0:
		refuse(w, &apiError{Status: f.Status, Code: f.Code, Text: f.Text, Fields: json.RawMessage(f.Fields), RetryAfter: f.RetryAfter, Global: f.Global})
	default:
		trouble.Hang(r.Context(), s.life.Done())
	}
}

// apiError is an answer that says no.
type apiError struct {
	Status, Code int
	Text         string
	Fields       json.RawMessage
	RetryAfter   float64
	Global       bool
}

func no(status, code int, text string) *apiError {
	return &apiError{Status: status, Code: code, Text: text}
}

// badForm is the answer to a field that is wrong.
func badForm(field, code, format string, args ...any) *apiError {
	fields, err := json.Marshal(map[string]any{field: map[string]any{
		"_errors": []map[string]string{{"code": code, "message": fmt.Sprintf(format, args...)}},
	}})
	if err != nil {
		fields = nil
	}
	return &apiError{Status: http.StatusBadRequest, Code: 50035, Text: "Invalid Form Body", Fields: fields}
}

func refuse(w http.ResponseWriter, e *apiError) {
	body := map[string]any{"message": e.Text, "code": e.Code}
	if len(e.Fields) > 0 {
		body["errors"] = e.Fields
	}
	if e.Status == http.StatusTooManyRequests {
		body = map[string]any{"message": "You are being rate limited.", "retry_after": e.RetryAfter, "global": e.Global}
		h := w.Header()
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter))))
		h.Set("X-RateLimit-Remaining", "0")
		h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", e.RetryAfter))
		h.Set("X-RateLimit-Scope", "user")
		if e.Global {
			h.Set("X-RateLimit-Global", "true")
			h.Set("X-RateLimit-Scope", "global")
		}
	} else if e.RetryAfter > 0 {
		body["retry_after"] = e.RetryAfter
	}
	answer(w, e.Status, body)
}

func answer(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	served.JSON(w, status, body)
}
