// Package wire is what the providers that speak HTTP share: one bounded
// request, the reading of server-sent events, the judging of failures, and the
// few repairs that a history needs before a vendor takes it. It knows no
// vendor's messages. A request owns its goroutines and timers and ends them
// before Post returns.
package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"magpie/agent/llm"
	"magpie/chat"
	"magpie/internal/proxy"
)

const (
	// DefaultTimeout bounds a whole request when nothing is configured.
	DefaultTimeout = 120 * time.Second
	// maxIdle bounds the silence between two pieces of a reply: models pause,
	// but servers that live send something within a minute.
	maxIdle = 60 * time.Second
	// afterEnd is how long a finished reply waits for what may follow it (usage).
	afterEnd = 3 * time.Second
	// maxReply bounds a whole answer in bytes, maxError the body of a refusal.
	maxReply = 64 << 20
	maxError = 64 << 10
)

// ErrStop is returned by a reader that wants no more; Post passes it on.
var ErrStop = errors.New("the caller wants no more")

var (
	errTimeout = errors.New("the model's server did not finish in time")
	errIdle    = errors.New("the model's server fell silent")
	errTooBig  = errors.New("the answer is larger than 64 MiB")
)

// Client sends requests for one provider. Safe for concurrent use.
type Client struct {
	name    string
	key     chat.Secret
	http    *http.Client
	timeout time.Duration
	idle    time.Duration
}

// Options are the bounds of a Client; zero values mean the defaults.
type Options struct {
	Timeout time.Duration // whole request; DefaultTimeout
	Idle    time.Duration // silence between two pieces; one minute, at most Timeout
	HTTP    *http.Client  // nil = one of its own
}

// New returns a client whose errors name the provider and never show key.
func New(name string, key chat.Secret, o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Idle <= 0 {
		o.Idle = maxIdle
	}
	own := http.Client{Transport: proxy.Transport("")}
	if o.HTTP != nil {
		own = *o.HTTP
	}
	// A redirect would carry the key to wherever it points.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{name: name, key: key, http: &own, timeout: o.Timeout, idle: min(o.Idle, o.Timeout)}
}

// Base checks a base URL and returns it without a slash at its end.
func Base(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("base_url must be an http or https URL")
	}
	if u.User != nil || u.RawQuery != "" {
		return "", errors.New("base_url must not hold a user, password or query")
	}
	return strings.TrimRight(raw, "/"), nil
}

// Post sends body as JSON and hands the answer to read. Errors are *llm.Error,
// or ctx's when it ended, or ErrStop.
func (c *Client) Post(ctx context.Context, url string, header http.Header, body any, read func(*Body) error) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return c.Error(llm.Rejected, fmt.Errorf("encode request: %w", err))
	}
	bound, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	whole := time.AfterFunc(c.timeout, func() { cancel(errTimeout) })
	defer whole.Stop()
	req, err := http.NewRequestWithContext(bound, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return c.Error(llm.Rejected, fmt.Errorf("make request: %w", err))
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return c.broken(ctx, bound, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		excerpt, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
		if err != nil && bound.Err() != nil {
			return c.broken(ctx, bound, err)
		}
		return c.Refused(resp.StatusCode, resp.Header, excerpt)
	}
	b := &Body{from: resp.Body, idle: c.idle, left: maxReply}
	b.timer = time.AfterFunc(c.idle, func() { cancel(errIdle) })
	defer b.timer.Stop()
	b.buf = bufio.NewReader(b)
	return c.judge(ctx, bound, b, read(b))
}

// judge turns what a reader returned into what Post promises.
func (c *Client) judge(ctx, bound context.Context, b *Body, err error) error {
	var known *llm.Error
	switch {
	case err == nil, errors.Is(err, ErrStop):
		return err
	case b.err != nil:
		return c.broken(ctx, bound, b.err)
	case errors.As(err, &known):
		return err
	default:
		return c.Error(llm.Temporary, err)
	}
}

// Error is an error of this provider without an HTTP status.
func (c *Client) Error(kind llm.Kind, err error) error {
	return &llm.Error{Provider: c.name, Kind: kind, Err: c.clean(err)}
}

// broken explains why a request ended without its answer.
func (c *Client) broken(ctx, bound context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask model %s: %w", c.name, ctx.Err())
	}
	if cause := context.Cause(bound); cause != nil {
		err = cause
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the URL
	}
	return c.Error(llm.Temporary, err)
}

// clean takes the key out of an error's text.
func (c *Client) clean(err error) error {
	if text := c.hide(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

func (c *Client) hide(text string) string {
	if c.key == "" {
		return text
	}
	return strings.ReplaceAll(text, string(c.key), c.key.String())
}

// Body is an answer that is still being sent.
type Body struct {
	from  io.Reader
	buf   *bufio.Reader
	timer *time.Timer
	idle  time.Duration
	left  int
	err   error // what broke the reading
}

// Read reads from the server. Only the wait for the server counts as silence,
// not the time that the caller takes for what was read.
func (b *Body) Read(p []byte) (int, error) {
	b.timer.Reset(b.idle)
	n, err := b.from.Read(p)
	b.timer.Stop()
	if b.left -= n; b.left < 0 {
		err = errTooBig
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// Ended says that the reply is complete: what may still follow is waited for
// only shortly.
func (b *Body) Ended() { b.idle = min(b.idle, afterEnd) }

// Form is how a body is written.
type Form int

// The forms.
const (
	Garbage Form = iota
	JSON
	Events
)

// Form looks at the beginning of the body; content types lie.
func (b *Body) Form() (Form, error) {
	for {
		head, err := b.buf.Peek(1)
		if errors.Is(err, io.EOF) {
			return Garbage, nil
		}
		if err != nil {
			return Garbage, err
		}
		if strings.TrimSpace(string(head)) != "" {
			break
		}
		_, _ = b.buf.Discard(1)
	}
	head, err := b.buf.Peek(2)
	switch {
	case err != nil && b.err != nil:
		return Garbage, err
	case head[0] == '{':
		return JSON, nil
	}
	for _, start := range []string{":", "da", "ev", "id", "re", "\xef\xbb"} {
		if strings.HasPrefix(string(head), start) {
			return Events, nil
		}
	}
	return Garbage, nil
}

// Rest reads what is left of the body.
func (b *Body) Rest() ([]byte, error) { return io.ReadAll(b.buf) }
