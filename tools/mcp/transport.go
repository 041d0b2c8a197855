package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"magpie/internal/proxy"
	"magpie/tools/web/guard"
)

// The kinds of connections.
const (
	kindStdio = "stdio"
	kindHTTP  = "http"
	kindSSE   = "sse"
)

func kindOf(cfg Server) string {
	switch {
	case cfg.URL == "":
		return kindStdio
	case strings.HasSuffix(strings.TrimRight(cfg.URL, "/"), "/sse"):
		return kindSSE
	}
	return kindHTTP
}

// opener connects in one way.
type opener func(ctx context.Context, c *sdk.Client) (session *sdk.ClientSession, end ending, err error)

// ending closes a connection and waits. It returns what a started server left
// to say, to be appended to an error; "" for nothing.
type ending func() string

// transports are the ways to a server, in the order to try: the address of an
// SSE server usually ends in /sse, and an older server answers streamable HTTP
// with an error.
func (s *server) transports() []opener {
	http, sse := s.web(kindHTTP), s.web(kindSSE)
	switch kindOf(s.cfg) {
	case kindStdio:
		return []opener{s.start}
	case kindSSE:
		return []opener{sse, http}
	}
	return []opener{http, sse}
}

func (s *server) web(kind string) opener {
	return func(ctx context.Context, c *sdk.Client) (*sdk.ClientSession, ending, error) {
		// The connection outlives ctx, which bounds the greeting.
		life, cancel := context.WithCancel(context.WithoutCancel(ctx))
		transport := &http.Transport{
			Proxy: proxy.Environment, ForceAttemptHTTP2: true, MaxIdleConns: 4,
			IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: time.Minute,
		}
		client := &http.Client{Transport: headers{transport, s, kind}}
		var t sdk.Transport = &sdk.StreamableClientTransport{Endpoint: guard.Encoded(s.cfg.URL), HTTPClient: client}
		if kind == kindSSE {
			t = &sdk.SSEClientTransport{Endpoint: guard.Encoded(s.cfg.URL), HTTPClient: client}
		}
		release := func() {
			cancel()
			transport.CloseIdleConnections()
		}
		session, err := greet(ctx, life, c, t)
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("%s: %w", kind, err)
		}
		s.mu.Lock()
		s.state.Kind = kind
		s.mu.Unlock()
		return session, func() string {
			_ = session.Close() // whether the server hears of it does not matter
			release()
			return ""
		}, nil
	}
}

// greet connects within ctx on a connection that lives as long as life.
func greet(ctx, life context.Context, c *sdk.Client, t sdk.Transport) (*sdk.ClientSession, error) {
	life, giveUp := context.WithCancelCause(life)
	stop := context.AfterFunc(ctx, func() { giveUp(context.Cause(ctx)) })
	session, err := c.Connect(life, t, nil)
	if !stop() && err == nil {
		_ = session.Close() // it came too late
		err = context.Cause(ctx)
	}
	if err != nil {
		giveUp(err)
		if ctx.Err() != nil {
			return nil, errors.New("no answer in time")
		}
	}
	return session, err
}

// headers adds the configured headers, to the configured host only, and keeps
// what the SDK would drop of the answers.
type headers struct {
	next   http.RoundTripper
	server *server
	kind   string
}

// RoundTrip implements http.RoundTripper.
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	cfg := h.server.cfg
	if strings.HasPrefix(cfg.URL, r.URL.Scheme+"://"+r.URL.Host+"/") || cfg.URL == r.URL.Scheme+"://"+r.URL.Host {
		r = r.Clone(r.Context())
		for name, value := range cfg.Headers {
			r.Header.Set(name, string(value))
		}
	}
	resp, err := h.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	// Without a stream of its own a server over streamable HTTP works as well.
	if r.Method == http.MethodPost || r.Method == http.MethodGet && h.kind == kindSSE {
		if err := refusal(resp); err != nil {
			return nil, err
		}
	}
	h.server.overhear(resp)
	return resp, nil
}

// start runs the server as a child process and speaks with it over its standard
// input and output.
func (s *server) start(ctx context.Context, c *sdk.Client) (*sdk.ClientSession, ending, error) {
	kid, err := s.launch()
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", s.cfg.Command, err)
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	// The output stays open until the process is gone.
	session, err := greet(ctx, life, c, &lines{
		in: kid.in, out: io.NopCloser(kid.out), heard: s.heard, noise: func(text string) { s.noise(kid, text) },
	})
	end := func() string {
		said := kid.end()
		if how := s.advice(); how != "" && (session == nil || refused.MatchString(said)) {
			said += "; " + how
		}
		if session != nil {
			_ = session.Close() // its process is gone in any case
		}
		cancel()
		return said
	}
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w%s", s.cfg.Command, err, end())
	}
	return session, end, nil
}
