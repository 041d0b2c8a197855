package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// The roles of a message on the page.
const (
	rolePerson = "person"
	roleBot    = "bot"
)

// message is one entry of a conversation, as it is stored and as the page
// gets it.
type message struct {
	ID      string          `json:"id"`
	Pos     int64           `json:"pos"` // order within the conversation
	Role    string          `json:"role"`
	At      time.Time       `json:"at"`
	Text    string          `json:"text,omitempty"`
	HTML    string          `json:"html,omitempty"` // made when it is sent, never stored
	Files   []file          `json:"files,omitempty"`
	Buttons [][]chat.Button `json:"buttons,omitempty"`
	Turn    string          `json:"turn,omitempty"`
	Final   bool            `json:"final,omitempty"`
}

// encode writes the fields as one line of JSON and the text behind it as it
// is: escaped, a text of the largest size could outgrow a value of the table.
func (m message) encode() ([]byte, error) {
	text := m.Text
	m.Text, m.HTML = "", ""
	head, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode message %q: %w", m.ID, err)
	}
	return slices.Concat(head, []byte{'\n'}, []byte(text)), nil
}

func decodeMessage(b []byte) (message, error) {
	head, text, _ := bytes.Cut(b, []byte{'\n'})
	var m message
	if err := json.Unmarshal(head, &m); err != nil {
		return message{}, fmt.Errorf("decode stored message: %w", err)
	}
	m.Text = string(text)
	return m, nil
}

// about is a conversation in the list of conversations.
type about struct {
	ID    string    `json:"id"`
	Title string    `json:"title"`
	At    time.Time `json:"at"` // of the newest message
	Gone  bool      `json:"gone,omitempty"`
}

// history keeps the conversations in the table: "m.<chat>.<id>" holds one
// message, "c.<chat>" what the list of conversations shows. Creating a key
// that exists is how a repeat is recognised, and the table's revisions are the
// event ids with which a page resumes.
type history struct {
	table kv.Table
	now   func() time.Time
	keep  bounds

	mu    sync.Mutex
	chats map[string]*conversation
}

type bounds struct {
	messages int
	bytes    int
	age      time.Duration
}

// conversation remembers the places of a conversation's messages, so that
// adding one needs no look at the others. The table stays the truth.
type conversation struct {
	mu     sync.Mutex
	loaded bool
	last   int64
	places []place // oldest first
	bytes  int
	// posting is held while a message of this conversation is handed to the
	// sink: a chat's messages go one after the other.
	posting chan struct{}
}

type place struct {
	key  string
	pos  int64
	size int
}

const maxLogBytes = 8 << 20 // text of one conversation that a page loads at most

func messageKey(chatID, id string) string { return "m." + chatID + "." + id }

func (h *history) conversation(chatID string) *conversation {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.chats[chatID]
	if c == nil {
		c = &conversation{posting: make(chan struct{}, 1)}
		h.chats[chatID] = c
	}
	return c
}

// load reads the places once per process. The caller holds c.mu.
func (h *history) load(ctx context.Context, chatID string, c *conversation) error {
	if c.loaded {
		return nil
	}
	entries, err := kv.List(ctx, h.table, "m."+chatID)
	if err != nil {
		return fmt.Errorf("load conversation %q: %w", chatID, err)
	}
	c.places, c.bytes = nil, 0
	for _, e := range entries {
		m, err := decodeMessage(e.Value)
		if err != nil {
			continue // one unreadable entry must not close the conversation
		}
		c.places = append(c.places, place{e.Key, m.Pos, len(e.Value)})
		c.bytes += len(e.Value)
		c.last = max(c.last, m.Pos)
	}
	sort.Slice(c.places, func(a, b int) bool { return c.places[a].pos < c.places[b].pos })
	c.loaded = true
	return nil
}

