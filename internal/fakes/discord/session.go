package discord

import (
	"encoding/json"
	"strings"
)

// authorised: the gateway takes the token with or without "Bot ".
func (s *Server) authorised(token string) bool {
	return strings.TrimPrefix(token, "Bot ") == s.opts.Token
}

// identify starts a session. The server is locked.
func (s *Server) identify(c *conn, raw json.RawMessage, host string) {
	var d struct {
		Token      string            `json:"token"`
		Intents    *int              `json:"intents"`
		Shard      *[2]int           `json:"shard"`
		Properties map[string]string `json:"properties"`
		Presence   struct {
			Status string `json:"status"`
		} `json:"presence"`
	}
	if json.Unmarshal(raw, &d) != nil || d.Intents == nil || d.Properties == nil {
		c.end(4002)
		return
	}
	switch {
	case !s.authorised(d.Token):
		c.end(4004)
		return
	case d.Shard != nil && *d.Shard != [2]int{0, 1}:
		c.end(4010)
		return
	case *d.Intents&^knownIntents != 0:
		c.end(4013)
		return
	case *d.Intents&privileged&^s.granted() != 0:
		c.end(4014)
		return
	}
	id := "session" + s.newID()
	c.session = &session{id: id, intents: *d.Intents, conn: c}
	s.gateway.intents = *d.Intents
	s.gateway.sessions[id] = c.session
	s.gateway.opened["identify"]++
	s.world.host = host
	s.gateway.presence = d.Presence.Status
	var guilds []map[string]any
	for _, id := range s.guildIDs() {
		guilds = append(guilds, map[string]any{"id": id, "unavailable": true})
	}
	s.dispatch(c.session, "READY", map[string]any{
		"v": 9, "user": s.bot(), "guilds": list(guilds), "session_id": id, "resume_gateway_url": "ws://" + host,
		"application": map[string]any{"id": BotID, "flags": s.appFlags()}, "shard": []int{0, 1},
		"private_channels": []any{}, "presences": []any{}, "relationships": []any{}, "user_settings": map[string]any{},
		"session_type": "normal", "_trace": []string{`["gateway-fake"]`},
	})
	if c.session.intents&intentGuilds == 0 {
		return
	}
	for _, id := range s.guildIDs() {
		s.dispatch(c.session, "GUILD_CREATE", s.guildJSON(s.world.guilds[id]))
	}
}

// resume replays what a session has missed. The server is locked.
func (s *Server) resume(c *conn, raw json.RawMessage) {
	var d struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     *int64 `json:"seq"`
	}
	if json.Unmarshal(raw, &d) != nil || d.Seq == nil {
		c.end(4002)
		return
	}
	if !s.authorised(d.Token) {
		c.end(4004)
		return
	}
	ses := s.gateway.sessions[d.Session]
	if ses == nil || *d.Seq < ses.seq-int64(len(ses.events)) {
		c.put(control(9, false))
		return
	}
	if *d.Seq > ses.seq {
		c.end(4007)
		return
	}
	if ses.conn != nil {
		ses.conn.end(0)
	}
	ses.conn, c.session = c, ses
	s.gateway.opened["resume"]++
	for _, f := range ses.events {
		if *f.Seq > *d.Seq && *f.Type != "RESUMED" {
			c.put(f)
		}
	}
	s.dispatch(ses, "RESUMED", map[string]any{"_trace": []string{}})
}

// dispatch appends an event to a session. The server is locked.
func (s *Server) dispatch(ses *session, kind string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		return
	}
	ses.seq++
	seq := ses.seq
	f := frame{Seq: &seq, Type: &kind, Data: raw}
	ses.events = append(ses.events, f)
	if s.opts.Forget && len(ses.events) > keptEvents {
		ses.events = append([]frame(nil), ses.events[len(ses.events)-keptEvents/2:]...)
	}
	if ses.conn != nil && !s.gateway.deaf {
		ses.conn.put(f)
	}
}

// push sends an event to every session that has one of the intents; make says
// what such a session sees. The server is locked.
func (s *Server) push(kind string, intents int, see func(intents int) any) {
	for _, ses := range s.gateway.sessions {
		if ses.intents&intents != 0 || intents == 0 {
			s.dispatch(ses, kind, see(ses.intents))
		}
	}
}

// Push sends any event to every session, as it would come over the wire.
func (s *Server) Push(kind string, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(kind, 0, func(int) any { return data })
}

// Drop cuts every connection, as a network does; sessions stay.
func (s *Server) Drop() { s.CloseWith(0) }

// CloseWith closes every connection with a code, such as 4000.
func (s *Server) CloseWith(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.each(func(c *conn) { c.end(code) })
}

// Ask sends every client a frame without data, such as 7 (reconnect) or 1
// (heartbeat).
func (s *Server) Ask(op int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.each(func(c *conn) { c.put(control(op, nil)) })
}

// Expire forgets all sessions and cuts their connections: a resume is answered
// with "invalid session".
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.gateway.sessions)
	s.gateway.each(func(c *conn) { c.end(0) })
}

// Deaf makes the gateway a zombie: heartbeats are not answered and nothing is
// pushed, while connections stay open.
func (s *Server) Deaf(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.deaf = is
}

// Opened is how often a session was begun ("identify") or gone on with
// ("resume").
func (s *Server) Opened(how string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gateway.opened[how]
}

// Heartbeats is how many heartbeats came.
func (s *Server) Heartbeats() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gateway.beats
}

// Connections is how many clients are connected to the gateway.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.gateway.conns)
}

// Intents are those of the session that was begun last; 0 = there is none.
func (s *Server) Intents() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gateway.intents
}

// Presence is the status that the session which was begun last shows.
func (s *Server) Presence() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gateway.presence
}

// Grant switches the Message Content Intent on or off in the Developer Portal.
// Sessions that are there keep what they have.
func (s *Server) Grant(content bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.NoContent = !content
}

// granted are the privileged intents that the Developer Portal has switched on.
func (s *Server) granted() int {
	all := intentContent
	if s.opts.NoContent {
		all = 0
	}
	if s.opts.Members {
		all |= intentMembers
	}
	return all
}
