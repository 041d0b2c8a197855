package dockertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// message is one of the chat page.
type message struct {
	ID   string `json:"id"`
	Pos  int64  `json:"pos"`
	Role string `json:"role"`
	Text string `json:"text"`
}

// crowd are people who write on the chat pages without a pause, each in a chat
// of their own. They ask for files that are not there, so the offline assistant
// names in each answer what was asked.
type crowd struct {
	t      *testing.T
	token  string
	pages  []string // addresses; when one does not answer, the next is asked
	stop   context.CancelFunc
	writes context.Context
	gone   sync.WaitGroup
	people []*person
}

type person struct {
	*crowd
	chat string
	page int
	sent int // the last message that was taken
	tab  *tab
	seen map[string]message // by id: the page keeps the last few hundred only

	mu      sync.Mutex
	longest time.Duration
}

// tab is an open stream of a chat's messages.
type tab struct {
	messages chan message
	close    context.CancelFunc
}

// newCrowd lets n people write until told is called.
func newCrowd(t *testing.T, name, token string, n int, pages ...string) *crowd {
	c := &crowd{t: t, token: token, pages: pages}
	c.writes, c.stop = context.WithCancel(t.Context())
	for i := range n {
		p := &person{crowd: c, chat: fmt.Sprintf("%s-%d", name, i), page: i % len(pages), seen: map[string]message{}}
		c.people = append(c.people, p)
		c.gone.Go(p.write)
	}
	return c
}

// write says one thing after the other, each when the one before was answered.
func (p *person) write() {
	defer p.leave()
	for n := 1; p.writes.Err() == nil; n++ {
		began := time.Now()
		if !p.say(n) || !p.hear(n) {
			return
		}
		p.mu.Lock()
		p.longest = max(p.longest, time.Since(began))
		p.mu.Unlock()
	}
}

func (p *person) leave() {
	if p.tab != nil {
		p.tab.close()
		p.tab = nil
	}
}

// say posts a message until it is taken, with the same id each time.
func (p *person) say(n int) bool {
	body, err := json.Marshal(map[string]string{"id": fmt.Sprintf("%s-%d", p.chat, n), "text": "read " + p.file(n)})
	if err != nil {
		return false
	}
	end := time.Now().Add(patience)
	for time.Now().Before(end) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		req := p.request(ctx, http.MethodPost, "messages", bytes.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		cancel()
		if err == nil && resp.StatusCode == http.StatusOK {
			p.mu.Lock()
			p.sent = n
			p.mu.Unlock()
			return true
		}
		p.turn()
		<-time.After(100 * time.Millisecond)
	}
	p.t.Errorf("%s: message %d was not taken", p.chat, n)
	return false
}

func (p *person) file(n int) string { return fmt.Sprintf("%s-%d.txt", p.chat, n) }

// turn goes to the next page.
func (p *person) turn() {
	p.leave()
	p.page = (p.page + 1) % len(p.pages)
}

// hear waits for the answer.
func (p *person) hear(n int) bool {
	end := time.After(patience)
	for {
		if p.tab == nil {
			p.tab = p.watch()
		}
		select {
		case m, ok := <-p.tab.messages:
			switch {
			case !ok:
				p.turn()
				<-time.After(100 * time.Millisecond)
			case p.note(m) && m.Role == "bot" && strings.Contains(m.Text, `"`+p.file(n)+`"`):
				return true
			}
		case <-time.After(3 * time.Second): // a page that is cut off says nothing
			p.turn()
		case <-end:
			p.t.Errorf("%s: message %d is not answered", p.chat, n)
			return false
		}
	}
}

func (p *person) note(m message) bool {
	if m.Role != "sync" {
		p.seen[m.ID] = m
	}
	return true
}

