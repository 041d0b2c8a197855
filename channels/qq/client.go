package qq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"magpie/channels"
	"magpie/chat"
)

const (
	// callPatience bounds a call that moves little data.
	callPatience = 30 * time.Second
	// uploadPatience bounds a call with a file: 27 MB at 200 kB/s, and the time
	// in which the platform fetches a URL.
	uploadPatience = 4 * time.Minute
	// maxAnswer bounds an answer in bytes.
	maxAnswer = 1 << 20
)

// client calls the REST API. It is the only place that knows the token.
type client struct {
	name, app string
	secret    chat.Secret
	base      string
	http      *http.Client
	closeIdle func() // its connections, if they are its own
	tokens    tokens
}

func newClient(name string, cfg *Config, d *channels.Deps) *client {
	c := &client{name: name, app: cfg.AppID, secret: cfg.AppSecret, base: cfg.APIBase}
	c.http, c.closeIdle = channels.HTTPClient(d.HTTP)
	c.tokens = tokens{c: c, at: cfg.TokenBase + "/app/getAppAccessToken", clock: d.Now, turn: make(chan struct{}, 1)}
	return c
}

// request is one call of the API.
type request struct {
	op           string // for errors
	method, path string
	body         any
	sends        bool // puts something into a chat
	patience     time.Duration
}

// call makes a call and decodes its answer into result (nil: nobody looks). A
// token that the platform does not know any more is replaced once. Errors are
// *channels.Error.
func (c *client) call(ctx context.Context, r request, result any) error {
	if r.patience == 0 {
		r.patience = callPatience
	}
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return c.fail(r.op, channels.Rejected, fmt.Errorf("encode the request: %w", err))
		}
	}
	for again := false; ; again = true {
		token, err := c.tokens.get(ctx)
		if err != nil {
			return err
		}
		err = c.once(ctx, r, body, token, result)
		if channels.KindOf(err) != channels.Unauthorized || again || refusedWith(err, badClientCodes()) {
			return err
		}
		c.tokens.evict(token)
	}
}

// once makes one attempt with a token.
func (c *client) once(ctx context.Context, r request, body []byte, token string, result any) error {
	var wrote atomic.Bool
	req, err := http.NewRequestWithContext(channels.Sent(ctx, &wrote), r.method, c.base+r.path, bytes.NewReader(body))
	if err != nil {
		return c.fail(r.op, channels.Rejected, errors.New("not a valid address"))
	}
	req.Header.Set("Authorization", "QQBot "+token)
	req.Header.Set("X-Union-Appid", c.app)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	got, err := c.exchange(req)
	if err != nil {
		kind := channels.Temporary
		if wrote.Load() && r.sends {
			kind = channels.Ambiguous
		}
		return c.fail(r.op, kind, err)
	}
	return c.read(r, got, result)
}

// answer is what came back.
type answer struct {
	status int
	after  time.Duration // Retry-After; 0: unknown
	body   []byte
}

func (c *client) exchange(req *http.Request) (answer, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, c.cause(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return answer{}, fmt.Errorf("read the answer: %w", c.cause(err))
	}
	after, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // also absent
	return answer{resp.StatusCode, time.Duration(after) * time.Second, body}, nil
}

// cause takes the URL out of an error, and secrets if there are any.
func (c *client) cause(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if text := err.Error(); c.clean(text) != text {
		return errors.New(c.clean(text))
	}
	return err
}

// read judges an answer: an error code counts whatever the status says, and
// what waits for an audit counts as taken.
func (c *client) read(r request, a answer, result any) error {
	var e struct {
		Code    int    `json:"code"`
		ErrCode int    `json:"err_code"`
		Message string `json:"message"`
	}
	decodable := json.Unmarshal(a.body, &e) == nil
	bad := &refusal{status: a.status, code: e.ErrCode, text: e.Message}
	if e.Code != 0 {
		bad.code = e.Code
	}
	if refusedWith(bad, auditCodes()) {
		return nil
	}
	if a.status/100 != 2 || bad.code != 0 {
		return c.classify(r.op, bad, a.after)
	}
	if result == nil {
		return nil
	}
	if !decodable || json.Unmarshal(a.body, result) != nil {
		kind := channels.Temporary
		if r.sends {
			kind = channels.Ambiguous
		}
		return c.fail(r.op, kind, errors.New("the answer is not what the platform describes"))
	}
	return nil
}
