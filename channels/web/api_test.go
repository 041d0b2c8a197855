package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

const messages = "/api/chat/chats/main/messages"

func TestMessageComesIn(t *testing.T) {
	s := newSite(t, nil)
	h := s.web.Handler()
	rec := postJSON(h, messages, post{ID: "m1", Text: "你好 <b>", Lang: "zh-CN", Zone: "Asia/Shanghai"})
	if rec.Code != http.StatusOK {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	in := s.inbound()[0]
	if in.ID != "web:web:main:m1" || in.From.Lang != "zh-CN" || in.From.Zone != "Asia/Shanghai" || in.From.ID != "owner" || !in.Mentioned || in.Trace == "" {
		t.Errorf("came in: %+v", in)
	}
	all, _, _ := stored(t, h, "main", "")
	if len(all) != 1 || all[0].Text != "你好 <b>" || all[0].Role != rolePerson || strings.Contains(all[0].HTML, "<b>") {
		t.Errorf("the page shows %+v", all)
	}
}

func TestRepeatedPostIsOneMessage(t *testing.T) {
	s := newSite(t, nil)
	h := s.web.Handler()
	fails := 2
	s.judge = func(chat.Inbound) error {
		if fails > 0 {
			fails--
			return errors.New("the store is full of secrets")
		}
		return nil
	}
	var codes []int
	var wg sync.WaitGroup
	for range 4 { // one after the other
		rec := postJSON(h, messages, post{ID: "m1", Text: "once"})
		codes = append(codes, rec.Code)
		if rec.Code == 503 && (rec.Header().Get("Retry-After") == "" || strings.Contains(rec.Body.String(), "secrets")) {
			t.Errorf("503 with %v %s", rec.Header(), rec.Body)
		}
	}
	for range 8 { // and at the same time, from two tabs
		wg.Go(func() {
			if rec := postJSON(h, messages, post{ID: "m2", Text: "twice"}); rec.Code != 200 {
				t.Errorf("m2: %d", rec.Code)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff([]int{503, 503, 200, 200}, codes); diff != "" {
		t.Error(diff)
	}
	if n := len(s.inbound()); n != 2 {
		t.Errorf("the sink took %d messages, want 2", n)
	}
	if all, _, _ := stored(t, h, "main", ""); len(all) != 2 {
		t.Errorf("the page shows %d messages, want 2", len(all))
	}
}

func TestTheAnswerNeverStandsBeforeTheQuestion(t *testing.T) {
	s := newSite(t, nil)
	s.judge = func(in chat.Inbound) error { // quicker than the note of the message itself
		_, err := s.web.Send(t.Context(), out("main", "answer", "answer"))
		return err
	}
	if rec := postJSON(s.web.Handler(), messages, post{ID: "m1", Text: "question"}); rec.Code != 200 {
		t.Fatal(rec.Code)
	}
	all, _, _ := stored(t, s.web.Handler(), "main", "")
	if len(all) != 2 {
		t.Fatalf("the page shows %+v", all)
	}
	pos := map[string]int64{all[0].Text: all[0].Pos, all[1].Text: all[1].Pos}
	if pos["question"] >= pos["answer"] {
		t.Errorf("places %v", pos)
	}
}

func TestBadPosts(t *testing.T) {
	s := newSite(t, nil)
	h := s.web.Handler()
	files := make([]string, maxFiles+1)
	for name, c := range map[string]struct {
		rec  func() int
		want int
	}{
		"no JSON":      {func() int { return call(h, "POST "+messages, "application/json", strings.NewReader("{")).Code }, 400},
		"another type": {func() int { return call(h, "POST "+messages, "text/plain", strings.NewReader("{}")).Code }, 415},
		"a form": {func() int {
			return call(h, "POST "+messages, "application/x-www-form-urlencoded", strings.NewReader("id=1")).Code
		}, 415},
		"wrong field type":   {func() int { return call(h, "POST "+messages, "application/json", strings.NewReader(`{"id":1}`)).Code }, 400},
		"no id":              {func() int { return postJSON(h, messages, post{Text: "x"}).Code }, 400},
		"a bad id":           {func() int { return postJSON(h, messages, post{ID: "a.b", Text: "x"}).Code }, 400},
		"a long id":          {func() int { return postJSON(h, messages, post{ID: strings.Repeat("a", 65), Text: "x"}).Code }, 400},
		"empty":              {func() int { return postJSON(h, messages, post{ID: "e", Text: " \n\t"}).Code }, 400},
		"too long":           {func() int { return postJSON(h, messages, post{ID: "l", Text: strings.Repeat("x", maxText+1)}).Code }, 413},
		"10 MiB":             {func() int { return postJSON(h, messages, post{ID: "l", Text: strings.Repeat("x", 10<<20)}).Code }, 413},
		"unknown file":       {func() int { return postJSON(h, messages, post{ID: "f", Files: []string{"nofile"}}).Code }, 400},
		"a file's path":      {func() int { return postJSON(h, messages, post{ID: "f", Files: []string{"../x"}}).Code }, 400},
		"too many files":     {func() int { return postJSON(h, messages, post{ID: "f", Files: files}).Code }, 400},
		"a bad chat":         {func() int { return postJSON(h, "/api/chat/chats/a.b/messages", post{ID: "c", Text: "x"}).Code }, 400},
		"a chat that climbs": {func() int { return postJSON(h, "/api/chat/chats/%2e%2e/messages", post{ID: "c", Text: "x"}).Code }, 400},
		"a Chinese chat":     {func() int { return postJSON(h, "/api/chat/chats/聊天/messages", post{ID: "c", Text: "x"}).Code }, 400},
		"no such button": {func() int {
			return postJSON(h, "/api/chat/chats/main/press", post{ID: "p", Message: "o1", Data: "x"}).Code
		}, 410},
		"a bad event id": {func() int { return call(h, "GET "+"/api/chat/chats/main/events?after=x", "", nil).Code }, 400},
		"a wrong method": {func() int { return call(h, "PUT "+messages, "application/json", nil).Code }, 405},
		"no such page":   {func() int { return call(h, "GET "+"/nothing", "", nil).Code }, 404},
	} {
		if got := c.rec(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if n := len(s.inbound()); n != 0 {
		t.Errorf("%d messages came in", n)
	}
}

func TestTextOfTheLargestSize(t *testing.T) {
	s := newSite(t, nil)
	for i, unit := range []string{"x", "好", "\x01", `"`, "<"} { // some grow when they are escaped
		text := strings.Repeat(unit, maxText/len(unit))
		if rec := postJSON(s.web.Handler(), messages, post{ID: fmt.Sprintf("m%d", i), Text: text}); rec.Code != 200 {
			t.Errorf("%q: %d %s", unit, rec.Code, rec.Body)
		}
		if got := s.inbound()[i].Text; got != text {
			t.Errorf("%q: %d bytes came in, want %d", unit, len(got), len(text))
		}
	}
}

func TestNotRunning(t *testing.T) {
	s := newSite(t, nil)
	h := s.web.Handler()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if got := postJSON(h, messages, post{ID: "m", Text: "x"}).Code; got != 503 {
		t.Errorf("a message: %d", got)
	}
	if got := stream(h, "main", "", func(event) bool { return false }); got != 503 {
		t.Errorf("a stream: %d", got)
	}
}

func TestUploads(t *testing.T) {
	s := newSite(t, nil)
	s.web.files.max = 2*pieceBytes + 10
	s.web.cfg.MaxUpload = s.web.files.max
	h := s.web.Handler()
	for size, want := range map[int]int{0: 200, 1: 200, pieceBytes: 200, pieceBytes + 1: 200, 2*pieceBytes + 10: 200, 2*pieceBytes + 11: 413, 5 * pieceBytes: 413} {
		data := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		f, code := uploadTo(h, "main", "数据.bin", data)
		if code != want {
			t.Errorf("%d bytes: %d, want %d", size, code, want)
			continue
		}
		if code != 200 {
			continue
		}
		rec := call(h, "GET "+filePath+f.ID, "", nil)
		if rec.Code != 200 || !bytes.Equal(rec.Body.Bytes(), data) || f.Size != int64(size) || f.Name != "数据.bin" {
			t.Errorf("%d bytes came back as %d (%d), described as %+v", size, rec.Body.Len(), rec.Code, f)
		}
	}
	entries, err := kv.List(t.Context(), s.table, "f")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 5+0+1+1+2+3 { // a description each, and the pieces; nothing of what was refused
		t.Errorf("%d entries in the table", len(entries))
	}
}

func TestFilesAreServedSafely(t *testing.T) {
	s := newSite(t, nil)
	h := s.web.Handler()
	for name, c := range map[string]struct {
		data        string
		kind        chat.Kind
		typ, dispos string
	}{
		"a.png":           {"\x89PNG\r\n\x1a\n", chat.Image, "image/png", "inline"},
		"page.html":       {"<html><script>alert(1)</script>", chat.File, "application/octet-stream", "attachment"},
		"picture.png":     {"<html><script>alert(1)</script>", chat.File, "application/octet-stream", "attachment"},
		"drawing.svg":     {"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", chat.File, "application/octet-stream", "attachment"},
		"a\"b\r\nX: y.js": {"alert(1)", chat.File, "application/octet-stream", "attachment"},
	} {
		f, code := uploadTo(h, "main", name, []byte(c.data))
		if code != 200 || f.Kind != c.kind {
			t.Errorf("%q: %d %+v", name, code, f)
			continue
		}
		head := call(h, "GET "+filePath+f.ID, "", nil).Header()
		if head.Get("Content-Type") != c.typ || !strings.HasPrefix(head.Get("Content-Disposition"), c.dispos) ||
			head.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(head.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%q: %v", name, head)
		}
	}
	for _, id := range []string{"nothing", "..", "a.0", "%2e%2e%2fm.main"} {
		if got := call(h, "GET "+filePath+id, "", nil).Code; got != 404 && got != 307 {
			t.Errorf("file %q: %d", id, got)
		}
	}
}

func TestRangesOfAFile(t *testing.T) {
	s := newSite(t, nil)
	data := bytes.Repeat([]byte("0123456789"), pieceBytes/10+100)
	f, _ := uploadTo(s.web.Handler(), "main", "x", data)
	r := s.web.files.open(t.Context(), f)
	if _, err := r.Seek(-15, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	tail, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(tail, data[len(data)-15:]) {
		t.Errorf("the tail is %q, %v", tail, err)
	}
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		t.Error("a place before the start was taken")
	}
}

func TestForgetting(t *testing.T) {
	s := newSite(t, nil)
	h := s.web.Handler()
	f, _ := uploadTo(h, "main", "x.txt", []byte("x"))
	postJSON(h, messages, post{ID: "m1", Files: []string{f.ID}})
	postJSON(h, "/api/chat/chats/other/messages", post{ID: "m1", Text: "stays"})
	if got := call(h, "DELETE "+"/api/chat/chats/main", "", nil).Code; got != 204 {
		t.Fatal(got)
	}
	var list struct{ Chats []about }
	if err := json.Unmarshal(call(h, "GET "+"/api/chat/chats", "", nil).Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Chats) != 1 || list.Chats[0].Title != "stays" {
		t.Errorf("the list is %+v", list.Chats)
	}
	if all, _, _ := stored(t, h, "main", ""); len(all) != 0 {
		t.Errorf("the page still shows %+v", all)
	}
	if got := call(h, "GET "+filePath+f.ID, "", nil).Code; got != 404 {
		t.Errorf("the file is still there: %d", got)
	}
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"sender": func(c *Config) { c.Sender = "" }, "max_upload": func(c *Config) { c.MaxUpload = 0 },
		"keep_messages": func(c *Config) { c.KeepMessages = maxKeep + 1 }, "keep_for": func(c *Config) { c.KeepFor = time.Second },
	} {
		_, err := New("web", func(v any) error { change(v.(*Config)); return nil }, channels.Deps{Table: &kv.Memory{}})
		if err == nil || !strings.Contains(err.Error(), name+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New("web", nil, channels.Deps{}); err == nil {
		t.Error("no table: no error")
	}
	if _, err := New("web", func(any) error { return errors.New("line 3: unknown key") }, channels.Deps{Table: &kv.Memory{}}); err == nil {
		t.Error("a section that cannot be decoded: no error")
	}
}
