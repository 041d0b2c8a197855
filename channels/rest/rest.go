// Package rest is how the adapters of platforms call their servers: one
// exchange with its bounds, one reading of what went wrong, one keeper of the
// access token, and errors without addresses and secrets. What a platform's own
// codes mean, its adapter says.
package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"magpie/channels"
)

// callPatience bounds a call that says nothing else.
const callPatience = 30 * time.Second

// Platform is what is peculiar to the server of a platform.
type Platform struct {
	Channel   string // instance name, for errors
	Server    string // what should answer, as errors name it: "the Bot API"
	MaxAnswer int64  // the largest answer in bytes
	// Secrets are taken out of every error; nil: there are none.
	Secrets func() []string
	// Judge reads an answer: nil is success, ErrNoAnswer one that is not the
	// platform's. A *channels.Error says the kind (with RateLimited and no
	// RetryAfter, the header counts), and Ambiguous is Temporary for a call that
	// sends nothing. Any other error is a refusal whose kind follows from the
	// status.
	Judge func(*Answer) error
	// Token is nil where calls need none that is fetched.
	Token *Token
}

// ErrNoAnswer is what Judge says of an answer that is not the platform's: of a
// proxy, of a gateway, of another server.
var ErrNoAnswer = errors.New("not an answer of the platform")

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Client calls one platform for one instance. Its errors are *channels.Error.
type Client struct {
	p         Platform
	http      *http.Client
	closeIdle func()
}

// New returns a client; given nil means connections of its own.
func New(p Platform, given *http.Client) *Client {
	c := &Client{p: p}
	c.http, c.closeIdle = HTTPClient(given)
	return c
}

// HTTP is what the client sends with, for connections that are no calls.
func (c *Client) HTTP() *http.Client { return c.http }

// Token is the keeper of the access token; nil: there is none.
func (c *Client) Token() *Token { return c.p.Token }

// CloseIdle closes the connections that are not in use, if they are the
// client's own.
func (c *Client) CloseIdle() { c.closeIdle() }

// Fail makes an error of a kind, without addresses and secrets.
func (c *Client) Fail(op string, kind channels.Kind, err error) *channels.Error {
	return &channels.Error{Channel: c.p.Channel, Op: op, Kind: kind, Err: c.Clean(err)}
}

// Request is one call.
type Request struct {
	Op       string // for errors
	Method   string // "" = POST
	URL      string
	Body     *Body // nil = none
	Sends    bool  // puts something into a chat: no answer means Ambiguous
	Bare     bool  // goes without the access token
	Patience time.Duration
}

// Do makes a call and returns the answer's body. A token that the platform
// refuses is replaced once.
func (c *Client) Do(ctx context.Context, r Request) (raw []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Patience, callPatience))
	defer cancel()
	err = c.signed(ctx, r.Bare, func(token string) error {
		raw, err = c.once(ctx, r, token)
		return err
	})
	return raw, err
}

func (c *Client) once(ctx context.Context, r Request, token string) ([]byte, error) {
	body, length, err := r.Body.open(ctx)
	if err != nil {
		return nil, c.Unreadable(r.Op, err)
	}
	x := c.Begin(r.Op, r.Sends)
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodPost), r.URL, body)
	if err != nil {
		if body != nil {
			_ = body.Close() // nobody read it
		}
		return nil, c.Fail(r.Op, channels.Rejected, errors.New("not a valid address"))
	}
	req.Header.Set("Accept", "application/json") // without it DingTalk's gateway answers XML
	if body != nil {
		req.ContentLength = length
		req.Header.Set("Content-Type", r.Body.Type)
	}
	if token != "" {
		c.p.Token.Sign(req, token)
	}
	_, err = x.Do(req)
	a, err := x.End(err)
	if err != nil {
		return nil, err
	}
	return a.Body, nil
}

// signed runs call with a token where the platform has some, and once more
// with a new one when the first is refused.
func (c *Client) signed(ctx context.Context, bare bool, call func(token string) error) error {
	if bare || c.p.Token == nil {
		return call("")
	}
	for again := false; ; again = true {
		token, err := c.p.Token.Get(ctx)
		if err != nil {
			return c.named("access token", err)
		}
		err = call(token)
		if again || err == nil || !c.p.Token.Stale(err) {
			return err
		}
		c.p.Token.Evict(token)
	}
}

// named makes any error a *channels.Error.
func (c *Client) named(op string, err error) error {
	var ce *channels.Error
	if errors.As(err, &ce) {
		return err
	}
	return c.Fail(op, channels.Temporary, err)
}

// Download is a file to be fetched.
type Download struct {
	Op, URL string
	Bare    bool // goes without the access token
	// Follow says what is wrong with the address of a redirect; nil: none is
	// followed.
	Follow func(*http.Request) error
	// IsFile tells a file from an answer that Judge reads, where the server of
	// the API itself gives files; nil: whatever comes with status 200 is one.
	IsFile func(*http.Response) bool
}

// maxHops is how many redirects a download follows where it follows any.
const maxHops = 3

// Open opens a file. The caller closes it; ctx must last until then.
func (c *Client) Open(ctx context.Context, d Download) (body io.ReadCloser, err error) {
	err = c.signed(ctx, d.Bare, func(token string) error {
		body, err = c.openOnce(ctx, d, token)
		return err
	})
	return body, err
}

func (c *Client) openOnce(ctx context.Context, d Download, token string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, nil)
	if err != nil {
		return nil, c.Fail(d.Op, channels.Rejected, errors.New("not a valid address"))
	}
	if token != "" {
		c.p.Token.Sign(req, token)
	}
	resp, err := c.following(d.Follow).Do(req)
	if err != nil {
		return nil, c.Fail(d.Op, channels.Temporary, err)
	}
	if resp.StatusCode == http.StatusOK && (d.IsFile == nil || d.IsFile(resp)) {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	if d.IsFile != nil {
		return nil, c.noFile(d, resp)
	}
	e := c.Fail(d.Op, KindOf(resp.StatusCode), fmt.Errorf("HTTP status %d", resp.StatusCode))
	switch {
	case e.Kind == channels.RateLimited:
		e.RetryAfter = RetryAfter(resp.Header)
	case resp.StatusCode/100 == 4:
		e.Kind = channels.Rejected
	default:
		e.Kind = channels.Temporary
	}
	return nil, e
}

func (c *Client) noFile(d Download, resp *http.Response) error {
	x := c.Begin(d.Op, false)
	x.take(resp)
	if _, err := x.End(nil); err != nil {
		return err
	}
	return c.Fail(d.Op, channels.Temporary, errors.New("answer without a file"))
}

func (c *Client) following(follow func(*http.Request) error) *http.Client {
	if follow == nil {
		return c.http
	}
	h := *c.http
	h.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if len(via) > maxHops {
			return errors.New("too many redirects")
		}
		return follow(next)
	}
	return &h
}

// secrets are the platform's, the token that is in use, and how they look in
// an address; the longest first, since one may hold another.
func (c *Client) secrets() []string {
	var all []string
	if c.p.Secrets != nil {
		all = c.p.Secrets()
	}
	if c.p.Token != nil {
		all = append(all, c.p.Token.Current())
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}
