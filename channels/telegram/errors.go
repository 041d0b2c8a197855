package telegram

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"magpie/channels"
)

// refusal is an answer with ok=false: the platform's own words, of which some
// are the only way to tell one case from another.
type refusal struct {
	code      int
	text      string
	migrateTo int64
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.code, r.text) }

// said reports whether err is a refusal with code 400 and one of these pieces
// in its text, whatever their case.
func said(err error, pieces ...string) bool {
	var r *refusal
	if !errors.As(err, &r) || r.code != http.StatusBadRequest {
		return false
	}
	text := strings.ToLower(r.text)
	for _, p := range pieces {
		if strings.Contains(text, strings.ToLower(p)) {
			return true
		}
	}
	return false
}

func (c *client) fail(op string, kind channels.Kind, err error) *channels.Error {
	return &channels.Error{Channel: c.name, Op: op, Kind: kind, Err: err}
}

// classify says what the caller should do about a call that failed.
func (c *client) classify(method string, x *exchange, resp *tgbotapi.APIResponse, err error) error {
	if x.unread != nil {
		kind := channels.Temporary
		if errors.Is(x.unread, fs.ErrNotExist) {
			kind = channels.Rejected
		}
		return c.fail(method, kind, fmt.Errorf("read the file: %w", x.unread))
	}
	if resp != nil && resp.ErrorCode != 0 {
		return c.refused(method, resp)
	}
	if err == nil {
		err = errors.New("answer without a result")
	}
	err = c.clean(err)
	switch {
	case x.status >= http.StatusInternalServerError:
		return c.fail(method, ofStatus(method, x.status), fmt.Errorf("HTTP status %d", x.status))
	case x.status == http.StatusRequestEntityTooLarge:
		return c.fail(method, channels.TooLong, fmt.Errorf("HTTP status %d", x.status))
	case x.status >= http.StatusMultipleChoices:
		return c.fail(method, channels.Temporary, fmt.Errorf("HTTP status %d without an answer of the Bot API; is api_base right?", x.status))
	case x.wrote.Load() && sends(method):
		return c.fail(method, channels.Ambiguous, err)
	}
	return c.fail(method, channels.Temporary, err)
}

// sends tells methods that put something into a chat: only for them it
// matters whether a call without an answer had its effect.
func sends(method string) bool {
	return strings.HasPrefix(method, "send") && method != "sendChatAction"
}

// ofStatus: a server that fails has almost never sent the message, and outages
// last longer than the one repeat that Ambiguous is worth. A gateway that gave
// up waiting is another matter.
func ofStatus(method string, status int) channels.Kind {
	if status == http.StatusGatewayTimeout && sends(method) {
		return channels.Ambiguous
	}
	return channels.Temporary
}

func (c *client) refused(method string, resp *tgbotapi.APIResponse) error {
	r := &refusal{code: resp.ErrorCode, text: strings.ReplaceAll(resp.Description, c.token, "***")}
	e := c.fail(method, channels.Rejected, r)
	if p := resp.Parameters; p != nil {
		r.migrateTo = p.MigrateToChatID
		e.RetryAfter = time.Duration(p.RetryAfter) * time.Second
	}
	switch {
	case r.code == http.StatusTooManyRequests:
		e.Kind = channels.RateLimited
	case r.code == http.StatusUnauthorized:
		e.Kind = channels.Unauthorized
	case r.code == http.StatusNotFound && !strings.Contains(r.text, "method"):
		e.Kind = channels.Unauthorized // a token that is not even shaped like one
	case r.code == http.StatusConflict:
		e.Kind = channels.Temporary
	case r.code == http.StatusRequestEntityTooLarge, said(r, "too long", "too_long", "file is too big"):
		e.Kind = channels.TooLong
	case r.code >= http.StatusInternalServerError:
		e.Kind = ofStatus(method, r.code)
	}
	return e
}
