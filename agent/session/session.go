package session

import (
	"slices"
	"sync"
	"time"

	"magpie/agent/llm"
	"magpie/chat"
)

// Session is the part of a chat's history that the model is shown: a summary
// of the older turns and the turns since. One holder uses it at a time; its
// methods are safe for concurrent use so that others may ask for its size.
type Session struct {
	key chat.SessionKey

	mu      sync.Mutex
	summary string
	before  []chat.Source // of the text from outside that was summarised
	turns   []turn
	tokens  int
	bytes   int      // about what it takes in memory
	last    uint64   // all records up to this Seq are in here
	fresh   []string // ids of records added since, whose Seq is not known
	damaged int
}

// turn is what one record added to the conversation. It is legal by itself, so
// any run of turns is.
type turn struct {
	id     string
	seq    uint64       // 0 until a read of the history tells it
	inputs []chat.Input // the inbound messages behind it
	at     time.Time
	tokens int
	bytes  int
	msgs   []llm.Message
	// sources are of the text from outside that msgs hold.
	sources []chat.Source
}

// Add appends what a record has added; call it for every record right after
// its commit. items may be empty.
func (s *Session) Add(id string, inputs []chat.Input, items []Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = append(s.fresh, id)
	s.add(id, 0, inputs, items)
}

func (s *Session) restore(r chat.Stored) {
	items := make([]Item, 0, len(r.Items))
	for _, raw := range r.Items {
		it, err := Decode(raw)
		if err != nil {
			s.damaged++
			continue
		}
		items = append(items, it)
	}
	s.add(r.Turn, r.Seq, r.Inputs, items)
	s.last = r.Seq
}

func (s *Session) add(id string, seq uint64, inputs []chat.Input, items []Item) {
	t := turn{id: id, seq: seq, inputs: inputs}
	for _, it := range items {
		if it.Reset {
			s.summary, s.before, s.turns, s.tokens, s.bytes = "", nil, nil, 0, 0
			t.msgs, t.sources = nil, nil
			continue
		}
		t.sources = chat.JoinSources(t.sources, it.Sources)
		t.msgs, t.at = append(t.msgs, it.Message), it.At
	}
	t.msgs = Legalise(t.msgs)
	t.tokens, t.bytes = Size(t.msgs), weight(t.msgs)+len(inputs)*bytesPerInput
	for _, from := range t.sources {
		t.bytes += bytesPerInput + len(from.Name) + len(from.Via)
	}
	s.turns = append(s.turns, t)
	s.tokens += t.tokens
	s.bytes += t.bytes
}

// What a turn takes in memory beside its texts, with what a slice that grows
// takes in advance. Most turns are short: they take more for themselves than for
// what was said.
const (
	bytesPerTurn    = 200
	bytesPerInput   = 160
	bytesPerMessage = 160
)

// weight is about how many bytes the session takes in memory.
func (s *Session) weight() int { return s.bytes + len(s.summary) }

// weight is about how many bytes msgs take in memory.
func weight(msgs []llm.Message) int {
	n := bytesPerTurn
	for i := range msgs {
		m := &msgs[i]
		n += bytesPerMessage + len(m.Text) + len(m.Images)*bytesPerMessage
		for _, c := range m.Calls {
			n += bytesPerMessage + len(c.Args)
		}
		for _, th := range m.Thinking {
			n += bytesPerMessage + len(th.Text) + len(th.Signature) + len(th.Redacted)
		}
	}
	return n
}

// confirm compares the records that the history has after s.last with those
// that were added here, and learns their Seq when they are the same.
func (s *Session) confirm(news []chat.Stored) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(news) != len(s.fresh) {
		return false
	}
	seqs := make(map[string]uint64, len(news))
	for i, r := range news {
		if r.Turn != s.fresh[i] {
			return false
		}
		seqs[r.Turn] = r.Seq
	}
	for i := range s.turns {
		if t := &s.turns[i]; t.seq == 0 {
			t.seq = seqs[t.id]
		}
	}
	if len(news) > 0 {
		s.last, s.fresh = news[len(news)-1].Seq, nil
	}
	return true
}

// Summary is the summary of the turns that are no longer shown; "" is none.
func (s *Session) Summary() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.summary
}

// Messages returns the newest turns that hold at most tokens together (< 0:
// all), as one legal conversation in a slice of the caller's own.
func (s *Session) Messages(tokens int) []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := 0
	if tokens >= 0 {
		from = s.cut(tokens)
	}
	n := 0
	for _, t := range s.turns[from:] {
		n += len(t.msgs)
	}
	all := make([]llm.Message, 0, n+turnRoom)
	for _, t := range s.turns[from:] {
		all = append(all, t.msgs...)
	}
	return all
}

// turnRoom is the spare room of Messages for the running turn.
const turnRoom = 8

// cut is the index of the first turn so that it and the later ones hold at
// most tokens.
func (s *Session) cut(tokens int) int {
	from := len(s.turns)
	for from > 0 && s.turns[from-1].tokens <= tokens {
		from--
		tokens -= s.turns[from].tokens
	}
	return from
}

// Size counts the messages shown and estimates their tokens.
func (s *Session) Size() (messages, tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		messages += len(t.msgs)
	}
	return messages, s.tokens + Tokens(s.summary)
}

// Knows reports whether the inbound message of that id stands behind one of
// the turns shown.
func (s *Session) Knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		for _, in := range t.inputs {
			if in.ID == id {
				return true
			}
		}
	}
	return false
}

// Sources are of the text from outside in what is shown: in the summary, and in
// the newest turns that hold at most tokens together (< 0: all).
func (s *Session) Sources(tokens int) []chat.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, all := 0, s.before
	if tokens >= 0 {
		from = s.cut(tokens)
	}
	for i := range s.turns[from:] {
		all = chat.JoinSources(all, s.turns[from+i].sources)
	}
	return all
}

// Summarised are those of the summary.
func (s *Session) Summarised() []chat.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.before
}

// Said is the last text of the bot in the conversation shown, "" when there is
// none.
func (s *Session) Said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range slices.Backward(s.turns) {
		for _, m := range slices.Backward(t.msgs) {
			if m.Role == llm.Assistant && m.Text != "" {
				return m.Text
			}
		}
	}
	return ""
}

// LastAt is the time of the newest message; zero when there is none.
func (s *Session) LastAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.turns) - 1; i >= 0; i-- {
		if !s.turns[i].at.IsZero() {
			return s.turns[i].at
		}
	}
	return time.Time{}
}

// HasCall reports whether a tool call of that id is in the conversation shown.
func (s *Session) HasCall(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		for i := range t.msgs {
			for _, c := range t.msgs[i].Calls {
				if c.ID == id {
					return true
				}
			}
		}
	}
	return false
}

// Damaged counts the history entries that could not be read and were left out.
func (s *Session) Damaged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.damaged
}
