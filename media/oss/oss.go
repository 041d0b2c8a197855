// Package oss puts files into an Aliyun OSS bucket, for platforms whose servers
// fetch a file by its URL instead of taking its bytes. It is the only package
// that knows the SDK. A Bucket starts no goroutine of its own; those of its
// HTTP connections end when they have been idle for a while.
package oss

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	sdk "github.com/aliyun/aliyun-oss-go-sdk/oss"

	"magpie/chat"
	"magpie/internal/proxy"
	"magpie/media"
)

const (
	putTries   = 4
	putPause   = 500 * time.Millisecond // before the second try; doubles
	putTimeout = 3 * time.Minute        // one try: 20 MiB at 120 KiB/s
	callWait   = 30 * time.Second       // a call without a body
	idleWait   = 90 * time.Second       // of a connection
	defaultTTL = time.Hour
	// A URL of signature V4 lives for 7 days at most
	// (help.aliyun.com/zh/oss/developer-reference/add-signatures-to-urls, read November 2026).
	maxTTL = 7 * 24 * time.Hour
)

// Options of New. Endpoint, Bucket and both halves of the key are required.
type Options struct {
	// Endpoint is the service's URL without the bucket; an IP address means
	// that the bucket stands in the path. "https://" may be left out.
	Endpoint string
	// CNAME says that Endpoint is a domain of the bucket's owner that is bound to
	// the bucket.
	CNAME           bool
	Bucket          string
	AccessKeyID     string
	AccessKeySecret chat.Secret
	Region          string // such as cn-hangzhou; "" = told from Endpoint
	Prefix          string // of every key
	// PublicBaseURL is where the bucket can be read by everybody, for a bucket
	// or a CDN that is set up so; "" = URLs are signed and the objects are as
	// private as the bucket. An object is never made public here.
	PublicBaseURL string
	URLTTL        time.Duration     // how long a signed URL is good; 1 h, at most 7 days
	Transport     http.RoundTripper // nil = one of its own
	Now           func() time.Time  // of the date in keys; nil = time.Now
}

// Bucket is a place for files that others fetch. Safe for concurrent use.
type Bucket struct {
	opt    Options
	bucket *sdk.Bucket
	signer *sdk.Bucket // signs what others fetch
	http   *http.Client
	pause  time.Duration // before the second try
}

