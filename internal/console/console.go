// Package console is the program's one HTTP server, on web.listen: health,
// readiness, metrics and the platforms' hooks are open; every other route
// needs the token in an Authorization header, or a login: a cookie and, for all
// but the page's own files, the key of the same login. What a reverse proxy
// changes about requests is internal/front's. It serves what it is given (the
// chat page, APIs) and knows none of it. Run starts and waits for the goroutines of the server; handlers run on
// them.
//
// Open routes
//
//	GET  /healthz            200 while the process lives
//	GET  /readyz             200, or 503 with {"ready":false,"missing":[{"what","why"}]}; with "channels" and "configuration"
//	GET  /metrics            Prometheus text
//	     /hooks/<instance>   authenticated by the platform's signature
//	GET  /login, POST /login the login page; /logout ends a login
//
// A GET of any other path with ?token=<token> logs in and redirects to the same
// address without it. Programs send "Authorization: Bearer <token>". Routes of
// the operator want what SignOperator makes of it instead.
package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"magpie/chat"
	"magpie/internal/front"
)

const (
	headerWait = 10 * time.Second // to send the headers of a request
	bodyWait   = 5 * time.Minute  // to send a request with a large upload
	answerWait = 5 * time.Minute  // to take an answer; streams extend it themselves
	idleWait   = 2 * time.Minute  // of a kept connection
	stopGrace  = time.Second      // for requests under way before streams are ended
	stopWait   = 4 * time.Second  // for all requests before they are cut
	maxHeader  = 32 << 10         // bytes
	maxBody    = 1 << 20          // bytes of a request, where a Route does not say otherwise
)

// Problem names something without which the program cannot work.
type Problem struct {
	What string `json:"what"` // "bus", "channel telegram"
	Why  string `json:"why"`
}

// Config is what the console needs. Token and Key are required.
type Config struct {
	Listen  string                  // host:port; port 0 picks one
	Token   chat.Secret             // see LoadToken
	Key     []byte                  // signs cookies, see LoadKey
	Front   *front.Front            // what stands in front; nil: nothing. Hooks may be asked for under any name
	Ready   func() []Problem        // empty: ready. nil: always ready
	States  func() map[string]any   // of the channels, shown by /readyz; nil: none
	Loaded  func() any              // how the configuration in force is, shown by /readyz; nil: not
	Metrics http.Handler            // nil: 404
	Hooks   map[string]http.Handler // by instance
	Log     *slog.Logger            // nil: silent
	Now     func() time.Time        // nil: time.Now
}

// Route is a handler behind the login.
type Route struct {
	Pattern  string // as http.ServeMux takes it
	Handler  http.Handler
	MaxBody  int64 // bytes; 0 = 1 MiB
	Operator bool  // for requests of SignOperator only, not for logins
}

// Server is the console. Make it with New.
type Server struct {
	cfg     Config
	handler http.Handler
	guard   *guard

	mu       sync.Mutex
	listener net.Listener
	twin     net.Listener // on the other loopback address; nil: none
	socket   net.Listener // in the data folder; nil: none
}

// New checks the configuration and mounts the routes; a pattern that
// contradicts another is an error. It opens nothing yet.
func New(cfg Config, routes ...Route) (*Server, error) {
	if cfg.Token == "" || len(cfg.Key) == 0 {
		return nil, errors.New("console: no token or no cookie key (see LoadToken and LoadKey)")
	}
	if _, _, err := net.SplitHostPort(cfg.Listen); err != nil {
		return nil, fmt.Errorf("web.listen %q: want host:port such as 127.0.0.1:18990: %w", cfg.Listen, err)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Front == nil {
		var err error
		if cfg.Front, err = front.New(front.Config{Listen: cfg.Listen, Log: cfg.Log}); err != nil {
			return nil, err
		}
	}
	s := &Server{cfg: cfg, guard: newGuard(cfg)}
	handler, err := s.mount(routes)
	if err != nil {
		return nil, err
	}
	s.handler = handler
	return s, nil
}

func (s *Server) mount(routes []Route) (h http.Handler, err error) {
	defer func() { // http.ServeMux panics about patterns
		if p := recover(); p != nil {
			err = fmt.Errorf("console: mount routes: %v", p)
		}
	}()
	inner, outer := http.NewServeMux(), http.NewServeMux()
	for _, r := range routes {
		limit := r.MaxBody
		if limit == 0 {
			limit = maxBody
		}
		if r.Operator {
			outer.Handle(r.Pattern, limitBody(limit, s.guard.operators(r.Handler)))
			continue
		}
		inner.Handle(r.Pattern, limitBody(limit, r.Handler))
	}
	outer.HandleFunc("GET /readyz", s.readyz)
	if s.cfg.Metrics != nil {
		outer.Handle("GET /metrics", s.cfg.Metrics)
	}
	outer.HandleFunc("GET /favicon.ico", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) })
	outer.HandleFunc("GET /login", s.guard.loginPage)
	outer.HandleFunc("GET /login.css", loginStyle)
	outer.Handle("POST /login", limitBody(maxLogin, http.HandlerFunc(s.guard.login)))
	outer.HandleFunc("POST /logout", s.guard.logout)
	outer.Handle("/", s.guard.protect(inner))

	top := http.NewServeMux()
	top.HandleFunc("GET /healthz", healthz) // tells nothing, so that a balancer may ask under any name
	for name, hook := range s.cfg.Hooks {
		// Platforms come without Origin and under the public name: neither
		// check fits them, their signature is the check.
		top.Handle("/hooks/"+name, limitBody(maxHook, hook))
	}
	top.HandleFunc("/hooks/", http.NotFound)
	top.Handle("/", s.guard.checkHost(s.guard.checkOrigin(outer)))
	return safeHeaders(s.cfg.Front.Handler(top)), nil
}

