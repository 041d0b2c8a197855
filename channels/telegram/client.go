package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"magpie/channels"
)

const (
	// callPatience bounds a call that moves little data.
	callPatience = 30 * time.Second
	// uploadPatience bounds a call with files: 50 MB at 200 kB/s.
	uploadPatience = 5 * time.Minute
	// pollMargin is what a long poll may take beyond what was asked for.
	pollMargin = 15 * time.Second
	// maxAnswer bounds an answer in bytes; 100 long updates are under 4 MB.
	maxAnswer = 32 << 20
)

// client calls methods of the Bot API through the SDK. The SDK's own logger
// would print URLs with the token; it only speaks with Debug set or in
// GetUpdatesChan, and neither is used here.
type client struct {
	name, token, base string
	http              *http.Client
	closeIdle         func() // its connections, if they are its own
}

func newClient(name, token, base string, given *http.Client) *client {
	c := &client{name: name, token: token, base: base}
	c.http, c.closeIdle = channels.HTTPClient(given)
	return c
}

// call calls a method and returns its result; errors are *channels.Error.
func (c *client) call(ctx context.Context, method string, params tgbotapi.Params, files ...*file) (json.RawMessage, error) {
	patience := callPatience
	if len(files) > 0 {
		patience = uploadPatience
	}
	return c.callFor(ctx, patience, method, params, files...)
}

func (c *client) callFor(ctx context.Context, patience time.Duration, method string, params tgbotapi.Params, files ...*file) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	x := &exchange{ctx: ctx, http: c.http}
	api := tgbotapi.BotAPI{Token: c.token, Client: x}
	api.SetAPIEndpoint(c.base + "/bot%s/%s")
	var resp *tgbotapi.APIResponse
	var err error
	if len(files) == 0 {
		resp, err = api.MakeRequest(method, params)
	} else {
		resp, err = c.upload(ctx, &api, x, upload{method, params, files})
	}
	if err == nil && resp.Ok {
		return resp.Result, nil
	}
	return nil, c.classify(method, x, resp, err)
}

type upload struct {
	method string
	params tgbotapi.Params
	files  []*file
}

// upload streams the files. The SDK writes them from a goroutine of its own,
// which ends when the body is closed.
func (c *client) upload(ctx context.Context, api *tgbotapi.BotAPI, x *exchange, u upload) (*tgbotapi.APIResponse, error) {
	var parts []tgbotapi.RequestFile
	for _, f := range u.files {
		parts = append(parts, tgbotapi.RequestFile{Name: f.field, Data: &source{ctx: ctx, file: f}})
	}
	resp, err := api.UploadFiles(u.method, u.params, parts)
	if x.body != nil {
		_ = x.body.Close() // an early refusal leaves the writer waiting
	}
	for _, p := range parts {
		src := p.Data.(*source)
		if failed := src.finish(); failed != nil {
			x.unread = failed
		}
	}
	return resp, err
}

// exchange is the SDK's HTTP client for one call. It holds the call's context
// because the SDK's methods take none.
type exchange struct {
	ctx    context.Context
	http   *http.Client
	body   io.Closer
	wrote  atomic.Bool // the platform may have seen the request
	status int
	unread error // a file of ours could not be read
}

// Do implements tgbotapi.HTTPClient.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	x.body = req.Body
	resp, err := x.http.Do(req.WithContext(channels.Sent(x.ctx, &x.wrote)))
	if err != nil {
		return nil, err
	}
	x.status = resp.StatusCode
	resp.Body = limited{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

type limited struct {
	io.Reader
	io.Closer
}

// download opens a file of the platform. The caller closes it; its context
// must last until then.
func (c *client) download(ctx context.Context, path string) (io.ReadCloser, error) {
	const op = "download"
	at := c.base + "/file/bot" + c.token + "/" + (&url.URL{Path: path}).EscapedPath()
	body, kind, err := channels.Download(ctx, c.http, at)
	if err != nil {
		return nil, c.fail(op, kind, c.clean(err))
	}
	return body, nil
}

// clean takes the URL, and with it the token, out of an error. Only the cause
// that callers ask for by errors.Is is kept.
func (c *client) clean(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if text := err.Error(); strings.Contains(text, c.token) {
		return errors.New(strings.ReplaceAll(text, c.token, "***"))
	}
	return err
}