// File is a file to put.
type File struct {
	Name string // for people; any text
	MIME string // "" = unknown
	// Open gives the bytes, each time from the beginning.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// New returns a Bucket; it makes no call.
func New(o Options) (*Bucket, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.URLTTL <= 0 {
		o.URLTTL = defaultTTL
	}
	o.URLTTL = min(o.URLTTL, maxTTL)
	if o.Transport == nil {
		o.Transport = &http.Transport{
			Proxy:       proxy.Environment,
			DialContext: (&net.Dialer{Timeout: callWait}).DialContext, TLSHandshakeTimeout: callWait,
			ResponseHeaderTimeout: callWait, IdleConnTimeout: idleWait, MaxIdleConnsPerHost: 2,
		}
	}
	b := &Bucket{opt: o, pause: putPause, http: &http.Client{
		Transport:     o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	endpoint, region, err := place(&o)
	if err != nil {
		return nil, err
	}
	if b.bucket, err = b.at(endpoint, region); err != nil {
		return nil, err
	}
	b.signer, err = b.at(public(endpoint), region)
	return b, err
}

// at is the bucket as an endpoint serves it.
func (b *Bucket) at(endpoint, region string) (*sdk.Bucket, error) {
	o := &b.opt
	client, err := sdk.New(endpoint, o.AccessKeyID, string(o.AccessKeySecret), sdk.HTTPClient(b.http), sdk.UserAgent("magpie"),
		sdk.AuthVersion(sdk.AuthV4), sdk.Region(region), sdk.UseCname(o.CNAME))
	if err != nil {
		return nil, fmt.Errorf("oss endpoint %q: %w", o.Endpoint, err)
	}
	bucket, err := client.Bucket(o.Bucket)
	if err != nil {
		return nil, fmt.Errorf("oss bucket %q: %w", o.Bucket, err)
	}
	return bucket, nil
}

// Put stores a file under a new key that nobody can guess and returns the URL
// by which it can be fetched. What may pass is tried again; Put blocks until
// the file is there, is refused for good, or ctx ends. Errors are *Error, or
// those of f.Open and ctx.
func (b *Bucket) Put(ctx context.Context, f File) (string, error) {
	size, err := measure(ctx, f)
	if err != nil {
		return "", err
	}
	key := b.key(f.Name)
	for try, pause := 1, b.pause; ; try, pause = try+1, 2*pause {
		err := b.putOnce(ctx, key, f, size)
		if err == nil {
			return b.url(key)
		}
		if ctx.Err() == nil && (try == putTries || !passing(err)) {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("put %q: %w", f.Name, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// measure counts the bytes: the service wants to know before it reads.
func measure(ctx context.Context, f File) (int64, error) {
	body, err := f.Open(ctx)
	if err != nil {
		return 0, fmt.Errorf("open %q: %w", f.Name, err)
	}
	defer body.Close()
	size, err := io.Copy(io.Discard, body)
	if err != nil {
		return 0, fmt.Errorf("read %q: %w", f.Name, err)
	}
	return size, nil
}

func (b *Bucket) putOnce(ctx context.Context, key string, f File, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	body, err := f.Open(ctx)
	if err != nil {
		return fmt.Errorf("open %q: %w", f.Name, err)
	}
	defer body.Close()
	mime := f.MIME
	if mime == "" {
		mime = "application/octet-stream"
	}
	var sent io.Reader // nil: the SDK would send an empty reader in chunks, which is refused
	if size > 0 {
		sent = io.LimitReader(body, size) // a kind of reader whose length the SDK knows
	}
	err = b.bucket.PutObject(key, sent,
		sdk.WithContext(ctx), sdk.ContentType(mime), sdk.ContentDisposition(disposition(f.Name, mime)))
	return b.failed("put", err)
}

// key is a new name in the bucket: dated, so that a lifecycle rule or a person
// can clear up, and random, so that a URL tells nothing about another one.
func (b *Bucket) key(name string) string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	id := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random[:]))
	prefix := strings.TrimLeft(b.opt.Prefix, `/\`) // the service refuses such keys
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return prefix + path.Join(b.opt.Now().UTC().Format("2006/01/02"), id, media.CleanName(name))
}

// url is where the object can be fetched.
func (b *Bucket) url(key string) (string, error) {
	if base := b.opt.PublicBaseURL; base != "" {
		return strings.TrimRight(base, "/") + "/" + (&url.URL{Path: key}).EscapedPath(), nil
	}
	signed, err := b.signer.SignURL(key, sdk.HTTPGet, int64(b.opt.URLTTL/time.Second))
	if err != nil {
		return "", b.failed("sign", err)
	}
	// The SDK escapes the slashes of the key as well. They are signed as
	// slashes, and with them the last part of the path is the file's name.
	where, query, _ := strings.Cut(signed, "?")
	return strings.ReplaceAll(where, "%2F", "/") + "?" + query, nil
}

// disposition names the file for who saves it, in the form of RFC 6266 with
// letters of any language as in RFC 5987. What a browser can show is shown.
func disposition(name, mime string) string {
	name = media.CleanName(name)
	kind := "attachment"
	switch media.KindOf(mime) {
	case chat.Image, chat.Audio, chat.Video:
		kind = "inline"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%`, r) {
			return '_'
		}
		return r
	}, name)
	value := fmt.Sprintf(`%s; filename="%s"`, kind, plain)
	if plain != name {
		value += "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	}
	return value
}

// errNotTheSame: the bytes that came back are others.
var errNotTheSame = errors.New("the bytes that came back are not those that were put")

// checkText is what Check puts.
const checkText = "Magpie checks this bucket; the object is deleted at once.\n"

// Check proves the configuration by putting, fetching and deleting a small
// file. The *Error names the step that failed, and Advice what to do.
func (b *Bucket) Check(ctx context.Context) error {
	key := b.key("magpie-check.txt")
	f := File{Name: "magpie-check.txt", MIME: "text/plain", Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(checkText)), nil
	}}
	if err := b.putOnce(ctx, key, f, int64(len(checkText))); err != nil {
		return err
	}
	err := b.fetch(ctx, key)
	// It is taken away again also when ctx has ended meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callWait)
	defer cancel()
	gone := b.failed("delete", b.bucket.DeleteObject(key, sdk.WithContext(ctx)))
	if err != nil {
		return err
	}
	return gone
}

// fetch gets what Check has put as a platform would.
func (b *Bucket) fetch(ctx context.Context, key string) error {
	op := "signed get"
	if b.opt.PublicBaseURL != "" {
		op = "get at public_base_url"
	}
	where, err := b.url(key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return &Error{Op: op, Err: errors.New("the URL cannot be used: correct endpoint or public_base_url")}
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return b.failed(op, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return b.failed(op, err)
	case resp.StatusCode != http.StatusOK:
		return b.refusal(op, resp, body)
	case string(body) != checkText:
		return &Error{Op: op, Err: errNotTheSame}
	}
	return nil
}
