package rest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"magpie/channels"
)

// KindOf is what an HTTP status means for the caller when no code of the
// platform says more. A server that fails has almost never sent the message,
// and outages last longer than the one repeat that Ambiguous is worth; a
// gateway that gave up waiting is another matter.
func KindOf(status int) channels.Kind {
	const cloudflareTimeout = 524 // Cloudflare's name for a gateway that gave up waiting
	switch {
	case status == http.StatusGatewayTimeout, status == cloudflareTimeout:
		return channels.Ambiguous
	case status >= http.StatusInternalServerError, status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return channels.Temporary // the last two have not taken the request
	case status == http.StatusTooManyRequests:
		return channels.RateLimited
	case status == http.StatusRequestEntityTooLarge:
		return channels.TooLong
	case status == http.StatusUnauthorized:
		return channels.Unauthorized
	}
	return channels.Rejected
}

var (
	tooFast = regexp.MustCompile(`(?i)\btoo[ .]?(?:fast|many requests|many messages|frequent)|toofast|toomanyrequests|rate[ .]?limit|frequency limit|throttl|flow[ .]?control|限频|限流|超频|频控|频率|频繁`)
	busy    = regexp.MustCompile(`(?i)\bsystem[ .]?(?:err|busy)|\bbusy\b|\btime[d.]? ?out\b|\binternal (?:server )?err|service[ .]?unavailable|try again|稍后|请重试|系统(?:繁忙|错误|异常)|内部错误|服务(?:繁忙|异常)|超时`)
)

// Passing says what the words of a refusal mean whose code no table has: the
// tables lag behind the platforms, and a message that waits is better than one
// that is lost. ok is false when they are not about a trouble that passes.
func Passing(words string) (kind channels.Kind, ok bool) {
	switch {
	case tooFast.MatchString(words):
		return channels.RateLimited, true
	case busy.MatchString(words):
		return channels.Temporary, true
	}
	return channels.Rejected, false
}

// RetryAfter is how long the server wants to be left alone, in whole seconds
// or until a date (RFC 9110, 10.2.3); 0: it does not say.
func RetryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now := time.Now()
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // the server's own clock: ours may be wrong
	}
	return max(0, at.Sub(now))
}

// Unreadable is a call whose file could not be read on our side.
func (c *Client) Unreadable(op string, err error) *channels.Error {
	kind := channels.Temporary
	if errors.Is(err, fs.ErrNotExist) {
		kind = channels.Rejected
	}
	return c.Fail(op, kind, fmt.Errorf("read the file: %w", err))
}

// Clean takes addresses, which may hold tokens, and secrets out of an error.
// errors.Is still finds the cause.
func (c *Client) Clean(err error) error {
	for {
		var ue *url.Error
		if !errors.As(err, &ue) {
			break
		}
		err = ue.Err
	}
	if text := err.Error(); c.Redact(text) != text {
		return redacted{c.Redact(text), err}
	}
	return err
}

// Redact takes the secrets out of a text.
func (c *Client) Redact(text string) string {
	for _, secret := range c.secrets() {
		if secret == "" {
			continue
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			text = strings.ReplaceAll(text, form, "***")
		}
	}
	return text
}

// redacted has another text than its cause, which it does not hand out.
type redacted struct {
	text  string
	cause error
}

func (r redacted) Error() string { return r.text }

// Is implements what errors.Is asks.
func (r redacted) Is(target error) bool { return errors.Is(r.cause, target) }
