package oss

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/aliyun/aliyun-oss-go-sdk/oss"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

// maxMessage bounds what is repeated of the service's words, in bytes.
const maxMessage = 300

// Error is a failed call. It holds no key, no signature and no signed URL.
type Error struct {
	Op        string // the step: "put", "signed get", "delete", …
	Status    int    // HTTP status of the answer; 0 = there was none
	Code      string // of the service, such as "NoSuchBucket"
	Message   string
	RequestID string // for the service's support
	EC        string // the service's number of the very reason, such as "0048-00000401"
	Err       error  // the cause when there was no answer
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("oss: %s: %v", e.Op, e.Err)
	}
	text := fmt.Sprintf("oss: %s: %d", e.Op, e.Status)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	if e.EC != "" {
		text += " (EC " + e.EC + ")"
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// advice says what to do about a code of the service
// (help.aliyun.com/zh/oss/support, error codes, read November 2026).
var advice = map[string]string{
	"AccessDenied":            "give the key's user the permissions oss:PutObject, oss:GetObject and oss:DeleteObject on this bucket, and check that media.oss.endpoint is the bucket's own",
	"InvalidAccessKeyId":      "correct media.oss.access_key_id, or make a new key in the RAM console",
	"InvalidArgument":         "check that media.oss.region is the bucket's region, such as cn-hangzhou",
	"InvalidBucketName":       "correct media.oss.bucket",
	"NoSuchBucket":            "correct media.oss.bucket, or create the bucket in the OSS console",
	"PublicEndpointForbidden": forbidden,
	"RequestTimeTooSkewed":    "set the clock of this machine; it is more than 15 minutes wrong",
	"SecurityTokenExpired":    "use a long-lived access key of a RAM user",
	"SignatureDoesNotMatch":   "correct media.oss.access_key_secret; with a proxy in between, let it leave the headers alone",
	"UserDisable":             "the account is disabled or in arrears: look into the console's billing page",
}

// forbidden: accounts of since 2025-03-20 reach the data of buckets on the
// mainland by a domain of their own only (HTTP 400, EC 0048-00000401;
// help.aliyun.com/oss/user-guide/access-buckets-via-custom-domain-names, read
// November 2026).
const forbidden = "the account is a new one, which reaches buckets on the Chinese mainland by its own domain only: " +
	"bind a domain (with an ICP filing, and a certificate for https) to the bucket in the OSS console, give it as media.oss.endpoint, " +
	"set media.oss.cname: true and media.oss.region, such as cn-hangzhou; a bucket outside the mainland needs none"

// Advice says to the operator what to do.
func (e *Error) Advice() string {
	switch text := advice[e.Code]; {
	case text != "":
		return text
	case errors.Is(e.Err, errNotTheSame):
		return "check that media.oss.public_base_url leads to this bucket"
	case e.Err != nil:
		return "check that media.oss.endpoint can be reached from this machine; if it is your own domain, set media.oss.cname: true"
	case e.Status >= http.StatusInternalServerError:
		return "the service has a problem; try again later"
	}
	return "look the code up in the OSS documentation; its support wants the request id"
}

// failed makes an *Error of an error of the SDK.
func (b *Bucket) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	var service sdk.ServiceError
	if errors.As(err, &service) {
		return (&Error{
			Op: op, Status: service.StatusCode, Code: service.Code, Message: service.Message, RequestID: service.RequestID, EC: service.Ec,
		}).clean(b.opt)
	}
	var at *url.Error
	if errors.As(err, &at) { // its text has the whole URL
		err = at.Err
	}
	return (&Error{Op: op, Err: err}).clean(b.opt)
}

// clean shortens the message, and hides the key should the service repeat it.
func (e *Error) clean(o Options) *Error {
	e.Message = strings.Join(strings.Fields(strings.ToValidUTF8(e.Message, "")), " ")
	for _, secret := range []string{string(o.AccessKeySecret), o.AccessKeyID} {
		if secret != "" {
			e.Message = strings.ReplaceAll(e.Message, secret, "***")
		}
	}
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") + "…"
	}
	return e
}

// refusal reads the answer to a call that was made without the SDK.
func (b *Bucket) refusal(op string, resp *http.Response, body []byte) error {
	e := &Error{Op: op, Status: resp.StatusCode, RequestID: resp.Header.Get("x-oss-request-id"), EC: resp.Header.Get("x-oss-ec")}
	var answer struct{ Code, Message string }
	if xml.Unmarshal(body, &answer) == nil { // else a proxy has answered
		e.Code, e.Message = answer.Code, answer.Message
	}
	return e.clean(b.opt)
}

// passing reports whether an error may be gone at the next try: the network,
// a checksum that differs, and answers of a service that has a problem or too
// much to do.
func passing(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case 0, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= http.StatusInternalServerError
}
