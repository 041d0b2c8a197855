package termchat_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/chat"
	"magpie/internal/termchat"
)

// breaking answers for a bot that can be away: then it cuts every connection
// off.
type breaking struct {
	http.RoundTripper
	after string // it goes once it has said this; "" = when it is told to

	mu   sync.Mutex
	away bool
}

func (b *breaking) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return nil, http.ErrServerClosed
	}
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil && b.after != "" {
		resp.Body = &cut{ReadCloser: resp.Body, way: b}
	}
	return resp, err
}

// cut is an answer in which the bot goes.
type cut struct {
	io.ReadCloser
	way  *breaking
	said string
}

func (c *cut) Read(data []byte) (int, error) {
	if _, rest, ok := strings.Cut(c.said, c.way.after); ok && strings.Contains(rest, "\n\n") {
		c.way.goes()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(data)
	c.said += string(data[:n])
	return n, err
}

// goes cuts the bot off.
func (b *breaking) goes() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = true
}

func (b *breaking) returns() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = false
}

// told is a writer that calls fn with what is written.
type told func(text string)

func (fn told) Write(data []byte) (int, error) {
	fn(string(data))
	return len(data), nil
}

// Who reads from a pipe is told that the bot is gone, gets what it has written,
// and is not kept waiting for long.
func TestPlainBotGone(t *testing.T) {
	t.Setenv("LC_ALL", "C")
	way := &breaking{RoundTripper: &http.Transport{}, after: "half an ans"}
	b := newBot(t, func(b *bot, in chat.Inbound) {
		b.web.Event(chat.Event{Kind: chat.TurnStarted, Addr: in.Addr, Turn: "t"})
		b.web.Event(chat.Event{Kind: chat.TurnDelta, Addr: in.Addr, Turn: "t", Text: "half an ans"})
	})
	var errs bytes.Buffer
	out, err := chatWith(t, b, strings.NewReader("hello\n"), func(o *termchat.Options) {
		o.HTTP, o.Err, o.Away = &http.Client{Transport: way}, &errs, time.Millisecond
	})
	if err == nil || !strings.Contains(err.Error(), "the bot has been away for 1ms: ") || !strings.Contains(err.Error(), "stored") {
		t.Errorf("ended with %v", err)
	}
	if out != "half an ans\n" {
		t.Errorf("printed %q", out)
	}
	if got := errs.String(); got != "(the connection is gone, trying again…)\n" {
		t.Errorf("told %q", got)
	}
}

// One that comes back goes on as if nothing had been.
func TestPlainBotReturns(t *testing.T) {
	t.Setenv("LC_ALL", "zh_CN.UTF-8")
	way := &breaking{RoundTripper: &http.Transport{}}
	back := make(chan struct{})
	b := newBot(t, func(b *bot, in chat.Inbound) {
		way.goes()
		b.CloseClientConnections()
		<-back
		echo(b, in)
	})
	var errs []string
	out, err := chatWith(t, b, strings.NewReader("你好\n"), func(o *termchat.Options) {
		o.HTTP, o.Away = &http.Client{Transport: way}, patience
		o.Err = told(func(text string) {
			if errs = append(errs, text); len(errs) == 1 {
				way.returns()
				close(back)
			}
		})
	})
	if err != nil || out != "you said: 你好\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	if got := strings.Join(errs, ""); got != "（连接断开，正在重试……）\n（已重新连接）\n" {
		t.Errorf("told %q", got)
	}
}
