// Package search asks a search service of the configuration: Brave, Tavily,
// Google, Bing, DuckDuckGo or SearXNG, one file for each way of asking. It
// caches nothing, does not retry and starts no goroutine.
package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"magpie/chat"
	"magpie/internal/proxy"
	"magpie/tools"
)

// Result is one hit. Snippet may be empty.
type Result struct {
	Title   string
	URL     string
	Snippet string
}

// Options of a Client.
type Options struct {
	// Provider is brave, tavily, google, bing, duckduckgo or searxng; "" means
	// that none is configured.
	Provider string
	APIKey   chat.Secret
	EngineID string // google only
	// BaseURL replaces scheme and host of the provider's address; required for
	// searxng, which has none.
	BaseURL string
	// HTTP sends the requests; nil: a client of its own that follows no
	// redirects, since a key must not go elsewhere.
	HTTP *http.Client
}

// Client asks one provider. Safe for concurrent use.
type Client struct {
	opt Options
}

// String keeps the key out of logs: fmt shows fields that it cannot ask to hide
// themselves.
func (c *Client) String() string { return "search by " + c.opt.Provider }

const (
	timeout     = 20 * time.Second // of one request
	maxResponse = 2 << 20          // bytes
	agent       = "Mozilla/5.0 (X11; Linux x86_64) Magpie"
)

// provider is one service. Addresses, parameters and answers are those of the
// vendors' documentation, read 2026-11-21.
type provider struct {
	base    string // scheme and host
	key     bool   // needs api_key
	most    int    // results of one request
	request func(q query) (*http.Request, error)
	results func(body []byte) ([]Result, error)
}

// query is one search, ready to be sent.
type query struct {
	Options
	text  string
	count int
}

func providers() map[string]provider {
	return map[string]provider{
		"brave":      {"https://api.search.brave.com", true, 20, braveRequest, braveResults},
		"tavily":     {"https://api.tavily.com", true, 20, tavilyRequest, tavilyResults},
		"google":     {"https://www.googleapis.com", true, 10, googleRequest, googleResults},
		"bing":       {"https://api.bing.microsoft.com", true, 50, bingRequest, bingResults},
		"duckduckgo": {"https://html.duckduckgo.com", false, 30, duckRequest, duckResults},
		"searxng":    {"", false, 50, searxRequest, searxResults},
	}
}

