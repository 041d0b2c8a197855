package dingtalk

import (
	"encoding/json"
	"slices"
)

// pushed is a callback that was not answered.
type pushed struct {
	id, topic string
	data      []byte
}

// push sends a callback to one connection that wants it; what nobody takes is
// lost. s.mu is held.
func (s *Server) push(topic string, body any) (id string) {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return s.pushData(topic, data)
}

func (s *Server) pushData(topic string, data []byte) (id string) {
	id = s.next("frame_")
	if !s.pushFrame(topic, s.frame("CALLBACK", topic, id, string(data))) {
		s.gate.lost++
		return id
	}
	if !s.opts.Forget {
		s.gate.pushed = append(s.gate.pushed, pushed{id, topic, data})
	}
	return id
}

// Redeliver pushes again what was not answered at all, with new frames, and
// returns their ids. The SDK for Node says that the platform does so after 60 s
// (client.ts, socketCallBackResponse; read November 2026); nobody has shown it,
// so it happens only when a test wants it. What was answered, be it with an
// error, never comes again.
func (s *Server) Redeliver() (frames []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.gate.pushed
	s.gate.pushed = nil
	for _, p := range old {
		if _, answered := s.gate.acks[p.id]; !answered {
			frames = append(frames, s.pushData(p.topic, p.data))
		}
	}
	return frames
}

func (s *Server) pushFrame(topic string, raw []byte) bool {
	if s.gate.ghosts > 0 {
		s.gate.ghosts--
		return false
	}
	for _, l := range slices.Backward(s.gate.links) {
		if !l.leave && slices.Contains(l.topics, topic) {
			if s.gate.zombie {
				return false
			}
			select {
			case l.out <- raw:
				return true
			default:
			}
		}
	}
	return false
}

// Push sends a frame as it is; it reports whether a connection took it.
func (s *Server) Push(raw []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pushFrame(TopicRobot, raw)
}

// Frame is a callback frame with that payload.
func (s *Server) Frame(topic, id, data string) []byte {
	return s.frame("CALLBACK", topic, id, data)
}
