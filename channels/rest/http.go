package rest

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"magpie/internal/proxy"
)

// HTTPClient returns the client for the calls of one channel: given or, when
// that is nil, one with connections of its own, which closeIdle closes. The
// client follows no redirect, since a redirect would carry the token to
// wherever it points, and has no bound of its own: each call brings one.
func HTTPClient(given *http.Client) (client *http.Client, closeIdle func()) {
	var h http.Client
	closeIdle = func() {}
	if given != nil {
		h = *given
	} else {
		h.Transport = proxy.Transport("")
		closeIdle = h.CloseIdleConnections
	}
	h.Timeout = 0
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &h, closeIdle
}

// sent makes wrote true as soon as the server of a request with the returned
// context may have seen it: from then on a send without an answer is Ambiguous.
func sent(ctx context.Context, wrote *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
}
