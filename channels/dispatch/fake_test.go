package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"magpie/channels"
	"magpie/chat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shown is one message as the people in the chat see it.
type shown struct {
	Text    string
	Files   []string
	Buttons int
	ReplyTo string
}

// minimal is a channel that can only send text. It refuses what is over its
// limit, and fails as the script says.
type minimal struct {
	name   string
	limits channels.Limits

	mu     sync.Mutex
	script map[string][]error // by method; a nil entry succeeds
	calls  []string           // method and text, in order
	at     []time.Time        // of calls
	chat   []*shown           // all messages ever sent; nil = deleted
	// lost makes a failing Send leave its message in the chat all the same.
	lost bool
	slow time.Duration // how long Send takes
}

// full can do everything.
type full struct{ *minimal }

func newMinimal(lim channels.Limits) *minimal {
	if lim.Text == 0 {
		lim.Text = 100
	}
	return &minimal{name: "fake", limits: lim, script: map[string][]error{}}
}

func newFull(lim channels.Limits) full { return full{newMinimal(lim)} }

var (
	_ channels.Channel     = (*minimal)(nil)
	_ channels.Editor      = full{}
	_ channels.Deleter     = full{}
	_ channels.Typer       = full{}
	_ channels.MediaSender = full{}
	_ channels.Buttoner    = full{}
)

func (c *minimal) Name() string                             { return c.name }
func (c *minimal) Limits() channels.Limits                  { return c.limits }
func (c *minimal) Run(context.Context, channels.Sink) error { return nil }

func (c *minimal) fail(method string, errs ...error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script[method] = append(c.script[method], errs...)
}

// begin notes a call and says what the script wants of it; c.mu is held.
func (c *minimal) begin(method, text string) error {
	c.calls = append(c.calls, strings.TrimSpace(method+" "+text))
	c.at = append(c.at, time.Now())
	if s := c.script[method]; len(s) > 0 {
		c.script[method] = s[1:]
		return s[0]
	}
	return nil
}

func failure(kind channels.Kind) error {
	return &channels.Error{Channel: "fake", Op: "send", Kind: kind, Err: errors.New("scripted")}
}

func limited(after time.Duration) error {
	return &channels.Error{Channel: "fake", Op: "send", Kind: channels.RateLimited, RetryAfter: after, Err: errors.New("429")}
}

func (c *minimal) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	if err := ctx.Err(); err != nil {
		return chat.MessageRef{}, err
	}
	if err := sleep(ctx, c.slow); err != nil {
		return chat.MessageRef{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.begin("send", msg.Text)
	if err == nil {
		err = c.strict(msg)
	}
	if err != nil && !c.lost {
		return chat.MessageRef{}, err
	}
	c.chat = append(c.chat, &shown{Text: msg.Text, Buttons: len(msg.Buttons), ReplyTo: msg.ReplyTo})
	return c.ref(len(c.chat) - 1), err
}

func (c *minimal) strict(msg chat.Outbound) error {
	switch {
	case strings.TrimSpace(msg.Text) == "", msg.ID == "", len(msg.Attachments) > 0:
		return failure(channels.Rejected)
	case utf8.RuneCountInString(msg.Text) > c.limits.Text:
		return failure(channels.TooLong)
	}
	return nil
}

func (c *minimal) ref(i int) chat.MessageRef {
	return chat.MessageRef{Channel: c.name, Chat: "c", ID: fmt.Sprint(i)}
}

func (c *minimal) at1(ref chat.MessageRef) (int, error) {
	var i int
	if _, err := fmt.Sscan(ref.ID, &i); err != nil || i >= len(c.chat) || c.chat[i] == nil {
		return 0, failure(channels.Rejected)
	}
	return i, nil
}

func (c full) Edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begin("edit", msg.Text); err != nil {
		return err
	}
	i, err := c.at1(ref)
	if err == nil {
		err = c.strict(msg)
	}
	if err != nil {
		return err
	}
	c.chat[i].Text, c.chat[i].Buttons = msg.Text, len(msg.Buttons)
	return ctx.Err()
}

func (c full) Delete(_ context.Context, ref chat.MessageRef) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begin("delete", ref.ID); err != nil {
		return err
	}
	i, err := c.at1(ref)
	if err == nil {
		c.chat[i] = nil
	}
	return err
}

func (c full) Typing(_ context.Context, a chat.Address) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin("typing", a.Chat)
}

func (c full) AnswerPress(_ context.Context, _ chat.Address, ans chat.Answer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin("answer", ans.Notice)
}

func (c full) SendMedia(ctx context.Context, msg chat.Outbound, files []channels.Upload) ([]chat.MessageRef, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, f := range files {
		r, err := f.Open(ctx)
		if err != nil {
			return nil, err
		}
		n, _ := io.Copy(io.Discard, r)
		r.Close()
		if n > c.limits.Media[f.Kind] {
			return nil, failure(channels.TooLong)
		}
		names = append(names, string(f.Kind)+":"+f.Name)
	}
	if err := c.begin("media", msg.Text+" "+strings.Join(names, ",")); err != nil {
		return nil, err
	}
	if len(files) > max(1, c.limits.Album) || utf8.RuneCountInString(msg.Text) > c.limits.Caption {
		return nil, failure(channels.Rejected)
	}
	c.chat = append(c.chat, &shown{Text: msg.Text, Files: names, ReplyTo: msg.ReplyTo})
	return []chat.MessageRef{c.ref(len(c.chat) - 1)}, nil
}

// visible is what stands in the chat.
func (c *minimal) visible() (all []shown) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.chat {
		if s != nil {
			all = append(all, *s)
		}
	}
	return all
}

func (c *minimal) log(method string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if strings.HasPrefix(call, method) {
			n++
		}
	}
	return n
}

func message(id, text string) chat.Outbound {
	return chat.Outbound{Meta: chat.Meta{V: 1, ID: id, Addr: chat.Address{Channel: "fake", Chat: "c"}}, Text: text}
}
