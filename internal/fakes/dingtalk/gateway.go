package dingtalk

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

// The topics of callbacks.
const (
	TopicRobot = "/v1.0/im/bot/messages/get"
	TopicCard  = "/v1.0/card/instances/callback"
)

// pingPatience is how long a ping frame may stay unanswered.
const pingPatience = 30 * time.Second

// ticketLife is how long a ticket is good, for one connection.
const ticketLife = 90 * time.Second

// gateway holds the stream connections.
type gateway struct {
	tickets map[string]ticket
	links   []*link
	zombie  bool
	base    string         // of the URL at which the bot opened its connection
	acks    map[string]Ack // by message id of the frame
	order   []string       // of acks
	ghosts  int            // connections that ended without a close frame and take a push yet
	mute    int            // connections that ended without a close frame
	lost    int
	pushed  []pushed // not answered yet, oldest first
}

type ticket struct {
	until  time.Time
	topics []string
}

// Ack is what the bot answered to a frame.
type Ack struct {
	Code    int               `json:"code"`
	Headers map[string]string `json:"headers"`
	Message string            `json:"message"`
	Data    string            `json:"data"`
}

// link is one connection.
type link struct {
	ws     *websocket.Conn
	topics []string
	out    chan []byte
	leave  bool      // nothing is pushed here any more
	cut    bool      // ended before it had begun
	ping   string    // not answered yet
	pinged time.Time // when it was sent
}

func newGateway() gateway {
	return gateway{tickets: map[string]ticket{}, acks: map[string]Ack{}}
}

func (s *Server) openGateway(r *request) (any, *refusal) {
	var in struct {
		ClientID      string `json:"clientId"`
		ClientSecret  string `json:"clientSecret"`
		Subscriptions []struct{ Type, Topic string }
	}
	if e := r.into(&in); e != nil {
		return nil, e
	}
	if !s.known(in.ClientID, in.ClientSecret) {
		return nil, wrongCredentials()
	}
	var topics []string
	for _, sub := range in.Subscriptions {
		if !slices.Contains([]string{"SYSTEM", "EVENT", "CALLBACK"}, sub.Type) || sub.Topic == "" {
			return nil, bad("invalidParameter.param.invalid", "参数不合法")
		}
		topics = append(topics, sub.Topic)
	}
	if len(topics) == 0 {
		return nil, bad("invalidParameter.param.invalid", "参数不合法")
	}
	s.gate.base = r.base
	t := s.next("faketicket")
	s.gate.tickets[t] = ticket{s.opts.Now().Add(ticketLife), topics}
	return map[string]any{"endpoint": "ws" + r.base[len("http"):] + "/connect", "ticket": t}, nil
}

// connect serves a stream connection until it ends.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	key := r.URL.Query().Get("ticket")
	t, ok := s.gate.tickets[key]
	delete(s.gate.tickets, key)
	late := !s.opts.Now().Before(t.until)
	if ok && !late {
		s.wg.Add(1)
	}
	s.mu.Unlock()
	if !ok || late {
		http.Error(w, "invalid ticket", http.StatusUnauthorized)
		return
	}
	defer s.wg.Done()
	// It counts as a connection before the client can know that it is one, so
	// that nothing said after that is lost.
	l := &link{topics: t.topics, out: make(chan []byte, 10000)}
	if !s.join(l) {
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	defer s.part(l)
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.gate.zombie
	}})
	if err != nil {
		return // Accept has answered
	}
	defer ws.CloseNow()
	s.mu.Lock()
	l.ws = ws
	cut := l.cut
	s.mu.Unlock()
	if cut {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.write(ctx, l)
	}()
	s.read(ctx, l)
	cancel()
	<-done
}

func (s *Server) join(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.life.Done():
		return false
	default:
		s.gate.links = append(s.gate.links, l)
		return true
	}
}

func (s *Server) part(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate.links = slices.DeleteFunc(s.gate.links, func(x *link) bool { return x == l })
}

