package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"
)

// Bits of intents that events need.
const (
	intentGuilds         = 1 << 0
	intentMembers        = 1 << 1
	intentPresences      = 1 << 8
	intentGuildMessages  = 1 << 9
	intentDirectMessages = 1 << 12
	intentContent        = 1 << 15
	// privileged intents have to be switched on for the application
	// (events/gateway "Privileged Intents", read November 2026).
	privileged = intentMembers | intentPresences | intentContent
	// knownIntents are all that the documentation lists.
	knownIntents = 1<<17 - 1 | 1<<20 | 1<<21 | 1<<24 | 1<<25
)

// keptEvents is how many events a session can replay with Options.Forget.
const keptEvents = 4096

// gateway is the sessions and the connections.
type gateway struct {
	sessions map[string]*session
	conns    map[*conn]bool
	deaf     bool // nobody answers: a zombie
	beats    int  // heartbeats that came
	opened   map[string]int
	intents  int    // of the last session
	presence string // status of the last session
}

func newGateway() gateway {
	return gateway{sessions: map[string]*session{}, conns: map[*conn]bool{}, opened: map[string]int{}}
}

func (g *gateway) each(fn func(*conn)) {
	for c := range g.conns {
		fn(c)
	}
}

// session is what a client has identified for.
type session struct {
	id      string
	intents int
	seq     int64
	events  []frame // those after seq-len(events)
	conn    *conn   // nil while nobody is connected
}

type frame struct {
	Op   int             `json:"op"`
	Seq  *int64          `json:"s"`
	Type *string         `json:"t"`
	Data json.RawMessage `json:"d"`
}

// conn is one connection. What is to be written is put into out under the
// server's lock; one goroutine writes it.
type conn struct {
	ws      *websocket.Conn
	session *session
	out     []frame
	wake    chan struct{}
	code    int // close with it; 0 = cut
	ended   chan struct{}
	recent  []time.Time // of frames that came, for the limit
}

// put has a frame written, unless the connection is to end: then an event waits
// for the resume.
func (c *conn) put(f frame) {
	select {
	case <-c.ended:
		return
	default:
	}
	c.out = append(c.out, f)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// end closes the connection with a code, or cuts it (0). The server is locked.
func (c *conn) end(code int) {
	select {
	case <-c.ended:
	default:
		c.code = code
		close(c.ended)
	}
}

func control(op int, data any) frame {
	raw, err := json.Marshal(data)
	if err != nil {
		raw = []byte("null")
	}
	return frame{Op: op, Data: raw}
}

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered
	}
	ws.SetReadLimit(4096) // as Discord's own
	c := &conn{ws: ws, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	s.mu.Lock()
	select {
	case <-s.life.Done():
		s.mu.Unlock()
		_ = ws.CloseNow()
		return
	default:
	}
	s.gateway.conns[c] = true
	s.wg.Add(2)
	defer s.wg.Done()
	q := r.URL.Query()
	if v := q.Get("v"); v != "9" && v != "10" || q.Get("encoding") != "json" {
		c.end(4012)
	}
	c.put(control(10, map[string]any{"heartbeat_interval": s.opts.Heartbeat.Milliseconds()}))
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer s.wg.Done()
		defer cancel()
		s.writeTo(ctx, c)
	}()
	s.readFrom(ctx, c, r.Host)
	s.mu.Lock()
	c.end(0)
	delete(s.gateway.conns, c)
	if c.session != nil && c.session.conn == c {
		c.session.conn = nil
	}
	s.mu.Unlock()
}

// writeTo writes until the connection is to end, and ends it.
func (s *Server) writeTo(ctx context.Context, c *conn) {
	for {
		select {
		case <-c.wake:
		case <-c.ended:
			s.mu.Lock()
			code := c.code
			s.mu.Unlock()
			if code != 0 {
				_ = c.ws.Close(websocket.StatusCode(code), "")
			}
			_ = c.ws.CloseNow()
			return
		}
		if s.opts.PushDelay > 0 {
			timer := time.NewTimer(s.opts.PushDelay)
			select {
			case <-timer.C:
			case <-c.ended:
			}
			timer.Stop()
		}
		s.mu.Lock()
		frames := c.out
		c.out = nil
		s.mu.Unlock()
		for _, f := range frames {
			data, err := json.Marshal(f)
			if err != nil {
				continue
			}
			wctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			err = c.ws.Write(wctx, websocket.MessageText, data)
			cancel()
			if err != nil {
				s.mu.Lock()
				c.end(0)
				s.mu.Unlock()
				break
			}
		}
	}
}

func (s *Server) readFrom(ctx context.Context, c *conn, host string) {
	for {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			s.left(c, websocket.CloseStatus(err))
			return
		}
		var f frame
		s.mu.Lock()
		switch {
		case json.Unmarshal(data, &f) != nil:
			c.end(4002)
		case s.flooded(c):
			c.end(4008)
		default:
			s.receive(c, f, host)
		}
		s.mu.Unlock()
	}
}

// left: a client that closes with 1000 or 1001 ends its session. The echo of
// the server's own closing is no such thing.
func (s *Server) left(c *conn, code websocket.StatusCode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-c.ended:
		return
	default:
	}
	if c.session != nil && (code == websocket.StatusNormalClosure || code == websocket.StatusGoingAway) {
		delete(s.gateway.sessions, c.session.id)
	}
}

// flooded: 120 frames a minute are allowed.
func (s *Server) flooded(c *conn) bool {
	now := s.opts.Now()
	c.recent = slices.DeleteFunc(append(c.recent, now), func(t time.Time) bool { return now.Sub(t) > time.Minute })
	return len(c.recent) > 120
}

// receive deals with a frame of the client. The server is locked.
func (s *Server) receive(c *conn, f frame, host string) {
	switch f.Op {
	case 1:
		s.gateway.beats++
		if !s.gateway.deaf {
			c.put(control(11, nil))
		}
	case 2:
		if c.session != nil {
			c.end(4005)
			return
		}
		s.identify(c, f.Data, host)
	case 6:
		if c.session != nil {
			c.end(4005)
			return
		}
		s.resume(c, f.Data)
	case 3, 4, 8:
		if c.session == nil {
			c.end(4003)
		}
	default:
		c.end(4001)
	}
}
