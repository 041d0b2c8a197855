package rest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"magpie/channels"
)

// Exchange is one request and what became of it. Do may be what an SDK sends
// with: the SDK's own reading of the answer is not asked.
type Exchange struct {
	c      *Client
	op     string
	sends  bool
	wrote  atomic.Bool // the platform may have seen the request
	file   *guarded    // a body that is read while it is sent
	answer *Answer     // nil: none came; without Body when it broke off
	broken error       // what broke it off
}

// Begin makes an exchange. sends means that the call puts something into a
// chat: without an answer it is Ambiguous then.
func (c *Client) Begin(op string, sends bool) *Exchange {
	return &Exchange{c: c, op: op, sends: sends}
}

// Do sends the request and reads the answer, whose body can be read again.
func (x *Exchange) Do(req *http.Request) (*http.Response, error) {
	out := req.WithContext(sent(req.Context(), &x.wrote))
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		x.file = &guarded{body: req.Body}
		out.Body = x.file
	}
	resp, err := x.c.http.Do(out)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	x.take(resp)
	if x.broken != nil {
		return nil, x.broken
	}
	resp.Body = io.NopCloser(bytes.NewReader(x.answer.Body))
	return resp, nil
}

// take reads an answer within its bound.
func (x *Exchange) take(resp *http.Response) {
	x.answer = &Answer{Status: resp.StatusCode, Header: resp.Header.Clone()}
	limit := x.c.p.MaxAnswer
	raw, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		x.broken = fmt.Errorf("read the answer: %w", err)
	case int64(len(raw)) > limit:
		x.broken = fmt.Errorf("the answer is larger than %d bytes", limit)
	default:
		x.answer.Body = raw
	}
}

// End says how the exchange ended; err is what Do returned. It waits until
// nobody reads the request's body any more, and closes it.
func (x *Exchange) End(err error) (*Answer, error) {
	if x.file != nil {
		if unread := x.file.finish(); unread != nil {
			return nil, x.c.Unreadable(x.op, unread)
		}
	}
	if x.answer == nil {
		if err == nil {
			err = errors.New("nothing was sent")
		}
		return nil, x.lost(err)
	}
	if x.broken != nil {
		return nil, x.silent(x.broken)
	}
	judged := x.c.p.Judge(x.answer)
	switch {
	case judged == nil:
		return x.answer, nil
	case errors.Is(judged, ErrNoAnswer):
		return nil, x.silent(nil)
	}
	return nil, x.refused(judged)
}

// lost is a call without an answer.
func (x *Exchange) lost(err error) *channels.Error {
	kind := channels.Temporary
	if x.sends && x.wrote.Load() {
		kind = channels.Ambiguous
	}
	return x.c.Fail(x.op, kind, err)
}

// silent is an answer that is not the platform's, or broke off.
func (x *Exchange) silent(broken error) *channels.Error {
	status := x.answer.Status
	err := fmt.Errorf("HTTP status %d without an answer of %s", status, x.c.p.Server)
	if broken != nil {
		err = fmt.Errorf("HTTP status %d: %w", status, broken)
	}
	kind := KindOf(status)
	if kind == channels.Rejected || kind == channels.Unauthorized {
		kind = channels.Temporary // it was somebody else who said that
		switch {
		case status == http.StatusProxyAuthRequired:
			err = fmt.Errorf("the proxy does not let the bot through (HTTP status %d): give its user and password, as in http://user:password@host:port", status)
		case broken == nil:
			err = fmt.Errorf("%w; is api_base right?", err)
		}
	}
	if status/100 == 2 {
		return x.lost(err)
	}
	return x.failed(kind, err)
}

// refused is an answer of the platform that says no.
func (x *Exchange) refused(err error) *channels.Error {
	var known *channels.Error
	if !errors.As(err, &known) {
		return x.failed(KindOf(x.answer.Status), err)
	}
	e := x.failed(known.Kind, known.Err)
	e.RetryAfter, e.Global = cmp.Or(known.RetryAfter, e.RetryAfter), known.Global
	return e
}

func (x *Exchange) failed(kind channels.Kind, err error) *channels.Error {
	if kind == channels.Ambiguous && !x.sends {
		kind = channels.Temporary
	}
	e := x.c.Fail(x.op, kind, err)
	if kind == channels.RateLimited {
		e.RetryAfter = RetryAfter(x.answer.Header)
	}
	return e
}
