package qq

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11

	intentMembers      = 1 << 24 // GROUP_MEMBER_EVENT, since August 2026
	intentGroups       = 1 << 25
	intentInteractions = 1 << 26

	// kept is how many events a session can make up for.
	kept = 5000
	// writePatience bounds one frame.
	writePatience = 10 * time.Second
)

// gateway is the state of the one shard.
type gateway struct {
	session *session
	conn    *conn
	begun   int  // sessions, for the limit a day
	silent  bool // heartbeats and events are not answered or sent
	last    int  // number of the last event
}

// session is what a client can take up again.
type session struct {
	id      string
	seq     uint32
	events  []event // the last ones
	intents int
}

// event is something that was or will be sent.
type event struct {
	seq     uint32
	kind    string
	id      string // "TYPE:…"
	payload any
}

// conn is one connection of a client.
type conn struct {
	ws     *websocket.Conn
	wake   chan struct{}
	cancel context.CancelFunc
	cursor uint32 // events up to it were sent
	resume bool   // RESUMED is still to be sent
}

type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
}

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // it has been answered
	}
	defer ws.CloseNow()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	c := &conn{ws: ws, wake: make(chan struct{}, 1), cancel: cancel}
	if c.write(ctx, map[string]any{"op": opHello, "d": map[string]any{"heartbeat_interval": s.opts.Heartbeat.Milliseconds()}}) != nil {
		return
	}
	if !s.greet(ctx, c) {
		return
	}
	defer s.leave(c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.push(ctx, c)
	}()
	s.listen(ctx, c)
	cancel()
	<-done
}

func (c *conn) write(ctx context.Context, v any) error {
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.ws.Write(ctx, websocket.MessageText, raw)
}

func (c *conn) close(code int, why string) { _ = c.ws.Close(websocket.StatusCode(code), why) }

// greet waits for identify or resume.
func (s *Server) greet(ctx context.Context, c *conn) bool {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Heartbeat)
	defer cancel()
	var f frame
	for f.Op != opIdentify && f.Op != opResume { // heartbeats may come before
		_, raw, err := c.ws.Read(ctx)
		if err != nil {
			return false
		}
		if json.Unmarshal(raw, &f) != nil {
			c.close(4002, "invalid payload")
			return false
		}
		if f.Op != opIdentify && f.Op != opResume && f.Op != opHeartbeat {
			c.close(4003, "not authenticated")
			return false
		}
	}
	if f.Op == opResume {
		return s.resume(ctx, c, f.Data)
	}
	return s.identify(c, f.Data)
}

func (s *Server) identify(c *conn, data json.RawMessage) bool {
	var ask struct {
		Token   string            `json:"token"`
		Intents int               `json:"intents"`
		Shard   []int             `json:"shard"`
		Props   map[string]string `json:"properties"`
	}
	token := ""
	if strict(data, &ask) == nil {
		token, _ = strings.CutPrefix(ask.Token, "QQBot ")
	}
	switch {
	case token == "" || token == ask.Token || !s.authorized(token):
		c.close(4004, "authentication failed")
		return false
	case len(ask.Shard) != 2 || ask.Shard[0] != 0 || ask.Shard[1] != 1:
		c.close(4010, "invalid shard")
		return false
	case ask.Intents <= 0:
		c.close(4013, "invalid intents")
		return false
	case ask.Intents&^s.intents() != 0:
		c.close(4014, "disallowed intents")
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.begun++
	s.gateway.session = &session{id: fmt.Sprintf("082ee18c-0000-4000-8000-%012d", s.gateway.begun), intents: ask.Intents}
	s.add(event{kind: "READY", payload: map[string]any{
		"version": 1, "session_id": s.gateway.session.id, "shard": []int{0, 1},
		"user": map[string]any{"id": BotID, "username": "magpie", "bot": true},
	}})
	s.attach(c)
	return true
}

// intents are those that the account was granted.
func (s *Server) intents() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := intentGroups | intentInteractions
	if s.store.policy.Members {
		all |= intentMembers
	}
	if s.store.policy.NoPresses {
		all &^= intentInteractions
	}
	return all
}

