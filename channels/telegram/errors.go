package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"magpie/channels"
	"magpie/channels/rest"
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

// sends tells methods that put something into a chat: only for them it
// matters whether a call without an answer had its effect.
func sends(method string) bool {
	return strings.HasPrefix(method, "send") && method != "sendChatAction" && method != draftMethod
}

// judge reads an answer of the Bot API.
func (c *client) judge(a *rest.Answer) error {
	var resp tgbotapi.APIResponse
	if err := json.Unmarshal(a.Body, &resp); err != nil || !resp.Ok && resp.ErrorCode == 0 {
		return rest.ErrNoAnswer
	}
	if resp.Ok {
		return nil
	}
	r := &refusal{code: resp.ErrorCode, text: c.Redact(resp.Description)}
	e := &channels.Error{Kind: channels.Rejected, Err: r}
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
		e.Kind = rest.KindOf(r.code)
	}
	return e
}
