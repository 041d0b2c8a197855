package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// openPages writes n messages on that many pages and returns how long each
// waited for its answer.
func openPages(ctx context.Context, p *bot, data string, people, n int) (waits []time.Duration) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range people {
		page := p.page(data, fmt.Sprintf("c%d", i))
		page.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}
		all.Go(func() {
			answers := page.answers(ctx)
			for {
				mu.Lock()
				n--
				more := n >= 0
				mu.Unlock()
				if !more {
					return
				}
				began := time.Now()
				if !page.try(ctx, "how are you?") {
					return
				}
				select {
				case _, ok := <-answers:
					if !ok {
						return
					}
				case <-time.After(deadline):
					p.t.Errorf("no answer in %s", page.chat)
					return
				}
				mu.Lock()
				waits = append(waits, time.Since(began))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(waits)
	return waits
}

// try writes a message; false when the program is gone.
func (p *page) try(ctx context.Context, text string) bool {
	p.said++
	body := fmt.Sprintf(`{"id":"m%d","text":%q}`, p.said, text)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/api/chat/chats/"+p.chat+"/messages", strings.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}

// answers keeps the page's stream open, as a browser does, rendered text and
// all, and tells of each final message of the bot.
func (p *page) answers(ctx context.Context) <-chan struct{} {
	told := make(chan struct{}, 16)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/api/chat/chats/"+p.chat+"/events", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	go func() {
		defer close(told)
		resp, err := p.client.Do(r)
		if err != nil {
			return
		}
		defer func() { _ = resp.Body.Close() }()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 16<<20)
		kind := ""
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			if key == "event" {
				kind = value
			}
			var m shown
			if key != "data" || kind != "message" || json.Unmarshal([]byte(value), &m) != nil || m.Role != "bot" || !m.Final {
				continue
			}
			told <- struct{}{}
		}
	}()
	return told
}
