package dingtalk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"magpie/channels"
)

// refusal is DingTalk's no: Code on the API server, errcode on the old one.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	errcode int
	scopes  []string
}

func (r *refusal) Error() string {
	code := r.Code
	if code == "" {
		code = strconv.Itoa(r.errcode)
	}
	text := strings.TrimSpace(code + " " + r.Message)
	if len(r.scopes) > 0 {
		text += "; grant the application the permission " + strings.Join(r.scopes, ", ")
	}
	if help := advice[code]; help != "" {
		text += "; " + help
	}
	return text
}

// Codes of the API server and what they mean for the caller, from the error
// tables of the robot and card calls and of
// https://open.dingtalk.com/document/development/server-api-error-codes-1
// (pages of 2026-06 to 2026-08). What is not here follows from its HTTP status.
var kinds = map[string]channels.Kind{
	"invalidClientIdOrSecret":                            channels.Unauthorized,
	"unauthorized.client":                                channels.Unauthorized,
	"InvalidAuthentication":                              channels.Unauthorized,
	"Forbidden.AccessDenied.IpNotInWhiteList":            channels.Unauthorized,
	"invalidParameter.msgParam.tooLong":                  channels.TooLong,
	"param.stream.content":                               channels.TooLong,
	"send.byToken.tooFast":                               channels.RateLimited,
	"send.too.fast":                                      channels.RateLimited,
	"too.many.group":                                     channels.RateLimited,
	"too.many.people":                                    channels.RateLimited,
	"unknown.send.result":                                channels.Ambiguous,
	"Forbidden.AccessDenied.AccessTokenPermissionDenied": channels.Rejected,
}

// advice says what to do about codes that the operator can heal.
var advice = map[string]string{
	"invalidClientIdOrSecret":                    "check client_id and client_secret",
	"unauthorized.client":                        "check that the application is published in the organisation",
	"Forbidden.AccessDenied.IpNotInWhiteList":    "add this machine's address to the application's outgoing IP list, or empty the list",
	"invalidParameter.robotCode.notExsit":        "check robot_code, and that the robot is published",
	"invalidParameter.robotCode.auth":            "check robot_code: it belongs to another application",
	"Forbidden.AccessDenied.ApiCountLimitForOrg": apiCount,
	"90020":                      apiCount,
	"chatbotId.notAllow.sendOTO": "check that the robot is enabled and published",
}

// apiCount is the advice about the monthly quota
// (http://www.dingtalk.com/qidian/help-detail-1061621972.html, read November 2026).
const apiCount = "the organisation has used up its API calls of this month; answers to fresh messages still go"

// Errcodes of the old server (200 with errcode), from
// https://open.dingtalk.com/document/development/custom-robots-send-group-messages
// and the page above.
var errcodes = map[int]channels.Kind{
	-1:     channels.Temporary,
	90002:  channels.RateLimited,
	410100: channels.RateLimited,
	40001:  channels.Unauthorized,
	40014:  channels.Unauthorized,
	42001:  channels.Unauthorized,
	41001:  channels.Unauthorized,
	40009:  channels.TooLong,
}

const (
	// perSecond and perMinute are the pauses after a limit of that kind, which
	// DingTalk's codes name without a time.
	perSecond = time.Second
	perMinute = time.Minute
)

func (c *client) fail(op string, kind channels.Kind, err error) *channels.Error {
	return &channels.Error{Channel: c.name, Op: op, Kind: kind, Err: c.clean(err)}
}

// classify says what the caller should do about a call that failed.
func (c *client) classify(k call, x *exchange, err error) error {
	var no *refusal
	switch {
	case x.unread != nil:
		kind := channels.Temporary
		if errors.Is(x.unread, fs.ErrNotExist) {
			kind = channels.Rejected
		}
		return c.fail(k.op, kind, fmt.Errorf("read the file: %w", x.unread))
	case errors.As(err, &no):
		e := c.fail(k.op, no.kind(x.status), no)
		if e.Kind == channels.RateLimited {
			e.RetryAfter = no.pause(x)
		}
		if e.Kind == channels.Ambiguous && !k.sends {
			e.Kind = channels.Temporary
		}
		return e
	case x.status == http.StatusGatewayTimeout && k.sends:
		return c.fail(k.op, channels.Ambiguous, err)
	case x.status != 0 && x.status != http.StatusOK:
		e := c.fail(k.op, ofStatus(x.status), err)
		if e.Kind == channels.RateLimited {
			e.RetryAfter = (&refusal{}).pause(x)
		}
		return e
	case x.wrote.Load() && k.sends:
		return c.fail(k.op, channels.Ambiguous, err)
	}
	return c.fail(k.op, channels.Temporary, err)
}

// ofStatus is what an HTTP status without a known code means. A server that
// fails has almost never sent the message, and outages last longer than the one
// repeat that Ambiguous is worth.
func ofStatus(status int) channels.Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return channels.RateLimited
	case status == http.StatusUnauthorized:
		return channels.Unauthorized
	case status == http.StatusRequestEntityTooLarge:
		return channels.TooLong
	case status/100 == 4:
		return channels.Rejected
	}
	return channels.Temporary
}

func (r *refusal) kind(status int) channels.Kind {
	if r.Code == "" {
		if kind, ok := errcodes[r.errcode]; ok {
			return kind
		}
		return channels.Rejected
	}
	if kind, ok := kinds[r.Code]; ok {
		return kind
	}
	if strings.HasPrefix(r.Code, "Forbidden.AccessDenied.Qp") { // QpsLimitFor…, QpmLimitFor…
		return channels.RateLimited
	}
	return ofStatus(status)
}

// pause is how long to wait after a limit.
func (r *refusal) pause(x *exchange) time.Duration {
	if n, err := strconv.Atoi(x.retryAfter); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if strings.HasPrefix(r.Code, "Forbidden.AccessDenied.Qpm") || r.errcode == 410100 {
		return perMinute
	}
	return perSecond
}

// staleToken reports that a new access token may help.
func staleToken(err error) bool {
	switch code, errcode := codeOf(err); {
	case code == "InvalidAuthentication":
		return true
	case errcode == 40001, errcode == 40014, errcode == 42001:
		return true
	}
	return false
}

// codeOf gives the code of a refusal, "" and 0 for other errors.
func codeOf(err error) (code string, errcode int) {
	var no *refusal
	if !errors.As(err, &no) {
		return "", 0
	}
	return no.Code, no.errcode
}

// clean takes URLs, which hold tokens, and the secret out of an error. Only
// the cause that callers ask for by errors.Is is kept.
func (c *client) clean(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if secret := string(c.cfg.ClientSecret); secret != "" && strings.Contains(err.Error(), secret) {
		return errors.New(strings.ReplaceAll(err.Error(), secret, "***"))
	}
	return err
}

// final tells errors that no waiting can heal.
func final(err error) bool { return channels.KindOf(err) == channels.Unauthorized }

// number is an integer that DingTalk writes as a number or as a string.
type number int64

// UnmarshalJSON takes 5, 5.0, "5" and null; anything else is 0, since none of
// these numbers is worth losing a message for.
func (n *number) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if f, err := json.Number(text).Float64(); err == nil && f > -1e15 && f < 1e15 {
		*n = number(f)
	}
	return nil
}
