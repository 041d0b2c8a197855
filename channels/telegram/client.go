package telegram

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"magpie/channels"
	"magpie/channels/rest"
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
	*rest.Client
	token, base string
}

func newClient(name, token, base string, given *http.Client) *client {
	c := &client{token: token, base: base}
	c.Client = rest.New(rest.Platform{
		Channel: name, Server: "the Bot API", MaxAnswer: maxAnswer, Judge: c.judge,
		Secrets: func() []string { return []string{token} },
	}, given)
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
	s := &sdkClient{ctx: ctx, x: c.Begin(method, sends(method))}
	api := tgbotapi.BotAPI{Token: c.token, Client: s}
	api.SetAPIEndpoint(c.base + "/bot%s/%s")
	var err error
	if len(files) == 0 {
		_, err = api.MakeRequest(method, params)
	} else {
		err = s.upload(&api, method, params, files)
	}
	a, err := s.x.End(err)
	if err != nil {
		return nil, err
	}
	var resp tgbotapi.APIResponse
	if err := json.Unmarshal(a.Body, &resp); err != nil {
		return nil, c.Fail(method, channels.Temporary, err) // judge has read it
	}
	return resp.Result, nil
}

// sdkClient is the SDK's HTTP client for one call. It holds the call's context
// because the SDK's methods take none.
type sdkClient struct {
	ctx  context.Context
	x    *rest.Exchange
	body io.Closer
}

// Do implements tgbotapi.HTTPClient.
func (s *sdkClient) Do(req *http.Request) (*http.Response, error) {
	s.body = req.Body
	return s.x.Do(req.WithContext(s.ctx))
}

// upload streams the files. The SDK writes them from a goroutine of its own,
// which ends when the body is closed.
func (s *sdkClient) upload(api *tgbotapi.BotAPI, method string, params tgbotapi.Params, files []*file) error {
	var parts []tgbotapi.RequestFile
	for _, f := range files {
		parts = append(parts, tgbotapi.RequestFile{Name: f.field, Data: &source{ctx: s.ctx, file: f}})
	}
	_, err := api.UploadFiles(method, params, parts)
	if s.body != nil {
		_ = s.body.Close() // an early refusal leaves the writer waiting
	}
	for _, p := range parts {
		p.Data.(*source).finish()
	}
	return err
}

// download opens a file of the platform. The caller closes it; its context
// must last until then.
func (c *client) download(ctx context.Context, path string) (io.ReadCloser, error) {
	at := c.base + "/file/bot" + c.token + "/" + (&url.URL{Path: path}).EscapedPath()
	return c.Open(ctx, rest.Download{Op: "download", URL: at})
}