func (p *person) request(ctx context.Context, method, what string, body *bytes.Reader) *http.Request {
	if body == nil {
		body = bytes.NewReader(nil)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.pages[p.page]+"/api/chat/chats/"+p.chat+"/"+what, body)
	if err != nil {
		p.t.Error(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	return req
}

// watch opens a stream of all messages of the chat.
func (p *person) watch() *tab {
	ctx, cancel := context.WithCancel(context.Background())
	t := &tab{messages: make(chan message), close: cancel}
	req := p.request(ctx, http.MethodGet, "events?format=text", nil)
	go func() {
		defer close(t.messages)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for kind := ""; lines.Scan(); {
			if k, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				kind = k
			}
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || kind != "message" && kind != "sync" {
				continue
			}
			m := message{Role: kind}
			if kind == "message" && json.Unmarshal([]byte(data), &m) != nil {
				continue
			}
			select {
			case t.messages <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	return t
}

// all is the whole chat as a page shows it that is opened now.
func (p *person) all() []message {
	var all []message
	end := time.After(patience)
	for {
		t := p.watch()
		all = all[:0]
		for open := true; open; {
			select {
			case m, ok := <-t.messages:
				switch {
				case !ok:
					open = false
				case m.Role == "sync":
					t.close()
					return all
				default:
					all = append(all, m)
				}
			case <-end:
				t.close()
				p.t.Errorf("%s cannot be read", p.chat)
				return nil
			}
		}
		t.close()
		p.turn()
		<-time.After(100 * time.Millisecond)
	}
}

// answered waits until everybody has had n more answers, so that what happens
// next happens to people who talk.
func (c *crowd) answered(n int) {
	c.t.Helper()
	before := c.sent()
	end := time.After(patience)
	for {
		now, ok := c.sent(), true
		for i := range now {
			ok = ok && now[i] >= before[i]+n
		}
		if ok {
			return
		}
		select {
		case <-end:
			c.t.Fatalf("people are not answered: %v, then %v", before, now)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (c *crowd) sent() (all []int) {
	for _, p := range c.people {
		p.mu.Lock()
		all = append(all, p.sent)
		p.mu.Unlock()
	}
	return all
}

// longest is the longest wait for an answer since it was asked last.
func (c *crowd) longest() (most time.Duration) {
	for _, p := range c.people {
		p.mu.Lock()
		most, p.longest = max(most, p.longest), 0
		p.mu.Unlock()
	}
	return most.Round(100 * time.Millisecond)
}

// count is what became of what people wrote.
type count struct{ sent, answered, lost, doubled, disordered int }

func (n count) String() string {
	return fmt.Sprintf("%d sent, %d answered, %d lost, %d doubled, %d out of order", n.sent, n.answered, n.lost, n.doubled, n.disordered)
}

// told lets people finish and counts.
func (c *crowd) told() (n count) {
	c.t.Helper()
	c.stop()
	c.gone.Wait()
	for _, p := range c.people {
		for _, m := range p.all() {
			p.note(m)
		}
		all := slices.Collect(maps.Values(p.seen))
		slices.SortFunc(all, func(a, b message) int { return int(a.Pos - b.Pos) })
		last := -1
		for i := 1; i <= p.sent; i++ {
			n.sent++
			answers := 0
			for at, m := range all {
				if m.Role != "bot" || !strings.Contains(m.Text, `"`+p.file(i)+`"`) {
					continue
				}
				if answers++; at < last {
					n.disordered++
				}
				last = max(last, at)
			}
			switch {
			case answers == 0:
				n.lost++
				c.t.Logf("lost: %s", p.file(i))
			case answers > 1:
				n.doubled++
				fallthrough
			default:
				n.answered++
			}
		}
	}
	return n
}

// fine is told, and nothing may be lost or out of order.
func (c *crowd) fine() count {
	c.t.Helper()
	n := c.told()
	c.t.Logf("figure: %s", n)
	if n.lost > 0 || n.disordered > 0 || n.sent == 0 {
		c.t.Errorf("want nothing lost or out of order: %s", n)
	}
	return n
}
