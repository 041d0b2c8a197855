package web

import (
	"sync"
	"time"

	"magpie/chat"
)

// live is what goes on in the chats right now: who works, the draft of the
// reply, the tool in use. It is lossy by design; what must not be lost stands
// in the history. A slow page never queues anything here: it gets the newest
// state when it is ready.
type live struct {
	now   func() time.Time
	mu    sync.Mutex
	rooms map[string]*room
}

type room struct {
	state state
	sign  time.Time // last sign of work
	ended string    // the turn that ended last: what still comes of it is old
	tabs  map[chan struct{}]struct{}
}

// state is the payload of the page's "live" event.
type state struct {
	Turn   string  `json:"turn,omitempty"`
	Busy   bool    `json:"busy"`
	Text   string  `json:"text,omitempty"` // the reply so far
	HTML   string  `json:"html,omitempty"`
	Tool   *tool   `json:"tool,omitempty"`
	Line   string  `json:"line,omitempty"` // progress, in words
	Notice *notice `json:"notice,omitempty"`
	N      uint64  `json:"n"` // grows with every change
}

type tool struct {
	Name  string `json:"name"`
	State string `json:"state"` // "runs", "done", "failed"
}

type notice struct {
	Press string `json:"press"`
	Text  string `json:"text"`
}

const (
	// busyFor is how long one sign of work is shown without another.
	busyFor = 15 * time.Second
	// maxRooms bounds what is remembered of chats that nobody looks at.
	maxRooms = 256
)

// update changes the state of a chat and wakes its tabs.
func (l *live) update(chatID string, fn func(*room)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rooms[chatID]
	if r == nil {
		if len(l.rooms) >= maxRooms {
			l.sweep()
		}
		r = &room{tabs: map[chan struct{}]struct{}{}}
		l.rooms[chatID] = r
	}
	n := r.state.N
	fn(r)
	r.state.N = n + 1
	for tab := range r.tabs {
		wake(tab)
	}
	if len(r.tabs) == 0 && !r.state.Busy {
		delete(l.rooms, chatID)
	}
}

func wake(tab chan struct{}) {
	select {
	case tab <- struct{}{}:
	default: // it is awake already
	}
}

// sweep forgets the chats that show no sign of work and have no tab; when all
// of them do, it forgets the ones without a tab.
func (l *live) sweep() {
	for _, age := range []time.Duration{busyFor, 0} {
		for id, r := range l.rooms {
			if len(r.tabs) == 0 && l.now().Sub(r.sign) >= age {
				delete(l.rooms, id)
			}
		}
		if len(l.rooms) < maxRooms {
			return
		}
	}
}

// join registers a tab. wake is readable whenever look would tell something
// new.
func (l *live) join(chatID string) (wake <-chan struct{}, leave func()) {
	tab := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rooms[chatID]
	if r == nil {
		r = &room{tabs: map[chan struct{}]struct{}{}}
		l.rooms[chatID] = r
	}
	r.tabs[tab] = struct{}{}
	tab <- struct{}{}
	return tab, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(r.tabs, tab)
		if len(r.tabs) == 0 && !r.state.Busy && l.rooms[chatID] == r {
			delete(l.rooms, chatID)
		}
	}
}

// look returns the present state of a chat.
func (l *live) look(chatID string) state {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rooms[chatID]
	if r == nil {
		return state{}
	}
	s := r.state
	s.Busy = s.Busy && l.now().Sub(r.sign) < busyFor
	return s
}

// typing notes a sign of work.
func (l *live) typing(chatID string) {
	l.update(chatID, func(r *room) { r.state.Busy, r.sign = true, l.now() })
}

// notify shows a short text to whoever pressed a button.
func (l *live) notify(chatID string, n notice) {
	l.update(chatID, func(r *room) { r.state.Notice = &n })
}

// final ends the draft of m's turn: its message is in the history now.
func (l *live) final(chatID string, m message) {
	l.update(chatID, func(r *room) {
		if r.state.Turn == "" || r.state.Turn == m.Turn {
			r.end(m.Turn)
		}
	})
}

func (r *room) end(turn string) {
	r.ended = turn
	r.state = state{Turn: turn, Notice: r.state.Notice}
}

// event takes in what the agent tells.
func (l *live) event(ev chat.Event) {
	l.update(ev.Addr.Chat, func(r *room) {
		if ev.Turn != "" && ev.Turn == r.ended {
			return
		}
		if ev.Kind == chat.TurnEnded {
			if r.state.Turn == "" || r.state.Turn == ev.Turn {
				r.end(ev.Turn)
			}
			return
		}
		if r.state.Turn != ev.Turn {
			r.state = state{Turn: ev.Turn, Notice: r.state.Notice}
		}
		r.state.Busy, r.sign = true, l.now()
		r.state.apply(ev)
	})
}

func (s *state) apply(ev chat.Event) {
	switch ev.Kind {
	case chat.TurnDelta:
		s.Text, s.Line, s.Tool = ev.Text, "", nil
	case chat.TurnProgress:
		s.Line = ev.Text
	case chat.ToolRequested:
		s.Tool = toolOf(ev, "runs")
	case chat.ToolCompleted:
		s.Tool = toolOf(ev, "done")
	case chat.ToolFailed:
		s.Tool = toolOf(ev, "failed")
	}
}

func toolOf(ev chat.Event, state string) *tool {
	if ev.Tool == nil {
		return nil
	}
	return &tool{Name: ev.Tool.Name, State: state}
}
