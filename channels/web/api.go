package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/chat"
	"magpie/internal/kv"
)

const (
	apiPath  = "/api/chat/"
	filePath = apiPath + "files/"
	chatPath = apiPath + "chats/{chat}"
)

// maxPost bounds the body of a message, in bytes: JSON may write one byte of
// text as six.
const maxPost = 6*maxText + 64<<10

// Handler serves the page at "/", what belongs to it under "/assets/" and the
// API under "/api/chat/". Whoever mounts it has checked the token and that a
// POST comes from this page.
func (w *Web) Handler() http.Handler {
	mux := http.NewServeMux()
	servePage(mux)
	mux.HandleFunc("GET "+apiPath+"chats", w.getChats)
	mux.HandleFunc("DELETE "+chatPath, w.withChat(w.deleteChat))
	mux.HandleFunc("GET "+chatPath+"/events", w.withChat(w.getEvents))
	mux.HandleFunc("POST "+chatPath+"/messages", w.withChat(w.postMessage))
	mux.HandleFunc("POST "+chatPath+"/press", w.withChat(w.postPress))
	mux.HandleFunc("POST "+chatPath+"/files", w.withChat(w.postFile))
	mux.HandleFunc("GET "+filePath+"{id}", w.getFile)
	return mux
}

// problem is an error with the HTTP status it is answered with.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func bad(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

type chatHandler func(rw http.ResponseWriter, r *http.Request, chatID string) error

// withChat checks the conversation's id and answers errors.
func (w *Web) withChat(h chatHandler) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		chatID := r.PathValue("chat")
		err := bad("chat %q: want 1 to 64 of A–Z a–z 0–9 _ -", chatID)
		if validID(chatID) {
			err = h(rw, r, chatID)
		}
		if err != nil {
			w.answerError(rw, r, err)
		}
	}
}

func (w *Web) answerError(rw http.ResponseWriter, r *http.Request, err error) {
	var p *problem
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &p):
	case errors.As(err, &tooBig), errors.Is(err, errTooLarge):
		p = &problem{http.StatusRequestEntityTooLarge, "this is larger than allowed"}
	case errors.Is(err, kv.ErrNotFound):
		p = &problem{http.StatusNotFound, "it is not there (any more)"}
	default:
		w.log.Warn("web chat request failed", "method", r.Method, "err", err)
		p = &problem{http.StatusServiceUnavailable, "it could not be stored now, try again"}
	}
	if p.status == http.StatusServiceUnavailable {
		rw.Header().Set("Retry-After", "2")
	}
	answer(rw, p.status, map[string]string{"error": p.text})
}

func answer(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.Header().Set("Cache-Control", "no-store")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(v) // the client is gone when this fails
}

func (w *Web) getChats(rw http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), storeWait)
	defer cancel()
	chats, err := w.history.list(ctx)
	if err != nil {
		w.answerError(rw, r, err)
		return
	}
	answer(rw, http.StatusOK, map[string]any{
		"chats":  chats,
		"limits": map[string]int64{"text": maxText, "file": w.cfg.MaxUpload, "files": maxFiles},
	})
}

func (w *Web) deleteChat(rw http.ResponseWriter, r *http.Request, chatID string) error {
	ctx, cancel := context.WithTimeout(r.Context(), storeWait)
	defer cancel()
	gone, err := w.history.forget(ctx, chatID)
	if err != nil {
		return err
	}
	for _, f := range gone {
		if err := w.files.remove(ctx, f); err != nil {
			return fmt.Errorf("forget file: %w", err)
		}
	}
	rw.WriteHeader(http.StatusNoContent)
	return nil
}

// post is the body of a message or a press.
type post struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Files   []string `json:"files"`
	Message string   `json:"message"`
	Data    string   `json:"data"`
	Lang    string   `json:"lang"`
	Zone    string   `json:"zone"`
}

// maxZone is how long the name of a time zone is at most.
const maxZone = 64

func readPost(rw http.ResponseWriter, r *http.Request) (post, error) {
	if typ, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); typ != "application/json" {
		return post{}, &problem{http.StatusUnsupportedMediaType, "want Content-Type: application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxPost))
	if err != nil {
		return post{}, fmt.Errorf("read the message: %w", err)
	}
	var p post
	if err := json.Unmarshal(body, &p); err != nil {
		return post{}, bad("this is not the JSON of a message: %v", err)
	}
	if !validID(p.ID) {
		return post{}, bad("id %q: want 1 to 64 of A–Z a–z 0–9 _ -, the same when you try again", p.ID)
	}
	if p.Lang == "" {
		p.Lang, _, _ = strings.Cut(r.Header.Get("Accept-Language"), ",")
	}
	if len(p.Lang) > 35 { // the longest language tag one meets
		p.Lang = ""
	}
	if len(p.Zone) > maxZone || !strings.Contains(p.Zone, "/") && p.Zone != "UTC" { // no abbreviation, nor what only a server has
		p.Zone = ""
	}
	return p, nil
}

func (w *Web) postMessage(rw http.ResponseWriter, r *http.Request, chatID string) error {
	p, err := readPost(rw, r)
	if err != nil {
		return err
	}
	switch {
	case len(p.Text) > maxText:
		return &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("the text has %d bytes, at most %d fit", len(p.Text), maxText)}
	case strings.TrimSpace(p.Text) == "" && len(p.Files) == 0:
		return bad("the message is empty")
	case len(p.Files) > maxFiles:
		return bad("%d files, at most %d fit", len(p.Files), maxFiles)
	}
	return w.take(r, chatID, func(ctx context.Context, s *session) error {
		m := message{ID: "i" + p.ID, Role: rolePerson, At: w.now().UTC(), Text: p.Text}
		old, err := w.history.get(ctx, chatID, m.ID)
		switch {
		case err == nil:
			m = old // an earlier try got here: answer what it would have got
		case !errors.Is(err, kv.ErrNotFound):
			return err
		default:
			if m, err = w.deliver(ctx, s, chatID, m, p); err != nil {
				return err
			}
		}
		answer(rw, http.StatusOK, map[string]any{"id": m.ID, "at": m.At})
		return nil
	})
}

