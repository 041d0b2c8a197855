package discord

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
)

const (
	// callPatience bounds a call that moves little data.
	callPatience = 30 * time.Second
	// uploadPatience bounds a call with files: 25 MiB at 200 kB/s.
	uploadPatience = 3 * time.Minute
	// uploadsAtOnce bounds the memory of uploads: each stands in it twice.
	uploadsAtOnce = 2
	// maxAnswer bounds an answer in bytes; 100 long messages are under 4 MB.
	maxAnswer = 16 << 20
	// idleConns keeps enough connections for many chats at once.
	idleConns = 64
)

// client calls Discord's REST API through discordgo.
type client struct {
	name, token string
	base        *url.URL
	session     *discordgo.Session
	transport   http.RoundTripper
	own         bool          // the connections are ours to close
	uploads     chan struct{} // holds one for each upload that runs
}

func newClient(name string, cfg Config, given *http.Client) *client {
	c := &client{name: name, token: string(cfg.Token), own: given == nil, uploads: make(chan struct{}, uploadsAtOnce)}
	c.base, _ = url.Parse(cfg.APIBase) // Config.complete has looked at it
	switch {
	case given == nil:
		tr := http.DefaultTransport.(*http.Transport).Clone()
		tr.MaxIdleConns, tr.MaxIdleConnsPerHost = idleConns, idleConns
		c.transport = tr
	case given.Transport == nil:
		c.transport = http.DefaultTransport
	default:
		c.transport = given.Transport
	}
	// Only the REST half of the session is used, and its logger is silent: it
	// would print to the standard log, past ours.
	c.session = &discordgo.Session{
		LogLevel:  discordgo.LogError - 1,
		Token:     "Bot " + c.token,
		UserAgent: "DiscordBot (https://github.com/bwmarrin/discordgo, v" + discordgo.VERSION + ")",
	}
	return c
}

func (c *client) closeIdle() {
	if c.own {
		through(c.transport).CloseIdleConnections()
	}
}

// through is a client that follows no redirects; each call has its own bound.
func through(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// request is one call. body is JSON unless kind names another content type.
type request struct {
	op     string // for errors: what was tried
	method string
	url    string // as discordgo's Endpoint… give it; may hold an interaction's token
	body   []byte
	kind   string
	sends  bool // puts something into a chat: without an answer it is Ambiguous
}

// call makes one attempt and returns the answer's body; errors are
// *channels.Error.
func (c *client) call(ctx context.Context, r request) ([]byte, error) {
	patience := callPatience
	if r.kind == "" {
		r.kind = "application/json"
	} else {
		patience = uploadPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	x := &exchange{client: c}
	// A bucket of its own: discordgo's shared ones sleep inside the call, deaf
	// to ctx, and let one slow chat hold up the others. Dispatch keeps the pace.
	bucket := &discordgo.Bucket{}
	bucket.Lock()
	answer, err := c.session.RequestWithLockedBucket(r.method, r.url, r.kind, r.body, bucket, 0,
		discordgo.WithContext(channels.Sent(ctx, &x.wrote)), discordgo.WithClient(through(x)),
		discordgo.WithRestRetries(0), discordgo.WithRetryOnRatelimit(false))
	if err != nil {
		return nil, c.classify(r, x, err)
	}
	return answer, nil
}

// exchange sends one call to where the API really is, and remembers what came
// of it.
type exchange struct {
	client *client
	wrote  atomic.Bool // the platform may have seen the request
	status int
	header http.Header
}

// RoundTrip implements http.RoundTripper. discordgo computes its addresses
// when the program starts, so the host is put in here.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	base := x.client.base
	out.URL.Scheme, out.URL.Host, out.Host = base.Scheme, base.Host, base.Host
	if prefix := base.Path; prefix != "" {
		out.URL.Path, out.URL.RawPath = prefix+out.URL.Path, ""
	}
	resp, err := x.client.transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	x.status, x.header = resp.StatusCode, resp.Header.Clone()
	for key := range resp.Header {
		if strings.HasPrefix(key, "X-Ratelimit-") {
			delete(resp.Header, key) // for discordgo they are a reason to sleep
		}
	}
	resp.Body = limited{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

type limited struct {
	io.Reader
	io.Closer
}

func (c *client) fail(op string, kind channels.Kind, err error) *channels.Error {
	return &channels.Error{Channel: c.name, Op: op, Kind: kind, Err: err}
}
