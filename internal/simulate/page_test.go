package simulate

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/fakes/driver"
)

// site is the page of a world, served.
type site struct {
	t      *testing.T
	url    string
	client *http.Client
	stop   func() error
}

func serve(t *testing.T, w *World) *site {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	url, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- w.Page(ctx, "127.0.0.1:0", func(at string) { url <- at }) }()
	s := &site{t: t, client: &http.Client{Transport: &http.Transport{}, Timeout: testPatience}}
	s.stop = func() error {
		cancel()
		s.client.CloseIdleConnections()
		select {
		case err := <-ended:
			ended <- err
			return err
		case <-time.After(testPatience):
			t.Fatal("the page does not end")
			return nil
		}
	}
	t.Cleanup(func() { _ = s.stop() })
	select {
	case s.url = <-url:
	case err := <-ended:
		t.Fatal(err)
	}
	return s
}

func (s *site) ask(method, path string, body io.Reader, kind string) (int, string, http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

// form is what the page sends for a message.
func form(t *testing.T, text, name string, data []byte) (io.Reader, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("text", text)
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(data)
	}
	_ = w.Close()
	return &b, w.FormDataContentType()
}

func (s *site) say(path, text, name string, data []byte) (int, string) {
	s.t.Helper()
	body, kind := form(s.t, text, name, data)
	status, answer, _ := s.ask(http.MethodPost, path, body, kind)
	return status, answer
}

// Without the secret of the address nothing is to be had; with it everything
// stands under a policy that asks nobody else.
func TestPageIsPrivate(t *testing.T) {
	s := serve(t, newStub().world("qq"))
	status, text, header := s.ask(http.MethodGet, "", nil, "")
	if status != http.StatusOK || !strings.Contains(text, "<main") || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the page: %d %v", status, header)
	}
	base := s.url
	s.url = base[:strings.Index(base[len("http://"):], "/")+len("http://")]
	for _, path := range []string{"/", "/api", "/simulate.js", "/x/api", "/api/qq/private/events"} {
		if status, _, _ := s.ask(http.MethodGet, path, nil, ""); status != http.StatusNotFound {
			t.Errorf("without the secret %s answers %d", path, status)
		}
	}
	for _, listen := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nonsense", "[::]:0"} {
		if err := newStub().world("qq").Page(t.Context(), listen, func(string) { t.Errorf("%s: is served", listen) }); err == nil {
			t.Errorf("%s: no error", listen)
		}
	}
}

func TestPageAPI(t *testing.T) {
	stub := newStub()
	s := serve(t, stub.world("telegram", "qq"))
	if _, text, _ := s.ask(http.MethodGet, "api", nil, ""); text != `{"platforms":["telegram","qq"],"troubles":["429","502","drop","lost"]}`+"\n" {
		t.Errorf("api: %s", text)
	}
	if status, text := s.say("api/telegram/group/messages", "你好", "../a.PNG", []byte("picture")); status != http.StatusNoContent {
		t.Errorf("say: %d %s", status, text)
	}
	if len(stub.said) != 1 || stub.said[0] != "group 你好" || len(stub.files) != 1 || stub.files[0].Name != "a.PNG" || stub.files[0].MIME != "image/png" {
		t.Errorf("said: %q %+v", stub.said, stub.files)
	}
	stub.show(Group, driver.Message{ID: "m", Text: "choose", Buttons: []driver.Button{yes()}, Files: []driver.File{{Name: "page.html", MIME: "text/html", Data: []byte("<script>")}}})
	if status, text, _ := s.ask(http.MethodPost, "api/telegram/group/presses/2?button=0", nil, ""); status != http.StatusNoContent || len(stub.presses) != 1 {
		t.Errorf("press: %d %s %q", status, text, stub.presses)
	}
	if status, _, _ := s.ask(http.MethodPost, "api/telegram/group/faults/502", nil, ""); status != http.StatusNoContent || len(stub.troubles) != 1 {
		t.Errorf("fail: %d %q", status, stub.troubles)
	}
	// Pictures are shown, everything else is a download.
	status, text, header := s.ask(http.MethodGet, "api/telegram/group/files/1/0", nil, "")
	if status != http.StatusOK || text != "picture" || header.Get("Content-Type") != "image/png" || header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("picture: %d %q %v", status, text, header)
	}
	status, text, header = s.ask(http.MethodGet, "api/telegram/group/files/2/0", nil, "")
	if status != http.StatusOK || text != "<script>" || header.Get("Content-Type") != "application/octet-stream" || header.Get("Content-Disposition") != "attachment" {
		t.Errorf("file: %d %q %v", status, text, header)
	}
}

