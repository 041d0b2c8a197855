package qq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"magpie/channels"
	"magpie/channels/rest"
)

const (
	// uploadPatience bounds a call with a file: 27 MB at 200 kB/s, and the time
	// in which the platform fetches a URL.
	uploadPatience = 4 * time.Minute
	// maxAnswer bounds an answer in bytes.
	maxAnswer = 1 << 20
)

// client calls the REST API. It is the only place that knows the token.
type client struct {
	*rest.Client
	cfg *Config
}

func newClient(name string, cfg *Config, d *channels.Deps) *client {
	c := &client{cfg: cfg}
	c.Client = rest.New(rest.Platform{
		Channel: name, Server: "the API", MaxAnswer: maxAnswer, Judge: c.judge,
		Secrets: func() []string { return []string{string(cfg.AppSecret)} },
		Token:   &rest.Token{Fetch: c.fetchToken, Margin: tokenMargin, Stale: staleToken, Sign: c.sign, Now: d.Now},
	}, d.HTTP)
	return c
}

func (c *client) sign(req *http.Request, token string) {
	req.Header.Set("Authorization", "QQBot "+token)
	req.Header.Set("X-Union-Appid", c.cfg.AppID)
}

// staleToken tells errors after which a new token may help.
func staleToken(err error) bool {
	return channels.KindOf(err) == channels.Unauthorized && !refusedWith(err, badClientCodes())
}

// request is one call of the API.
type request struct {
	op           string // for errors
	method, path string
	body         any
	sends        bool // puts something into a chat
	patience     time.Duration
}

// call makes a call and decodes its answer into result (nil: nobody looks).
func (c *client) call(ctx context.Context, r request, result any) error {
	call := rest.Request{Op: r.op, Method: r.method, URL: c.cfg.APIBase + r.path, Sends: r.sends, Patience: r.patience}
	if r.body != nil {
		var err error
		if call.Body, err = rest.JSON(r.body); err != nil {
			return c.Fail(r.op, channels.Rejected, fmt.Errorf("encode the request: %w", err))
		}
	}
	raw, err := c.Do(ctx, call)
	if err != nil || result == nil {
		return err
	}
	if json.Unmarshal(raw, result) != nil {
		kind := channels.Temporary
		if r.sends {
			kind = channels.Ambiguous
		}
		return c.Fail(r.op, kind, errors.New("the answer is not what the platform describes"))
	}
	return nil
}
