package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	"magpie/internal/kv"
)

const patience = time.Minute

// faulty is a table of which the next write can be made to go wrong.
type faulty struct {
	kv.Table
	mu   sync.Mutex
	next func(ctx context.Context, write func() error) error
	made int // writes that were tried
}

func (f *faulty) fault(fn func(context.Context, func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = fn
}

func (f *faulty) tried() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made
}

func (f *faulty) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (rev uint64, err error) {
	f.mu.Lock()
	next := f.next
	f.next, f.made = nil, f.made+1
	f.mu.Unlock()
	write := func() error {
		rev, err = f.Table.Create(ctx, key, value, ttl)
		return err
	}
	if next != nil {
		return rev, next(ctx, write)
	}
	return rev, write()
}

// site is a channel that runs, with its API called without a network.
type site struct {
	t     *testing.T
	web   *Web
	table kv.Table
	stop  func() error

	mu    sync.Mutex
	taken []chat.Inbound
	judge func(chat.Inbound) error
}

func newSite(t *testing.T, table kv.Table, opts ...func(*channels.Deps)) *site {
	t.Helper()
	if table == nil {
		table = &kv.Memory{}
	}
	d := channels.Deps{Table: table}
	for _, o := range opts {
		o(&d)
	}
	ch, err := New("web", nil, d)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, web: ch.(*Web), table: table}
	s.stop = channeltest.Receive(t, s.web, s.receive).Stop
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	channeltest.Eventually(t, "the channel runs", func() bool {
		_, leave, ok := s.web.begin()
		if ok {
			leave()
		}
		return ok
	})
	return s
}

func (s *site) receive(in chat.Inbound) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.judge != nil {
		if err := s.judge(in); err != nil {
			return err
		}
	}
	s.taken = append(s.taken, in)
	return nil
}

func (s *site) inbound() []chat.Inbound {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]chat.Inbound{}, s.taken...)
}

// call makes a request of the API; what is its method and path.
func call(h http.Handler, what, typ string, body io.Reader) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(what, " ")
	r := httptest.NewRequest(method, path, body)
	if typ != "" {
		r.Header.Set("Content-Type", typ)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

func postJSON(h http.Handler, path string, v any) *httptest.ResponseRecorder {
	body, _ := json.Marshal(v) // test values marshal
	return call(h, "POST "+path, "application/json", bytes.NewReader(body))
}

func uploadTo(h http.Handler, chatID, name string, data []byte) (file, int) {
	rec := call(h, "POST "+"/api/chat/chats/"+chatID+"/files?name="+url.QueryEscape(name), "", bytes.NewReader(data))
	var f file
	_ = json.Unmarshal(rec.Body.Bytes(), &f) // an error answer leaves it empty
	return f, rec.Code
}

// event is one event of a stream.
type event struct {
	id, kind string
	data     json.RawMessage
}

// stream reads a conversation's events, each handed to fn until it reports
// false, and returns the status.
func stream(h http.Handler, chatID, query string, fn func(event) bool) int {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w := &streamWriter{fn: fn, cancel: cancel, header: http.Header{}}
	r := httptest.NewRequest("GET", "/api/chat/chats/"+chatID+"/events"+query, nil).WithContext(ctx)
	h.ServeHTTP(w, r)
	return w.status
}

type streamWriter struct {
	fn     func(event) bool
	cancel func()
	header http.Header
	status int
	buf    bytes.Buffer
	over   bool
}

func (w *streamWriter) Header() http.Header { return w.header }
func (w *streamWriter) WriteHeader(s int)   { w.status = s }
func (w *streamWriter) Flush()              {}
func (w *streamWriter) Write(p []byte) (int, error) {
	w.buf.Write(p)
	for {
		text, rest, ok := strings.Cut(w.buf.String(), "\n\n")
		if !ok {
			return len(p), nil
		}
		w.buf.Reset()
		w.buf.WriteString(rest)
		var e event
		for line := range strings.Lines(text) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch key {
			case "id":
				e.id = value
			case "event":
				e.kind = value
			case "data":
				e.data = json.RawMessage(value)
			}
		}
		if !w.over && !w.fn(e) {
			w.over = true
			w.cancel()
		}
	}
}

// stored reads what a page that opens now shows, and the id to resume at.
func stored(t *testing.T, h http.Handler, chatID, query string) (all []message, last string, kinds []string) {
	t.Helper()
	status := stream(h, chatID, query, func(e event) bool {
		kinds = append(kinds, e.kind)
		if e.kind == "message" {
			var m message
			if err := json.Unmarshal(e.data, &m); err != nil {
				t.Errorf("event %s: %v", e.data, err)
			}
			all = append(all, m)
		}
		if e.id != "" {
			last = e.id
		}
		return e.kind != "sync"
	})
	if status != http.StatusOK {
		t.Fatalf("the stream of %q answered %d", chatID, status)
	}
	return all, last, kinds
}

func out(chatID, id, text string) chat.Outbound {
	return chat.Outbound{Meta: chat.Meta{V: chat.Version, ID: id, Addr: chat.Address{Channel: "web", Chat: chatID}}, Text: text}
}

func send(t *testing.T, w *Web, msg chat.Outbound) chat.MessageRef {
	t.Helper()
	ref, err := w.Send(t.Context(), msg)
	if err != nil {
		t.Fatalf("send: %v", err)
	}
	return ref
}
