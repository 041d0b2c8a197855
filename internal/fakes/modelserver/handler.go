package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"magpie/internal/fakes/served"
)

// api is what differs between the two vendors.
type api interface {
	name() string
	key(h http.Header) string
	parse(body []byte, h http.Header) (Request, error)
	fail(status int, code, message string) any
	answer(w *writer, r Request, a Answer) error
}

// refusal is a request that breaks a rule.
type refusal struct {
	status  int
	code    string
	message string
}

func (r *refusal) Error() string { return r.message }

func refuse(format string, args ...any) error {
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// Handler serves all APIs under /v1, for callers that bring their own
// listener. Answers that hang let go when the server is closed.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.serve(openAI{}))
	mux.HandleFunc("POST /v1/messages", s.serve(anthropic{}))
	mux.HandleFunc("POST /v1/audio/transcriptions", s.transcribe)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		served.JSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{
			map[string]any{"id": "fake", "object": "model", "owned_by": "magpie"},
		}})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.violate(fmt.Sprintf("%s %s does not exist", r.Method, r.URL.Path))
		http.NotFound(w, r)
	})
	return served.Whole(mux)
}

func (s *Server) serve(v api) http.HandlerFunc {
	return func(rw http.ResponseWriter, hr *http.Request) {
		s.active.Add(1)
		defer s.active.Done()
		n, want := s.next()
		if got := v.key(hr.Header); got == "" && want != "" || want != "" && got != want {
			served.JSON(rw, http.StatusUnauthorized, v.fail(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided."))
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(rw, hr.Body, maxBody))
		if err != nil {
			served.JSON(rw, http.StatusBadRequest, v.fail(http.StatusBadRequest, "", "could not read the body"))
			return
		}
		req, err := v.parse(body, hr.Header)
		if err != nil {
			s.refuse(rw, v, err)
			return
		}
		gone := make(chan struct{})
		stop := make(chan struct{})
		defer close(stop)
		s.active.Go(func() {
			defer close(gone)
			select {
			case <-hr.Context().Done():
			case <-s.done:
			case <-stop:
			}
		})
		req.API, req.N, req.Header, req.Body, req.Gone = v.name(), n, hr.Header.Clone(), body, gone
		s.answer(rw, v, req, s.record(req)(req))
	}
}

func (s *Server) refuse(rw http.ResponseWriter, v api, err error) {
	s.violate(v.name() + ": " + err.Error())
	bad := &refusal{status: http.StatusBadRequest, message: err.Error()}
	errors.As(err, &bad)
	served.JSON(rw, bad.status, v.fail(bad.status, bad.code, bad.message))
}

func (s *Server) answer(rw http.ResponseWriter, v api, r Request, a Answer) {
	w := &writer{rw: rw, gone: r.Gone, pause: a.Pieces.Pause, hold: a.Pieces.Hold, step: a.Pieces.Step, fault: a.Fault}
	if !w.wait(a.Delay) {
		return
	}
	for k, val := range a.Header {
		rw.Header().Set(k, val)
	}
	switch {
	case a.Fault == Hang:
		<-r.Gone
		return
	case a.Fault == TooLong:
		served.JSON(rw, http.StatusBadRequest, v.fail(http.StatusBadRequest, "context_length_exceeded", tooLong[v.name()]))
		return
	case a.Fault == NoBalance:
		status := map[string]int{OpenAI: http.StatusTooManyRequests, Anthropic: http.StatusBadRequest}[v.name()]
		served.JSON(rw, status, v.fail(status, "insufficient_quota", noBalance[v.name()]))
		return
	case a.Body != "":
		if a.Status != 0 {
			rw.WriteHeader(a.Status)
		}
		_, _ = io.WriteString(rw, a.Body)
		return
	case a.Status >= http.StatusBadRequest:
		served.JSON(rw, a.Status, v.fail(a.Status, "", http.StatusText(a.Status)))
		return
	}
	a.Calls = named(a.Calls, r.N)
	if err := v.answer(w, r, a); errors.Is(err, errCut) {
		panic(http.ErrAbortHandler) // the way net/http offers to cut a connection
	}
}

// The refusals in the vendors' words.
var (
	tooLong = map[string]string{
		OpenAI:    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens. Please reduce the length of the messages.",
		Anthropic: "prompt is too long: 208310 tokens > 200000 maximum",
	}
	noBalance = map[string]string{
		OpenAI:    "You exceeded your current quota, please check your plan and billing details.",
		Anthropic: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
	}
)

var (
	errGone  = errors.New("the client has gone")
	errCut   = errors.New("cut here")
	errShort = errors.New("end here")
)

// writer writes an answer piece by piece and goes wrong where it is told to.
type writer struct {
	rw    http.ResponseWriter
	gone  <-chan struct{}
	pause time.Duration
	hold  <-chan struct{}
	step  <-chan struct{}
	fault Fault
	begun bool
}

// wait returns false when the client has gone meanwhile.
func (w *writer) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.gone:
		return false
	}
}

// event sends one server-sent event; name may be "".
func (w *writer) event(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return w.raw(name, string(text))
}

func (w *writer) raw(name, data string) error {
	if !w.begun {
		w.rw.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.begun = true
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	if _, err := fmt.Fprintf(w.rw, "%sdata: %s\n\n", name, data); err != nil {
		return err
	}
	return http.NewResponseController(w.rw).Flush()
}

// texts sends the pieces of a text, paced; the answer's fault happens after
// the first, or at once when there is none.
func (w *writer) texts(parts []string, send func(string) error) error {
	for i, p := range parts {
		if i > 0 && !w.wait(w.pause) || !w.takes(w.step) || i == len(parts)-1 && !w.takes(w.hold) {
			return errGone
		}
		if err := send(p); err != nil {
			return err
		}
		if err := w.fail(); err != nil {
			return err
		}
	}
	return w.fail()
}

// takes waits until the next piece may be sent; false when the client has gone.
func (w *writer) takes(from <-chan struct{}) bool {
	if from == nil {
		return true
	}
	select {
	case <-from:
		return true
	case <-w.gone:
		return false
	}
}

func (w *writer) fail() error {
	switch w.fault {
	case Stall:
		<-w.gone
		return errGone
	case Cut:
		return errCut
	case Short:
		return errShort
	default:
		return nil
	}
}

// whole sends an answer that is not streamed.
func (w *writer) whole(v any) error {
	if w.fault == Short {
		w.rw.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w.rw, `{"id":"cut`)
		return err
	}
	if err := w.fail(); err != nil {
		return err
	}
	served.JSON(w.rw, http.StatusOK, v)
	return nil
}