// read takes the acknowledgements; anything else ends the connection.
func (s *Server) read(ctx context.Context, l *link) {
	for {
		kind, data, err := l.ws.Read(ctx)
		if err != nil {
			s.ended(l, err)
			return
		}
		var a Ack
		// The vendor's client answers also a disconnect frame, which has no id.
		if kind != websocket.MessageText || json.Unmarshal(data, &a) != nil || a.Code == 0 || (a.Headers["messageId"] == "" && !s.leaving(l)) {
			_ = l.ws.Close(websocket.StatusPolicyViolation, "not an acknowledgement")
			return
		}
		s.mu.Lock()
		id := a.Headers["messageId"]
		if id == l.ping {
			l.ping = ""
		}
		if _, again := s.gate.acks[id]; !again && !s.opts.Forget {
			s.gate.order = append(s.gate.order, id)
		}
		if !s.opts.Forget {
			s.gate.acks[id] = a
		}
		s.mu.Unlock()
	}
}

// ended notes how a connection has ended. Into one that says nothing the
// platform goes on pushing for a while (issues of the vendor's SDKs; that
// Python's sends a close frame, 2026-07-30): here, one push.
func (s *Server) ended(l *link, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.cut || websocket.CloseStatus(err) != -1 {
		return
	}
	if s.gate.mute++; s.opts.Ghosts {
		s.gate.ghosts++
	}
}

// Unclosed is how many connections the bot has ended without a close frame.
func (s *Server) Unclosed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gate.mute
}

func (s *Server) leaving(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.leave
}

// write sends frames and pings in one order.
func (s *Server) write(ctx context.Context, l *link) {
	var tick <-chan time.Time
	if s.opts.Ping > 0 {
		t := time.NewTicker(s.opts.Ping)
		defer t.Stop()
		tick = t.C
	}
	for {
		var data []byte
		select {
		case <-ctx.Done():
			return
		case data = <-l.out:
		case <-tick:
			s.mu.Lock()
			if s.gate.zombie {
				s.mu.Unlock()
				continue
			}
			if l.ping != "" { // the last ping was not answered
				late := time.Since(l.pinged) > pingPatience
				s.mu.Unlock()
				if late {
					_ = l.ws.CloseNow()
					return
				}
				continue
			}
			l.ping, l.pinged = s.next("ping_"), time.Now()
			data = s.frame("SYSTEM", "ping", l.ping, `{"opaque":"`+l.ping+`"}`)
			s.mu.Unlock()
		}
		if l.ws.Write(ctx, websocket.MessageText, data) != nil {
			return
		}
	}
}

func (s *Server) frame(kind, topic, id, data string) []byte {
	headers := map[string]string{"topic": topic, "contentType": "application/json", "time": strconv.FormatInt(s.opts.Now().UnixMilli(), 10)}
	if id != "" {
		headers["messageId"] = id
	}
	if kind == "CALLBACK" {
		headers["appId"], headers["connectionId"] = "fake-app", "fake-connection"
	}
	raw, _ := json.Marshal(map[string]any{"specVersion": "1.0", "type": kind, "headers": headers, "data": data}) // strings only
	return raw
}

// Cut breaks every connection without a word.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.gate.links {
		l.leave = true
		s.end(l)
	}
}

// end closes a connection; s.mu is held.
func (s *Server) end(l *link) {
	if l.cut = true; l.ws != nil {
		s.wg.Go(func() { _ = l.ws.CloseNow() })
	}
}

// Disconnect tells every present connection to go, pushes nothing to it any
// more and closes it after the grace.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.gate.links {
		l.leave = true
		l.out <- s.frame("SYSTEM", "disconnect", "", `{"reason":"connection is expired"}`)
		s.wg.Go(func() {
			timer := time.NewTimer(s.opts.Grace)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-s.life.Done():
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.end(l)
		})
	}
}

// Zombie makes the present and coming connections look alive while nothing
// comes through them: no pings, no answers, no messages.
func (s *Server) Zombie(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate.zombie = on
}

// Connections is how many stream connections are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.gate.links)
}

// Lost is how many callbacks nobody took.
func (s *Server) Lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gate.lost
}

// Ack returns the bot's answer to a frame.
func (s *Server) Ack(frameID string) (Ack, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.gate.acks[frameID]
	return a, ok
}

// Acked lists the frames that were answered, in the order of the answers.
func (s *Server) Acked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.gate.order)
}
