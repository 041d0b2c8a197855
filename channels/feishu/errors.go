package feishu

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
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
// of im/v1, contact/v3, application/v6 and cardkit/v1; read November 2026).
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
	codeStreamOver  = 200510 // the same, of single elements
	codeStreamOff   = 300309
	codeSequence    = 300317
	codeNoCard      = 200740
	codeCardExpired = 200750
	codeNoConvert   = 300311
	codeBusyCard    = 200810 // somebody is pressing one of its buttons
	codeQuota       = 99991403
	quotaPause      = time.Hour
)

// kindOf says what the caller does about a code. Codes that it does not know are
// Rejected: the platform has thousands, and most mean that it will not.
func kindOf(code int) (kind channels.Kind, known bool) {
	switch code {
	case 10003, 10005, 10012, 10013, 10014, 10015, 11207, 11209, 11210, 99991401, 99991543, 99991661, 99991662, 99991663, 99991664,
		99991665, 99991668, 99991671, 99991673, 99991677:
		return channels.Unauthorized, true
	case codeSlow, codeQuota, 230020, 11232, 11233, 11247, 1000004, 1000005:
		return channels.RateLimited, true
	case 230025, 200860, 234006:
		return channels.TooLong, true
	case 1500, 1503, 1551, 1557, 1642, 1663, 1665, 1668, 2200, 5000, 10101, 10105, 10500, 105001, 1000003, 230049, codeNoPerson, 231015,
		232096, 234019, 234042, 300120, codeBusyCard:
		return channels.Temporary, true
	}
	return channels.Rejected, false
}

// badToken tells codes after which a new token may help.
func badToken(err error) bool {
	return refused(err, 99991661, 99991663, 99991664, 99991665, 99991668, 99991671, 99991677)
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

// ofCards tells the codes that are about a card: where one is refused another
// form is tried, whatever the words.
func ofCards(code int) bool { return code == codeCard || code/1000 == 200 || code/1000 == 300 }

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
	kind, known := kindOf(r.code)
	sub, _ := kindOf(r.sub)
	switch {
	case r.code == codeCard && sub == channels.TooLong:
		kind = channels.TooLong
	case r.code == codeCard && strings.Contains(a.Msg, "card action is lock"): // codeBusyCard by another name
		kind = channels.Temporary
	case !known:
		if kind = rest.KindOf(answer.Status); kind == channels.Rejected && !ofCards(r.code) {
			kind, _ = rest.Passing(r.text)
		}
	}
	e := &channels.Error{Kind: kind, Err: r}
	if kind == channels.RateLimited {
		e.RetryAfter = patience(r.code, answer.Header)
	}
	return e
}

// patience is how long the platform wants to be left alone.
func patience(code int, h http.Header) time.Duration {
	if code == codeQuota { // the month's calls are used up
		return quotaPause
	}
	if s, err := strconv.Atoi(h.Get("x-ogw-ratelimit-reset")); err == nil && s > 0 {
		return min(time.Duration(s)*time.Second, quotaPause)
	}
	return min(cmp.Or(rest.RetryAfter(h), time.Second), quotaPause)
}
