package dingtalk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"magpie/channels"
	"magpie/channels/rest"
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
	*rest.Client
	cfg Config
}

func newClient(name string, cfg Config, given *http.Client, now func() time.Time) *client {
	c := &client{cfg: cfg}
	c.Client = rest.New(rest.Platform{
		Channel: name, Server: "DingTalk", MaxAnswer: maxAnswer, Judge: c.judge,
		Secrets: func() []string { return []string{string(cfg.ClientSecret)} },
		Token:   &rest.Token{Fetch: c.fetchToken, Margin: tokenMargin, Stale: staleToken, Sign: c.sign, Now: now},
	}, given)
	return c
}

// sign gives the token as the two servers want it: the old one, which takes
// files, in the address.
func (c *client) sign(req *http.Request, token string) {
	if strings.HasPrefix(req.URL.String(), c.cfg.OAPIBase+"/") && strings.HasPrefix(req.Header.Get("Content-Type"), "multipart/") {
		q := req.URL.Query()
		q.Set("access_token", token)
		req.URL.RawQuery = q.Encode()
		return
	}
	req.Header.Set("x-acs-dingtalk-access-token", token)
}

// call is one call of an API.
type call struct {
	op     string
	method string // "" = POST
	url    string
	in     any        // sent as JSON
	form   *rest.Form // sent instead
	sends  bool       // puts something into a chat
	bare   bool       // needs no access token
}

// post calls a method of the API server with a JSON body.
func (c *client) post(ctx context.Context, op, path string, in, out any) error {
	return c.do(ctx, call{op: op, url: c.cfg.APIBase + path, in: in}, out)
}

// put is post by the other method.
func (c *client) put(ctx context.Context, op, path string, in, out any) error {
	return c.do(ctx, call{op: op, method: http.MethodPut, url: c.cfg.APIBase + path, in: in}, out)
}

// send is post for calls that put something into a chat.
func (c *client) send(ctx context.Context, op, path string, in, out any) error {
	return c.do(ctx, call{op: op, url: c.cfg.APIBase + path, in: in, sends: true}, out)
}

// do makes a call and decodes its answer.
func (c *client) do(ctx context.Context, k call, out any) error {
	r := rest.Request{Op: k.op, Method: k.method, URL: k.url, Sends: k.sends, Bare: k.bare, Patience: callPatience}
	var err error
	if k.form != nil {
		r.Patience = uploadPatience
		r.Body, err = k.form.Body()
	} else {
		r.Body, err = rest.JSON(k.in)
	}
	if err != nil {
		return c.Fail(k.op, channels.Rejected, fmt.Errorf("encode the request: %w", err))
	}
	raw, err := c.Do(ctx, r)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(raw, out); err != nil {
		kind := channels.Temporary
		if k.sends {
			kind = channels.Ambiguous
		}
		return c.Fail(k.op, kind, fmt.Errorf("answer of another form: %w", err))
	}
	return nil
}

func (c *client) fetchToken(ctx context.Context) (string, time.Duration, error) {
	const op = "accessToken"
	var got struct {
		AccessToken string `json:"accessToken"`
		ExpireIn    number `json:"expireIn"`
	}
	in := map[string]string{"appKey": c.cfg.ClientID, "appSecret": string(c.cfg.ClientSecret)}
	if err := c.do(ctx, call{op: op, url: c.cfg.APIBase + "/v1.0/oauth2/accessToken", in: in, bare: true}, &got); err != nil {
		return "", 0, err
	}
	if got.AccessToken == "" {
		return "", 0, c.Fail(op, channels.Temporary, errors.New("answer without a token"))
	}
	return got.AccessToken, time.Duration(got.ExpireIn) * time.Second, nil
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
