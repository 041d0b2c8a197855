// Package modelserver is a scripted model for tests and for the simulator: one
// HTTP server that speaks both the OpenAI chat-completions API and the
// Anthropic Messages API. What it answers is decided by a function; what it
// refuses is decided by the vendors' rules, so a history that a real vendor
// would not take fails here too. It is no model and knows nothing of Magpie.
// A Server owns the goroutines of its listener and its connections; Close
// waits for them.
package modelserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxBody bounds a request body in bytes: above any history a test sends.
	maxBody = 64 << 20
	// maxKept bounds how many requests and violations are remembered.
	maxKept = 512
)

// TB is what New needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Server is a running fake. All methods are safe for concurrent use.
type Server struct {
	url    string
	http   *http.Server
	served chan struct{} // closed when the listener's goroutine has ended
	done   chan struct{} // closed by Close: everything that hangs lets go
	close  sync.Once
	active sync.WaitGroup // requests under way

	mu    sync.Mutex
	reply func(Request) Answer
	hear  func(Recording) Answer
	key   string
	kept
}

// kept is what has come so far.
type kept struct {
	count      int
	requests   []Request
	recordings []Recording
	violations []string
}

// New starts a server on a free loopback port. With a test, the server is
// closed at its end, and every violation that Violations has not handed out by
// then fails it. Without one (nil) the caller calls Close, and a port that
// cannot be had is a panic; programs use Start.
func New(t TB) *Server {
	s, err := Start()
	if t == nil {
		if err != nil {
			panic(err)
		}
		return s
	}
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		s.Close()
		for _, v := range s.Violations() {
			t.Errorf("modelserver: the client broke a rule: %s", v)
		}
	})
	return s
}

// Start starts a server on a loopback port that the system chooses.
func Start() (*Server, error) {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start model server: %w", err)
	}
	s := &Server{
		url:    "http://" + ln.Addr().String(),
		served: make(chan struct{}),
		done:   make(chan struct{}),
		reply:  Echo,
		hear:   unheard,
	}
	s.http = &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.violate("serve: " + err.Error())
		}
	}()
	return s, nil
}

// URL is the root of the server, without a path: what an Anthropic client
// takes as its base.
func (s *Server) URL() string { return s.url }

// OpenAI is the base URL for OpenAI clients: URL with /v1.
func (s *Server) OpenAI() string { return s.url + "/v1" }

// Close ends every answer under way and waits until nothing runs any more.
// Closing twice is fine.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.done)
		_ = s.http.Close()
		<-s.served
		s.active.Wait()
	})
}

// Reply sets the function that decides the answers from now on; nil brings
// back Echo. It may be called by several requests at once, and may block:
// Request.Gone is closed when the client gave up or the server is closed.
func (s *Server) Reply(f func(Request) Answer) {
	if f == nil {
		f = Echo
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply = f
}

// Script answers with the given answers in turn, then with Echo.
func (s *Server) Script(answers ...Answer) {
	var mu sync.Mutex
	next := 0
	s.Reply(func(r Request) Answer {
		mu.Lock()
		defer mu.Unlock()
		if next >= len(answers) {
			return Echo(r)
		}
		next++
		return answers[next-1]
	})
}

// RequireKey makes the server refuse every other API key; "" takes any.
func (s *Server) RequireKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// Count says how many requests for an answer have come, legal or not.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Requests returns the last legal requests (at most 512), oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Violations returns what clients did against the vendors' rules since the
// last call, and forgets it.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.violations
	s.violations = nil
	return v
}

func (s *Server) violate(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.violations) < maxKept {
		s.violations = append(s.violations, text)
	}
}

// next counts a request and returns its number and the key that is wanted.
func (s *Server) next() (n int, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return s.count, s.key
}

// record remembers a legal request and returns who answers it.
func (s *Server) record(r Request) func(Request) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == maxKept {
		s.requests = append(s.requests[:0], s.requests[1:]...)
	}
	s.requests = append(s.requests, r)
	return s.reply
}
