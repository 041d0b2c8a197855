package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"magpie/channels"
)

const (
	// callPatience bounds a call that moves little data.
	callPatience = 30 * time.Second
	// uploadPatience bounds a call with a file: 30 MB at 100 kB/s.
	uploadPatience = 5 * time.Minute
	// maxAnswer bounds an answer in bytes; a message is under 200 KB.
	maxAnswer = 8 << 20
	jsonType  = "application/json; charset=utf-8"
)

// client calls the open platform. Every error is a *channels.Error without
// secrets.
type client struct {
	name, appID, secret, base string
	http                      *http.Client
	closeIdle                 func() // its connections, if they are its own
	now                       func() time.Time
	token                     *token
}

func newClient(name string, cfg Config, given *http.Client, now func() time.Time) *client {
	c := &client{
		name: name, appID: cfg.AppID, secret: string(cfg.AppSecret), base: cfg.APIBase,
		now: now, token: newToken(),
	}
	c.http, c.closeIdle = channels.HTTPClient(given)
	return c
}

// request is one call with the app's token.
type request struct {
	op     string // for errors
	method string
	path   string
	query  url.Values
	body   any   // sent as JSON; nil = none
	form   *form // sent instead of body
	sends  bool  // puts something into a chat: no answer means Ambiguous
}

// call makes the request and returns the answer's data. A token that the
// platform refuses is replaced once.
func (c *client) call(ctx context.Context, r request) (json.RawMessage, error) {
	patience := callPatience
	if r.form != nil {
		patience = uploadPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for again := false; ; again = true {
		token, err := c.accessToken(ctx)
		if err != nil {
			return nil, err
		}
		raw, err := c.once(ctx, r, token)
		if again || !badToken(err) {
			return raw, err
		}
		if err := c.evict(ctx, token); err != nil {
			return nil, c.fail(r.op, channels.Temporary, err)
		}
	}
}

func (c *client) once(ctx context.Context, r request, token string) (json.RawMessage, error) {
	x := exchange{op: r.op, method: r.method, url: c.base + r.path, token: token, sends: r.sends}
	if len(r.query) > 0 {
		x.url += "?" + r.query.Encode()
	}
	finish := func() error { return nil }
	switch {
	case r.form != nil:
		body, err := r.form.open(ctx)
		if err != nil {
			return nil, c.unreadable(r.op, err)
		}
		finish = body.finish
		x.body, x.contentType, x.size = body, r.form.contentType(), r.form.size()
	case r.body != nil:
		data, err := encode(r.body)
		if err != nil {
			return nil, c.fail(r.op, channels.Rejected, fmt.Errorf("encode the request: %w", err))
		}
		x.body, x.contentType = bytes.NewReader(data), jsonType
	}
	raw, err := c.do(ctx, &x)
	if broken := finish(); broken != nil {
		return nil, c.unreadable(r.op, broken)
	}
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data json.RawMessage `json:"data"`
		Bot  json.RawMessage `json:"bot"` // older interfaces have a name of their own
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, c.fail(r.op, channels.Temporary, fmt.Errorf("answer that is no JSON object: %w", err))
	}
	if answer.Bot != nil {
		return answer.Bot, nil
	}
	return answer.Data, nil
}

// encode writes JSON as short as it gets: the platform's limits count bytes,
// and \u003c for < would be five too many.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// exchange is one request on the wire.
type exchange struct {
	op, method, url    string
	contentType, token string
	body               io.Reader
	size               int64 // of body, 0 = let net/http find out
	sends              bool
}

// do makes one request; the answer has code 0 when it returns no error.
func (c *client) do(ctx context.Context, x *exchange) (json.RawMessage, error) {
	resp, wrote, err := c.send(ctx, x)
	if err != nil {
		kind := channels.Temporary
		if wrote && x.sends {
			kind = channels.Ambiguous
		}
		return nil, c.fail(x.op, kind, c.clean(err))
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		kind := channels.Temporary
		if x.sends {
			kind = channels.Ambiguous
		}
		return nil, c.fail(x.op, kind, c.clean(err))
	}
	return raw, c.judge(x, resp, raw)
}

func (c *client) send(ctx context.Context, x *exchange) (resp *http.Response, wrote bool, err error) {
	var seen atomic.Bool // the platform may have seen the request
	req, err := http.NewRequestWithContext(channels.Sent(ctx, &seen), x.method, x.url, x.body)
	if err != nil {
		return nil, false, err
	}
	if x.contentType != "" {
		req.Header.Set("Content-Type", x.contentType)
	}
	if x.token != "" {
		req.Header.Set("Authorization", "Bearer "+x.token)
	}
	if x.size > 0 {
		req.ContentLength = x.size
	}
	resp, err = c.http.Do(req)
	return resp, seen.Load(), err
}

// download opens a file of the platform. The caller closes it; ctx must last
// until then.
func (c *client) download(ctx context.Context, op, path string, query url.Values) (io.ReadCloser, error) {
	for again := false; ; again = true {
		token, err := c.accessToken(ctx)
		if err != nil {
			return nil, err
		}
		x := exchange{op: op, method: http.MethodGet, url: c.base + path + "?" + query.Encode(), token: token}
		resp, _, err := c.send(ctx, &x)
		if err != nil {
			return nil, c.fail(op, channels.Temporary, c.clean(err))
		}
		plain := !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") || resp.Header.Get("Content-Disposition") != ""
		if resp.StatusCode == http.StatusOK && plain {
			return resp.Body, nil
		}
		raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		_ = resp.Body.Close() // read already
		if err == nil {
			err = c.judge(&x, resp, raw)
		}
		if err == nil {
			err = c.fail(op, channels.Temporary, errors.New("answer without a file"))
		}
		if again || !badToken(err) {
			return nil, err
		}
		if err := c.evict(ctx, token); err != nil {
			return nil, c.fail(op, channels.Temporary, err)
		}
	}
}

// clean takes the URL out of an error of net/http, and whatever looks like a
// secret. Only the cause that callers ask for by errors.Is is kept.
func (c *client) clean(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if text := err.Error(); c.secret != "" && strings.Contains(text, c.secret) {
		return errors.New(c.redact(text))
	}
	return err
}

func (c *client) redact(text string) string {
	return tokens.ReplaceAllString(strings.ReplaceAll(text, c.secret, "***"), "***")
}