// deliver hands a new message to the sink and then notes it in the history, at
// a place taken before: the answer may be written first. If the program dies
// in between, the page tries again and the sink knows the id.
func (w *Web) deliver(ctx context.Context, s *session, chatID string, m message, p post) (message, error) {
	in := w.inbound(chatID, p)
	in.Text, in.MessageID = m.Text, m.ID
	for _, id := range p.Files {
		f, err := w.files.get(ctx, id)
		if errors.Is(err, kv.ErrNotFound) {
			return m, bad("file %q is not there (any more): upload it again", id)
		}
		if err != nil {
			return m, err
		}
		m.Files = append(m.Files, f)
		in.Attachments = append(in.Attachments, chat.Attachment{
			Kind: f.Kind, Name: f.Name, MIME: f.MIME, Size: f.Size, Source: f.ID,
		})
	}
	var err error
	if m.Pos, err = w.history.reserve(ctx, chatID); err != nil {
		return m, err
	}
	if err := s.sink(ctx, in); err != nil {
		return m, fmt.Errorf("hand on the message: %w", err)
	}
	w.status.Event()
	_, err = w.history.add(ctx, chatID, m)
	return m, err
}

func (w *Web) postPress(rw http.ResponseWriter, r *http.Request, chatID string) error {
	p, err := readPost(rw, r)
	if err != nil {
		return err
	}
	return w.take(r, chatID, func(ctx context.Context, s *session) error {
		m, err := w.history.get(ctx, chatID, p.Message)
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		if !m.offers(p.Data) {
			return &problem{http.StatusGone, "this button is no longer there"}
		}
		in := w.inbound(chatID, p)
		in.Press = &chat.Press{ID: p.ID, Data: p.Data, Message: p.Message}
		if err := s.sink(ctx, in); err != nil {
			return fmt.Errorf("hand on the press: %w", err)
		}
		w.status.Event()
		answer(rw, http.StatusOK, map[string]any{"id": p.ID, "at": in.At})
		return nil
	})
}

func (m message) offers(data string) bool {
	for _, row := range m.Buttons {
		for _, b := range row {
			if b.Data == data {
				return true
			}
		}
	}
	return false
}

func (w *Web) inbound(chatID string, p post) chat.Inbound {
	return chat.Inbound{
		Meta: chat.Meta{
			V:  chat.Version,
			ID: "web:" + w.name + ":" + chatID + ":" + p.ID, Trace: rand.Text(),
			At: w.now().UTC(), Addr: chat.Address{Channel: w.name, Chat: chatID},
		},
		Origin: chat.FromPerson,
		From:   chat.Sender{ID: w.cfg.Sender, Lang: strings.ToValidUTF8(p.Lang, ""), Zone: strings.ToValidUTF8(p.Zone, "")},
		Direct: true, Mentioned: true,
	}
}

// take runs fn in the running session, one at a time for a chat. It goes on
// when the client leaves, within its bound: what was sent off is to arrive.
func (w *Web) take(r *http.Request, chatID string, fn func(context.Context, *session) error) error {
	s, leave, ok := w.begin()
	if !ok {
		return &problem{http.StatusServiceUnavailable, "the chat is starting or stopping, try again"}
	}
	defer leave()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), storeWait)
	defer cancel()
	defer s.onEnd(cancel)()
	c := w.history.conversation(chatID)
	select {
	case c.posting <- struct{}{}:
		defer func() { <-c.posting }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the message before: %w", context.Cause(ctx))
	}
	return fn(ctx, s)
}

// uploadWait bounds an upload from its first byte to its last.
const uploadWait = 5 * time.Minute

func (w *Web) postFile(rw http.ResponseWriter, r *http.Request, _ string) error {
	name := r.URL.Query().Get("name")
	if !utf8.ValidString(name) {
		return bad("the name is not valid UTF-8")
	}
	ctx, cancel := context.WithTimeout(r.Context(), uploadWait)
	defer cancel()
	f, err := w.files.put(ctx, "u"+strings.ToLower(rand.Text()), name, http.MaxBytesReader(rw, r.Body, w.cfg.MaxUpload))
	if err != nil {
		return err
	}
	answer(rw, http.StatusOK, f)
	return nil
}

// getFile serves a file. Pictures, sound and film may be shown in the page;
// everything else is only ever saved, whatever it claims to be.
func (w *Web) getFile(rw http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), uploadWait)
	defer cancel()
	f, err := w.files.get(ctx, r.PathValue("id"))
	if err != nil {
		w.answerError(rw, r, err)
		return
	}
	typ, disposition := f.MIME, "inline"
	if f.Kind == chat.File {
		typ, disposition = "application/octet-stream", "attachment"
	}
	h := rw.Header()
	h.Set("Content-Type", typ)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": f.Name}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, max-age=86400, immutable")
	http.ServeContent(rw, r, "", time.Time{}, w.files.open(ctx, f))
}
