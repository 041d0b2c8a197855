package oss_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/fakes/nodetest"
	fake "magpie/internal/fakes/oss"
)

func serve(t *testing.T, o *fake.Options) (*fake.Server, string) {
	t.Helper()
	s := fake.New(o)
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		srv.Close()
	})
	return s, srv.URL
}

// The fake against Alibaba's own client for Node.
func TestAliOSS(t *testing.T) {
	node, modules := nodetest.Find(t, "ali-oss")
	s, url := serve(t, &fake.Options{V1: true})
	o := s.Options()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "testdata/ali-oss.cjs", strings.Replace(url, "127.0.0.1", o.Domain, 1), o.KeyID, o.KeySecret, o.Bucket, o.Region)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, said.String())
	}
	type outcome struct {
		Put, Deleted, Broken                         int
		Fetched, Type, Got, Missing, Key, Who, Where string
	}
	want := outcome{
		200, 204, 403, "你好 hello", "text/plain", "你好 hello",
		"404 NoSuchKey", "403 SignatureDoesNotMatch", "403 InvalidAccessKeyId", "404 NoSuchBucket",
	}
	var got []outcome
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]outcome{want, want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is refused without any client's help: calls without a right signature.
func TestRefusals(t *testing.T) {
	s, url := serve(t, &fake.Options{V1: true})
	for _, c := range []struct {
		name, method, path string
		header             map[string]string
		status             int
		code               string
	}{
		{"nobody", "GET", "/magpie-test/a", nil, 403, "AccessDenied"},
		{"another scheme", "GET", "/magpie-test/a", map[string]string{"Authorization": "Bearer x"}, 403, "InvalidArgument"},
		{"no date", "GET", "/magpie-test/a", map[string]string{"Authorization": "OSS LTAItest:x"}, 403, "RequestTimeTooSkewed"},
		{"wrong signature", "GET", "/magpie-test/a", map[string]string{"Authorization": "OSS LTAItest:x", "Date": time.Now().UTC().Format(http.TimeFormat)}, 403, "SignatureDoesNotMatch"},
		{"old URL", "GET", "/magpie-test/a?OSSAccessKeyId=LTAItest&Expires=1&Signature=x", nil, 403, "AccessDenied"},
		{"no expiry", "GET", "/magpie-test/a?OSSAccessKeyId=LTAItest&Signature=x", nil, 400, "InvalidArgument"},
		{"version 4 without its hash", "GET", "/magpie-test/a", map[string]string{"Authorization": "OSS4-HMAC-SHA256 Credential=x,Signature=y"}, 400, "InvalidArgument"},
		{
			"another region", "GET", "/magpie-test/a",
			map[string]string{"Authorization": "OSS4-HMAC-SHA256 Credential=LTAItest/20261121/cn-other/oss/aliyun_v4_request,Signature=y", "x-oss-content-sha256": "UNSIGNED-PAYLOAD"},
			400, "InvalidArgument",
		},
		{"URL for too long", "GET", "/magpie-test/a?x-oss-signature=x&x-oss-signature-version=OSS4-HMAC-SHA256&x-oss-date=20261121T000000Z&x-oss-expires=604801", nil, 400, "InvalidArgument"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range c.header {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var e struct{ Code, RequestID string }
		if err != nil || xml.Unmarshal(bytes.ReplaceAll(body, []byte("RequestId"), []byte("RequestID")), &e) != nil {
			t.Fatalf("%s: %s, %v", c.name, body, err)
		}
		if resp.StatusCode != c.status || e.Code != c.code || e.RequestID == "" || e.RequestID != resp.Header.Get("x-oss-request-id") {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
		if strings.Contains(string(body), s.Options().KeySecret) {
			t.Errorf("%s: the secret is told", c.name)
		}
	}
}

// A bucket of today takes version 4 only, and that of a new account only by a
// domain of its owner.
func TestNewBuckets(t *testing.T) {
	for _, c := range []struct {
		name, path, host string
		o                fake.Options
		status           int
		code, ec         string
	}{
		{"a header of version 1", "/magpie-test/a", "", fake.Options{}, 403, "AccessDenied", "0002-00000080"},
		{"a URL of version 1", "/magpie-test/a?OSSAccessKeyId=LTAItest&Expires=9999999999&Signature=x", "", fake.Options{}, 403, "AccessDenied", "0002-00000080"},
		{"the public endpoint", "/a", "magpie-test.oss-cn-test.aliyuncs.com", fake.Options{New: true, CNAME: "files.example.org"}, 400, "PublicEndpointForbidden", "0048-00000401"},
		{"the owner's domain", "/a", "files.example.org", fake.Options{New: true, CNAME: "files.example.org", Public: true}, 404, "NoSuchKey", ""},
	} {
		_, url := serve(t, &c.o)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		if c.name == "a header of version 1" {
			req.Header.Set("Authorization", "OSS LTAItest:x")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), "<Code>"+c.code+"</Code>") || resp.Header.Get("x-oss-ec") != c.ec {
			t.Errorf("%s: %d, EC %q, %s, %v", c.name, resp.StatusCode, resp.Header.Get("x-oss-ec"), body, err)
		}
	}
}
