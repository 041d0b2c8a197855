package qq_test

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	fake "magpie/internal/fakes/qq"
)

// A stream keeps what it said, ends once, and shows its first piece alone when
// nobody ends it.
func TestStreams(t *testing.T) {
	now := time.Date(2026, 11, 23, 4, 5, 6, 0, time.UTC)
	s, b := newBot(t, &fake.Options{Markdown: true, Now: func() time.Time { return now }})
	const to = "POST /v2/users/ANN/stream_messages"
	id := s.Say(fake.Said{Chat: ann, Text: "hi"})
	body := func(stream string, state, index int, text string) string {
		raw, err := json.Marshal(map[string]any{
			"input_mode": "replace", "input_state": state, "index": index, "content_type": "markdown", "content_raw": text,
			"msg_id": id, "msg_seq": 1, "stream_msg_id": stream,
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if r := b.call(to, body("", 1, 0, "one")); r.Code != 11253 {
		t.Fatalf("not granted: %+v", r)
	}
	s.Grant(fake.Policy{Streams: true})
	begun := b.call(to, body("", 1, 0, "one"))
	for _, c := range []struct {
		body string
		code int
	}{
		{body("", 1, 0, "one"), 40054005},
		{body(begun.ID, 1, 1, "one two"), 0},
		{body(begun.ID, 1, 2, "one 2"), 40007},
		{body(begun.ID, 1, 1, "one two three"), 12002},
		{body(begun.ID, 1, 2, strings.Repeat("x", 4001)), 40054007},
		{body(begun.ID, 10, 2, "one two three"), 0},
		{body(begun.ID, 10, 3, "one two three four"), 40034018},
	} {
		if r := b.call(to, c.body); r.Code != c.code {
			t.Errorf("%s: %+v, want %d", c.body, r, c.code)
		}
	}
	if shown := s.Messages(ann); len(shown) != 1 || shown[0].Text != "one two three" || shown[0].Stream != "closed" || s.Replies(ann, id) != 1 {
		t.Errorf("the chat shows %+v", shown)
	}
	id = s.Say(fake.Said{Chat: ann, Text: "and?"})
	begun = b.call(to, body("", 1, 0, "a"))
	b.call(to, body(begun.ID, 1, 1, "a b"))
	now = now.Add(2 * time.Minute)
	if r := b.call(to, body(begun.ID, 10, 2, "a b c")); r.Code != 40034020 {
		t.Errorf("too late: %+v", r)
	}
	if shown := s.Messages(ann); shown[1].Text != "a" || shown[1].Stream != "expired" {
		t.Errorf("the chat shows %+v", shown)
	}
}

// put sends bytes to an address, with a token or without.
func (b *bot) put(at, piece, token string) int {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPut, at, strings.NewReader(piece))
	if err != nil {
		b.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	resp, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// A file comes in parts by signed addresses, which must not be given the token.
func TestParts(t *testing.T) {
	s, b := newBot(t, nil)
	data := "GIF89a" + strings.Repeat("0123456789", 1<<20)
	prepare := fmt.Sprintf(`{"file_type":1,"file_name":"a.gif","file_size":%d,"md5":"%x","sha1":"%x","md5_10m":"%x"}`,
		len(data), md5.Sum([]byte(data)), sha1.Sum([]byte(data)), md5.Sum([]byte(data[:10002432])))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.base+"/v2/users/ANN/upload_prepare", strings.NewReader(prepare))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "QQBot "+b.token)
	resp, err := b.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		ID    string `json:"upload_id"`
		Size  int    `json:"block_size,string"`
		Parts []struct {
			Index int    `json:"index"`
			At    string `json:"presigned_url"`
		} `json:"parts"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || len(got.Parts) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if code := b.put(got.Parts[0].At, "x", "QQBot "+b.token); code != http.StatusForbidden {
		t.Errorf("with the token: %d", code)
	}
	const done, files = "POST /v2/users/ANN/upload_part_finish", "POST /v2/users/ANN/files"
	for _, p := range got.Parts {
		piece := data[(p.Index-1)*got.Size : min(p.Index*got.Size, len(data))]
		finish := fmt.Sprintf(`{"upload_id":%q,"part_index":%d,"block_size":%d,"md5":"%x"}`, got.ID, p.Index, len(piece), md5.Sum([]byte(piece)))
		if r := b.call(done, finish); r.Code != 40093001 {
			t.Errorf("before its bytes: %+v", r)
		}
		if r := b.call(files, `{"upload_id":"`+got.ID+`"}`); r.Code != 40093001 {
			t.Errorf("before all parts: %+v", r)
		}
		if code := b.put(p.At, piece, ""); code != http.StatusOK {
			t.Errorf("part %d: %d", p.Index, code)
		}
		if r := b.call(done, finish); r.Code != 0 {
			t.Errorf("part %d: %+v", p.Index, r)
		}
	}
	file := b.call(files, `{"upload_id":"`+got.ID+`"}`)
	if r := b.call("POST /v2/users/ANN/messages", `{"content":" ","msg_type":7,"media":{"file_info":"`+file.Info+`"}}`); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	if shown := s.Messages(ann); len(shown) != 1 || string(shown[0].File.Data) != data || shown[0].File.Kind != "image" {
		t.Error("the file is another one")
	}
}

// Who is gone gets nothing; what is old stays; a refusal may name the address.
func TestNewerRefusals(t *testing.T) {
	now := time.Date(2026, 11, 23, 4, 5, 6, 0, time.UTC)
	s, b := newBot(t, &fake.Options{Now: func() time.Time { return now }})
	s.Grant(fake.Policy{Hosts: []string{"good.example"}, NoMarkdown: 304041})
	const to = "POST /v2/users/ANN/messages"
	sent := b.call(to, `{"content":"see good.example","msg_type":0}`)
	if sent.Code != 0 {
		t.Errorf("a registered host: %+v", sent)
	}
	if r := b.call(to, `{"content":"see good.example and bad.example","msg_type":0}`); r.Code != 40054010 || !strings.Contains(r.Text, "bad.example") {
		t.Errorf("another: %+v", r)
	}
	if r := b.call(to, `{"msg_type":2,"markdown":{"content":"**x**"}}`); r.Code != 304041 {
		t.Errorf("markdown: %+v", r)
	}
	now = now.Add(121 * time.Second)
	if r := b.call("DELETE /v2/users/ANN/messages/"+sent.ID, ""); r.Code != 40064004 {
		t.Errorf("recall: %+v", r)
	}
	s.Unfriend(ann, false)
	s.Unfriend(crowd, true)
	if r := b.call(to, `{"content":"x"}`); r.Code != 40054004 {
		t.Errorf("no friend: %+v", r)
	}
	if r := b.call("POST /v2/groups/CROWD/messages", `{"content":"x"}`); r.Code != 40034101 {
		t.Errorf("no member: %+v", r)
	}
}

// A person may be somebody else in groups.
func TestSceneIDs(t *testing.T) {
	s, _ := newBot(t, nil)
	if s.MemberID("ANN") != "ANN" {
		t.Error("another id without being told")
	}
	s.Grant(fake.Policy{SceneIDs: true})
	if s.MemberID("ANN") == "ANN" || s.MemberID("M") != "M" {
		t.Errorf("%s and %s", s.MemberID("ANN"), s.MemberID("M"))
	}
}
