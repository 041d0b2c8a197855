package dingtalk

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"magpie/channels"
	"magpie/channels/rest"
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
	"60020":                      "add this machine's address to the application's outgoing IP list, or empty the list",
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
	90001:  channels.RateLimited,
	90002:  channels.RateLimited,
	90003:  channels.RateLimited,
	90004:  channels.RateLimited,
	90005:  channels.RateLimited,
	90006:  channels.RateLimited,
	90007:  channels.RateLimited,
	90008:  channels.RateLimited,
	90018:  channels.RateLimited,
	slowed: channels.RateLimited,
	130101: channels.RateLimited,
	660026: channels.RateLimited,
	40001:  channels.Unauthorized,
	40014:  channels.Unauthorized,
	42001:  channels.Unauthorized,
	41001:  channels.Unauthorized,
	60020:  channels.Unauthorized, // not in the IP list
	40006:  channels.TooLong,
	40009:  channels.TooLong,
	40010:  channels.TooLong,
	40011:  channels.TooLong,
}

const (
	// perSecond and perMinute are the pauses after a limit of that kind, which
	// DingTalk's codes name without a time.
	perSecond = time.Second
	perMinute = time.Minute
	// slowedFor is how long a group's webhook takes nothing after a message too
	// many in a minute (https://open.dingtalk.com/document/development/custom-robots-send-group-messages,
	// read November 2026).
	slowedFor = 10 * time.Minute
	slowed    = 410100
	// within is the errcode of answers whose sub_code says what is the matter:
	// {"errcode":88,"sub_code":"40014",…}. The older interfaces answer so since
	// they stand behind a gateway (table of error codes: 鉴权异常, see subCode; an
	// answer to a wrong token in a public log of 2026-09, read November 2026).
	within = 88
)

// judge reads an answer: a refusal is an HTTP status with a code, or an errcode
// in a 200.
func (c *client) judge(a *rest.Answer) error {
	var no struct {
		refusal
		Errcode number `json:"errcode"`
		Errmsg  string `json:"errmsg"`
		Sub     number `json:"sub_code"`
		Denied  struct {
			Scopes []string `json:"requiredScopes"`
		} `json:"accessdenieddetail"`
	}
	if err := json.Unmarshal(a.Body, &no); err != nil {
		return rest.ErrNoAnswer
	}
	if no.Errcode == within && no.Sub != 0 {
		no.Errcode = no.Sub
	}
	r := &no.refusal
	switch {
	case a.Status == http.StatusOK && no.Errcode == 0:
		return nil
	case a.Status == http.StatusOK:
		r = &refusal{errcode: int(no.Errcode), Message: no.Errmsg}
	case r.Code == "" && no.Errcode != 0:
		r.errcode, r.Message = int(no.Errcode), no.Errmsg
	case r.Code == "":
		return rest.ErrNoAnswer
	}
	r.scopes, r.Message = no.Denied.Scopes, c.Redact(r.Message)
	e := &channels.Error{Kind: r.kind(a.Status), Err: r}
	if e.Kind == channels.RateLimited {
		e.RetryAfter, e.Global = r.pause(a.Header), r.throttled()
	}
	return e
}

func (r *refusal) kind(status int) channels.Kind {
	if kind, ok := errcodes[r.errcode]; ok && r.Code == "" {
		return kind
	}
	if kind, ok := kinds[r.Code]; ok {
		return kind
	}
	if r.throttled() {
		return channels.RateLimited
	}
	kind := rest.KindOf(status)
	if kind == channels.Rejected && r.Code != "" { // a webhook that is refused is another matter: there is another way
		kind, _ = rest.Passing(r.Code + " " + r.Message)
	}
	return kind
}

// throttled tells limits on the calls of the whole application, not on a chat:
// QpsLimitFor…, QpmLimitFor….
func (r *refusal) throttled() bool {
	return strings.HasPrefix(r.Code, "Forbidden.AccessDenied.Qp") || strings.HasPrefix(r.Code, "Throttling") ||
		r.Code == "" && r.errcode > 90000 && r.errcode < 90019
}

// slow reports that a webhook had a message too many: it takes nothing for ten
// minutes, whichever of its codes says so (660026, "sending too many messages per
// minute", stands in a public log of 2026-09).
func (r *refusal) slow() bool {
	return r.Code == "" && (r.errcode == slowed || r.errcode == 130101 || r.errcode == 660026)
}

// pause is how long to wait after a limit.
func (r *refusal) pause(h http.Header) time.Duration {
	if wait := rest.RetryAfter(h); wait > 0 {
		return wait
	}
	switch {
	case r.slow():
		return slowedFor
	case strings.HasPrefix(r.Code, "Forbidden.AccessDenied.Qpm"):
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

// final tells errors that no waiting can heal.
func final(err error) bool { return channels.KindOf(err) == channels.Unauthorized }

// number is an integer that DingTalk writes as a number or as a string.
type number int64

func (n number) String() string { return strconv.FormatInt(int64(n), 10) }

// UnmarshalJSON takes 5, 5.0, "5" and null; anything else is 0, since none of
// these numbers is worth losing a message for.
func (n *number) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if f, err := json.Number(text).Float64(); err == nil && f > -1e15 && f < 1e15 {
		*n = number(f)
	}
	return nil
}
