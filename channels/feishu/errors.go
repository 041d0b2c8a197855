package feishu

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"magpie/channels"
	"magpie/channels/rest"
)

// refusal is an answer with a code that is not 0.
type refusal struct {
	code int
	sub  int // of a card: the code inside msg
	text string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.code, r.text) }

// Codes of the open platform (api-call-guide/ugjM14COyUjL4ITN, the error tables
// of im/v1 and cardkit/v1; read November 2026).
const (
	codeCard        = 230099 // the card is refused; the reason is a sub code
	codeCardLimit   = 11310  // sub code: too many tables, components, …
	codeNoThreads   = 230071
	codeAggregated  = 230072
	codeNoTopic     = 230019
	codeRecalled    = 230011
	codeDeleted     = 230110
	codeInvisible   = 230050
	codeNoReaction  = 231003
	codeForeign     = 231010 // the reaction does not belong to the message
	codeReactionID  = 231011
	codeNoImage     = 234011
	codeResolution  = 234039
	codeUploadKind  = 230055
	codeScope       = 99991672
	codeSlow        = 99991400
	codeStreamEnd   = 200850 // streaming was closed after 10 minutes
	codeStreamOff   = 300309
	codeSequence    = 300317
	codeNoCard      = 200740
	codeCardExpired = 200750
	codeNoConvert   = 300311
	quotaPause      = time.Hour
)

// kinds says what the caller does about a code. Codes that are not here are
// Rejected: the platform has thousands, and most mean that it will not.
var kinds = map[int]channels.Kind{
	10003: channels.Unauthorized, 10005: channels.Unauthorized, 10012: channels.Unauthorized, 10013: channels.Unauthorized,
	10014: channels.Unauthorized, 99991401: channels.Unauthorized, 99991543: channels.Unauthorized,
	99991661: channels.Unauthorized, 99991662: channels.Unauthorized, 99991663: channels.Unauthorized,
	99991664: channels.Unauthorized, 99991665: channels.Unauthorized, 99991668: channels.Unauthorized,
	99991671: channels.Unauthorized, 99991673: channels.Unauthorized,

	codeSlow: channels.RateLimited, 230020: channels.RateLimited, 99991403: channels.RateLimited,

	230025: channels.TooLong, 200860: channels.TooLong, 234006: channels.TooLong,

	1500: channels.Temporary, 2200: channels.Temporary, 5000: channels.Temporary, 230049: channels.Temporary,
	231015: channels.Temporary, 232096: channels.Temporary, 300120: channels.Temporary, 200810: channels.Temporary,
	234042: channels.Temporary,
}

// badToken tells codes after which a new token may help.
func badToken(err error) bool {
	return refused(err, 99991661, 99991663, 99991664, 99991665, 99991668, 99991671)
}

// refused reports whether err is a refusal with one of these codes.
func refused(err error, codes ...int) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	for _, c := range codes {
		if r.code == c || r.sub == c {
			return true
		}
	}
	return false
}

var (
	subCode = regexp.MustCompile(`ErrCode: ?(\d{1,9})`)
	tokens  = regexp.MustCompile(`\b[tua]-[A-Za-z0-9_.-]{16,}`)
)

// redact takes whatever looks like a token of the platform out of a text, too.
func (c *client) redact(text string) string { return tokens.ReplaceAllString(c.Redact(text), "***") }

// judge says what an answer means; nil is success.
func (c *client) judge(answer *rest.Answer) error {
	var a struct {
		Code *int   `json:"code"`
		Msg  string `json:"msg"`
	}
	if err := json.Unmarshal(answer.Body, &a); err != nil || a.Code == nil {
		return rest.ErrNoAnswer
	}
	if *a.Code == 0 {
		return nil
	}
	r := &refusal{code: *a.Code, text: c.redact(a.Msg)}
	if m := subCode.FindStringSubmatch(a.Msg); m != nil {
		r.sub, _ = strconv.Atoi(m[1]) // digits only
	}
	kind, ok := kinds[r.code]
	switch {
	case r.code == codeCard && kinds[r.sub] == channels.TooLong:
		kind = channels.TooLong
	case !ok:
		kind = rest.KindOf(answer.Status)
	}
	e := &channels.Error{Kind: kind, Err: r}
	if kind == channels.RateLimited {
		e.RetryAfter = patience(r.code, answer.Header)
	}
	return e
}

// patience is how long the platform wants to be left alone.
func patience(code int, h http.Header) time.Duration {
	if code == 99991403 { // the month's calls are used up
		return quotaPause
	}
	if s, err := strconv.Atoi(h.Get("x-ogw-ratelimit-reset")); err == nil && s > 0 {
		return min(time.Duration(s)*time.Second, quotaPause)
	}
	return min(cmp.Or(rest.RetryAfter(h), time.Second), quotaPause)
}