// New makes a Client. What is missing is said by Search, since the tool is
// offered in any case.
func New(o Options) *Client {
	if o.HTTP == nil {
		o.HTTP = &http.Client{
			Timeout:       timeout,
			Transport:     &http.Transport{Proxy: proxy.Environment, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Client{opt: o}
}

// missing names the first key of the configuration that is not there.
func (c *Client) missing(p provider, known bool) string {
	const at = "tools.web.search."
	switch {
	case c.opt.Provider == "":
		return at + "provider"
	case !known:
		return at + "provider (one of brave, tavily, google, bing, duckduckgo, searxng)"
	case p.key && c.opt.APIKey == "":
		return at + "api_key"
	case c.opt.Provider == "google" && c.opt.EngineID == "":
		return at + "engine_id"
	case p.base == "" && c.opt.BaseURL == "":
		return at + "base_url"
	}
	return ""
}

// Search returns at most count results, and never more than the provider gives
// at once. Errors are written for the model and hold no key.
func (c *Client) Search(ctx context.Context, text string, count int) ([]Result, error) {
	p, known := providers()[c.opt.Provider]
	if key := c.missing(p, known); key != "" {
		who := c.opt.Provider
		if who == "" {
			who = "no provider yet"
		}
		return nil, tools.Errorf(tools.Failed, "web search is not set up (%s): %s is missing in the bot's configuration. Tell the person so;"+
			" a page whose address you know can be read with web_fetch", who, key)
	}
	q := query{Options: c.opt, text: text, count: max(1, min(count, p.most))}
	if q.BaseURL == "" {
		q.BaseURL = p.base
	}
	req, err := p.request(q)
	if err != nil {
		return nil, tools.Errorf(tools.Failed, "the search cannot be sent: tools.web.search.base_url is no URL; tell the person")
	}
	req.Header.Set("User-Agent", agent)
	body, err := c.send(req.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	found, err := p.results(body)
	if err != nil {
		return nil, tools.Outside(c.failed(tools.Failed, "its answer cannot be read (%v)", err))
	}
	return tidy(found, q.count), nil
}

func (c *Client) failed(kind tools.ErrorKind, format string, args ...any) error {
	return tools.Errorf(kind, "the search service %s failed: %s", c.opt.Provider, fmt.Sprintf(format, args...))
}

func (c *Client) send(req *http.Request) ([]byte, error) {
	resp, err := c.opt.HTTP.Do(req)
	ctx := req.Context()
	if ctx.Err() != nil {
		if err == nil {
			resp.Body.Close()
		}
		return nil, context.Cause(ctx)
	}
	var timed interface{ Timeout() bool }
	if errors.As(err, &timed) && timed.Timeout() {
		return nil, c.failed(tools.Timeout, "it did not answer in time; try again later")
	}
	if err != nil { // its text holds the URL, and that may hold the key
		return nil, c.failed(tools.Failed, "no connection; try again later, or go on without it")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, c.failed(tools.Failed, "its answer broke off; try again")
	}
	if err := c.refusal(resp, body); err != nil {
		return nil, tools.Outside(err) // it quotes the answer
	}
	return body, nil
}

// refusal explains an answer that is no result.
func (c *Client) refusal(resp *http.Response, body []byte) error {
	said := c.reason(body)
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		return nil
	case badKey(c.opt.Provider, code, body):
		return c.failed(tools.Permission, "it refused the key (%s%s); tools.web.search.api_key is wrong, expired or may not be used for this, tell the person", resp.Status, said)
	case code == http.StatusAccepted: // DuckDuckGo takes us for a robot
		return c.failed(tools.Failed, "it wants a person to answer a riddle (%s); try again later", resp.Status)
	case code == http.StatusTooManyRequests, code == statusPlan, code == statusPayGo:
		return c.failed(tools.Failed, "too many searches (%s%s); try again later, or go on without it", resp.Status, said)
	case code == http.StatusForbidden && c.opt.Provider == "searxng":
		return c.failed(tools.Failed, "it does not give JSON (%s); its owner must add json to search.formats in its settings", resp.Status)
	case code >= http.StatusInternalServerError:
		return c.failed(tools.Failed, "it has trouble of its own (%s); try again later", resp.Status)
	}
	return c.failed(tools.Failed, "%s%s", resp.Status, said)
}

// Tavily's codes for a used-up plan.
const (
	statusPlan  = 432
	statusPayGo = 433
)

// badKey: Brave says 422 and Google 400 to a wrong key, the others 401 or 403.
func badKey(provider string, code int, body []byte) bool {
	switch code {
	case http.StatusUnauthorized:
		return true
	case http.StatusForbidden:
		return provider == "brave" || provider == "bing" || provider == "tavily" ||
			provider == "google" && !bytes.Contains(body, []byte("rateLimitExceeded"))
	case http.StatusUnprocessableEntity:
		return provider == "brave" && bytes.Contains(body, []byte("SUBSCRIPTION_TOKEN"))
	case http.StatusBadRequest:
		return provider == "google" && bytes.Contains(body, []byte("API_KEY_INVALID"))
	}
	return false
}

// reason finds what a service says of a refusal, without the key.
func (c *Client) reason(body []byte) string {
	var said struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{said.Error, said.Detail} {
		var text string
		var inner struct{ Message, Detail, Error string }
		if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &inner) == nil {
			text = strings.TrimSpace(inner.Message + inner.Detail + inner.Error)
		}
		if key := string(c.opt.APIKey); key != "" {
			text = strings.ReplaceAll(text, key, "***")
		}
		if text = clean(text, maxReason); text != "" {
			return ": " + text
		}
	}
	return ""
}

// address joins the base with the vendor's path and parameters.
func (q query) address(path string, params url.Values) (string, error) {
	u, err := url.Parse(q.BaseURL)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("base URL: %w", errors.Join(err, errNoHost))
	}
	u = u.JoinPath(path)
	if strings.HasSuffix(path, "/") && !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	u.RawQuery = params.Encode()
	return u.String(), nil
}

var errNoHost = errors.New("want scheme and host")

// get makes a GET request.
func (q query) get(path string, params url.Values) (*http.Request, error) {
	address, err := q.address(path, params)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	return req, nil
}

// tidy drops hits without an address and repeated ones, and cleans texts.
func tidy(found []Result, count int) []Result {
	var kept []Result
	for _, r := range found {
		r.Title, r.Snippet = clean(r.Title, maxTitle), clean(r.Snippet, maxSnippet)
		u, err := url.Parse(strings.TrimSpace(r.URL))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			continue
		}
		r.URL = u.String()
		if slices.ContainsFunc(kept, func(k Result) bool { return k.URL == r.URL }) {
			continue
		}
		if r.Title == "" {
			r.Title = u.Host
		}
		if kept = append(kept, r); len(kept) == count {
			break
		}
	}
	return kept
}
