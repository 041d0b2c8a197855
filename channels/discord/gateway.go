package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"magpie/channels"
)

// Operations of the gateway (topics/opcodes-and-status-codes "Gateway
// Opcodes", read November 2026).
const (
	opDispatch     = 0
	opHeartbeat    = 1
	opIdentify     = 2
	opResume       = 6
	opReconnect    = 7
	opInvalid      = 9
	opHello        = 10
	opHeartbeatAck = 11
)

const (
	// maxFrame bounds a frame in bytes; the greeting of a large guild has some MB.
	maxFrame = 32 << 20
	// queued is how many events may wait for the sink before reading stops.
	queued = 2048
	// writePatience bounds the writing of one small frame.
	writePatience = 10 * time.Second
)

// closed is the end of a connection as the gateway declared it.
type closed struct{ code websocket.StatusCode }

func (c *closed) Error() string {
	return fmt.Sprintf("the gateway closed the connection with code %d", c.code)
}

var (
	errReconnect = errors.New("the gateway asked to connect again")
	errZombie    = errors.New("the gateway did not answer a heartbeat in time")
	errInvalid   = errors.New("the gateway does not know the session any more")
)

// gateway is one connection. Events come out of it in order; whoever takes one
// moves the sequence on when it is done with it.
type gateway struct {
	conn   *websocket.Conn
	beat   time.Duration
	seq    *atomic.Int64 // the last event that is stored
	events chan discordgo.Event
	acked  atomic.Bool
}

// dial connects and waits for the greeting.
func (d *Discord) dial(ctx context.Context, address string, seq *atomic.Int64) (*gateway, error) {
	ctx, cancel := context.WithTimeout(ctx, d.pace.hello)
	defer cancel()
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "wss" && (u.Scheme != "ws" || d.api.base.Scheme == "https") {
		return nil, errors.New("the gateway's address is not one of wss://")
	}
	u.RawQuery = url.Values{"v": {discordgo.APIVersion}, "encoding": {"json"}}.Encode()
	if u.Path == "" {
		u.Path = "/"
	}
	conn, _, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
		HTTPClient: d.api.HTTP(),
		HTTPHeader: http.Header{"User-Agent": {d.api.session.UserAgent}},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the gateway: %w", d.api.Clean(err))
	}
	conn.SetReadLimit(maxFrame)
	g := &gateway{conn: conn, seq: seq, events: make(chan discordgo.Event, queued)}
	g.acked.Store(true)
	if err := g.hello(ctx); err != nil {
		_ = conn.CloseNow()
		return nil, fmt.Errorf("wait for the gateway's greeting: %w", err)
	}
	return g, nil
}

func (g *gateway) hello(ctx context.Context) error {
	ev, err := g.next(ctx)
	if err != nil {
		return err
	}
	var hello struct {
		Interval int64 `json:"heartbeat_interval"` // ms
	}
	if ev.Operation != opHello || json.Unmarshal(ev.RawData, &hello) != nil || hello.Interval <= 0 {
		return fmt.Errorf("operation %d came without an interval", ev.Operation)
	}
	g.beat = time.Duration(hello.Interval) * time.Millisecond
	return nil
}

// next reads one frame. A frame that is no JSON is an empty event.
func (g *gateway) next(ctx context.Context) (discordgo.Event, error) {
	_, data, err := g.conn.Read(ctx)
	if err != nil {
		var ce websocket.CloseError
		if errors.As(err, &ce) {
			return discordgo.Event{}, &closed{ce.Code} // the reason's text is not needed
		}
		return discordgo.Event{}, err
	}
	var ev discordgo.Event
	if json.Unmarshal(data, &ev) != nil {
		return discordgo.Event{Operation: -1}, nil
	}
	return ev, nil
}

func (g *gateway) write(ctx context.Context, op int, data any) error {
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	return wsjson.Write(ctx, g.conn, map[string]any{"op": op, "d": data})
}

func (g *gateway) identify(ctx context.Context, token string, intents int) error {
	return g.write(ctx, opIdentify, map[string]any{
		"token": token, "intents": intents, "large_threshold": 50,
		"properties": map[string]string{"os": "linux", "browser": "magpie", "device": "magpie"},
		"presence":   map[string]any{"since": nil, "activities": []any{}, "status": "online", "afk": false},
	})
}

func (g *gateway) resume(ctx context.Context, token, session string) error {
	return g.write(ctx, opResume, map[string]any{"token": token, "session_id": session, "seq": g.seq.Load()})
}

// read hands out events until the connection ends, and says why it did.
func (g *gateway) read(ctx context.Context) error {
	defer close(g.events)
	for {
		ev, err := g.next(ctx)
		if err != nil {
			return err
		}
		switch ev.Operation {
		case opDispatch:
			select {
			case g.events <- ev:
			case <-ctx.Done():
				return ctx.Err()
			}
		case opHeartbeat:
			_ = g.heartbeat(ctx) // the next read tells why not
		case opHeartbeatAck:
			g.acked.Store(true)
		case opReconnect:
			return errReconnect
		case opInvalid:
			if strings.TrimSpace(string(ev.RawData)) == "true" {
				return errReconnect
			}
			return errInvalid
		}
	}
}

func (g *gateway) heartbeat(ctx context.Context) error {
	var last any // null before the first event
	if n := g.seq.Load(); n > 0 {
		last = n
	}
	return g.write(ctx, opHeartbeat, last)
}

// farewell is how long a failed heartbeat waits for the reader, which learns from
// a close frame why: the code decides whether to try again.
const farewell = time.Second

// pulse sends heartbeats until ctx ends. One without an answer before the next
// is due means that nobody is there any more. The first comes after a random
// part of the interval, as Discord asks.
func (g *gateway) pulse(ctx context.Context) error {
	timer := time.NewTimer(time.Duration(rand.Float64() * float64(g.beat)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		if !g.acked.Swap(false) {
			return errZombie
		}
		if err := g.heartbeat(ctx); err != nil {
			channels.NewBackoff(farewell, farewell).PauseAtLeast(ctx, farewell)
			return err
		}
		timer.Reset(g.beat)
	}
}
