package telegram

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"magpie/internal/fakes/served"
)

// Button is one button of an inline keyboard.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data,omitempty"`
	URL  string `json:"url,omitempty"`
}

// Message is a message of the bot as its chat shows it.
type Message struct {
	ID       int
	Chat     int64
	Thread   int
	Text     string // what people read; of a file its caption
	Entities []Entity
	Source   string // the text as it was sent, with its markup
	Keyboard [][]Button
	ReplyTo  int
	Edits    int
	Album    string // media_group_id
	Kind     string // "text", or the kind of file: "photo", "document", …
	File     *File
}

// File is a file with its bytes. Kind is Telegram's: "document" ("" too),
// "photo", "voice", "audio", "video", "animation", "sticker", "video_note".
type File struct {
	Kind, Name, MIME string
	Data             []byte
}

// Call is one call of a method.
type Call struct {
	Method string
	Params map[string]string
}

// store is what the server remembers besides chats and updates.
type store struct {
	calls    served.Calls[Call]
	files    map[string]File
	lastFile int
	presses  map[string]bool // true: answered
	last     int
	menus    map[string][]Command // by scope and language
	floods   int                  // calls that came too fast
	fetched  []string             // addresses, for previews
}

func newStore() store {
	return store{files: map[string]File{}, presses: map[string]bool{}, menus: map[string][]Command{}}
}

func (st *store) count(req *request, forget bool) {
	st.calls.Count(req.method)
	if !forget {
		st.calls.Keep(req.method, Call{Method: req.method, Params: maps.Clone(req.params)})
	}
}

func (st *store) newPress() string {
	st.last++
	id := "43822560" + strconv.Itoa(st.last)
	st.presses[id] = false
	return id
}

func (st *store) keep(f File) (id string) {
	st.lastFile++
	id = fmt.Sprintf("AgACAgIAAx%06d", st.lastFile)
	st.files[id] = f
	return id
}

// Calls is how often a method was called.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.calls.Made(method)
}

// Requests are the calls of a method with their parameters, oldest first;
// empty with Options.Forget.
func (s *Server) Requests(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.calls.Kept(method)
}

// Fetched are the addresses that Telegram has fetched to show a preview of them.
func (s *Server) Fetched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.store.fetched...)
}

// Messages is what the bot has put into a chat, oldest first, with edits and
// deletions applied; empty with Options.Forget.
func (s *Server) Messages(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.chats[chat]
	if !ok {
		return nil
	}
	var shown []Message
	for _, id := range r.order {
		if m := r.messages[id]; m != nil {
			shown = append(shown, *m)
		}
	}
	return shown
}

// Wait waits until a chat shows what ok accepts, and returns what it shows
// then; the error says what it showed at the end of ctx. Every message wakes
// every waiter: under load use Options.OnMessage.
func (s *Server) Wait(ctx context.Context, chat int64, ok func([]Message) bool) ([]Message, error) {
	return served.Wait(ctx, &s.news, chat, s.Messages, ok)
}

// WaitMessages waits until a chat shows n messages.
func (s *Server) WaitMessages(ctx context.Context, chat int64, n int) ([]Message, error) {
	return s.Wait(ctx, chat, func(shown []Message) bool { return len(shown) >= n })
}

// apply makes a message of the bot visible; again when it was edited.
func (s *Server) apply(r *room, m *Message) {
	if !s.opts.Forget {
		if _, ok := r.messages[m.ID]; !ok {
			r.order = append(r.order, m.ID)
		}
		r.messages[m.ID] = m
	}
	if m.Edits == 0 {
		r.streams.draft = draft{} // a message takes its place
	}
	s.tell(m)
}

func (s *Server) tell(m *Message) {
	if s.opts.OnMessage != nil && m != nil {
		s.opts.OnMessage(*m)
	}
	s.news.Tell()
}

// messageJSON is a message of the bot as it goes over the wire.
func (s *Server) messageJSON(m *Message) map[string]any {
	r := s.chats[m.Chat]
	out := map[string]any{"message_id": m.ID, "from": s.me(), "chat": s.chatJSON(r), "date": s.opts.Now().Unix()}
	text, entities := "text", "entities"
	if m.File != nil {
		text, entities = "caption", "caption_entities"
		maps.Copy(out, s.incoming(*m.File))
	}
	if m.Text != "" {
		out[text] = m.Text
	}
	if len(m.Entities) > 0 {
		out[entities] = m.Entities
	}
	if len(m.Keyboard) > 0 {
		out["reply_markup"] = map[string]any{"inline_keyboard": m.Keyboard}
	}
	if m.Thread != 0 {
		out["message_thread_id"], out["is_topic_message"] = m.Thread, true
	}
	if m.Album != "" {
		out["media_group_id"] = m.Album
	}
	if m.Edits > 0 {
		out["edit_date"] = time.Now().Unix()
	}
	return out
}
