package oss

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The signatures are those of "Include signatures in the Authorization header"
// and "Include signatures in URLs", versions 1 and 4
// (help.aliyun.com/zh/oss/developer-reference, read November 2026).
const (
	algorithmV4 = "OSS4-HMAC-SHA256"
	timeV4      = "20060102T150405Z"
	unsigned    = "UNSIGNED-PAYLOAD"
)

// claim is what a request says about its right to be heard.
type claim struct {
	keyID     string
	signature string
	toSign    string // what was signed, as the service sees it
	want      string // the signature it should have
	expired   bool
	skewed    bool
	malformed string
}

// authorise checks the signature of a request.
func (s *Server) authorise(r *http.Request, bucket, key string) *refusal {
	resource := "/" + bucket + "/" + key
	if bucket == "" {
		resource = "/"
	}
	var c claim
	q := r.URL.Query()
	header := r.Header.Get("Authorization")
	if !s.opts.V1 && (strings.HasPrefix(header, "OSS ") || q.Get("Signature") != "") {
		// help.aliyun.com/zh/oss/user-guide/0002-00000080 (403; it names no code of
		// words), read November 2026: buckets of since 2025-09-01 take version 4 only.
		return &refusal{status: http.StatusForbidden, code: "AccessDenied", ec: "0002-00000080", text: "Signature version 1 is forbidden."}
	}
	switch {
	case strings.HasPrefix(header, algorithmV4+" "):
		c = s.headerV4(r, header, resource)
	case strings.HasPrefix(header, "OSS "):
		c = s.headerV1(r, header, resource)
	case header != "":
		return denied("InvalidArgument", "Authorization header is invalid.")
	case q.Get("x-oss-signature") != "":
		c = s.queryV4(r, q, resource)
	case q.Get("Signature") != "":
		c = s.queryV1(r, q, resource)
	case s.opts.Public && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return nil
	default:
		return denied("AccessDenied", "You have no right to access this object because of bucket acl.")
	}
	switch {
	case c.malformed != "":
		return &refusal{status: http.StatusBadRequest, code: "InvalidArgument", text: c.malformed}
	case c.keyID != s.opts.KeyID:
		return denied("InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist in our records.", [2]string{"OSSAccessKeyId", c.keyID})
	case c.expired:
		return denied("AccessDenied", "Request has expired.")
	case c.skewed:
		return denied("RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
	case !hmac.Equal([]byte(c.signature), []byte(c.want)):
		return denied("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
			[2]string{"OSSAccessKeyId", c.keyID}, [2]string{"SignatureProvided", c.signature}, [2]string{"StringToSign", c.toSign})
	}
	return nil
}

func denied(code, text string, extra ...[2]string) *refusal {
	return &refusal{status: http.StatusForbidden, code: code, text: text, extra: extra}
}

func (s *Server) skewed(t time.Time, err error) bool {
	d := s.opts.Now().Sub(t)
	return err != nil || d > maxSkew || d < -maxSkew
}

func (s *Server) headerV1(r *http.Request, header, resource string) (c claim) {
	c.keyID, c.signature, _ = strings.Cut(strings.TrimPrefix(header, "OSS "), ":")
	date := r.Header.Get("Date")
	if d := r.Header.Get("x-oss-date"); d != "" {
		date = d
	}
	c.skewed = s.skewed(http.ParseTime(date))
	c.toSign = stringV1(r, date, resource)
	c.want = signV1(s.opts.KeySecret, c.toSign)
	return c
}

func (s *Server) queryV1(r *http.Request, q url.Values, resource string) (c claim) {
	c.keyID, c.signature = q.Get("OSSAccessKeyId"), q.Get("Signature")
	expires, err := strconv.ParseInt(q.Get("Expires"), 10, 64)
	if err != nil {
		c.malformed = "Invalid Expires"
		return c
	}
	c.expired = s.opts.Now().Unix() > expires
	c.toSign = stringV1(r, q.Get("Expires"), resource)
	c.want = signV1(s.opts.KeySecret, c.toSign)
	return c
}

// signedV1 are the query parameters that version 1 signs as part of the
// resource.
var signedV1 = []string{
	"acl", "append", "callback", "callback-var", "continuation-token", "delete", "objectMeta", "partNumber", "position",
	"response-cache-control", "response-content-disposition", "response-content-encoding", "response-content-language",
	"response-content-type", "response-expires", "resourceGroup", "restore", "security-token", "symlink", "tagging",
	"uploadId", "uploads", "versionId", "versions", "x-oss-process", "x-oss-traffic-limit",
}

func stringV1(r *http.Request, date, resource string) string {
	var headers strings.Builder
	for _, name := range ossHeaders(r.Header) {
		headers.WriteString(name + ":" + strings.TrimSpace(r.Header.Get(name)) + "\n")
	}
	var sub []string
	for name, values := range r.URL.Query() {
		switch {
		case !slices.Contains(signedV1, name):
		case values[0] == "":
			sub = append(sub, name)
		default:
			sub = append(sub, name+"="+values[0])
		}
	}
	slices.Sort(sub)
	if len(sub) > 0 {
		resource += "?" + strings.Join(sub, "&")
	}
	return r.Method + "\n" + r.Header.Get("Content-MD5") + "\n" + r.Header.Get("Content-Type") + "\n" + date + "\n" + headers.String() + resource
}

// ossHeaders are the x-oss- headers in lower case, sorted.
func ossHeaders(h http.Header) []string {
	var names []string
	for name := range h {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-oss-") {
			names = append(names, lower)
		}
	}
	slices.Sort(names)
	return names
}

