package oss

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The vectors are the worked examples of the OSS documentation and the test
// vectors of Alibaba's Go SDK v2 (oss/signer, v1.6.1, read November 2026).

func request(method, url string, header map[string]string) *http.Request {
	r := httptest.NewRequest(method, url, nil)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return r
}

func TestSignV1(t *testing.T) {
	old := map[string]string{
		"Content-MD5": "ODBGOERFMDMzQTczRUY3NUE3NzA5QzdFNUYzMDQxNEM=", "Content-Type": "text/html",
		"X-OSS-Meta-Author": "foo@bar.com", "X-OSS-Magic": "abracadabra",
	}
	header := map[string]string{
		"Content-MD5": "eB5eJF1ptWaXm4bijSPyxw==", "Content-Type": "text/html", "x-oss-date": "Wed, 28 Dec 2022 10:27:41 GMT",
		"x-oss-meta-author": "alice", "x-oss-meta-magic": "abracadabra",
	}
	for _, c := range []struct {
		name, date, resource, secret, want string
		r                                  *http.Request
	}{
		{
			"example of the documentation", "Thu, 17 Nov 2005 18:49:58 GMT", "/oss-example/nelson", "OtxrzxIsfpFjA7SwPzILwy8Bw21TLhquhboDYROV", "26NBxoKdsyly4EDv6inkoDft/yA=",
			request("PUT", "/nelson", old),
		},
		{"put", "Wed, 28 Dec 2022 10:27:41 GMT", "/examplebucket/nelson", "sk", "kSHKmLxlyEAKtZPkJhG9bZb5k7M=", request("PUT", "/nelson", header)},
		{"sub-resource", "Wed, 28 Dec 2022 10:27:41 GMT", "/examplebucket/nelson", "sk", "/afkugFbmWDQ967j1vr6zygBLQk=", request("PUT", "/nelson?acl", header)},
		{
			"two of them, and one that is not signed", "Wed, 28 Dec 2022 10:27:41 GMT", "/examplebucket/", "sk", "x3E5TgOvl/i7PN618s5mEvpJDYk=",
			request("GET", "/?resourceGroup&acl&non-resource=null", map[string]string{"x-oss-date": "Wed, 28 Dec 2022 10:27:41 GMT"}),
		},
		{"URL", "1699807420", "/bucket/key", "sk", "dcLTea+Yh9ApirQ8o8dOPqtvJXQ=", request("GET", "/key?Expires=1699807420&OSSAccessKeyId=ak&Signature=x&versionId=versionId", nil)},
		{"URL with a token", "1699808204", "/bucket/key+123", "sk", "jzKYRrM5y6Br0dRFPaTGOsbrDhY=", request("GET", "/key%2B123?Expires=1699808204&OSSAccessKeyId=ak&Signature=x&security-token=token&versionId=versionId", nil)},
	} {
		if got := signV1(c.secret, stringV1(c.r, c.date, c.resource)); got != c.want {
			t.Errorf("%s: signature %s, want %s of\n%s", c.name, got, c.want, stringV1(c.r, c.date, c.resource))
		}
	}
}

func TestSignV4(t *testing.T) {
	const params = "param1=value1&%2Bparam1=value3&%7Cparam1=value4&%2Bparam2&%7Cparam2&param2"
	header := func(date, contentType string) map[string]string {
		h := map[string]string{"x-oss-head1": "value", "abc": "value", "ZAbc": "value", "XYZ": "value", "content-type": contentType}
		if date != "" {
			h["x-oss-date"], h["x-oss-content-sha256"] = date, unsigned
		}
		return h
	}
	for _, c := range []struct {
		name, date, additional, want string
		r                            *http.Request
	}{
		{"header", "20231216T162057Z", "", "e21d18daa82167720f9b1047ae7e7f1ce7cb77a31e8203a7d5f4624fa0284afe", request("PUT", "/x?"+params, header("20231216T162057Z", "text/plain"))},
		{"more headers", "20231216T172512Z", "abc;zabc", "4a4183c187c07c8947db7620deb0a6b38d9fbdd34187b6dbaccb316fa251212f", request("PUT", "/x?"+params, header("20231216T172512Z", "text/plain"))},
		{
			"URL", "20231217T025437Z", "", "a39966c61718be0d5b14e668088b3fa07601033f6518ac7b523100014269c0fe",
			request("PUT", "/x?"+params+"&x-oss-signature-version=OSS4-HMAC-SHA256&x-oss-date=20231217T025437Z&x-oss-expires=599&x-oss-credential=ak%2F20231217%2Fcn-hangzhou%2Foss%2Faliyun_v4_request&x-oss-signature=x", header("", "application/octet-stream")),
		},
	} {
		canonical := canonicalV4(c.r, c.additional, "/bucket/1234+-/123/1.txt")
		sum := sha256.Sum256([]byte(canonical))
		day := c.date[:8]
		text := strings.Join([]string{algorithmV4, c.date, day + "/cn-hangzhou/oss/aliyun_v4_request", hex.EncodeToString(sum[:])}, "\n")
		if got := signV4("sk", day, "cn-hangzhou", text); got != c.want {
			t.Errorf("%s: signature %s, want %s of\n%s", c.name, got, c.want, canonical)
		}
	}
}