// reserve returns the next place: the time in microseconds, or later than
// that when the clock went back.
func (h *history) reserve(ctx context.Context, chatID string) (int64, error) {
	c := h.conversation(chatID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := h.load(ctx, chatID, c); err != nil {
		return 0, err
	}
	c.last = max(h.now().UnixMicro(), c.last+1)
	return c.last, nil
}

// add stores m (at a place reserved before, or the next one when Pos is 0) and
// reports false when a message with that id is there already.
func (h *history) add(ctx context.Context, chatID string, m message) (bool, error) {
	if m.Pos == 0 {
		pos, err := h.reserve(ctx, chatID)
		if err != nil {
			return false, err
		}
		m.Pos = pos
	}
	m.Text = strings.ToValidUTF8(m.Text, "\uFFFD")
	value, err := m.encode()
	if err != nil {
		return false, err
	}
	key := messageKey(chatID, m.ID)
	_, err = h.table.Create(ctx, key, value, h.keep.age)
	if errors.Is(err, kv.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store message %q: %w", m.ID, err)
	}
	if err := h.prune(ctx, chatID, place{key, m.Pos, len(value)}); err != nil {
		return true, err
	}
	return true, h.touch(ctx, chatID, m)
}

// prune notes the new place and removes the oldest messages over the bounds.
func (h *history) prune(ctx context.Context, chatID string, p place) error {
	c := h.conversation(chatID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := h.load(ctx, chatID, c); err != nil {
		return err
	}
	if !slices.ContainsFunc(c.places, func(q place) bool { return q.key == p.key }) {
		c.places = append(c.places, p)
		c.bytes += p.size
	}
	for len(c.places) > 1 && (len(c.places) > h.keep.messages || c.bytes > h.keep.bytes) {
		if err := h.table.Delete(ctx, c.places[0].key); err != nil {
			return fmt.Errorf("remove old message: %w", err)
		}
		c.bytes -= c.places[0].size
		c.places = c.places[1:]
	}
	return nil
}

const titleRunes = 60

// touch moves the conversation to the top of the list and names it after the
// first thing said in it.
func (h *history) touch(ctx context.Context, chatID string, m message) error {
	err := kv.Modify(ctx, h.table, "c."+chatID, h.keep.age, func(old []byte) ([]byte, error) {
		a := about{ID: chatID}
		if old != nil && json.Unmarshal(old, &a) != nil {
			a = about{ID: chatID}
		}
		if a.Title == "" {
			a.Title = title(m)
		}
		a.At = m.At
		return json.Marshal(a)
	})
	if err != nil {
		return fmt.Errorf("note conversation %q: %w", chatID, err)
	}
	return nil
}

func title(m message) string {
	text := m.Text
	if text == "" && len(m.Files) > 0 {
		text = m.Files[0].Name
	}
	text = strings.Join(strings.Fields(text[:min(len(text), 8*titleRunes)]), " ")
	text = strings.ToValidUTF8(text, "")
	if runes := []rune(text); len(runes) > titleRunes {
		text = string(runes[:titleRunes-1]) + "…"
	}
	return text
}

func (h *history) get(ctx context.Context, chatID, id string) (message, error) {
	e, err := h.table.Get(ctx, messageKey(chatID, id))
	if err != nil {
		return message{}, fmt.Errorf("read message %q: %w", id, err)
	}
	return decodeMessage(e.Value)
}

// change lets fn alter a stored message; kv.ErrNotFound when there is none.
func (h *history) change(ctx context.Context, chatID, id string, fn func(*message)) error {
	err := kv.Modify(ctx, h.table, messageKey(chatID, id), h.keep.age, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, kv.ErrNotFound
		}
		m, err := decodeMessage(old)
		if err != nil {
			return nil, err
		}
		fn(&m)
		m.Text = strings.ToValidUTF8(m.Text, "\uFFFD")
		return m.encode()
	})
	if err != nil {
		return fmt.Errorf("change message %q: %w", id, err)
	}
	return nil
}

// list returns the conversations, the one with the newest message first.
func (h *history) list(ctx context.Context) ([]about, error) {
	entries, err := kv.List(ctx, h.table, "c")
	if err != nil {
		return nil, fmt.Errorf("list conversations: %w", err)
	}
	all := []about{}
	for _, e := range entries {
		var a about
		if json.Unmarshal(e.Value, &a) == nil && a.ID != "" {
			all = append(all, a)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(all[j].At.Compare(all[i].At), strings.Compare(all[i].ID, all[j].ID)) < 0
	})
	return all, nil
}

// forget removes a conversation and returns the files that hung on it.
func (h *history) forget(ctx context.Context, chatID string) ([]file, error) {
	c := h.conversation(chatID)
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, err := kv.List(ctx, h.table, "m."+chatID)
	if err != nil {
		return nil, fmt.Errorf("forget conversation %q: %w", chatID, err)
	}
	var files []file
	for _, e := range entries {
		if m, err := decodeMessage(e.Value); err == nil {
			files = append(files, m.Files...)
		}
		if err := h.table.Delete(ctx, e.Key); err != nil {
			return files, fmt.Errorf("forget conversation %q: %w", chatID, err)
		}
	}
	c.places, c.bytes = nil, 0
	if err := h.table.Delete(ctx, "c."+chatID); err != nil {
		return files, fmt.Errorf("forget conversation %q: %w", chatID, err)
	}
	return files, nil
}
