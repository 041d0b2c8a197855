package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// update is one update as it goes over the wire.
type update struct {
	id   int64
	data json.RawMessage
}

// queue holds the updates that the bot has not confirmed.
type queue struct {
	lastID  int64
	pending []update
	allowed []string // nil = the default
	added   chan struct{}
	poller  chan *apiError // the poll that waits; an error ends it
	hook    *webhook
}

func newQueue() queue { return queue{lastID: 1000, added: make(chan struct{})} }

// interrupt ends the poll that waits, if there is one.
func (q *queue) interrupt(e *apiError) bool {
	if q.poller == nil {
		return false
	}
	q.poller <- e // buffered, and only this one writes
	q.poller = nil
	return true
}

func (q *queue) add(u update) {
	q.pending = append(q.pending, u)
	close(q.added)
	q.added = make(chan struct{})
}

// confirm forgets the updates below offset; a negative one leaves so many.
func (q *queue) confirm(offset int64) {
	n := 0
	if offset < 0 {
		n = max(0, len(q.pending)+int(offset))
	} else {
		for n < len(q.pending) && q.pending[n].id < offset {
			n++
		}
	}
	clear(q.pending[:n]) // so that the bytes are free
	q.pending = q.pending[n:]
	if len(q.pending) == 0 {
		q.pending = nil
	}
}

// wanted reports whether the bot asked for this kind of update.
func (q *queue) wanted(kind string) bool {
	if len(q.allowed) == 0 {
		return kind != "chat_member" && kind != "message_reaction" && kind != "message_reaction_count"
	}
	return slices.Contains(q.allowed, kind)
}

// Push queues an update as it is, of whatever kind and however broken. A JSON
// object without update_id gets the next one.
func (s *Server) Push(raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates.lastID++
	u := update{id: s.updates.lastID, data: json.RawMessage(raw)}
	if !strings.Contains(raw, `"update_id"`) && strings.HasPrefix(raw, "{") {
		sep := ","
		if strings.TrimSpace(raw[1:]) == "}" {
			sep = ""
		}
		u.data = json.RawMessage(fmt.Sprintf(`{"update_id":%d%s%s`, u.id, sep, raw[1:]))
	}
	s.updates.add(u)
}

// push queues an update of a kind that the bot may have declined.
func (s *Server) push(kind string, content any) {
	if !s.updates.wanted(kind) {
		return
	}
	s.updates.lastID++
	id := s.updates.lastID
	data, err := json.Marshal(map[string]any{"update_id": id, kind: content})
	if err != nil {
		panic(fmt.Sprintf("telegram fake: %v", err)) // content is made here, of plain values
	}
	s.updates.add(update{id: id, data: data})
}

// Pending is how many updates the bot has not confirmed.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates.pending)
}

// getUpdates is the one method that waits; it locks for itself.
func (s *Server) getUpdates(req *request) (any, *apiError) {
	limit, timeout, e := s.pollParams(req)
	if e != nil {
		return nil, e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opts.Token == revoked { // since the call was let in
		return nil, unauthorized()
	}
	if s.updates.hook != nil {
		return nil, &apiError{Code: http.StatusConflict, Text: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"}
	}
	if e := req.object("allowed_updates", &s.updates.allowed); e != nil {
		return nil, e
	}
	if offset, ok := req.int("offset"); ok {
		s.updates.confirm(offset)
	}
	// The newer poll wins; the older one is told.
	s.updates.interrupt(&apiError{Code: http.StatusConflict, Text: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"})
	if len(s.updates.pending) == 0 && timeout > 0 && !s.opts.Ways.Hasty {
		if e := s.waitForUpdate(req, timeout); e != nil {
			return nil, e
		}
	}
	batch := []json.RawMessage{}
	for _, u := range s.updates.pending[:min(len(s.updates.pending), limit)] {
		batch = append(batch, u.data)
	}
	return batch, nil
}

// waitForUpdate is called and returns locked.
func (s *Server) waitForUpdate(req *request, timeout time.Duration) *apiError {
	mine, added := make(chan *apiError, 1), s.updates.added
	s.updates.poller = mine
	s.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var e *apiError
	select {
	case <-added:
	case <-timer.C:
	case e = <-mine:
	case <-req.ctx.Done():
	case <-s.life.Done():
	}
	s.mu.Lock()
	if s.updates.poller == mine {
		s.updates.poller = nil
	}
	return e
}

func (s *Server) pollParams(req *request) (limit int, timeout time.Duration, e *apiError) {
	limit = 100
	if n, ok := req.int("limit"); ok {
		if n < 1 || n > 100 {
			return 0, 0, badRequest("limit must be between 1 and 100")
		}
		limit = int(n)
	}
	if n, ok := req.int("timeout"); ok {
		if n < 0 {
			return 0, 0, badRequest("timeout must not be negative")
		}
		timeout = min(time.Duration(n)*time.Second, 50*time.Second)
	}
	return limit, timeout, nil
}