// Handler is the whole console without a listener, for tests.
func (s *Server) Handler() http.Handler { return s.handler }

// Listen opens the port, so that its troubles are known before anything else
// starts. A second call does nothing.
func (s *Server) Listen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("web.listen %s: the port is taken, perhaps by a bot that is running already: stop it, or set web.listen to another port: %w", s.cfg.Listen, err)
	}
	if err != nil {
		return fmt.Errorf("web.listen %s: %w", s.cfg.Listen, err)
	}
	s.listener = l
	s.openTwin(ctx)
	s.guard.setPort(l.Addr())
	return nil
}

// URL is where a browser on this machine finds the console, "" before Listen.
func (s *Server) URL() string {
	at := s.address()
	if at == "" {
		return ""
	}
	return BaseURL(at)
}

// LoginURL is URL with the token in it: for the eyes of the person at the
// terminal only, never for a log.
func (s *Server) LoginURL() string {
	return s.URL() + "/?token=" + url.QueryEscape(string(s.cfg.Token))
}

// address is where the console listens, "" before Listen.
func (s *Server) address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Run serves until ctx ends and then stops: requests under way get a moment,
// streams are ended. It calls Listen when that has not been done. nil after an
// orderly stop.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Listen(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	listeners := []net.Listener{s.listener}
	for _, l := range []net.Listener{s.twin, s.socket} {
		if l != nil {
			listeners = append(listeners, l)
		}
	}
	s.mu.Unlock()
	base, endStreams := context.WithCancel(context.WithoutCancel(ctx))
	defer endStreams()
	srv := &http.Server{
		Handler:           s.handler,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerWait, ReadTimeout: bodyWait, WriteTimeout: answerWait, IdleTimeout: idleWait,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
	}
	var unused unused
	srv.ConnState = unused.note
	served := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { served <- srv.Serve(l) }()
	}
	select {
	case err := <-served:
		_ = srv.Close() // the others, whose end says nothing
		for range len(listeners) - 1 {
			<-served
		}
		return fmt.Errorf("serve %s: %w", s.cfg.Listen, err)
	case <-ctx.Done():
	}
	grace := time.AfterFunc(stopGrace, func() {
		endStreams()
		unused.close()
	})
	defer grace.Stop()
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	if err := srv.Shutdown(bound); err != nil {
		s.cfg.Log.Warn("console cut requests off", "err", err)
		_ = srv.Close() // what it could report was reported
	}
	for range listeners {
		<-served
	}
	return nil
}

// unused are the connections on which nothing was asked yet. Browsers open some
// in reserve, for which Shutdown would wait in vain.
type unused struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
}

func (u *unused) note(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state != http.StateNew {
		delete(u.conns, c)
		return
	}
	if u.conns == nil {
		u.conns = map[net.Conn]bool{}
	}
	u.conns[c] = true
}

func (u *unused) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.conns {
		_ = c.Close() // the client opens another where there is one to ask
	}
}

// ValidateListen reports a configuration that would put the console on the
// network without anybody having chosen a token.
func ValidateListen(listen string, configured chat.Secret) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("web.listen %q: want host:port such as 127.0.0.1:18990: %w", listen, err)
	}
	if configured == "" && !front.Local(host) {
		return fmt.Errorf("web.listen %s can be reached from other machines: set web.token, or listen on 127.0.0.1", listen)
	}
	return nil
}
