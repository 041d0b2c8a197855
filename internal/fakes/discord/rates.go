package discord

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// allPerSecond is how many requests a bot may make in a second
// (topics/rate-limits "Global Rate Limit", read November 2026). Interactions'
// endpoints are not counted (the same page).
const allPerSecond = 50

// bounds are the limits of routes, each counted in fixed windows for one
// channel, or one token of an interaction. They are not documented: the numbers
// are those of the headers that clients report (discord-net/Discord.Net #2375,
// bwmarrin/discordgo #1384; read November 2026). A creation and an edit are
// counted apart.
var bounds = map[string]bound{
	"create message":     {"create", 5, 5 * time.Second},
	"edit message":       {"edit", 5, 5 * time.Second},
	"delete message":     {"delete", 5, time.Second},
	"typing":             {"typing", 5, 5 * time.Second},
	"follow up":          {"webhook", 5, 2 * time.Second},
	"edit follow-up":     {"webhook", 5, 2 * time.Second},
	"react":              {"react", 4, time.Second},
	"take reaction away": {"react", 4, time.Second},
}

type bound struct {
	bucket string
	calls  int
	per    time.Duration
}

// window counts the calls of one bucket since it began.
type window struct {
	began time.Time
	calls int
}

// rated is where a call stands in its bucket.
type rated struct {
	bound
	left  int
	reset time.Duration // until the window ends
}

func (r *rated) headers(h http.Header) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(r.calls))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(r.left))
	h.Set("X-RateLimit-Reset-After", fmt.Sprintf("%.3f", r.reset.Seconds()))
	h.Set("X-RateLimit-Bucket", r.bucket)
}

// take counts a call in a window; wait is how long none more is let in.
func (s *Server) take(name string, b bound) (left int, reset, wait time.Duration) {
	now := s.opts.Now()
	w := s.rates[name]
	if w == nil || now.Sub(w.began) >= b.per {
		w = &window{began: now}
		s.rates[name] = w
	}
	reset = b.per - now.Sub(w.began)
	if w.calls >= b.calls {
		return 0, reset, reset
	}
	w.calls++
	return b.calls - w.calls, reset, 0
}

// tooFast applies the rate rules to a call. The server is locked.
func (s *Server) tooFast(r *request) *apiError {
	if !s.opts.Rates {
		return nil
	}
	top := r.PathValue("token")
	if top == "" {
		if _, _, wait := s.take("", bound{"", allPerSecond, time.Second}); wait > 0 {
			return s.limited(wait, true)
		}
		top = r.PathValue("channel")
	}
	b, ok := bounds[r.route]
	if !ok {
		return nil
	}
	left, reset, wait := s.take(b.bucket+" "+top, b)
	r.rated = &rated{b, left, reset}
	if wait > 0 {
		return s.limited(wait, false)
	}
	return nil
}

func (s *Server) limited(wait time.Duration, global bool) *apiError {
	s.record.limited++
	return &apiError{Status: http.StatusTooManyRequests, RetryAfter: math.Ceil(wait.Seconds()*1000) / 1000, Global: global}
}

// Limited is how many calls were refused because they came too fast: a bot
// that reads the headers has none.
func (s *Server) Limited() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.limited
}
