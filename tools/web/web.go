// Package web holds the tools that reach the web: web_fetch, web_search,
// http_get, http_post and http_request. Every URL that a model chose goes
// through a guard.Guard; the search services of the configuration do not need
// it. What comes back is text from outside and marked so. The goroutines of a
// call end with it.
package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"magpie/tools"
	"magpie/tools/shell/sandbox"
	"magpie/tools/web/guard"
	"magpie/tools/web/page"
)

// Options of the web tools. Zero fields have the default that stands with them.
type Options struct {
	Guard    *guard.Guard // nil: a guard that lets nothing private through
	Format   page.Format  // of web_fetch; Markdown
	MaxChars int          // of web_fetch; 50000
	// PDF is the command that reads PDF files, see pdftext.Command; nil: they
	// are not read.
	PDF []string
	// Wall gives the sandbox that PDF runs in; nil, or one that gives nil: it
	// runs without.
	Wall   func() *sandbox.Sandbox
	Search Searcher // nil: web_search says that none is configured
	// MaxResults bounds the results of one search; 10.
	MaxResults int
}

const defaultMaxChars = 50_000

// agent is what servers see. Some refuse requests without one.
const agent = "Mozilla/5.0 (compatible; Magpie)"

func (o *Options) withDefaults() Options {
	opt := Options{}
	if o != nil {
		opt = *o
	}
	if opt.Guard == nil {
		opt.Guard, _ = guard.New(nil) // fails on a bad entry only
	}
	opt.Format = cmp.Or(opt.Format, page.Markdown)
	if opt.MaxChars <= 0 {
		opt.MaxChars = defaultMaxChars
	}
	return opt
}

// answer is what a server said.
type answer struct {
	status string
	code   int
	header http.Header
	url    *url.URL // after redirects
	body   []byte
	cut    bool // the body is longer
}

// ask sends a request and reads at most `most` bytes of the body, counted after
// decompression.
func ask(client *http.Client, req *http.Request, most int64) (answer, error) {
	ctx := req.Context()
	resp, err := client.Do(req)
	if err != nil {
		var failed *url.Error
		led := errors.As(err, &failed) && failed.URL != req.URL.String()
		if failed != nil {
			err = failed.Err
		}
		if err = guard.Explain(ctx, req.URL.Host, err); led { // to an address that a server has chosen
			err = tools.Outside(err)
		}
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.Status, code: resp.StatusCode, header: resp.Header, url: resp.Request.URL}
	body, err := plain(resp)
	if err != nil {
		return a, err
	}
	a.body, err = io.ReadAll(io.LimitReader(body, most+1))
	if ctx.Err() != nil {
		return a, context.Cause(ctx)
	}
	if err != nil && len(a.body) == 0 {
		return a, guard.Explain(ctx, a.url.Host, err)
	}
	if int64(len(a.body)) > most || err != nil { // a body that breaks off is shown as far as it came
		a.body, a.cut = a.body[:min(int64(len(a.body)), most)], true
	}
	return a, nil
}

// plain undoes a compression that the transport has not undone already.
func plain(resp *http.Response) (io.Reader, error) {
	switch enc := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); enc {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(resp.Body)
		if errors.Is(err, io.EOF) { // an empty body
			return resp.Body, nil
		}
		if err != nil {
			return nil, tools.Errorf(tools.Failed, "the server's answer is said to be gzip and is not")
		}
		return r, nil
	default:
		return nil, tools.Outside(tools.Errorf(tools.Failed, "the server's answer is compressed with %q although that was not asked for", clip(enc, 40)))
	}
}

// kind tells what a body is: its MIME type without parameters, and whether it
// is text of some form. A server's word counts, unless it has none or the bytes
// are no text.
func (a *answer) kind() (name string, text bool) {
	name, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || name == "application/octet-stream" || name == "" {
		name, _, _ = strings.Cut(mimetype.Detect(a.body).String(), ";")
	}
	head := a.body[:min(len(a.body), sniffBytes)]
	if name != "application/pdf" && bytes.HasPrefix(head, []byte("%PDF-")) {
		return "application/pdf", false
	}
	if isUTF16(head) {
		return name, textual(name)
	}
	return name, textual(name) && bytes.IndexByte(head, 0) < 0
}

const sniffBytes = 4096

func isUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

func textual(name string) bool {
	if major, minor, _ := strings.Cut(name, "/"); major == "text" {
		return true
	} else if major != "application" && name != "image/svg+xml" {
		return false
	} else if strings.HasSuffix(minor, "+json") || strings.HasSuffix(minor, "+xml") || strings.HasSuffix(minor, "+yaml") {
		return true
	}
	switch name {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript", "application/ecmascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/graphql",
		"application/x-www-form-urlencoded", "application/x-ndjson", "application/jsonl", "application/ld+json", "application/x-sh":
		return true
	}
	return false
}

// binary is what is said of a body that is no text.
func (a *answer) binary(name string) string {
	if real, _, _ := strings.Cut(mimetype.Detect(a.body).String(), ";"); textual(name) || strings.HasPrefix(name, "application/") {
		name = real // the bytes know better than "text/plain" with a NUL in it
	}
	size := fmt.Sprintf("%d bytes", len(a.body))
	if a.cut {
		size = fmt.Sprintf("more than %d bytes", len(a.body))
	}
	return fmt.Sprintf("Binary content: %s, %s. It is not shown as text.", name, size)
}

// clip shortens foreign text for a message.
func clip(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// newRequest makes a request with what every one of ours carries.
func newRequest(ctx context.Context, method, address string, body io.Reader) (*http.Request, error) {
	u, err := guard.URL(address)
	if err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, tools.Errorf(tools.InvalidArgs, "the request cannot be made: %q is no method or the URL is malformed; want GET, POST and so on", clip(method, 20))
	}
	req.Header.Set("User-Agent", agent)
	return req, nil
}
