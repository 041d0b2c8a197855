package dingtalk

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/open-dingtalk/dingtalk-stream-sdk-go/payload"

	"magpie/channels"
)

const (
	// dialPatience bounds the making of a connection.
	dialPatience = 15 * time.Second
	// maxFrame bounds a frame in bytes; messages are some kB.
	maxFrame = 4 << 20
)

// The types of frames.
const (
	typeSystem   = "SYSTEM"
	typeCallback = "CALLBACK"
)

// stream keeps one connection to the gateway. When the gateway says that a
// connection has to go, the next is made before the old one is given up: what
// is pushed in between would be lost.
type stream struct {
	t       *DingTalk
	in      *intake
	retired sync.WaitGroup
}

// run receives until ctx ends (then nil) or the credentials are refused.
func (s *stream) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.retired.Wait()
	defer cancel()
	wait := s.t.backoff()
	var cur *conn
	defer func() { s.retire(ctx, cur, 0) }()
	for ctx.Err() == nil {
		next, err := s.dial(ctx)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			if final(err) {
				return err
			}
			if !cur.alive() {
				s.t.deps.Status.Failed(err)
			}
			s.t.deps.Log.Warn("dingtalk stream was not opened", "err", err)
			wait.Pause(ctx, err)
			continue
		}
		s.t.deps.Status.Connected()
		s.t.deps.Log.Info("dingtalk stream connected", "robot", s.t.cfg.RobotCode)
		s.retire(ctx, cur, s.t.pace.linger)
		cur = next
		began := time.Now()
		err = cur.wait(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			s.t.deps.Status.Failed(err)
			s.t.deps.Log.Warn("dingtalk stream broke", "err", err)
		}
		if time.Since(began) > s.t.pace.retryMax {
			wait.Reset()
		} else {
			wait.Pause(ctx, nil)
		}
	}
	return nil
}

// retire lets a connection that has a successor end: after linger, or when the
// gateway closes it.
func (s *stream) retire(ctx context.Context, c *conn, linger time.Duration) {
	if c == nil {
		return
	}
	if linger <= 0 {
		c.close()
		return
	}
	s.retired.Go(func() {
		timer := time.NewTimer(linger)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.ended:
		case <-ctx.Done():
		}
		c.close()
	})
}

// ticket asks for a connection: an address with a ticket that is good for 90 s
// and one connection.
func (t *DingTalk) ticket(ctx context.Context) (string, error) {
	const op = "connections/open"
	type sub = payload.SubscriptionModel
	in := payload.ConnectionEndpointRequest{
		ClientId: t.cfg.ClientID, ClientSecret: string(t.cfg.ClientSecret), UserAgent: "magpie",
		Subscriptions: []*sub{{Type: typeCallback, Topic: payload.BotMessageCallbackTopic}},
	}
	if t.cards != nil {
		in.Subscriptions = append(in.Subscriptions, &sub{Type: typeCallback, Topic: payload.CardInstanceCallbackTopic})
	}
	var got payload.ConnectionEndpointResponse
	err := t.api.do(ctx, call{op: op, url: t.cfg.APIBase + "/v1.0/gateway/connections/open", in: in, bare: true}, &got)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(got.Endpoint)
	if err != nil || u.Host == "" || got.Ticket == "" {
		return "", t.api.Fail(op, channels.Temporary, errors.New("answer without an endpoint and a ticket"))
	}
	if u.Scheme != "wss" && (u.Scheme != "ws" || !strings.HasPrefix(t.cfg.APIBase, "http://")) {
		return "", t.api.Fail(op, channels.Temporary, fmt.Errorf("the endpoint has the scheme %q; only wss is accepted", u.Scheme))
	}
	q := u.Query()
	q.Set("ticket", got.Ticket)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

func (s *stream) dial(ctx context.Context) (*conn, error) {
	dctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	at, err := s.t.ticket(dctx)
	if err != nil {
		return nil, err
	}
	ws, resp, err := websocket.Dial(dctx, at, &websocket.DialOptions{HTTPClient: s.t.api.HTTP()})
	if err != nil {
		if resp != nil && resp.StatusCode != 0 {
			err = fmt.Errorf("the gateway answered with HTTP status %d", resp.StatusCode)
		}
		return nil, s.t.api.Fail("connect", channels.Temporary, err)
	}
	ws.SetReadLimit(maxFrame)
	return newConn(ctx, s.t, s.in, ws), nil
}

func (t *DingTalk) backoff() *channels.Backoff {
	return channels.NewBackoff(t.pace.retry, t.pace.retryMax)
}
