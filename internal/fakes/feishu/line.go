package feishu

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"magpie/internal/fakes/trouble"
)

const (
	// serviceID stands in the address of a connection and in every frame.
	serviceID = 33554678
	// pingSeconds is how often a client is asked to ping.
	pingSeconds = 120
	maxLines    = 50
)

// line is one long connection. It is listed before the client knows that it
// is connected, so that a cut never misses it.
type line struct {
	conn *websocket.Conn // nil = the handshake is under way
	cut  context.CancelFunc
}

func clientConfig() object {
	return object{"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30, "PingInterval": pingSeconds}
}

// serveEndpoint says where to connect.
func (s *Server) serveEndpoint(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	var in struct {
		ID     string `json:"AppID"`
		Secret string `json:"AppSecret"`
	}
	s.mu.Lock()
	s.faults.count("endpoint")
	f := s.faults.pick("endpoint", "")
	known := json.Unmarshal(raw, &in) == nil && in.ID == s.opts.AppID && in.Secret == s.auth.secret
	lines, ticket := len(s.pushes.lines), s.next()
	if known {
		s.pushes.tickets[ticket] = true
	}
	s.mu.Unlock()
	switch {
	case f != nil && f.Code != 0:
		answer(w, http.StatusOK, object{"code": f.Code, "msg": f.Msg})
	case f != nil:
		s.misbehave(w, r, f)
	case !known:
		answer(w, http.StatusOK, object{"code": 514, "msg": "auth failed"})
	case lines >= maxLines:
		answer(w, http.StatusOK, object{"code": 1000040350, "msg": "exceed conn limit"})
	default:
		at := "ws://" + r.Host + "/ws/v2?device_id=7000000000000000000&service_id=" + strconv.Itoa(serviceID) + "&access_key=FAKE&ticket=" + ticket
		answer(w, http.StatusOK, object{"code": 0, "msg": "ok", "data": object{"URL": at, "ClientConfig": clientConfig()}})
	}
}

// serveLine takes a connection and reads it until it ends.
func (s *Server) serveLine(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	known := s.pushes.tickets[ticket]
	delete(s.pushes.tickets, ticket)
	f := s.faults.pick("handshake", "")
	s.mu.Unlock()
	if f != nil && f.Page {
		trouble.Page(w, f.Status, "proxy")
		return
	}
	if f != nil || !known {
		code, msg := 514, "ticket is invalid"
		if f != nil {
			code, msg = f.Code, f.Msg
		}
		w.Header().Set("Handshake-Status", strconv.Itoa(code))
		w.Header().Set("Handshake-Msg", msg)
		w.WriteHeader(http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := &line{cut: cancel}
	s.mu.Lock()
	s.pushes.lines = append(s.pushes.lines, l)
	s.pushes.opened++
	s.mu.Unlock()
	defer s.hangUp(l)
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxBody)
	s.mu.Lock()
	l.conn = conn
	select {
	case <-s.life.Done():
		cancel()
	default:
	}
	s.mu.Unlock()
	s.poke()
	s.hearLine(ctx, l)
}

// hangUp forgets a connection; what was on its way there has failed.
func (s *Server) hangUp(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushes.lines = slices.DeleteFunc(s.pushes.lines, func(one *line) bool { return one == l })
	for _, e := range slices.Clone(s.pushes.events) {
		switch {
		case e.on != l:
		case e.press: // somebody still waits
			e.until, e.on = time.Time{}, nil
		default:
			s.failed(e)
		}
	}
	s.poke()
}

// newest is the connection that gets events, or nil; s.mu is held.
func (s *Server) newest() *line {
	for _, l := range slices.Backward(s.pushes.lines) {
		if l.conn != nil {
			return l
		}
	}
	return nil
}

// hearLine answers pings and takes the answers to events.
func (s *Server) hearLine(ctx context.Context, l *line) {
	for {
		kind, raw, err := l.conn.Read(ctx)
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			s.mu.Lock()
			s.pushes.closed++
			s.mu.Unlock()
		}
		if err != nil {
			return
		}
		f, err := decodeFrame(raw)
		if kind != websocket.MessageBinary || err != nil {
			_ = l.conn.Close(websocket.StatusUnsupportedData, "not a frame")
			return
		}
		s.mu.Lock()
		silent := s.pushes.silent
		s.mu.Unlock()
		switch {
		case silent:
		case f.method == control && f.header("type") == "ping":
			pong := frame{log: f.log, service: f.service, method: control, headers: [][2]string{{"type", "pong"}}, payload: []byte(encode(clientConfig()))}
			if l.write(ctx, &pong) != nil {
				return
			}
			s.mu.Lock()
			s.pushes.pings++
			s.mu.Unlock()
		case f.method == data:
			s.acknowledged(f)
		}
	}
}

func (l *line) write(ctx context.Context, f *frame) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return l.conn.Write(ctx, websocket.MessageBinary, f.encode())
}

// CutLines breaks every connection.
func (s *Server) CutLines() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.pushes.lines {
		l.cut()
	}
}

// Silence makes the connections dead without closing them: nothing is
// answered or pushed any more. Connections made after Silence(false) live.
func (s *Server) Silence(on bool) {
	s.mu.Lock()
	s.pushes.silent = on
	s.mu.Unlock()
	s.poke()
}

// Closed is how many connections the bot has closed in good order.
func (s *Server) Closed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pushes.closed
}

// Lines says how many connections there are, how many there have been, and how
// many pings were answered.
func (s *Server) Lines() (now, ever, pings int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pushes.lines), s.pushes.opened, s.pushes.pings
}