func (s *Server) resume(ctx context.Context, c *conn, data json.RawMessage) bool {
	var ask struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     uint32 `json:"seq"`
	}
	if strict(data, &ask) != nil || !s.authorized(strings.TrimPrefix(ask.Token, "QQBot ")) {
		c.close(4004, "authentication failed")
		return false
	}
	known, inRange := s.take(c, ask.Session, ask.Seq)
	switch {
	case !known:
		_ = c.write(ctx, map[string]any{"op": opInvalidSession, "d": false}) // it is closed either way
	case !inRange:
		c.close(4007, "invalid seq")
	}
	return known && inRange
}

// take lets a connection go on with the session after an event.
func (s *Server) take(c *conn, id string, seq uint32) (known, inRange bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.gateway.session
	if ses == nil || ses.id != id {
		return false, false
	}
	if first := ses.seq - uint32(len(ses.events)); seq > ses.seq || seq < first {
		return true, false
	}
	c.cursor, c.resume = seq, true
	s.attach(c)
	return true, true
}

// attach makes c the connection of the session; the one before ends. s.mu is
// held.
func (s *Server) attach(c *conn) {
	if old := s.gateway.conn; old != nil {
		old.cancel()
	}
	s.gateway.conn = c
	c.poke()
	s.news.Tell()
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gateway.conn == c {
		s.gateway.conn = nil
	}
}

func (c *conn) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// add puts an event into the session; s.mu is held. Without one it is lost, as
// on the platform.
func (s *Server) add(e event) {
	ses := s.gateway.session
	if ses == nil {
		return
	}
	ses.seq++
	e.seq = ses.seq
	ses.events = append(ses.events, e)
	if len(ses.events) > kept {
		ses.events = append([]event{}, ses.events[len(ses.events)-kept/2:]...)
	}
	if s.gateway.conn != nil {
		s.gateway.conn.poke()
	}
}

// push sends events until the connection ends.
func (s *Server) push(ctx context.Context, c *conn) {
	for {
		s.mu.Lock()
		var batch []event
		if ses := s.gateway.session; ses != nil && !s.gateway.silent && s.gateway.conn == c {
			for i := len(ses.events) - 1; i >= 0 && ses.events[i].seq > c.cursor; i-- {
				batch = append(batch, ses.events[i])
			}
		}
		resumed := c.resume && !s.gateway.silent
		s.mu.Unlock()
		for i := len(batch) - 1; i >= 0; i-- {
			if !s.send(ctx, c, batch[i]) {
				return
			}
		}
		if resumed {
			c.resume = false
			if c.write(ctx, map[string]any{"op": opDispatch, "s": c.cursor, "t": "RESUMED", "d": ""}) != nil {
				return
			}
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
	}
}

func (s *Server) send(ctx context.Context, c *conn, e event) bool {
	if s.opts.Delay > 0 && e.kind != "READY" {
		timer := time.NewTimer(s.opts.Delay)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		}
	}
	out := map[string]any{"op": opDispatch, "s": e.seq, "t": e.kind, "d": e.payload}
	if e.id != "" {
		out["id"] = e.id
	}
	c.cursor = e.seq
	return c.write(ctx, out) == nil
}

// listen answers heartbeats until the connection ends; a client that sends
// none is cut off.
func (s *Server) listen(ctx context.Context, c *conn) {
	for {
		if !s.hear(ctx, c) {
			return
		}
	}
}

func (s *Server) hear(ctx context.Context, c *conn) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*s.opts.Heartbeat)
	defer cancel()
	_, raw, err := c.ws.Read(ctx)
	if err != nil {
		return false
	}
	var f frame
	if json.Unmarshal(raw, &f) != nil {
		c.close(4002, "invalid payload")
		return false
	}
	if f.Op != opHeartbeat {
		c.close(4001, "invalid opcode")
		return false
	}
	s.mu.Lock()
	silent := s.gateway.silent
	s.store.calls["heartbeat"]++
	s.mu.Unlock()
	if !silent {
		_ = c.write(ctx, map[string]any{"op": opHeartbeatAck}) // the next read ends when the connection does
	}
	return true
}
