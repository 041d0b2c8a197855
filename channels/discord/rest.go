package discord

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"magpie/channels/rest"
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
)

// client calls Discord's REST API through discordgo.
type client struct {
	*rest.Client
	base    *url.URL
	session *discordgo.Session
	uploads chan struct{} // holds one for each upload that runs
}

func newClient(name string, cfg Config, given *http.Client) *client {
	c := &client{uploads: make(chan struct{}, uploadsAtOnce)}
	c.base, _ = url.Parse(cfg.APIBase) // Config.complete has looked at it
	c.Client = rest.New(rest.Platform{
		Channel: name, Server: "the API", MaxAnswer: maxAnswer, Judge: c.judge,
		Secrets: func() []string { return []string{string(cfg.Token)} },
	}, given)
	// Only the REST half of the session is used, and its logger is silent: it
	// would print to the standard log, past ours.
	c.session = &discordgo.Session{
		LogLevel:  discordgo.LogError - 1,
		Token:     "Bot " + string(cfg.Token),
		UserAgent: "DiscordBot (https://github.com/bwmarrin/discordgo, v" + discordgo.VERSION + ")",
	}
	return c
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
	t := &transport{base: c.base, x: c.Begin(r.op, r.sends)}
	// A bucket of its own: discordgo's shared ones sleep inside the call, deaf
	// to ctx, and let one slow chat hold up the others. Dispatch keeps the pace.
	bucket := &discordgo.Bucket{}
	bucket.Lock()
	_, err := c.session.RequestWithLockedBucket(r.method, r.url, r.kind, r.body, bucket, 0,
		discordgo.WithContext(ctx), discordgo.WithClient(&http.Client{Transport: t}),
		discordgo.WithRestRetries(0), discordgo.WithRetryOnRatelimit(false))
	a, err := t.x.End(err)
	if err != nil {
		return nil, err
	}
	return a.Body, nil
}

// transport sends one call to where the API really is.
type transport struct {
	base *url.URL
	x    *rest.Exchange
}

// RoundTrip implements http.RoundTripper. discordgo computes its addresses
// when the program starts, so the host is put in here.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host = t.base.Scheme, t.base.Host, t.base.Host
	if prefix := t.base.Path; prefix != "" {
		out.URL.Path, out.URL.RawPath = prefix+out.URL.Path, ""
	}
	resp, err := t.x.Do(out)
	if err != nil {
		return nil, err
	}
	for key := range resp.Header {
		if strings.HasPrefix(key, "X-Ratelimit-") {
			delete(resp.Header, key) // for discordgo they are a reason to sleep
		}
	}
	return resp, nil
}
