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
func badTokenCodes() []int { return []int{11241, 11243, 11244} }

func badClientCodes() []int {
	return []int{100007, 100016, 11251, 11261, 11265, 11275, 11298, 40054016}
}

// busyCodes: a system error that a repeat heals.
func busyCodes() []int {
	return []int{
		11242, 11252, 11263, 11281, 50001, 1100300, 304010, 304016, 304017, 304018, 304029, 306003, 306005, 306006, 306010, 340067,
		40034004, 40054006, 50055001, 50055002, 50055006, 50065001,
	}
}

// tooFastCodes: wait. 22009 ("msg limit exceed", 消息发送超频) is said of what is
// too fast and of what is used up; see slowed.
func tooFastCodes() []int { return []int{20028, 22009, 50002, 100001, 610013, 1100100, 1100308} }

func tooLongCodes() []int { return []int{304020, 40054007, 40054014, 40054018, 850012} }

// markdownCodes refuse native markdown, keyboardCodes the buttons, urlCodes
// an address that was not registered.
func markdownCodes() []int {
	return append([]int{
		50037, 50040, 50041, 50042, 50054, 50055, 50057, 304011, 304012, 304061,
		40034008, 40034009, 40034010, 40034011, 40034012, 40034124,
	}, noMarkdownCodes()...)
}

// noMarkdownCodes say that the account may send no markdown at all.
func noMarkdownCodes() []int { return []int{50056, 304014, 304036, 304041, 40034127} }

func keyboardCodes() []int {
	return append([]int{304038, 304039, 304040, 305007, 40034029}, noKeyboardCodes()...)
}

// noKeyboardCodes say that the account may send no buttons.
func noKeyboardCodes() []int { return []int{304037} }

func urlCodes() []int { return []int{304003, 40054010} }

// noRightCodes: the account may not make this call.
func noRightCodes() []int { return []int{11253, 11254} }

// repeatCodes: the pair of msg_id and msg_seq was used already.
func repeatCodes() []int { return []int{40054005} }

// windowCodes: the message cannot be replied to (any more): used up, too old,
// unknown. quotaCodes: no active message is allowed (now).
func windowCodes() []int {
	return []int{50045, 50046, 304026, 304027, 304028, 304103, 40034005, 40034024, 40034025, 40034026, 40034027, 40034128}
}

func quotaCodes() []int {
	return []int{304022, 304035, 304045, 304046, 304047, 304048, 304049, 304050, 40034100, 40034102, 40034105}
}

// absentCodes: nothing at all can be said in the chat now: no friend, not a
// member, muted, or the person refuses the bot's messages.
func absentCodes() []int {
	return []int{304031, 304032, 304034, 850018, 1100104, 1100301, 40034101, 40054002, 40054003, 40054004, 40054013}
}

// mutedCodes are those of absentCodes that may be over at any time.
func mutedCodes() []int { return []int{850018, 40054002} }

// mediaCodes: the platform could not fetch, store or convert a file.
func mediaCodes() []int {
	return []int{10000, 304010, 304017, 304021, 304080, 304082, 304083, 850019, 850026, 850027, 850031, 40034004, 40093001, 40093002}
}

// passingCodes are those of mediaCodes of which the pages say to try again
// (40034004, 40093001, 850027, and the older 304010 and 304017).
func passingCodes() []int { return []int{304010, 304017, 850027, 40034004, 40093001} }

// partCodes refuse a file in parts: not there yet, too many today.
func partCodes() []int { return []int{40093001, 40093002} }

// auditCodes: taken, but a human being looks at it first.
func auditCodes() []int { return []int{304023, 304024} }

// goneCodes: the message to recall is not there (any more), or cannot be taken
// back any more.
func goneCodes() []int { return []int{306001, 306002, 306011, 40061002, 40064004} }

// streamCodes: the stream is over, or has said something else before.
func streamCodes() []int {
	return []int{40007, 40113003, 40034016, 40034017, 40034018, 40034019, 40034020, 40034021, 40034022, 40054015}
}

// endedCodes: the stream has ended.
func endedCodes() []int { return []int{40034018, 40034022} }

// notifyCodes refuse an input notify.
func notifyCodes() []int { return []int{50059} }

// refusalCodes are answers that stay the same however often they are asked for,
// whatever the status says.
func refusalCodes() []int {
	return slices.Concat(markdownCodes(), keyboardCodes(), urlCodes(), noRightCodes(), repeatCodes(), absentCodes(), goneCodes(), streamCodes(), notifyCodes())
}

// async: taken, although the body is that of an error ("异步操作成功"; the page of
// errors above).
func async(status int) bool { return status == http.StatusCreated || status == http.StatusAccepted }

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
	case good && len(a.Body) == 0, has(auditCodes()), err == nil && good && r.code == 0, err == nil && async(a.Status):
		return nil
	case err != nil, a.Status < http.StatusBadRequest && r.code == 0:
		return rest.ErrNoAnswer
	}
	e := &channels.Error{Kind: rest.KindOf(a.Status), Err: r}
	switch {
	case has(busyCodes()):
		e.Kind = channels.Temporary
	case has(badTokenCodes()), has(badClientCodes()), a.Status == http.StatusUnauthorized:
		e.Kind = channels.Unauthorized
	case has(tooLongCodes()):
		e.Kind = channels.TooLong
	case has(quotaCodes()), has(windowCodes()), has(refusalCodes()): // may come with status 429 or 500
		e.Kind = channels.Rejected
	case has(tooFastCodes()):
		e.Kind = channels.RateLimited
	case e.Kind == channels.Rejected && !has(mediaCodes()):
		e.Kind, _ = rest.Passing(r.text)
	}
	return e
}
