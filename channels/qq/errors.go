package qq

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"magpie/channels"
	"magpie/channels/rest"
)

// refusal is the platform's answer to a call that it did not carry out.
type refusal struct {
	status int
	code   int // 0: the answer held none
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("HTTP %d, code %d %s", r.status, r.code, r.text) }

// refusedWith reports whether err is a refusal with one of these codes.
func refusedWith(err error, codes []int) bool {
	var r *refusal
	return errors.As(err, &r) && slices.Contains(codes, r.code)
}

// The codes of the platform by what follows from them
// (bot.q.qq.com/wiki/develop/api-v2/dev-prepare/error-trace/openapi.html and
// the pages of the calls, read November 2026; the eight-digit ones also from
// logs of public bots).
func badTokenCodes() []int  { return []int{11241, 11242, 11243, 11244} }
func badClientCodes() []int { return []int{100016, 11251, 11261, 11265, 11275, 11298, 40054016} }

// busyCodes: a system error that a repeat heals.
func busyCodes() []int {
	return []int{11242, 11252, 11263, 11281, 304010, 304017, 306003, 306005, 306006, 40034004, 50055001}
}
func tooFastCodes() []int { return []int{20028, 40034100} }
func tooLongCodes() []int { return []int{304020, 40054007} }

// markdownCodes refuse native markdown, keyboardCodes the buttons, urlCodes
// an address that was not registered.
func markdownCodes() []int {
	return []int{
		50037, 50040, 50041, 50042, 50054, 50055, 50056, 50057, 304011, 304012, 304014, 304036, 304061,
		40034008, 40034009, 40034010, 40034011, 40034012, 40034124, 40034127,
	}
}

func keyboardCodes() []int { return []int{304037, 304038, 304039, 304040, 305007, 40034029} }
func urlCodes() []int      { return []int{304003, 40054010} }

// repeatCodes: the pair of msg_id and msg_seq was used already.
func repeatCodes() []int { return []int{40054005} }

// windowCodes: the message cannot be replied to (any more): used up, too old,
// unknown. quotaCodes: no active message is allowed (now).
func windowCodes() []int {
	return []int{22009, 304026, 304027, 304103, 40034005, 40034024, 40034025, 40034026, 40034027, 40034128}
}

func quotaCodes() []int {
	return append([]int{22009, 304045, 304049, 304050}, unwelcomeCodes()...)
}

// unwelcomeCodes: the chat takes no active messages, or the bot may send none.
func unwelcomeCodes() []int { return []int{304046, 304048, 40034102, 40034105} }

// mediaCodes: the platform could not fetch, store or convert a file.
func mediaCodes() []int { return []int{304010, 304017, 304021, 304080, 304082, 304083, 40034004} }

// auditCodes: taken, but a human being looks at it first.
func auditCodes() []int { return []int{304023, 304024} }

// goneCodes: the message to recall is not there (any more).
func goneCodes() []int { return []int{306001, 306002} }

// judge reads an answer: an error code counts whatever the status says, and
// what waits for an audit counts as taken.
func (c *client) judge(a *rest.Answer) error {
	var no struct {
		Code    int    `json:"code"`
		ErrCode int    `json:"err_code"`
		Message string `json:"message"`
	}
	err := json.Unmarshal(a.Body, &no)
	r := &refusal{status: a.Status, code: cmp.Or(no.Code, no.ErrCode), text: c.Redact(no.Message)}
	has := func(codes []int) bool { return slices.Contains(codes, r.code) }
	good := a.Status/100 == 2
	switch {
	case good && len(a.Body) == 0, has(auditCodes()), err == nil && good && r.code == 0:
		return nil
	case err != nil, a.Status < http.StatusBadRequest && r.code == 0:
		return rest.ErrNoAnswer
	}
	e := &channels.Error{Kind: rest.KindOf(a.Status), Err: r}
	switch {
	case has(badTokenCodes()), has(badClientCodes()), a.Status == http.StatusUnauthorized:
		e.Kind = channels.Unauthorized
	case has(tooLongCodes()):
		e.Kind = channels.TooLong
	case has(busyCodes()):
		e.Kind = channels.Temporary
	case has(quotaCodes()), has(windowCodes()): // may come with status 429
		e.Kind = channels.Rejected
	case has(tooFastCodes()):
		e.Kind = channels.RateLimited
	}
	return e
}
