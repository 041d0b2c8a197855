package telegram

import (
	"net/http"
	"time"

	"magpie/internal/fakes/trouble"
)

// A draft of sendMessageDraft, as Telegram shows it: for 30 seconds, in private
// chats only, and until the bot sends a message there
// (https://core.telegram.org/bots/api#sendmessagedraft, Bot API 9.3, for all bots
// since 9.5; read November 2026 with the types of grammY 1.46).
type draft struct {
	id     int64
	thread int64
	text   string
	until  time.Time
}

// streams is what a chat knows of replies that are being written.
type streams struct {
	rate   trouble.Bucket // of messages
	draft  draft
	drafts trouble.Bucket
	edits  edits
}

const draftLife = 30 * time.Second

// What people measured of drafts: some 25 at once pass, and a sustained pace of
// more than nine a second earns 3 s (hermes-agent #22093 and others, 2026).
const (
	draftBurst     = 25
	draftPerSecond = 9
	draftWait      = 3
)

func sendMessageDraft(s *Server, req *request) (any, *apiError) {
	if s.opts.Ways.Old {
		return nil, &apiError{Code: http.StatusNotFound, Text: "Not Found: method not found"}
	}
	r, e := s.target(req)
	if e != nil {
		return nil, e
	}
	id, ok := req.int("draft_id")
	text, _, e := req.text("text", maxText, "message is too long")
	switch {
	case e != nil:
		return nil, e
	case !ok || id == 0:
		return nil, badRequest("RANDOM_ID_INVALID")
	case r.kind != "private" || s.opts.Ways.NoDrafts:
		return nil, badRequest("TEXTDRAFT_PEER_INVALID")
	}
	thread, threaded := req.int("message_thread_id")
	if threaded && !r.topics[int(thread)] {
		return nil, badRequest("message thread not found")
	}
	if s.opts.Rates {
		if r.streams.drafts.Take(s.opts.Now(), draftPerSecond, draftBurst) > 0 {
			return nil, s.floods(draftWait)
		}
	}
	if text == "" {
		text = "Thinking…"
	}
	r.streams.draft = draft{id: id, thread: thread, text: text, until: s.opts.Now().Add(draftLife)}
	s.tell(&Message{Chat: r.id, Thread: int(thread), Kind: "draft", Text: text, Source: req.params["text"]})
	return true, nil
}

// Draft is the draft that a chat shows now, "" if none.
func (s *Server) Draft(chat int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(chat)
	if !s.opts.Now().Before(r.streams.draft.until) {
		return ""
	}
	return r.streams.draft.text
}

// edits are the edits of a chat. Telegram does not say how many it takes; people
// who edit a streamed message about once a second are told to wait 18 to 35 s,
// then 137, then 280 (hermes-agent #102402 and #53865, anything-llm #5447, 2026),
// and every edit meanwhile is refused as well. An edit also counts as a message
// (anything-llm #5447).
type edits struct {
	bucket trouble.Bucket
	until  time.Time
	floods int
}

const (
	editPerSecond = 2.0 / 3
	editBurst     = 10
)

// floodWaits are how long edits are refused, the first time and then.
func floodWaits() []time.Duration {
	return []time.Duration{30 * time.Second, 70 * time.Second, 140 * time.Second}
}

// editsTooFast applies what is known of edits.
func (s *Server) editsTooFast(r *room) *apiError {
	if !s.opts.Rates {
		return nil
	}
	now := s.opts.Now()
	if now.Before(r.streams.edits.until) {
		return s.floods(int(r.streams.edits.until.Sub(now).Seconds()) + 1)
	}
	if r.streams.edits.bucket.Take(now, editPerSecond, editBurst) > 0 {
		waits := floodWaits()
		wait := waits[min(r.streams.edits.floods, len(waits)-1)]
		r.streams.edits.floods++
		r.streams.edits.until = now.Add(wait)
		return s.floods(int(wait.Seconds()))
	}
	return s.tooFast(r, 1)
}

// floods is a refusal for speed, which is counted.
func (s *Server) floods(seconds int) *apiError {
	s.store.floods++
	return flood(seconds)
}

// Floods is how many calls were refused because they came too fast.
func (s *Server) Floods() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.floods
}
