package dingtalk

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
	"sync"
	"sync/atomic"
	"time"

	"magpie/channels"
)

const (
	// callPatience bounds a call that moves little data.
	callPatience = 20 * time.Second
	// uploadPatience bounds a call with a file: 20 MB at 100 kB/s.
	uploadPatience = 4 * time.Minute
	// maxAnswer bounds an answer in bytes; all of them are short.
	maxAnswer = 1 << 20
	// tokenMargin is how long before its end a token is no longer used
	// (DingTalk gives the same token again until then, and a new one after).
	tokenMargin = 5 * time.Minute
)

// client calls DingTalk's two API servers.
type client struct {
	name      string
	cfg       Config
	http      *http.Client
	closeIdle func() // its connections, if they are its own
	now       func() time.Time

	mu    sync.Mutex // held while a token is fetched
	token string
	until time.Time
}

func newClient(name string, cfg Config, given *http.Client, now func() time.Time) *client {
	c := &client{name: name, cfg: cfg, now: now}
	c.http, c.closeIdle = channels.HTTPClient(given)
	return c
}

// call is one call of an API.
type call struct {
	op     string
	method string // "" = POST
	url    string
	kind   string // content type; "" = application/json
	body   func(ctx context.Context) (io.ReadCloser, int64, error)
	sends  bool // puts something into a chat
	bare   bool // needs no access token
}

// jsonBody is a body that can be sent again.
func jsonBody(v any) func(context.Context) (io.ReadCloser, int64, error) {
	data, err := json.Marshal(v)
	return func(context.Context) (io.ReadCloser, int64, error) {
		return io.NopCloser(bytes.NewReader(data)), int64(len(data)), err
	}
}

// post calls a method of the API server with a JSON body.
func (c *client) post(ctx context.Context, op, path string, in, out any) error {
	return c.do(ctx, call{op: op, url: c.cfg.APIBase + path, body: jsonBody(in)}, out)
}

// put is post by the other method.
func (c *client) put(ctx context.Context, op, path string, in, out any) error {
	return c.do(ctx, call{op: op, method: http.MethodPut, url: c.cfg.APIBase + path, body: jsonBody(in)}, out)
}

// send is post for calls that put something into a chat.
func (c *client) send(ctx context.Context, op, path string, in, out any) error {
	return c.do(ctx, call{op: op, url: c.cfg.APIBase + path, body: jsonBody(in), sends: true}, out)
}

// do makes a call and decodes its answer; errors are *channels.Error. A token
// that DingTalk does not take any more is replaced once.
func (c *client) do(ctx context.Context, k call, out any) error {
	patience := callPatience
	if k.kind != "" {
		patience = uploadPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if k.bare {
		return c.once(ctx, k, "", out)
	}
	for again := false; ; again = true {
		token, err := c.accessToken(ctx)
		if err != nil {
			return err
		}
		err = c.once(ctx, k, token, out)
		if again || !staleToken(err) {
			return err
		}
		c.evict(token)
	}
}

func (c *client) once(ctx context.Context, k call, token string, out any) error {
	x := &exchange{}
	raw, err := c.exchange(ctx, k, token, x)
	if err == nil {
		err = x.read(raw, out)
	}
	if err != nil {
		return c.classify(k, x, err)
	}
	return nil
}

// exchange is what is known about one HTTP exchange.
type exchange struct {
	wrote      atomic.Bool // DingTalk may have seen the request
	status     int
	retryAfter string
	unread     error // the body could not be read on our side
}

func (c *client) exchange(ctx context.Context, k call, token string, x *exchange) ([]byte, error) {
	body, length, err := k.body(ctx)
	if err != nil {
		x.unread = err
		return nil, err
	}
	defer body.Close()
	method, at := k.method, k.url
	if method == "" {
		method = http.MethodPost
	}
	source := &watched{Reader: body}
	req, err := http.NewRequestWithContext(channels.Sent(ctx, &x.wrote), method, at, source)
	if err != nil {
		return nil, err
	}
	req.ContentLength = length
	req.Header.Set("Content-Type", "application/json")
	if k.kind != "" {
		req.Header.Set("Content-Type", k.kind)
	}
	if token != "" && strings.HasPrefix(at, c.cfg.OAPIBase+"/") && k.kind != "" {
		q := req.URL.Query()
		q.Set("access_token", token)
		req.URL.RawQuery = q.Encode()
	} else if token != "" {
		req.Header.Set("x-acs-dingtalk-access-token", token)
	}
	resp, err := c.http.Do(req)
	if failed := source.failed(); failed != nil {
		x.unread = failed
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	x.status, x.retryAfter = resp.StatusCode, resp.Header.Get("Retry-After")
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
}

// read decodes an answer, or the refusal in it: an HTTP status with a code, or
// an errcode in a 200.
func (x *exchange) read(raw []byte, out any) error {
	var no struct {
		refusal
		Errcode number `json:"errcode"`
		Errmsg  string `json:"errmsg"`
		Denied  struct {
			Scopes []string `json:"requiredScopes"`
		} `json:"accessdenieddetail"`
	}
	err := json.Unmarshal(raw, &no)
	switch {
	case err == nil && x.status != http.StatusOK && no.Code != "":
		no.refusal.scopes = no.Denied.Scopes
		return &no.refusal
	case x.status != http.StatusOK:
		return fmt.Errorf("HTTP status %d", x.status)
	case err != nil:
		return errors.New("the answer is not JSON")
	case no.Errcode != 0:
		return &refusal{errcode: int(no.Errcode), Message: no.Errmsg}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("answer of another form: %w", err)
	}
	return nil
}

// accessToken returns a token that is good for some minutes, fetching it when
// there is none.
func (c *client) accessToken(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != "" && c.now().Before(c.until) {
		return c.token, nil
	}
	const op = "accessToken"
	var got struct {
		AccessToken string `json:"accessToken"`
		ExpireIn    number `json:"expireIn"`
	}
	in := map[string]string{"appKey": c.cfg.ClientID, "appSecret": string(c.cfg.ClientSecret)}
	err := c.do(ctx, call{op: op, url: c.cfg.APIBase + "/v1.0/oauth2/accessToken", body: jsonBody(in), bare: true}, &got)
	if err != nil {
		return "", err
	}
	if got.AccessToken == "" {
		return "", c.fail(op, channels.Temporary, errors.New("answer without a token"))
	}
	life := time.Duration(got.ExpireIn) * time.Second
	c.token, c.until = got.AccessToken, c.now().Add(life-min(tokenMargin, life/2))
	return c.token, nil
}

// evict forgets a token, "" whatever it is, unless it was replaced already.
func (c *client) evict(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if token == "" || token == c.token {
		c.token = ""
	}
}

// trusted reports whether an address that DingTalk gave may be called: one of
// the configured servers, or DingTalk's own over TLS.
func (c *client) trusted(at string) bool {
	u, err := url.Parse(at)
	if err != nil || u.User != nil {
		return false
	}
	for _, base := range []string{c.cfg.APIBase, c.cfg.OAPIBase} {
		if b, err := url.Parse(base); err == nil && b.Scheme == u.Scheme && b.Host == u.Host {
			return true
		}
	}
	return u.Scheme == "https" && u.Port() == "" && strings.HasSuffix("."+u.Hostname(), ".dingtalk.com")
}

// watched notes an error of reading our own side.
type watched struct {
	io.Reader
	mu  sync.Mutex
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && err != io.EOF {
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
	}
	return n, err
}

func (w *watched) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
