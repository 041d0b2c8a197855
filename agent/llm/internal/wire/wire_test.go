package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"magpie/agent/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-very-secret"

func TestErrorsAreJudged(t *testing.T) {
	c := New("main", key, Options{})
	body := func(kind, code, message string) string {
		return fmt.Sprintf(`{"error":{"type":%q,"code":%q,"message":%q}}`, kind, code, message)
	}
	for name, x := range map[string]struct {
		status int
		body   string
		want   llm.Kind
	}{
		"quota":                  {429, body("insufficient_quota", "insufficient_quota", "You exceeded your current quota"), llm.Unauthorized},
		"balance":                {400, body("invalid_request_error", "", "Your credit balance is too low"), llm.Unauthorized},
		"payment":                {402, `{"error":{"message":"Insufficient Balance"}}`, llm.Unauthorized},
		"401":                    {401, "", llm.Unauthorized},
		"403 in HTML":            {403, "<html>", llm.Unauthorized},
		"context":                {400, body("invalid_request_error", "context_length_exceeded", "x"), llm.TooLong},
		"claude context":         {400, body("invalid_request_error", "", "prompt is too long: 9 tokens > 8 maximum"), llm.TooLong},
		"llama context":          {400, body("exceed_context_size_error", "", "the request exceeds the available context size"), llm.TooLong},
		"413":                    {413, "<html>", llm.TooLong},
		"429":                    {429, "", llm.RateLimited},
		"408":                    {408, `{"message":"x"}`, llm.Temporary},
		"409":                    {409, `{"message":"x"}`, llm.Temporary},
		"529":                    {529, body("overloaded_error", "", "Overloaded"), llm.Temporary},
		"HTML from a proxy":      {400, "<html>Bad Request</html>", llm.Temporary},
		"wrong path":             {404, "<html>Not Found</html>", llm.Rejected},
		"unknown model":          {404, body("invalid_request_error", "model_not_found", "no such model"), llm.Rejected},
		"redirect":               {307, "", llm.Rejected},
		"list":                   {400, `[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]`, llm.Rejected},
		"error as text":          {400, `{"error":"model is required"}`, llm.Rejected},
		"detail":                 {422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, llm.Rejected},
		"in a stream, by code":   {0, `{"error":{"message":"x","code":503}}`, llm.Temporary},
		"in a stream, by type":   {0, body("permission_error", "", "x"), llm.Unauthorized},
		"in a stream, who knows": {0, `{"error":{}}`, llm.Temporary},
	} {
		err := c.Refused(x.status, http.Header{}, []byte(x.body))
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != x.want || e.Status != x.status || e.Provider != "main" {
			t.Errorf("%s: got %v, want %s", name, err, x.want)
		}
	}
}

func TestErrorsAreShortAndHideTheKey(t *testing.T) {
	c := New("main", key, Options{})
	for _, body := range []string{
		strings.Repeat("错误\n\t ", 10_000) + key,
		key + strings.Repeat("x", 5000),
		`{"error":{"message":"` + key + strings.Repeat("长", 5000) + `","code":"` + key + `","type":"` + key + `","param":"` + key + `"}}`,
		strings.Repeat("y", 290) + key,
		"\xff\xfe" + key,
	} {
		for _, err := range []error{c.Refused(400, http.Header{}, []byte(body)), c.Unreadable("no reply", []byte(body))} {
			text := fmt.Sprintf("%v %#v", err, err)
			if strings.Contains(text, key) || strings.Contains(err.Error(), key[:8]) || len([]rune(err.Error())) > 800 || strings.Contains(err.Error(), "\n") || !utf8.ValidString(err.Error()) {
				t.Errorf("the error is long, broken or shows the key: %.300s", text)
			}
		}
	}
}