func signV1(secret, text string) string {
	return base64.StdEncoding.EncodeToString(mac(sha1.New, []byte(secret), text))
}

func mac(h func() hash.Hash, key []byte, text string) []byte {
	m := hmac.New(h, key)
	_, _ = m.Write([]byte(text)) // a hash takes everything
	return m.Sum(nil)
}

func (s *Server) headerV4(r *http.Request, header, resource string) (c claim) {
	fields := map[string]string{}
	for _, f := range strings.Split(strings.TrimPrefix(header, algorithmV4+" "), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(f), "=")
		fields[name] = value
	}
	if r.Header.Get("x-oss-content-sha256") == "" {
		c.malformed = "Missing the header x-oss-content-sha256"
		return c
	}
	date := r.Header.Get("x-oss-date")
	at, err := time.Parse(timeV4, date)
	if date == "" { // the Go SDK signs the Date header as it is
		date = r.Header.Get("Date")
		at, err = http.ParseTime(date)
	}
	c = s.claimV4(r, resource, scopeV4{fields["Credential"], date, fields["AdditionalHeaders"]})
	c.signature, c.skewed = fields["Signature"], s.skewed(at, err)
	return c
}

func (s *Server) queryV4(r *http.Request, q url.Values, resource string) (c claim) {
	at, err := time.Parse(timeV4, q.Get("x-oss-date"))
	life, lifeErr := strconv.Atoi(q.Get("x-oss-expires"))
	if err != nil || lifeErr != nil || life < 1 || life > 7*24*3600 || q.Get("x-oss-signature-version") != algorithmV4 {
		c.malformed = "Invalid signing date, expires or version in Authorization query"
		return c
	}
	c = s.claimV4(r, resource, scopeV4{q.Get("x-oss-credential"), q.Get("x-oss-date"), q.Get("x-oss-additional-headers")})
	c.signature = q.Get("x-oss-signature")
	c.expired = s.opts.Now().After(at.Add(time.Duration(life) * time.Second))
	return c
}

// scopeV4 is what a signature says about itself.
type scopeV4 struct {
	credential string // <key id>/<day>/<region>/oss/aliyun_v4_request
	date       string
	additional string // names of signed headers
}

// claimV4 works out what should have been signed.
func (s *Server) claimV4(r *http.Request, resource string, sc scopeV4) (c claim) {
	parts := strings.Split(sc.credential, "/")
	if len(parts) != 5 || parts[3] != "oss" || parts[4] != "aliyun_v4_request" {
		c.malformed = "Invalid credential"
		return c
	}
	if parts[2] != s.opts.Region {
		c.malformed = "Invalid credential region"
		return c
	}
	c.keyID = parts[0]
	request := canonicalV4(r, sc.additional, resource)
	sum := sha256.Sum256([]byte(request))
	c.toSign = strings.Join([]string{algorithmV4, sc.date, strings.Join(parts[1:], "/"), hex.EncodeToString(sum[:])}, "\n")
	c.want = signV4(s.opts.KeySecret, parts[1], parts[2], c.toSign)
	return c
}

// canonicalV4 is the request in the one form that is signed.
func canonicalV4(r *http.Request, additional, resource string) string {
	var query []string
	for _, pair := range strings.Split(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, errN := url.PathUnescape(name)
		value, errV := url.PathUnescape(value)
		if errN != nil || errV != nil || name == "" || name == "x-oss-signature" {
			continue
		}
		if name = escape(name, false); value != "" {
			name += "=" + escape(value, false)
		}
		query = append(query, name)
	}
	slices.Sort(query)
	var names []string
	for name := range r.Header {
		lower := strings.ToLower(name)
		more := slices.Contains(strings.Split(additional, ";"), lower)
		if strings.HasPrefix(lower, "x-oss-") || lower == "content-type" || lower == "content-md5" || more {
			names = append(names, lower)
		}
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		headers.WriteString(name + ":" + strings.TrimSpace(r.Header.Get(name)) + "\n")
	}
	payload := r.Header.Get("x-oss-content-sha256")
	if payload == "" {
		payload = unsigned
	}
	return strings.Join([]string{r.Method, escape(resource, true), strings.Join(query, "&"), headers.String(), additional, payload}, "\n")
}

// escape writes everything but unreserved characters (RFC 3986) as %XX.
func escape(text string, keepSlash bool) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-_.~", c) >= 0, c == '/' && keepSlash:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func signV4(secret, day, region, text string) string {
	key := []byte("aliyun_v4" + secret)
	for _, step := range []string{day, region, "oss", "aliyun_v4_request"} {
		key = mac(sha256.New, key, step)
	}
	return hex.EncodeToString(mac(sha256.New, key, text))
}
