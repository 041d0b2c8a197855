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
		client := &http.Client{Transport: headers{transport, s.cfg}}
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

// headers adds the configured headers, to the configured host only.
type headers struct {
	next http.RoundTripper
	cfg  Server
}

// RoundTrip implements http.RoundTripper.
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(h.cfg.URL, r.URL.Scheme+"://"+r.URL.Host+"/") || h.cfg.URL == r.URL.Scheme+"://"+r.URL.Host {
		r = r.Clone(r.Context())
		for name, value := range h.cfg.Headers {
			r.Header.Set(name, string(value))
		}
	}
	return h.next.RoundTrip(r)
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
	session, err := greet(ctx, life, c, &sdk.IOTransport{Reader: io.NopCloser(kid.out), Writer: kid.in})
	end := func() string {
		said := kid.end()
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
