package qq

import (
	"context"
	"errors"
	"fmt"
)

// Cut breaks the connection without a word; the session can be taken up.
func (s *Server) Cut() {
	s.mu.Lock()
	c := s.gateway.conn
	s.mu.Unlock()
	if c != nil {
		_ = c.ws.CloseNow() // whatever state it is in
	}
}

// Kick closes the connection with a code of the platform.
func (s *Server) Kick(code int) {
	s.mu.Lock()
	c := s.gateway.conn
	s.mu.Unlock()
	if c != nil {
		c.close(code, "kicked")
	}
}

// AskReconnect sends op 7, as the platform does when a connection is old.
func (s *Server) AskReconnect(ctx context.Context) error {
	s.mu.Lock()
	c := s.gateway.conn
	s.mu.Unlock()
	if c == nil {
		return errors.New("nobody is connected")
	}
	return c.write(ctx, map[string]any{"op": opReconnect})
}

// ForgetSession makes the session unknown: taking it up is answered with op 9.
func (s *Server) ForgetSession() {
	s.mu.Lock()
	s.gateway.session = nil
	s.mu.Unlock()
	s.Cut()
}

// Silence makes the connection a zombie: it stays open and says nothing, until
// it is called with false.
func (s *Server) Silence(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.silent = on
	if s.gateway.conn != nil {
		s.gateway.conn.poke()
	}
}

// Sessions is how many sessions were begun.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gateway.begun
}

// Push sends any event to the bot, by gateway or webhook.
func (s *Server) Push(kind string, payload any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(kind, payload)
}

// Again sends the last n events once more, as the platform sometimes does.
func (s *Server) Again(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses := s.gateway.session; ses != nil {
		for _, e := range append([]event{}, ses.events[max(0, len(ses.events)-n):]...) {
			s.add(e)
		}
	}
}

// emit gives an event its id and sends it; s.mu is held.
func (s *Server) emit(kind string, payload any) (id string) {
	s.gateway.last++
	id = fmt.Sprintf("%s:fake%08d-0000-4000-8000-000000000000", kind, s.gateway.last)
	e := event{kind: kind, id: id, payload: payload}
	if s.hook.at != "" {
		s.hook.queue = append(s.hook.queue, e)
		s.news.Tell()
		return id
	}
	if ses := s.gateway.session; ses != nil && ses.intents&intentOf(kind) != 0 {
		s.add(e)
	}
	return id
}

// intentOf is what a client has to ask for to get an event.
func intentOf(kind string) int {
	switch kind {
	case "INTERACTION_CREATE":
		return intentInteractions
	case "GROUP_MEMBER_ADD", "GROUP_MEMBER_REMOVE":
		return intentMembers
	}
	return intentGroups
}
