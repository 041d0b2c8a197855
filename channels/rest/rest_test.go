package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
)

var errRefused = errors.New("refused by code")

// judge reads answers of the platform of these tests: "ok", "no" for a code
// that nobody knows, "slow" and "doubt" for codes that say the kind.
func judge(a *Answer) error {
	switch string(a.Body) {
	case "ok":
		return nil
	case "no":
		return errRefused
	case "stale":
		return &channels.Error{Kind: channels.Unauthorized, Err: errRefused}
	case "slow":
		return &channels.Error{Kind: channels.RateLimited, Err: errRefused}
	case "slower":
		return &channels.Error{Kind: channels.RateLimited, RetryAfter: time.Hour, Global: true, Err: errRefused}
	case "doubt":
		return &channels.Error{Kind: channels.Ambiguous, Err: errRefused}
	}
	return ErrNoAnswer
}

const secret = "se/cret key"

// server answers with h; the client knows one secret.
func server(t *testing.T, h http.HandlerFunc) (*Client, string) {
	t.Helper()
	web := httptest.NewServer(h)
	c := New(Platform{
		Channel: "main", Server: "the API", MaxAnswer: 64, Judge: judge, Secrets: func() []string { return []string{"", secret} },
	}, nil)
	t.Cleanup(func() {
		c.CloseIdle()
		web.Close()
	})
	return c, web.URL
}

type want struct {
	kind  channels.Kind
	after time.Duration
	text  string
}

func (w want) check(t *testing.T, what any, err error) {
	t.Helper()
	var e *channels.Error
	if !errors.As(err, &e) {
		t.Errorf("%v: %v is no error of a channel", what, err)
		return
	}
	if e.Global != (w.after == time.Hour) || e.Kind != w.kind || e.RetryAfter != w.after || !strings.Contains(e.Error(), w.text) || e.Channel != "main" || e.Op != "op" {
		t.Errorf("%v: got %v after %v, want %v after %v with %q", what, e, e.RetryAfter, w.kind, w.after, w.text)
	}
}

// What follows from an answer, for a call that sends and for one that does not.
func TestKinds(t *testing.T) {
	const page = "<html>a page of somebody else</html>"
	for _, c := range []struct {
		status     int
		body       string
		send, call want
	}{
		{200, page, want{channels.Ambiguous, 0, "HTTP status 200 without an answer of the API; is api_base right?"}, want{channels.Temporary, 0, "is api_base right?"}},
		{200, "no", want{channels.Rejected, 0, "refused by code"}, want{channels.Rejected, 0, "refused by code"}},
		{200, "slow", want{channels.RateLimited, 7 * time.Second, ""}, want{channels.RateLimited, 7 * time.Second, ""}},
		{200, "slower", want{channels.RateLimited, time.Hour, ""}, want{channels.RateLimited, time.Hour, ""}},
		{200, "doubt", want{channels.Ambiguous, 0, ""}, want{channels.Temporary, 0, ""}},
		{302, page, want{channels.Temporary, 0, "is api_base right?"}, want{channels.Temporary, 0, "is api_base right?"}},
		{400, "no", want{channels.Rejected, 0, ""}, want{channels.Rejected, 0, ""}},
		{400, page, want{channels.Temporary, 0, "HTTP status 400 without an answer of the API; is api_base right?"}, want{channels.Temporary, 0, "is api_base right?"}},
		{401, "no", want{channels.Unauthorized, 0, ""}, want{channels.Unauthorized, 0, ""}},
		{401, page, want{channels.Temporary, 0, "is api_base right?"}, want{channels.Temporary, 0, "is api_base right?"}},
		{404, page, want{channels.Temporary, 0, "is api_base right?"}, want{channels.Temporary, 0, "is api_base right?"}},
		{407, page, want{channels.Temporary, 0, "give its user and password"}, want{channels.Temporary, 0, "the proxy does not let"}},
		{408, "no", want{channels.Temporary, 0, ""}, want{channels.Temporary, 0, ""}},
		{425, "no", want{channels.Temporary, 0, ""}, want{channels.Temporary, 0, ""}},
		{413, page, want{channels.TooLong, 0, "413"}, want{channels.TooLong, 0, "413"}},
		{413, "no", want{channels.TooLong, 0, ""}, want{channels.TooLong, 0, ""}},
		{429, page, want{channels.RateLimited, 7 * time.Second, "429"}, want{channels.RateLimited, 7 * time.Second, "429"}},
		{429, "no", want{channels.RateLimited, 7 * time.Second, ""}, want{channels.RateLimited, 7 * time.Second, ""}},
		{500, "", want{channels.Temporary, 0, "HTTP status 500"}, want{channels.Temporary, 0, "HTTP status 500"}},
		{502, page, want{channels.Temporary, 0, "HTTP status 502"}, want{channels.Temporary, 0, "HTTP status 502"}},
		{503, "no", want{channels.Temporary, 0, "refused by code"}, want{channels.Temporary, 0, "refused by code"}},
		{504, page, want{channels.Ambiguous, 0, "HTTP status 504"}, want{channels.Temporary, 0, "HTTP status 504"}},
		{524, page, want{channels.Ambiguous, 0, "HTTP status 524"}, want{channels.Temporary, 0, "HTTP status 524"}},
		{504, "no", want{channels.Ambiguous, 0, ""}, want{channels.Temporary, 0, ""}},
	} {
		api, at := server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		for sends, want := range map[bool]want{true: c.send, false: c.call} {
			_, err := api.Do(channeltest.Bounded(t), Request{Op: "op", URL: at, Sends: sends})
			want.check(t, fmt.Sprint(c.status, " ", c.body, " sends ", sends), err)
		}
	}
}

