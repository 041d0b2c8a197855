package dingtalk

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"magpie/channels/render"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	// memoryLife is how long a quoted message is looked for.
	memoryLife = 7 * 24 * time.Hour
	// mostRecalled is how many messages of people are held in memory.
	mostRecalled = 1024
	// mostSaid is how many bytes of one are held.
	mostSaid = 4 << 10
	// mostSent is how many messages of the bot are remembered of a chat.
	mostSent = 64
	// sentSlack is how far the time of a quoted message may be from that of
	// its sending: the clocks of two computers, and the sending itself.
	sentSlack = 10 * time.Second

	heardPrefix = "heard."
	sentPrefix  = "sent."
)

// memory is what is remembered of messages.
type memory struct {
	heard    hearing
	sent     sending
	recalled recalled
	presses  presses
	types    fileTypes
}

// heardMessage is what is remembered of a message of a person, because DingTalk
// may quote it by nothing but its id.
type heardMessage struct {
	Chat  string            `json:"chat"`
	From  string            `json:"from,omitempty"`
	Text  string            `json:"text,omitempty"`
	Files []chat.Attachment `json:"files,omitempty"`
}

// hearing remembers messages of people by their id: the last ones in memory,
// those with files in the table too.
type hearing struct {
	table kv.Table
	log   *slog.Logger

	mu    sync.Mutex
	known map[string]heardMessage
	order []string
}

func (h *hearing) keep(ctx context.Context, in chat.Inbound) {
	m := heardMessage{Chat: in.Addr.Chat, From: in.From.Name, Text: cut(in.Text, mostSaid), Files: in.Attachments}
	h.mu.Lock()
	if _, again := h.known[in.MessageID]; !again {
		h.order = append(h.order, in.MessageID)
	}
	h.known[in.MessageID] = m
	if len(h.order) > mostRecalled {
		delete(h.known, h.order[0])
		h.order = h.order[1:]
	}
	h.mu.Unlock()
	if len(m.Files) == 0 {
		return
	}
	value, err := json.Marshal(m)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
		defer cancel()
		_, err = h.table.Update(ctx, heardPrefix+in.MessageID, value, 0, memoryLife)
	}
	if err != nil {
		h.log.Warn("the files of a message are not found after a restart when it is quoted", "id", in.MessageID, "err", err)
	}
}

// find gives a message of a chat by its id.
func (h *hearing) find(ctx context.Context, chatID, id string) (m heardMessage, ok bool) {
	if id == "" {
		return m, false
	}
	h.mu.Lock()
	m, ok = h.known[id]
	h.mu.Unlock()
	if !ok {
		ctx, cancel := context.WithTimeout(ctx, tablePatience)
		defer cancel()
		e, err := h.table.Get(ctx, heardPrefix+id)
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			h.log.Warn("a quoted message cannot be looked up", "id", id, "err", err)
		}
		ok = err == nil && json.Unmarshal(e.Value, &m) == nil
	}
	return m, ok && m.Chat == chatID
}

// sentMessage is what is remembered of a message of the bot: the id under which
// the rest of the program knows it, and by what DingTalk names it in a quote.
type sentMessage struct {
	ID    string    `json:"id"`
	Key   string    `json:"key,omitempty"`   // processQueryKey, or the carrier of a card
	Start string    `json:"start,omitempty"` // of its letters and digits
	At    time.Time `json:"at"`
}

// sending remembers the last messages of the bot in each chat, in the table:
// the process that answers need not be the one that hears the quote.
type sending struct {
	table kv.Table
	log   *slog.Logger
	now   func() time.Time
}

func (s *sending) keep(ctx context.Context, chatID string, m sentMessage) {
	m.At = s.now().UTC()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	for range 3 {
		all, revision, err := s.load(ctx, chatID)
		if err == nil {
			if all = append(all, m); len(all) > mostSent {
				all = all[len(all)-mostSent:]
			}
			var value []byte
			if value, err = json.Marshal(all); err == nil {
				_, err = s.write(ctx, chatID, value, revision)
			}
		}
		switch {
		case err == nil:
			return
		case !errors.Is(err, kv.ErrConflict):
			s.log.Warn("an answer is not known as the bot's own words when it is quoted", "chat", chatID, "err", err)
			return
		}
	}
}

func (s *sending) write(ctx context.Context, chatID string, value []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return s.table.Create(ctx, sentPrefix+chatID, value, memoryLife)
	}
	return s.table.Update(ctx, sentPrefix+chatID, value, revision, memoryLife)
}

func (s *sending) load(ctx context.Context, chatID string) (all []sentMessage, revision uint64, err error) {
	e, err := s.table.Get(ctx, sentPrefix+chatID)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	}
	_ = json.Unmarshal(e.Value, &all) // of another version: begun again
	return all, e.Revision, nil
}

// find gives the id of a message of the bot that DingTalk names by a key, or by
// words and time: of several with the same words it is the one that was sent
// nearest to that time.
func (s *sending) find(ctx context.Context, chatID, key, words string, at time.Time) (id string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	all, _, err := s.load(ctx, chatID)
	if err != nil {
		s.log.Warn("a quoted answer cannot be looked up", "chat", chatID, "err", err)
	}
	words = start(words)
	var nearest time.Duration
	same := false // the best so far has the words
	for _, m := range all {
		if key != "" {
			if m.Key == key || m.ID == key {
				return m.ID, true
			}
			continue
		}
		apart := m.At.Sub(at).Abs()
		match := words != "" && m.Start != "" && (strings.HasPrefix(m.Start, words) || strings.HasPrefix(words, m.Start))
		if !match && (words != "" && m.Start != "" || apart > sentSlack) {
			continue // other words, or neither words nor time
		}
		if !ok || match && !same || match == same && apart <= nearest {
			id, nearest, same, ok = m.ID, apart, match, true
		}
	}
	return id, ok
}

// start is what two versions of a text have in common when one of them is
// rendered: its first letters and digits, without a mention before them.
func start(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "@") { // a block begins below the mention
		name, _ := untilBlank(text)
		text = text[len(name):]
	}
	var b strings.Builder
	for _, r := range render.Plain(text) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			if b.WriteRune(r); b.Len() >= 64 {
				break
			}
		}
	}
	return b.String()
}

// cut shortens a text to n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
