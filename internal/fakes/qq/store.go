package qq

import (
	"context"
	"time"

	"magpie/internal/fakes/served"
	"magpie/internal/fakes/trouble"
)

// Button is one button of a keyboard.
type Button struct {
	Label, Data string
	id, group   string
}

// File is a file with its bytes. Kind is QQ's: "image", "video", "voice",
// "file" ("" too). Words are a voice's transcript, of inbound ones.
type File struct {
	Kind, Name, MIME string
	Data             []byte
	Words            string
}

// Message is a message of the bot as its chat shows it.
type Message struct {
	ID       string
	Chat     string // "c2c:<openid>" or "group:<openid>"
	Text     string
	Markdown bool // Text is native markdown
	Keyboard [][]Button
	File     *File
	ReplyTo  string // message or event id; "" for an active message
	Seq      uint32
	Index    string // with which a quote refers to it (Said.Quote)
	Quotes   string // id of the message that it quotes
	Stream   string // state of a streamed message: "open", "closed", "expired"; "" for others
	at       time.Time
}

// room is one chat.
type room struct {
	id       string
	name     string
	closed   bool // no active messages
	gone     bool // no friend, or not a member any more
	windows  map[string]*window
	day      string
	active   int // messages of that day
	last     int // number of the last message of people
	messages []*Message
	streams  map[string]*stream
	said     map[string]spoken // messages of people, by id, as quotes show them
	rate     trouble.Bucket
}

// window is something that the bot can reply to.
type window struct {
	event bool
	at    time.Time
	count int
	seqs  map[uint32]bool
}

// store is what the server remembers besides chats.
type store struct {
	calls    map[string]int
	faults   trouble.List[Fault]
	files    map[string]File // by number, for downloads
	uploads  map[string]upload
	parted   map[string]*parted // by upload_id
	presses  map[string]bool    // true: answered
	policy   Policy
	numbered int
}

// upload is an upload that waits for its message.
type upload struct {
	kind  int
	file  File
	group bool
}

func newStore() store {
	return store{calls: map[string]int{}, files: map[string]File{}, uploads: map[string]upload{}, parted: map[string]*parted{}, presses: map[string]bool{}}
}

func (st *store) number() int {
	st.numbered++
	return st.numbered
}

// Messages is what the bot has put into a chat, oldest first, without what was
// taken back; empty with Options.Forget.
func (s *Server) Messages(chat string) (shown []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rooms[chat]; r != nil {
		r.expire(s.opts.Now())
		for _, m := range r.messages {
			shown = append(shown, *m)
		}
	}
	return shown
}

// Wait waits until a chat shows what ok accepts, and returns what it shows
// then; the error says what it showed at the end of ctx.
func (s *Server) Wait(ctx context.Context, chat string, ok func([]Message) bool) ([]Message, error) {
	return served.Wait(ctx, &s.news, chat, s.Messages, ok)
}

// WaitMessages waits until a chat shows n messages.
func (s *Server) WaitMessages(ctx context.Context, chat string, n int) ([]Message, error) {
	return s.Wait(ctx, chat, func(shown []Message) bool { return len(shown) >= n })
}

// Answered tells whether a press was answered.
func (s *Server) Answered(press string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.presses[press]
}

// ActiveUsed is how many active messages a chat got today.
func (s *Server) ActiveUsed(chat string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rooms[chat]; r != nil {
		return r.active
	}
	return 0
}

// Replies is how many replies to a message or event were counted, input
// notifies too.
func (s *Server) Replies(chat, id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rooms[chat]; r != nil && r.windows[id] != nil {
		return r.windows[id].count
	}
	return 0
}
