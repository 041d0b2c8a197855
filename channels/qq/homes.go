package qq

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// home is where the platform can be reached.
type home struct{ api, token string }

// homes sends the calls of a bot whose configuration names no address to the
// one of the platform's that answers: the other is tried when there is no
// answer, or one that is not the API's. What has answered is remembered.
type homes struct {
	next   http.RoundTripper
	learnt *learnt

	once sync.Once
	now  atomic.Int32 // index of the one in use
	all  []home
}

func newHomes(next http.RoundTripper, l *learnt) *homes {
	if next == nil {
		next = http.DefaultTransport
	}
	return &homes{next: next, learnt: l, all: []home{{publicAPI, publicToken}, {olderAPI, olderToken}}}
}

// CloseIdleConnections closes those of the transport below.
func (h *homes) CloseIdleConnections() {
	if c, ok := h.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (h *homes) RoundTrip(req *http.Request) (*http.Response, error) {
	if !h.ours(req.URL) {
		return h.next.RoundTrip(req)
	}
	h.once.Do(func() {
		for i, at := range h.all {
			if at.api == h.learnt.home() {
				h.now.Store(int32(i))
			}
		}
	})
	req, err := again(req)
	if err != nil {
		return nil, err
	}
	begin := int(h.now.Load())
	var wrote atomic.Bool
	resp, err := h.next.RoundTrip(h.to(req, begin, &wrote))
	if !elsewhere(resp, err, wrote.Load()) || req.Context().Err() != nil {
		return resp, err
	}
	for i := 1; i < len(h.all); i++ {
		n := (begin + i) % len(h.all)
		second, ok := replay(req)
		if !ok {
			break
		}
		wrote.Store(false)
		other, otherErr := h.next.RoundTrip(h.to(second, n, &wrote))
		if elsewhere(other, otherErr, wrote.Load()) {
			if other != nil {
				_ = other.Body.Close()
			}
			continue
		}
		if otherErr == nil {
			h.now.Store(int32(n))
			h.learnt.moved(h.all[n].api)
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
		return other, otherErr
	}
	return resp, err
}

// ours reports whether a request goes to one of the addresses.
func (h *homes) ours(u *url.URL) bool {
	for _, at := range h.all {
		if base := u.Scheme + "://" + u.Host; base == at.api || base == at.token {
			return true
		}
	}
	return false
}

// to is the request for the n-th address.
func (h *homes) to(req *http.Request, n int, wrote *atomic.Bool) *http.Request {
	base := h.all[n].api
	if strings.HasSuffix(req.URL.Path, "/getAppAccessToken") {
		base = h.all[n].token
	}
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	out := req.Clone(ctx)
	if u, err := url.Parse(base); err == nil { // a constant
		out.URL.Scheme, out.URL.Host, out.Host = u.Scheme, u.Host, ""
	}
	return out
}

// maxReplay is the largest body that is kept for a second try, in bytes. What
// is larger comes after calls that have found the address.
const maxReplay = 64 << 10

// again gives a small request a body that can be read again.
func again(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody || req.GetBody != nil || req.ContentLength <= 0 || req.ContentLength > maxReplay {
		return req, nil
	}
	raw, err := io.ReadAll(req.Body)
	_ = req.Body.Close() // all of it was read
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	out.Body, err = out.GetBody()
	return out, err
}

// replay is a request that can be made once more.
func replay(req *http.Request) (*http.Request, bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	out := req.Clone(req.Context())
	out.Body = body
	return out, true
}

// elsewhere reports that the platform is not there: nobody took the call, or
// something else answered that knows nothing of it.
func elsewhere(resp *http.Response, err error, wrote bool) bool {
	if err != nil {
		return !wrote
	}
	switch resp.StatusCode {
	case http.StatusForbidden, http.StatusNotFound, http.StatusGone, http.StatusMisdirectedRequest:
		kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		return err != nil || kind != "application/json"
	}
	return resp.StatusCode/100 == 3
}
