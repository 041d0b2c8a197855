package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
	"magpie/channels/rest"
)

// Codes of Discord's JSON errors that are treated by themselves
// (topics/opcodes-and-status-codes "JSON Error Codes", read November 2026).
const (
	codeUnknownChannel     = 10003
	codeUnknownMessage     = 10008
	codeUnknownWebhook     = 10015
	codeUnknownInteraction = 10062
	codeSlowmode           = 20016
	codeNewsEditRate       = 20022
	codeChannelWriteRate   = 20028
	codeServerWriteRate    = 20029
	codeOldEditRate        = 30046
	codeUnauthorized       = 40001
	codeOpeningDMsTooFast  = 40003
	codeSendingOff         = 40004
	codeTooLarge           = 40005
	codeFeatureOff         = 40006
	codeAcknowledged       = 40060
	codeServiceRate        = 40062
	codeFollowUps          = 40094
	codeCloudflare         = 40333
	codeBadToken           = 50014
	codeBadWebhookToken    = 50027
	codeBadForm            = 50035
	codeFileTooLarge       = 50045
	codeArchived           = 50083
	codeIndexLater         = 110000
	codeApplicationLater   = 110001
	codeOverloaded         = 130000
	codeNoHistory          = 160002
	codeLocked             = 160005
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

// judge reads an answer of the API.
func (c *client) judge(a *rest.Answer) error {
	switch a.Status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return nil
	}
	var no discordgo.APIErrorMessage
	var more struct {
		RetryAfter float64         `json:"retry_after"`
		Global     bool            `json:"global"`
		Errors     json.RawMessage `json:"errors"`
	}
	r := &refusal{status: a.Status}
	e := &channels.Error{Kind: rest.KindOf(a.Status), Err: r}
	if err := json.Unmarshal(a.Body, &no); err != nil {
		if !banned(a) {
			return rest.ErrNoAnswer
		}
		// Not the API itself: Cloudflare in front of it answers with a page.
		r.text = "too many requests from this address"
		e.Kind, e.Global = channels.RateLimited, true
		if rest.RetryAfter(a.Header) == 0 {
			e.RetryAfter = banPause
		}
		return e
	}
	_ = json.Unmarshal(a.Body, &more) // what is missing stays empty
	r.code, r.text, r.fields = no.Code, c.Redact(no.Message), string(more.Errors)
	e.RetryAfter = time.Duration(more.RetryAfter * float64(time.Second))
	switch {
	case a.Status == http.StatusTooManyRequests:
		e.Global = more.Global || a.Header.Get("X-RateLimit-Global") != ""
	case said(e, codeBadWebhookToken): // of an interaction that is too old, not the bot's
		e.Kind = channels.Rejected
	case said(e, codeUnauthorized, codeBadToken):
		e.Kind = channels.Unauthorized
	case said(e, codeSlowmode, codeNewsEditRate, codeOldEditRate, codeChannelWriteRate, codeServerWriteRate, codeOpeningDMsTooFast, codeServiceRate):
		e.Kind = channels.RateLimited
	case said(e, codeTooLarge, codeFileTooLarge),
		badField(e, "content") && strings.Contains(r.fields, "BASE_TYPE_MAX_LENGTH"):
		e.Kind = channels.TooLong
	case said(e, codeCloudflare, codeOverloaded, codeSendingOff, codeFeatureOff, codeIndexLater, codeApplicationLater):
		e.Kind = channels.Temporary
	}
	return e
}

// banPause is how long to leave Discord alone after a ban that does not say:
// asking again during one makes it longer.
const banPause = time.Minute

// banned reports whether Cloudflare has shut out this machine's address, which
// concerns every call: it answers 429, or a page with its error 1015 (topics/
// rate-limits "Invalid Request Limit aka Cloudflare bans", read November 2026).
func banned(a *rest.Answer) bool {
	return a.Status == http.StatusTooManyRequests || a.Status == http.StatusForbidden && bytes.Contains(a.Body, []byte("1015"))
}