func TestErrorHidesTheKey(t *testing.T) {
	err := New("main", key, Options{}).Error(llm.Temporary, fmt.Errorf("dial %s", key))
	if text := fmt.Sprintf("%v %#v", err, errors.Unwrap(err)); strings.Contains(text, key) {
		t.Errorf("the error shows the key: %s", text)
	}
}

func TestRetryAfter(t *testing.T) {
	for name, c := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"none":           {nil, 0},
		"seconds":        {map[string]string{"Retry-After": "7"}, 7 * time.Second},
		"fraction":       {map[string]string{"Retry-After": "0.5"}, 500 * time.Millisecond},
		"duration":       {map[string]string{"Retry-After": "1m30s"}, 90 * time.Second},
		"milliseconds":   {map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, 250 * time.Millisecond},
		"date":           {map[string]string{"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30 * time.Second},
		"date gone by":   {map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT"}, 0},
		"negative":       {map[string]string{"Retry-After": "-3"}, 0},
		"not a number":   {map[string]string{"Retry-After": "NaN"}, 0},
		"far too long":   {map[string]string{"Retry-After": "1e300"}, maxRetryAfter},
		"nonsense":       {map[string]string{"Retry-After": "soon"}, 0},
		"nonsense in ms": {map[string]string{"Retry-After-Ms": "x", "Retry-After": "2"}, 2 * time.Second},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		if got := retryAfter(h); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// However a stream is cut into reads and whatever ends its lines, the events
// are the same.
func TestEvents(t *testing.T) {
	want := []Event{{"", "a"}, {"e", "b\nc"}, {"", " d:e"}, {"", "你好"}, {"", "last"}}
	text := "\uFEFFdata: a\n\n: comment\n\nevent: e\ndata: b\ndata:c\nid: 7\n\nevent: empty\n\ndata:  d:e\n\ndata: 你好\n\ndata: last"
	rapid.Check(t, func(t *rapid.T) {
		body := strings.ReplaceAll(text, "\n", rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end"))
		var readers []io.Reader
		for len(body) > 0 {
			n := rapid.IntRange(1, len(body)).Draw(t, "read")
			readers, body = append(readers, strings.NewReader(body[:n])), body[n:]
		}
		var got []Event
		for ev, err := range ReadEvents(io.MultiReader(readers...)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ev)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

func TestEventsEndWithTheReadError(t *testing.T) {
	broken := errors.New("broken")
	var got []Event
	var last error
	for ev, err := range ReadEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), failing{broken})) {
		if err == nil {
			got = append(got, ev)
		}
		last = err
	}
	if !errors.Is(last, broken) || len(got) == 0 || got[0].Data != "a" {
		t.Errorf("got %v and %v", got, last)
	}
	for range ReadEvents(strings.NewReader("data: a\n\ndata: b\n\n")) {
		break
	}
	for _, err := range ReadEvents(io.MultiReader(strings.NewReader("data: "), endless{})) {
		if err == nil {
			t.Error("a line without end was taken")
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// transport answers in the bubble of a synctest, without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// drip is a body that sends a byte now and then, and ends with its request.
type drip struct {
	ctx   context.Context
	every time.Duration
	left  int
}

func (d *drip) Read(p []byte) (int, error) {
	if d.left == 0 {
		return 0, io.EOF
	}
	timer := time.NewTimer(d.every)
	defer timer.Stop()
	select {
	case <-timer.C:
		d.left--
		p[0] = ':'
		return 1, nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

func (d *drip) Close() error { return nil }

func TestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration
		bytes int
		want  error
	}{
		"slow but steady":   {9 * time.Second, 5, nil},
		"silence":           {11 * time.Second, 5, errIdle},
		"longer than whole": {9 * time.Second, 100, errTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := New("main", key, Options{Timeout: time.Minute, Idle: 10 * time.Second, HTTP: &http.Client{
					Transport: transport(func(r *http.Request) (*http.Response, error) {
						return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &drip{r.Context(), c.every, c.bytes}}, nil
					}),
				}})
				err := client.Post(t.Context(), "http://x", http.Header{}, nil, func(b *Body) error {
					_, err := b.Rest()
					return err
				})
				if !errors.Is(err, c.want) || c.want != nil && llm.KindOf(err) != llm.Temporary {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		})
	}
}

// The time that the caller takes for a piece is not the server's silence, and
// what follows the end of a reply is waited for only shortly.
func TestIdleCountsOnlyTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := New("main", key, Options{Timeout: time.Hour, Idle: 10 * time.Second, HTTP: &http.Client{
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &drip{r.Context(), 9 * time.Second, 3}}, nil
			}),
		}})
		read := 0
		err := client.Post(t.Context(), "http://x", http.Header{}, nil, func(b *Body) error {
			if _, err := b.buf.ReadByte(); err != nil {
				return err
			}
			<-time.After(5 * time.Minute)
			if _, err := b.buf.ReadByte(); err != nil {
				return err
			}
			read = 2
			b.Ended()
			_, err := b.buf.ReadByte()
			return err
		})
		if !errors.Is(err, errIdle) || read != 2 {
			t.Errorf("got %v, want silence only after the end", err)
		}
	})
}

func TestTooLargeAnAnswer(t *testing.T) {
	client := New("main", key, Options{HTTP: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(endless{})}, nil
	})}})
	err := client.Post(t.Context(), "http://x", http.Header{}, nil, func(b *Body) error {
		_, err := io.Copy(io.Discard, b.buf)
		return err
	})
	if !errors.Is(err, errTooBig) {
		t.Errorf("got %v, want %v", err, errTooBig)
	}
}