func TestPageRefuses(t *testing.T) {
	stub := newStub()
	s := serve(t, stub.world("qq"))
	post, get := http.MethodPost, http.MethodGet
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{get, "api/telegram/private/events", 404, ""},
		{get, "api/qq/other/events", 404, ""},
		{get, "api/qq/private/files/1/0", 404, ""},
		{get, "api/qq/private/files/1/x", 404, ""},
		{get, "api/qq/private/messages", 405, ""},
		{post, "api/qq/private/messages", 422, "read the form"},
		{post, "api/qq/private/presses/1", 422, "number of a button"},
		{post, "api/qq/private/presses/1?button=0", 422, "no button 1"},
		{post, "api/qq/private/faults/500", 422, `trouble "500"`},
		{post, "api/qq/private/cut", 422, "number of seconds"},
		{post, "api/qq/private/cut?seconds=-1", 422, "number of seconds"},
	} {
		if status, text, _ := s.ask(c.method, c.path, nil, ""); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, text)
		}
	}
	if status, text := s.say("api/qq/private/messages", "", "", nil); status != 422 || !strings.Contains(text, "nothing to send") {
		t.Errorf("nothing: %d %s", status, text)
	}
	if status, _ := s.say("api/qq/private/messages", "", "empty.txt", nil); status != 204 {
		t.Errorf("an empty file: %d", status)
	}
	if status, text := s.say("api/qq/private/messages", "", "big", make([]byte, maxFile)); status != 204 {
		t.Errorf("the largest file: %d %s", status, text)
	}
	if status, text := s.say("api/qq/private/messages", "", "big", make([]byte, maxBody)); status != 422 || !strings.Contains(text, "at most 20 MiB") {
		t.Errorf("too large a file: %d %s", status, text)
	}
	if len(stub.said) != 2 {
		t.Errorf("said %d messages", len(stub.said))
	}
	stub.lost = true
	if status, _ := s.say("api/qq/private/messages", "lost", "", nil); status != 204 {
		t.Errorf("a lost message stands in the chat, got %d", status)
	}
}

// Events bring what is there, then each change once; the end of the page ends
// them.
func TestPageEvents(t *testing.T) {
	stub := newStub()
	s := serve(t, stub.world("qq"))
	stub.show(Private, driver.Message{ID: "a", Text: "one"})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"api/qq/private/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func() string {
		var got []string
		for lines.Scan() && (lines.Text() != "" || len(got) == 0) {
			if text := lines.Text(); text != "" && !strings.HasPrefix(text, ":") { // a sign of life is no event
				got = append(got, text)
			}
		}
		return strings.Join(got, "\n")
	}
	entry := `{"key":"1","who":"bot","text":%q,"buttons":null,"edits":%d,"gone":%v,"reactions":null,"files":[]}`
	want := []string{
		"event: state\ndata: {\"connected\":true,\"typing\":false}",
		"event: entries\ndata: [" + fmt.Sprintf(entry, "one", 0, false) + "]",
		"event: entries\ndata: [" + fmt.Sprintf(entry, "二", 1, false) + "]",
		"event: entries\ndata: [" + fmt.Sprintf(entry, "二", 1, true) + "]",
		"event: entries\ndata: [" + strings.Replace(fmt.Sprintf(entry, "new", 0, false), `"1"`, `"2"`, 1) + "]",
		"",
	}
	got := []string{next(), next()}
	set := func(m ...driver.Message) {
		stub.mu.Lock()
		stub.show(Private, m...)
		stub.mu.Unlock()
	}
	set(driver.Message{ID: "a", Text: "二"})
	got = append(got, next())
	set()
	got = append(got, next())
	set(driver.Message{ID: "b", Text: "new"}) // and nothing of what is known
	got = append(got, next())
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	got = append(got, next())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
