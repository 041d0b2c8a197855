package channels

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// idleConns keeps enough connections for many chats at once.
const idleConns = 64

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
		tr := http.DefaultTransport.(*http.Transport).Clone()
		tr.MaxIdleConns, tr.MaxIdleConnsPerHost = idleConns, idleConns
		h.Transport = tr
		closeIdle = h.CloseIdleConnections
	}
	h.Timeout = 0
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &h, closeIdle
}

// Sent makes wrote true as soon as the server of a request with the returned
// context may have seen it: from then on a send without an answer is Ambiguous.
func Sent(ctx context.Context, wrote *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
}

// Download opens the file at an address. The caller closes it; ctx must last
// until then. Without a file it returns the kind of the error beside it, whose
// text may hold the address.
func Download(ctx context.Context, client *http.Client, address string) (io.ReadCloser, Kind, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, Rejected, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, Temporary, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, 0, nil
	}
	defer resp.Body.Close()
	kind := Temporary
	if resp.StatusCode/100 == 4 && resp.StatusCode != http.StatusTooManyRequests {
		kind = Rejected
	}
	return nil, kind, fmt.Errorf("HTTP status %d", resp.StatusCode)
}
