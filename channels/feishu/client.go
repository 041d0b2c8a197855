package feishu

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"magpie/channels"
	"magpie/channels/rest"
)

const (
	// uploadPatience bounds a call with a file: 30 MB at 100 kB/s.
	uploadPatience = 5 * time.Minute
	// maxAnswer bounds an answer in bytes; a message is under 200 KB.
	maxAnswer = 8 << 20
	jsonType  = "application/json; charset=utf-8"
)

// client calls the open platform.
type client struct {
	*rest.Client
	cfg Config
}

func newClient(name string, cfg Config, given *http.Client, now func() time.Time) *client {
	c := &client{cfg: cfg}
	c.Client = rest.New(rest.Platform{
		Channel: name, Server: "the open platform", MaxAnswer: maxAnswer, Judge: c.judge,
		Secrets: func() []string { return []string{string(cfg.AppSecret)} },
		Token:   &rest.Token{Fetch: c.fetchToken, Margin: tokenMargin, Stale: badToken, Sign: bearer, Now: now},
	}, given)
	return c
}

func bearer(req *http.Request, token string) { req.Header.Set("Authorization", "Bearer "+token) }

// request is one call with the app's token.
type request struct {
	op     string // for errors
	method string
	path   string
	query  url.Values
	body   any        // sent as JSON; nil = none
	form   *rest.Form // sent instead of body
	sends  bool       // puts something into a chat: no answer means Ambiguous
}

// call makes the request and returns the answer's data.
func (c *client) call(ctx context.Context, r request) (json.RawMessage, error) {
	call := rest.Request{Op: r.op, Method: r.method, URL: c.address(r.path, r.query), Sends: r.sends}
	var err error
	switch {
	case r.form != nil:
		call.Patience = uploadPatience
		call.Body, err = r.form.Body()
	case r.body != nil:
		call.Body, err = jsonBody(r.body)
	}
	if err != nil {
		return nil, c.Fail(r.op, channels.Rejected, fmt.Errorf("encode the request: %w", err))
	}
	raw, err := c.Do(ctx, call)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data json.RawMessage `json:"data"`
		Bot  json.RawMessage `json:"bot"` // older interfaces have a name of their own
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, c.Fail(r.op, channels.Temporary, fmt.Errorf("answer that is no JSON object: %w", err))
	}
	if answer.Bot != nil {
		return answer.Bot, nil
	}
	return answer.Data, nil
}

func (c *client) address(path string, query url.Values) string {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.cfg.APIBase + path
}

func jsonBody(v any) (*rest.Body, error) {
	b, err := rest.JSON(v)
	if err != nil {
		return nil, err
	}
	b.Type = jsonType
	return b, nil
}

// bare makes a call without the app's token and returns the whole answer.
func (c *client) bare(ctx context.Context, op, path string, in any) ([]byte, error) {
	body, err := jsonBody(in)
	if err != nil {
		return nil, c.Fail(op, channels.Rejected, err)
	}
	return c.Do(ctx, rest.Request{Op: op, URL: c.cfg.APIBase + path, Body: body, Bare: true})
}

// download opens a file of the platform. The caller closes it; ctx must last
// until then.
func (c *client) download(ctx context.Context, op, path string, query url.Values) (io.ReadCloser, error) {
	return c.Open(ctx, rest.Download{Op: op, URL: c.address(path, query), IsFile: isFile})
}

// isFile: JSON is a refusal, and a page is a proxy's, unless it is said to be a
// file.
func isFile(resp *http.Response) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return kind != "application/json" && kind != "text/html" || resp.Header.Get("Content-Disposition") != ""
}