// A redirect is an error: following it would hand the key to a stranger.
func TestRedirectsAreNotFollowed(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	client := New("main", key, Options{HTTP: s.Client()})
	err := client.Post(t.Context(), s.URL, http.Header{"X-Api-Key": {key}}, nil, func(*Body) error { return nil })
	if llm.KindOf(err) != llm.Rejected || reached {
		t.Errorf("got %v, reached the other server: %t", err, reached)
	}
}

func TestUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	url := s.URL
	s.Close()
	err := New("main", key, Options{}).Post(t.Context(), url+"/path?"+key, http.Header{}, nil, nil)
	if llm.KindOf(err) != llm.Temporary || strings.Contains(err.Error(), "path") {
		t.Errorf("got %v, want temporary, without the URL", err)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: x\r\n\r\n: c\rdata")
	f.Fuzz(func(t *testing.T, text string) {
		for ev, err := range ReadEvents(strings.NewReader(text)) {
			if err != nil || strings.ContainsRune(ev.Data, '\r') {
				t.Errorf("%q: %v in %q", text, err, ev.Data)
			}
		}
	})
}

func FuzzRefused(f *testing.F) {
	f.Add(400, `{"error":{"code":1,"param":[]}}`)
	f.Add(0, `[[]]`)
	c := New("main", key, Options{})
	f.Fuzz(func(t *testing.T, status int, body string) {
		var e *llm.Error
		if err := c.Refused(status, http.Header{}, []byte(body)); !errors.As(err, &e) || e.Err == nil {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzObject(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"a":1} x`, "[1]", "null", "{\xff}", `{"a":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, args string) {
		var m map[string]any
		if json.Unmarshal(Object(args), &m) != nil || m == nil {
			t.Errorf("%q became %s", args, Object(args))
		}
	})
}

func TestIDsAndNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if a != b && ID(a) == ID(b) {
			t.Errorf("%q and %q have the same id", a, b)
		}
		for _, s := range []string{ID(a), Name(a)} {
			if s == "" || strings.ContainsFunc(s, func(r rune) bool { return legal(r) != r }) {
				t.Errorf("%q became %q", a, s)
			}
		}
		if n := Name(strings.Repeat(a, 100)); len(n) > maxName {
			t.Errorf("a name of %d bytes", len(n))
		}
	})
}
