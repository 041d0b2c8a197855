package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"magpie/internal/kv"
)

const (
	pingEvery = 15 * time.Second      // shorter than what proxies cut off (60 s is usual)
	liveEvery = 80 * time.Millisecond // steady enough for the eye
	listEvery = time.Second           // what others write in moves the list of conversations
	sendWait  = 20 * time.Second      // a tab that takes nothing for so long is gone
	maxLive   = 32 << 10              // bytes of a draft that are rendered again and again
)

// getEvents streams a conversation to one tab until the tab leaves, Run ends
// or the tab takes nothing any more.
func (w *Web) getEvents(rw http.ResponseWriter, r *http.Request, chatID string) error {
	after, err := resumeAfter(r)
	if err != nil {
		return err
	}
	s, leave, ok := w.begin()
	if !ok {
		return &problem{http.StatusServiceUnavailable, "the chat is starting or stopping, try again"}
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer s.onEnd(cancel)()

	rw.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	rw.Header().Set("Cache-Control", "no-store, no-transform")
	// Compressing proxies would hold events back: new ones heed no-transform,
	// Caddy 2.6 only that something is encoded already.
	rw.Header().Set("Content-Encoding", "identity")
	rw.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	t := &tab{rw: rw, rc: http.NewResponseController(rw), html: r.URL.Query().Get("format") != "text", md: w.md, last: after}
	// The server's deadline for reading a request would end the stream.
	_ = t.rc.SetReadDeadline(time.Time{})
	rw.WriteHeader(http.StatusOK)
	_ = t.rc.Flush() // the store may take its time
	// A tab that takes nothing must not hold up the end of Run.
	defer context.AfterFunc(ctx, func() { _ = t.rc.SetWriteDeadline(time.Unix(1, 0)) })()

	if err := w.stream(ctx, t, chatID); err != nil && ctx.Err() == nil {
		w.log.Debug("web chat stream ended", "chat", chatID, "err", err)
	}
	return nil
}

func resumeAfter(r *http.Request) (uint64, error) {
	text := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, bad("Last-Event-ID %q: want the number of an event", text)
	}
	return n, nil
}

// tab writes events to one client.
type tab struct {
	rw   http.ResponseWriter
	rc   *http.ResponseController
	md   markdown
	html bool
	last uint64 // revision of the newest message sent
	// listed are the messages that the tab's listing had, until a change comes
	// that is newer than all of them: it may have one that is newer than another
	// that it has not.
	listed map[string]uint64
}

// send writes one event, with its id when id > 0.
func (t *tab) send(event string, id uint64, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", event, err)
	}
	return t.write(event, id, data)
}

// write writes an event for each of all.
func (t *tab) write(event string, id uint64, all ...[]byte) error {
	_ = t.rc.SetWriteDeadline(time.Now().Add(sendWait))
	for _, data := range all {
		if id > 0 {
			if _, err := fmt.Fprintf(t.rw, "id: %d\n", id); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(t.rw, "event: %s\ndata: %s\n\n", event, data); err != nil {
			return err
		}
	}
	return t.rc.Flush()
}

type nothing struct{}

// stream sends what the tab has not seen yet, in the order in which it was
// written, and then every change as it comes. The table's revisions are the
// event ids, so a message that was changed while the tab was away comes again
// and nothing else does. What goes on and the list of conversations need no
// resuming: the newest state and the whole list come first, and neither is sent
// more often than its time says.
func (w *Web) stream(ctx context.Context, t *tab, chatID string) error {
	seat, leave := w.feed.join(chatID)
	defer leave()
	live, leave := w.live.join(chatID)
	defer leave()
	stored, err := w.feed.stored(ctx, seat)
	if err != nil {
		return err
	}
	if err := t.stored(stored); err != nil {
		return err
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	onLive, onList := live, (<-chan struct{})(seat.list)
	var livePause, listPause <-chan time.Time
	for err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-seat.ctx.Done():
			return context.Cause(seat.ctx)
		case <-ping.C:
			err = t.send("ping", 0, nothing{})
		case <-seat.messages:
			err = t.take(w.feed.take(seat))
		case <-onLive:
			err = t.live(w.live.look(chatID))
			onLive, livePause = nil, time.After(liveEvery)
		case <-livePause:
			onLive, livePause = live, nil
		case <-onList:
			err = t.write("chat", 0, w.feed.changed(seat)...)
			onList, listPause = nil, time.After(listEvery)
		case <-listPause:
			onList, listPause = seat.list, nil
		}
	}
	return err
}

// stored sends the messages that are there, the oldest change first.
func (t *tab) stored(stored []kv.Entry) error {
	if n := len(stored); t.last > 0 && (n == 0 || stored[n-1].Revision < t.last) {
		// The tab has seen what is no longer there: the store began anew, or
		// the conversation was deleted.
		t.last = 0
		if err := t.send("reset", 0, nothing{}); err != nil {
			return err
		}
	}
	resumed, ids := t.last > 0, make([]string, 0, len(stored))
	listed := make(map[string]uint64, len(stored))
	for _, e := range stored {
		ids = append(ids, idOf(e))
		listed[e.Key] = e.Revision
		if err := t.message(e); err != nil {
			return err
		}
	}
	t.listed = listed
	if resumed {
		return t.send("sync", 0, map[string][]string{"ids": ids})
	}
	return t.send("sync", 0, nothing{})
}

// idOf takes the message's id from its key, "m.<chat>.<id>".
func idOf(e kv.Entry) string { return e.Key[strings.LastIndexByte(e.Key, '.')+1:] }

func (t *tab) take(changes []kv.Entry, err error) error {
	for _, e := range changes {
		if err := t.message(e); err != nil {
			return err
		}
	}
	return err
}

func (t *tab) message(e kv.Entry) error {
	if e.Revision > t.last {
		t.listed = nil
	} else if rev, ok := t.listed[e.Key]; t.listed == nil || ok && e.Revision <= rev {
		return nil
	}
	if e.Deleted {
		return t.send("gone", 0, map[string]string{"id": idOf(e)})
	}
	m, err := decodeMessage(e.Value)
	if err != nil {
		return nil //nolint:nilerr // unreadable once is unreadable for ever: leave it out
	}
	if t.html {
		m.HTML = t.md.render(m.Text)
	}
	t.last = max(t.last, e.Revision)
	return t.send("message", e.Revision, m)
}

func (t *tab) live(s state) error {
	if t.html && s.Text != "" {
		// The end of a very long draft is what one wants to see grow.
		text := s.Text
		if len(text) > maxLive {
			text = "…" + strings.ToValidUTF8(text[len(text)-maxLive:], "")
		}
		s.Text, s.HTML = "", t.md.render(text)
	}
	return t.send("live", 0, s)
}
