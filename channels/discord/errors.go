package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
)

// Codes of Discord's JSON errors that are treated by themselves
// (topics/opcodes-and-status-codes "JSON Error Codes", read November 2026).
const (
	codeUnknownChannel     = 10003
	codeUnknownMessage     = 10008
	codeUnknownWebhook     = 10015
	codeUnknownInteraction = 10062
	codeSlowmode           = 20016
	codeChannelWriteRate   = 20028
	codeServerWriteRate    = 20029
	codeUnauthorized       = 40001
	codeOpeningDMsTooFast  = 40003
	codeTooLarge           = 40005
	codeAcknowledged       = 40060
	codeServiceRate        = 40062
	codeCloudflare         = 40333
	codeBadToken           = 50014
	codeBadWebhookToken    = 50027
	codeBadForm            = 50035
	codeFileTooLarge       = 50045
	codeOverloaded         = 130000
	codeNoHistory          = 160002
)

// refusal is an answer of the API that says no. It holds neither the request
// nor the address: both may carry tokens.
type refusal struct {
	status int
	code   int
	text   string
	fields string // of a bad form: what is wrong with which field
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("HTTP status %d, code %d: %s", r.status, r.code, r.text)
	if r.fields != "" {
		text += " " + r.fields
	}
	return text
}

// said reports whether err is a refusal with one of these codes.
func said(err error, codes ...int) bool {
	var r *refusal
	return errors.As(err, &r) && slices.Contains(codes, r.code)
}

// badField reports whether Discord found fault with this field of a form.
func badField(err error, field string) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == codeBadForm && strings.Contains(r.fields, `"`+field+`"`)
}

// classify says what the caller should do about a call that failed.
func (c *client) classify(r request, x *exchange, err error) error {
	var limit *discordgo.RateLimitError
	var rest *discordgo.RESTError
	switch {
	case errors.As(err, &limit):
		e := c.fail(r.op, channels.RateLimited, &refusal{status: x.status, text: limit.Message})
		e.RetryAfter = limit.RetryAfter
		return e
	case x.status == http.StatusTooManyRequests:
		// Not the API itself: Cloudflare in front of it answers with a page.
		e := c.fail(r.op, channels.RateLimited, &refusal{status: x.status, text: "too many requests from this address"})
		if seconds, err := strconv.Atoi(x.header.Get("Retry-After")); err == nil {
			e.RetryAfter = time.Duration(seconds) * time.Second
		}
		return e
	case errors.As(err, &rest) && rest.Message != nil:
		return c.refused(r, x.status, rest)
	case x.status >= http.StatusInternalServerError:
		return c.fail(r.op, ofStatus(r, x.status), fmt.Errorf("HTTP status %d", x.status))
	case x.status == http.StatusRequestEntityTooLarge:
		return c.fail(r.op, channels.TooLong, fmt.Errorf("HTTP status %d", x.status))
	case x.status >= http.StatusMultipleChoices:
		return c.fail(r.op, channels.Temporary, fmt.Errorf("HTTP status %d without an answer of the API; is api_base right?", x.status))
	case x.wrote.Load() && r.sends:
		return c.fail(r.op, channels.Ambiguous, c.clean(err))
	}
	return c.fail(r.op, channels.Temporary, c.clean(err))
}

// ofStatus: a server that fails has almost never sent the message, and outages
// may last longer than a nonce holds. A gateway that gave up waiting is another
// matter.
func ofStatus(r request, status int) channels.Kind {
	if status == http.StatusGatewayTimeout && r.sends {
		return channels.Ambiguous
	}
	return channels.Temporary
}

func (c *client) refused(r request, status int, rest *discordgo.RESTError) error {
	var more struct {
		RetryAfter float64         `json:"retry_after"`
		Errors     json.RawMessage `json:"errors"`
	}
	_ = json.Unmarshal(rest.ResponseBody, &more) // what is missing stays empty
	refusal := &refusal{
		status: status, code: rest.Message.Code,
		text: strings.ReplaceAll(rest.Message.Message, c.token, "***"), fields: string(more.Errors),
	}
	e := c.fail(r.op, channels.Rejected, refusal)
	e.RetryAfter = time.Duration(more.RetryAfter * float64(time.Second))
	switch {
	case status == http.StatusUnauthorized, said(e, codeUnauthorized, codeBadToken):
		e.Kind = channels.Unauthorized
	case said(e, codeSlowmode, codeChannelWriteRate, codeServerWriteRate, codeOpeningDMsTooFast, codeServiceRate):
		e.Kind = channels.RateLimited
	case status == http.StatusRequestEntityTooLarge, said(e, codeTooLarge, codeFileTooLarge),
		badField(e, "content") && strings.Contains(refusal.fields, "BASE_TYPE_MAX_LENGTH"):
		e.Kind = channels.TooLong
	case said(e, codeCloudflare, codeOverloaded):
		e.Kind = channels.Temporary
	case status >= http.StatusInternalServerError:
		e.Kind = ofStatus(r, status)
	}
	return e
}

// clean takes the URL out of an error: it may hold an interaction's token. The
// cause that callers ask for by errors.Is is kept.
func (c *client) clean(err error) error {
	for {
		var ue *url.Error
		if !errors.As(err, &ue) {
			break
		}
		err = ue.Err
	}
	if text := err.Error(); strings.Contains(text, c.token) {
		return errors.New(strings.ReplaceAll(text, c.token, "***"))
	}
	return err
}