func TestGoodAnswer(t *testing.T) {
	api, at := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || string(body) != `{"a":"<你好>"}` || r.ContentLength != int64(len(body)) {
			t.Errorf("%s %v %q of %d bytes", r.Method, r.Header, body, r.ContentLength)
		}
		_, _ = io.WriteString(w, "ok")
	})
	body, err := JSON(map[string]string{"a": "<你好>"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if raw, err := api.Do(channeltest.Bounded(t), Request{Op: "op", URL: at, Body: body}); err != nil || string(raw) != "ok" {
			t.Errorf("%q, %v", raw, err)
		}
	}
	if _, err := JSON(func() {}); err == nil {
		t.Error("a function became JSON")
	}
}

// A call whose request nobody saw can be made again; one without an answer may
// have had its effect.
func TestNoAnswer(t *testing.T) {
	api, at := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", 65))
		case "/cut":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "ok")
		case "/badcut":
			w.Header().Set("Content-Length", "10")
			w.WriteHeader(http.StatusBadGateway)
		default:
			panic(http.ErrAbortHandler)
		}
	})
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for address, c := range map[string][2]want{
		at + "/drop":      {{channels.Ambiguous, 0, "EOF"}, {channels.Temporary, 0, "EOF"}},
		at + "/long":      {{channels.Ambiguous, 0, "the answer is larger than 64 bytes"}, {channels.Temporary, 0, "larger"}},
		at + "/cut":       {{channels.Ambiguous, 0, "read the answer: unexpected EOF"}, {channels.Temporary, 0, "read the answer"}},
		at + "/badcut":    {{channels.Temporary, 0, "HTTP status 502"}, {channels.Temporary, 0, "HTTP status 502"}},
		gone.URL:          {{channels.Temporary, 0, "refused"}, {channels.Temporary, 0, "refused"}},
		"http://%zz":      {{channels.Rejected, 0, "not a valid address"}, {channels.Rejected, 0, "not a valid address"}},
		"ftp://localhost": {{channels.Temporary, 0, "unsupported protocol scheme"}, {channels.Temporary, 0, "unsupported"}},
	} {
		for i, sends := range []bool{true, false} {
			_, err := api.Do(channeltest.Bounded(t), Request{Op: "op", URL: address, Sends: sends})
			c[i].check(t, fmt.Sprint(address, " sends ", sends), err)
			if strings.Contains(fmt.Sprint(err), "http://") {
				t.Errorf("the address is told: %v", err)
			}
		}
	}
	if _, err := api.Begin("op", true).End(nil); channels.KindOf(err) != channels.Temporary || err == nil {
		t.Errorf("nothing was sent: %v", err)
	}
}

