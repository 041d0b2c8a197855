package app_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// page is the chat page's API as a tab uses it, in one conversation.
type page struct {
	t     testing.TB
	base  string
	token string
	chat  string
	said  int
	// client is who asks; nil = http.DefaultClient. Without a token it is
	// logged in.
	client *http.Client
}

// shown is a message as the page gets it.
type shown struct {
	ID, Role, Text string
	Buttons        [][]struct{ Label, Text, Data string }
	Final          bool
}

// page opens a conversation with the program, whose data stands in data.
func (b *bot) page(data, chat string) *page {
	b.t.Helper()
	token, err := os.ReadFile(filepath.Join(data, "web.token"))
	if err != nil {
		b.t.Fatal(err)
	}
	return &page{t: b.t, base: "http://" + b.listen, token: strings.TrimSpace(string(token)), chat: chat}
}

func (p *page) request(ctx context.Context, method, path string, body []byte) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, p.base+"/api/chat/chats/"+p.chat+path, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if p.token != "" {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := cmp.Or(p.client, http.DefaultClient).Do(r)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// post sends a body as it is and returns the status with what came back.
func (p *page) post(path string, body []byte) (int, string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	resp := p.request(ctx, http.MethodPost, path, body)
	defer func() { _ = resp.Body.Close() }()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(resp.Body); err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, answer.String()
}

// say writes a message and returns the status.
func (p *page) say(text string) (int, string) {
	p.t.Helper()
	p.said++
	body, err := json.Marshal(map[string]string{"id": fmt.Sprintf("m%d", p.said), "text": text})
	if err != nil {
		p.t.Fatal(err)
	}
	return p.post("/messages", body)
}

// follow reads the conversation's events of a kind until done accepts one; the
// last one is told when none comes.
func (p *page) follow(what, kind string, done func(data []byte) bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	resp := p.request(ctx, http.MethodGet, "/events?format=text", nil)
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	now, last := "", ""
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		if key == "event" {
			now = value
		}
		if key != "data" || now != kind {
			continue
		}
		if done([]byte(value)) {
			return
		}
		last = value
	}
	p.t.Fatalf("never: %s (%v; the last was %s)", what, lines.Err(), last)
}

// wait follows the conversation until a message of the bot has been shown that
// ok accepts.
func (p *page) wait(what string, ok func(shown) bool) (m shown) {
	p.t.Helper()
	p.follow(what, "message", func(data []byte) bool {
		m = shown{}
		if err := json.Unmarshal(data, &m); err != nil {
			p.t.Fatalf("event %s: %v", data, err)
		}
		return m.Role != "person" && ok(m)
	})
	return m
}

// ask writes a message and waits for an answer that holds want.
func (p *page) ask(text, want string) {
	p.t.Helper()
	if status, body := p.say(text); status != http.StatusOK {
		p.t.Fatalf("%q: %d %s", text, status, body)
	}
	p.wait(fmt.Sprintf("%q answered with %q", text, want), func(m shown) bool { return strings.Contains(m.Text, want) })
}
