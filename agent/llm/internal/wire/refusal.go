package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/agent/llm"
)

const (
	// maxExcerpt bounds what an error quotes of a server's answer, in runes.
	maxExcerpt = 300
	// maxRetryAfter bounds a server's wish to be left alone.
	maxRetryAfter = 24 * time.Hour
)

// Refusal is a server's own account of a failure, shortened, without the key.
type Refusal struct {
	Type    string
	Code    string
	Param   string
	Message string
}

func (r *Refusal) Error() string {
	if r.Code != "" && !strings.Contains(r.Message, r.Code) {
		return r.Message + " (" + r.Code + ")"
	}
	return r.Message
}

// Names says whether the refusal is about the field of that name.
func (r *Refusal) Names(field string) bool {
	return r.Param == field || strings.Contains(r.Message, field)
}

// Refused judges an answer that is a failure. status 0 is a failure inside a
// stream that began well.
func (c *Client) Refused(status int, h http.Header, body []byte) error {
	r, ok := parseRefusal(body)
	if !ok {
		r = Refusal{Message: "unreadable answer: " + string(body)}
		if len(strings.TrimSpace(string(body))) == 0 {
			r.Message = "empty answer"
		}
	}
	e := &llm.Error{Provider: c.name, Status: status, RetryAfter: retryAfter(h)}
	if status == 0 {
		status = r.status()
	}
	e.Kind = r.kind(status)
	if !ok && e.Kind == llm.Rejected && status != http.StatusNotFound && status != http.StatusMethodNotAllowed && status >= 400 {
		e.Kind = llm.Temporary // not the model's server speaks, but something before it
	}
	r.Message = excerpt(c.hide(r.Message))
	r.Type, r.Code, r.Param = c.hide(excerpt(r.Type)), c.hide(excerpt(r.Code)), c.hide(excerpt(r.Param))
	e.Err = &r
	return e
}

// Unreadable is the error for an answer that is no reply at all.
func (c *Client) Unreadable(what string, raw []byte) error {
	text := excerpt(c.hide(string(raw)))
	if text == "" {
		text = "nothing"
	}
	return c.Error(llm.Temporary, fmt.Errorf("%s: %s", what, text))
}

// parseRefusal reads the shapes in which servers tell of errors: an object
// with error, message or detail, alone or in a list.
func parseRefusal(body []byte) (Refusal, bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    string          `json:"type"`
		Code    any             `json:"code"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return Refusal{}, false
	}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
		Param   any    `json:"param"`
	}
	var text string
	switch {
	case json.Unmarshal(outer.Error, &text) == nil && text != "":
		return Refusal{Type: outer.Type, Code: word(outer.Code), Message: text}, true
	case json.Unmarshal(outer.Error, &inner) == nil && (inner.Message != "" || inner.Type != "" || inner.Code != nil):
		r := Refusal{Type: inner.Type, Code: word(inner.Code), Param: word(inner.Param), Message: inner.Message}
		if r.Message == "" {
			r.Message = r.Type
		}
		return r, true
	case outer.Message != "":
		return Refusal{Type: outer.Type, Code: word(outer.Code), Message: outer.Message}, true
	case len(outer.Detail) > 0:
		return Refusal{Message: string(outer.Detail)}, true
	}
	return Refusal{}, false
}

func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return ""
	}
}

// status guesses the HTTP status of a failure inside a stream.
func (r Refusal) status() int {
	if n, err := strconv.Atoi(r.Code); err == nil && n >= 400 && n < 600 {
		return n
	}
	for _, word := range []string{r.Type, r.Code} {
		switch word {
		case "authentication_error", "invalid_api_key":
			return http.StatusUnauthorized
		case "permission_error", "billing_error":
			return http.StatusForbidden
		case "rate_limit_error", "rate_limit_exceeded", "requests", "tokens":
			return http.StatusTooManyRequests
		case "invalid_request_error", "not_found_error", "context_length_exceeded":
			return http.StatusBadRequest
		}
	}
	return 0
}

// Vendors give most of these no code of their own, so their words have to do.
var (
	tooLong = []string{
		"context_length_exceeded", "exceed_context_size", "request_too_large", "string_above_max_length",
		"prompt is too long", "input is too long", "maximum context length", "exceed context limit",
		"exceeds the available context", "exceeds the context window", "exceeds the maximum number of tokens",
		"reduce the length", "too many input tokens", "context window exceeded",
	}
	noMoney = []string{
		"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient balance",
		"insufficient_balance", "credit balance is too low", "account_deactivated", "invalid_api_key",
	}
)

func (r Refusal) kind(status int) llm.Kind {
	all := strings.ToLower(r.Type + "\n" + r.Code + "\n" + r.Message)
	has := func(words []string) bool {
		for _, w := range words {
			if strings.Contains(all, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has(noMoney), status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden:
		return llm.Unauthorized
	case has(tooLong), status == http.StatusRequestEntityTooLarge:
		return llm.TooLong
	case status == http.StatusTooManyRequests:
		return llm.RateLimited
	case status == 0, status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return llm.Temporary
	default:
		return llm.Rejected
	}
}

// retryAfter reads the ways in which servers say when to come back: seconds, a
// duration, a date, or milliseconds in a header of their own.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return wait(s)
	}
	if d, err := time.ParseDuration(v); err == nil {
		return wait(d.Seconds())
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now := time.Now()
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent // both by the server's clock
	}
	return wait(at.Sub(now).Seconds())
}

func wait(seconds float64) time.Duration {
	if !(seconds > 0) { // also not a number
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}

// excerpt is the beginning of s on one line.
func excerpt(s string) string {
	if len(s) > 8*maxExcerpt {
		s = s[:8*maxExcerpt]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if utf8.RuneCountInString(s) <= maxExcerpt {
		return s
	}
	return string([]rune(s)[:maxExcerpt]) + "…"
}

// IsRefusal returns the server's own words, when err has them.
func IsRefusal(err error) (*Refusal, bool) {
	var r *Refusal
	ok := errors.As(err, &r)
	return r, ok
}