// A call ends with its patience and with its context.
func TestPatience(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	api, at := server(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), callPatience/2)
	defer cancel()
	_, err := api.Do(ctx, Request{Op: "op", URL: at, Patience: time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithCancel(channeltest.Bounded(t))
	cancel()
	if _, err := api.Do(ctx, Request{Op: "op", URL: at, Sends: true}); !errors.Is(err, context.Canceled) || channels.KindOf(err) != channels.Temporary {
		t.Errorf("got %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	const now = "Mon, 23 Nov 2026 10:00:00 GMT"
	for _, c := range []struct {
		after, date string
		want        time.Duration
	}{
		{"", now, 0},
		{"7", "", 7 * time.Second},
		{"0", "", 0},
		{"-5", "", 0},
		{"soon", now, 0},
		{"99999999999999999999", "", 0},
		{"Mon, 23 Nov 2026 10:01:30 GMT", now, 90 * time.Second},
		{"Mon, 23 Nov 2026 09:59:00 GMT", now, 0},
		{"Monday, 23-Nov-26 10:00:07 GMT", now, 7 * time.Second},
		{"Mon, 01 Jan 2001 00:00:00 GMT", "", 0},
	} {
		if got := RetryAfter(http.Header{"Retry-After": {c.after}, "Date": {c.date}}); got != c.want {
			t.Errorf("%q at %q: %v, want %v", c.after, c.date, got, c.want)
		}
	}
	later := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := RetryAfter(http.Header{"Retry-After": {later}}); got < 50*time.Minute || got > time.Hour {
		t.Errorf("%s: %v", later, got)
	}
}

// Addresses hold tokens, and what the libraries say may hold secrets.
func TestClean(t *testing.T) {
	api, _ := server(t, nil)
	inner := &url.Error{Op: "Get", URL: "https://x/bot123:abc/y", Err: syscall.ECONNREFUSED}
	for _, err := range []error{
		inner,
		fmt.Errorf("wrapped: %w", inner),
		&url.Error{Op: "Post", URL: "https://x/?access_token=123:abc", Err: fmt.Errorf("again: %w", inner)},
		errors.Join(errors.New("and"), inner),
		fmt.Errorf("with %s in it: %w", secret, syscall.ECONNREFUSED),
		fmt.Errorf("with %s in it: %w", url.QueryEscape(secret), syscall.ECONNREFUSED),
		fmt.Errorf("with %s in it: %w", url.PathEscape(secret), syscall.ECONNREFUSED),
		&url.Error{Op: "Post", URL: "https://x/", Err: fmt.Errorf("with %s: %w", secret, syscall.ECONNREFUSED)},
	} {
		got := api.Fail("op", channels.Temporary, err)
		for _, bad := range []string{"123:abc", "cret"} {
			if strings.Contains(got.Error(), bad) {
				t.Errorf("%v holds %q", got, bad)
			}
		}
		if !errors.Is(got, syscall.ECONNREFUSED) {
			t.Errorf("%v has lost its cause", got)
		}
	}
}

// file is an upload whose reading fails after some bytes.
type file struct {
	text   string
	fail   error
	closed *atomic.Int32
}

func (f *file) Read(p []byte) (int, error) {
	if f.text == "" {
		return 0, f.fail
	}
	n := copy(p, f.text)
	f.text = f.text[n:]
	return n, nil
}

func (f *file) Close() error { f.closed.Add(1); return nil }

// A file that cannot be read is our own fault, and is closed whatever happens.
func TestFile(t *testing.T) {
	api, at := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/early":
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		default:
			if err := r.ParseMultipartForm(1 << 20); err != nil {
				return
			}
			f, head, err := r.FormFile("media")
			if err != nil {
				t.Error(err)
				return
			}
			data, _ := io.ReadAll(f)
			if string(data) != "bytes" || head.Filename != `名"字.txt` || head.Header.Get("Content-Type") != "text/plain" || r.FormValue("type") != "file" {
				t.Errorf("%q %+v %v", data, head, r.Form)
			}
			_, _ = io.WriteString(w, "ok")
		}
	})
	for _, c := range []struct {
		path       string
		size       int64
		fail, open error
		want       *want
	}{
		{path: "/", size: 5, fail: io.EOF},
		{path: "/", fail: io.EOF},
		{path: "/", size: 5, open: fs.ErrNotExist, want: &want{channels.Rejected, 0, "read the file: file does not exist"}},
		{path: "/", size: 5, open: os.ErrPermission, want: &want{channels.Temporary, 0, "read the file"}},
		{path: "/", fail: errors.New("the disk is gone"), want: &want{channels.Temporary, 0, "read the file: the disk is gone"}},
		{path: "/", fail: fmt.Errorf("x: %w", fs.ErrNotExist), want: &want{channels.Rejected, 0, "read the file"}},
		{path: "/", size: 9, fail: io.EOF, want: &want{channels.Ambiguous, 0, "ContentLength"}},
		{path: "/early", size: 5, fail: io.EOF, want: &want{channels.TooLong, 0, "413"}},
	} {
		var opened, closed atomic.Int32
		up := channels.Upload{Attachment: chat.Attachment{Size: c.size}, Open: func(context.Context) (io.ReadCloser, error) {
			if c.open != nil {
				return nil, c.open
			}
			opened.Add(1)
			return &file{"bytes", c.fail, &closed}, nil
		}}
		body, err := Form{Values: [][2]string{{"type", "file"}}, Field: "media", Name: `名"字.txt`, Type: "text/plain", File: up}.Body()
		if err != nil {
			t.Fatal(err)
		}
		_, err = api.Do(channeltest.Bounded(t), Request{Op: "op", URL: at + c.path, Body: body, Sends: true})
		if c.want != nil {
			c.want.check(t, fmt.Sprintf("%+v", c), err)
		} else if err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if opened.Load() != closed.Load() {
			t.Errorf("%+v: opened %d times, closed %d times", c, opened.Load(), closed.Load())
		}
	}
}

// Words are asked only where no table has the code, and mean what the tables say
// of codes with such words.
func TestPassing(t *testing.T) {
	for words, want := range map[string]channels.Kind{
		"This operation triggers the frequency limit.": channels.RateLimited, "send.byToken.tooFast": channels.RateLimited, "request.tooManyRequests x": channels.RateLimited,
		"安全打击：消息被限频": channels.RateLimited, "发送频繁限流": channels.RateLimited, "flow.control": channels.RateLimited,
		"Meta writing has stopped, please try again later.": channels.Temporary, "system.err": channels.Temporary, "internal error": channels.Temporary,
		"ServiceUnavailable": channels.Temporary, "消息发送异常，请稍后重试": channels.Temporary, "系统繁忙": channels.Temporary,
		"The bot can not be outside the group.": channels.Rejected, "resource.unavailable 资源不可用": channels.Rejected, "消息内容违规，请修改消息内容后重试": channels.Rejected,
		"Message can only be modified within 14 days after sending.": channels.Rejected, "含有不合适的文本": channels.Rejected, "": channels.Rejected,
	} {
		if got, ok := Passing(words); got != want || ok != (want != channels.Rejected) {
			t.Errorf("%q: %v, %v", words, got, ok)
		}
	}
}
