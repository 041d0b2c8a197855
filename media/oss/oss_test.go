package oss

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"magpie/chat"
	fake "magpie/internal/fakes/oss"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is the fake with a bucket in it, reached by IP address or by name.
type service struct {
	*fake.Server
	url string
	tr  *http.Transport
}

func serve(t *testing.T, o *fake.Options) *service {
	t.Helper()
	s := &service{Server: fake.New(o)}
	srv := httptest.NewServer(s.Handler())
	s.url = srv.URL
	s.tr = &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, srv.Listener.Addr().String())
	}}
	t.Cleanup(func() {
		s.Close()
		s.tr.CloseIdleConnections()
		srv.Close()
	})
	return s
}

func (s *service) options() Options {
	o := s.Options()
	return Options{
		Endpoint: s.url, Bucket: o.Bucket, AccessKeyID: o.KeyID, AccessKeySecret: chat.Secret(o.KeySecret),
		Region: o.Region, Prefix: "magpie/", Transport: s.tr,
	}
}

func bucket(t *testing.T, o Options) *Bucket {
	t.Helper()
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.pause = time.Millisecond
	return b
}

func text(name, mime, body string) File {
	return File{Name: name, MIME: mime, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(body)), nil
	}}
}

// get fetches a URL as a platform does.
func (s *service) get(t *testing.T, where string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, where, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// An IP address, the endpoint, the bucket's own name at it, and a domain of the
// owner's; names of all kinds. The last is all that a new account has.
func TestPut(t *testing.T) {
	for endpoint, account := range map[string]fake.Options{
		"": {}, "http://oss-cn-test.aliyuncs.com": {}, "http://magpie-test.oss-cn-test.aliyuncs.com": {},
		"http://oss-cn-test-internal.aliyuncs.com": {},
		"http://files.example.org":                 {New: true, CNAME: "files.example.org"},
	} {
		for _, region := range []string{"", "cn-test", "oss-cn-test"} {
			t.Run(fmt.Sprintf("%s region %q", endpoint, region), func(t *testing.T) {
				s := serve(t, &account)
				o := s.options()
				if o.CNAME = account.CNAME != ""; region != "" || endpoint != "" && !o.CNAME {
					o.Region = region
				}
				if endpoint != "" {
					o.Endpoint = endpoint
				}
				o.Now = func() time.Time { return time.Date(2026, 11, 21, 23, 0, 0, 0, time.FixedZone("", -5*3600)) }
				b := bucket(t, o)
				for _, f := range []struct{ name, mime, body, disposition string }{
					{"chart.png", "image/png", "pixels", `inline; filename="chart.png"`},
					{`报告 "最终"+50%.txt`, "text/plain", "你好", `attachment; filename="__ ____+50_.txt"; filename*=UTF-8''%E6%8A%A5%E5%91%8A%20_%E6%9C%80%E7%BB%88_%2B50%25.txt`},
					{"../../etc/passwd", "", "", `attachment; filename="passwd"`},
					{"a&b=c#d?e;f'(g)~!.mp3", "audio/mpeg", strings.Repeat("x", 1<<20), `inline; filename="a&b=c#d_e;f'(g)~!.mp3"`},
				} {
					where, err := b.Put(t.Context(), text(f.name, f.mime, f.body))
					if err != nil {
						t.Fatalf("%s: %v", f.name, err)
					}
					resp, body := s.get(t, where)
					if resp.StatusCode != http.StatusOK || body != f.body || resp.Header.Get("Content-Disposition") != f.disposition {
						t.Errorf("%s: %s: %d, %d bytes, %s", f.name, where, resp.StatusCode, len(body), resp.Header.Get("Content-Disposition"))
					}
					want := f.mime
					if want == "" {
						want = "application/octet-stream"
					}
					if got := resp.Header.Get("Content-Type"); got != want {
						t.Errorf("%s: type %q", f.name, got)
					}
					u, err := url.Parse(where)
					if err != nil || strings.Contains(where, string(o.AccessKeySecret)) || strings.Contains(strings.Split(where, "?")[0], "%2F") {
						t.Errorf("URL %s, %v", where, err)
					}
					key := strings.TrimPrefix(strings.TrimPrefix(u.Path, "/"+o.Bucket), "/")
					if !regexp.MustCompile(`^magpie/2026/11/22/[a-z2-7]{26}/[^/]+$`).MatchString(key) {
						t.Errorf("key %q", key)
					}
				}
				if n := len(s.Objects()); n != 4 {
					t.Errorf("%d objects", n)
				}
			})
		}
	}
}

// A signed URL ends, is good for one object only, and its time is bounded.
func TestSignedURL(t *testing.T) {
	for _, own := range []string{"", "files.example.org"} {
		now := time.Now()
		s := serve(t, &fake.Options{CNAME: own, New: own != "", Now: func() time.Time { return now }})
		o := s.options()
		if o.URLTTL = 365 * 24 * time.Hour; own != "" {
			o.Endpoint, o.CNAME = "http://"+own, true
		}
		where, err := bucket(t, o).Put(t.Context(), text("a.txt", "text/plain", "x"))
		if err != nil {
			t.Fatal(err)
		}
		if resp, _ := s.get(t, strings.Replace(where, "a.txt", "b.txt", 1)); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%q: another object: %d", own, resp.StatusCode)
		}
		if resp, _ := s.get(t, strings.Split(where, "?")[0]); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%q: without the signature: %d", own, resp.StatusCode)
		}
		for after, want := range map[time.Duration]int{maxTTL - time.Minute: http.StatusOK, maxTTL + time.Minute: http.StatusForbidden} {
			now = time.Now().Add(after)
			if resp, body := s.get(t, where); resp.StatusCode != want {
				t.Errorf("%q: after %v: %d %s", own, after, resp.StatusCode, body)
			}
		}
	}
}

func TestPublicBaseURL(t *testing.T) {
	s := serve(t, &fake.Options{Public: true})
	o := s.options()
	o.PublicBaseURL = s.url + "/" + o.Bucket + "/"
	where, err := bucket(t, o).Put(t.Context(), text("图 1.png", "image/png", "pixels"))
	if err != nil || strings.Contains(where, "?") {
		t.Fatal(where, err)
	}
	if resp, body := s.get(t, where); resp.StatusCode != http.StatusOK || body != "pixels" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// What may pass is tried again with the bytes from the beginning.
func TestPutTriesAgain(t *testing.T) {
	faults := map[string]fake.Fault{
		"500": {Status: 500, Code: "InternalError"}, "503 of a proxy": {Status: 503}, "cut": {Drop: true},
		"answer lost": {Drop: true, After: true}, "other bytes": {WrongCRC: true}, "too much": {Status: 429},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil)
			s.Fail(f)
			opened := 0
			file := text("a.bin", "", strings.Repeat("0123456789", 10_000))
			open := file.Open
			file.Open = func(ctx context.Context) (io.ReadCloser, error) { opened++; return open(ctx) }
			where, err := bucket(t, s.options()).Put(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			if _, body := s.get(t, where); len(body) != 100_000 {
				t.Errorf("%d bytes", len(body))
			}
			if opened != 3 || s.Calls("PUT") != 2 { // once to measure
				t.Errorf("opened %d times, %d calls", opened, s.Calls("PUT"))
			}
		})
	}
}

// What is refused is not tried again, and the error says what to do without
// telling a secret.
func TestPutRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		code   string
		advice string
	}{
		{"secret", func(o *Options) { o.AccessKeySecret = "another-secret" }, "SignatureDoesNotMatch", "access_key_secret"},
		{"key", func(o *Options) { o.AccessKeyID = "LTAIother" }, "InvalidAccessKeyId", "access_key_id"},
		{"bucket", func(o *Options) { o.Bucket = "another" }, "NoSuchBucket", "media.oss.bucket"},
		{"region", func(o *Options) { o.Region = "cn-other" }, "InvalidArgument", "media.oss.region"},
		{"new account", func(o *Options) { o.Endpoint = "http://oss-cn-test.aliyuncs.com" }, "PublicEndpointForbidden", "media.oss.cname: true"},
	} {
		s := serve(t, &fake.Options{New: c.name == "new account"})
		o := s.options()
		c.change(&o)
		b := bucket(t, o)
		for what, call := range map[string]func() error{
			"put":   func() error { _, err := b.Put(t.Context(), text("a", "", "x")); return err },
			"check": func() error { return b.Check(t.Context()) },
		} {
			err := call()
			var e *Error
			if !errors.As(err, &e) || e.Code != c.code || e.RequestID == "" || !strings.Contains(e.Advice(), c.advice) {
				t.Fatalf("%s, %s: %v", c.name, what, err)
			}
			for _, secret := range []string{string(o.AccessKeySecret), o.AccessKeyID, "Signature=", "StringToSign", "Expires"} {
				if said := fmt.Sprintf("%v %+v %#v", err, err, e); strings.Contains(said, secret) {
					t.Errorf("%s, %s: %q is told: %s", c.name, what, secret, said)
				}
			}
		}
		if n := s.Calls("PUT"); n != 2 {
			t.Errorf("%s: %d calls", c.name, n)
		}
	}
}

func TestPutGivesUp(t *testing.T) {
	s := serve(t, nil)
	s.Fail(fake.Fault{Times: 99, Status: 500, Code: "InternalError"})
	_, err := bucket(t, s.options()).Put(t.Context(), text("a", "", "x"))
	var e *Error
	if !errors.As(err, &e) || e.Status != 500 || !strings.Contains(e.Advice(), "try again later") || s.Calls("PUT") != putTries {
		t.Errorf("%d calls: %v", s.Calls("PUT"), err)
	}
}

// The end of ctx ends a call that hangs and a pause.
func TestPutCancelled(t *testing.T) {
	for name, f := range map[string]fake.Fault{"hang": {}, "pause": {Times: 99, Status: 500}} {
		s := serve(t, nil)
		s.Fail(f)
		b := bucket(t, s.options())
		b.pause = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := b.Put(ctx, text("a", "", "x"))
			done <- err
		}()
		for s.Calls("PUT") == 0 {
			select {
			case err := <-done:
				t.Fatalf("%s: ended: %v", name, err)
			case <-time.After(time.Millisecond):
			}
		}
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: does not end", name)
		}
	}
}

// A file that cannot be read is not the bucket's fault.
func TestPutUnreadable(t *testing.T) {
	s := serve(t, nil)
	broken := errors.New("disk is broken")
	for _, open := range []func(context.Context) (io.ReadCloser, error){
		func(context.Context) (io.ReadCloser, error) { return nil, broken },
		func(context.Context) (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(broken)), nil },
	} {
		if _, err := bucket(t, s.options()).Put(t.Context(), File{Name: "a", Open: open}); !errors.Is(err, broken) {
			t.Errorf("err = %v", err)
		}
	}
	if s.Calls("PUT") > 0 || len(s.Objects()) > 0 {
		t.Error("something was put")
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  *fake.Fault
		change func(s *service, o *Options)
		op     string // of the error; "" = all is well
	}{
		{"good", nil, func(*service, *Options) {}, ""},
		{"put", &fake.Fault{Method: "PUT", Status: 403, Code: "AccessDenied"}, func(*service, *Options) {}, "put"},
		{"get", &fake.Fault{Method: "GET", Status: 403, Code: "AccessDenied"}, func(*service, *Options) {}, "signed get"},
		{"get is cut", &fake.Fault{Method: "GET", Times: 9, Drop: true}, func(*service, *Options) {}, "signed get"},
		{"delete", &fake.Fault{Method: "DELETE", Status: 403, Code: "AccessDenied"}, func(*service, *Options) {}, "delete"},
		{"not public", nil, func(s *service, o *Options) { o.PublicBaseURL = s.url + "/" + o.Bucket }, "get at public_base_url"},
		{"nobody there", nil, func(s *service, o *Options) { o.Transport = refusing{} }, "put"},
	} {
		s := serve(t, nil)
		o := s.options()
		c.change(s, &o)
		if c.fault != nil {
			s.Fail(*c.fault)
		}
		err := bucket(t, o).Check(t.Context())
		var e *Error
		if errors.As(err, &e); c.op == "" && err != nil || c.op != "" && (e == nil || e.Op != c.op || e.Advice() == "") {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, secret := range []string{"Signature", o.AccessKeyID, string(o.AccessKeySecret)} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q is told: %v", c.name, secret, err)
			}
		}
		if n := len(s.Objects()); n > 0 && c.op != "delete" {
			t.Errorf("%s: %d objects are left", c.name, n)
		}
	}
}

// refusing is a network where nobody listens.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// What the service says is repeated on one line, in short, without the key.
func TestMessagesAreCleaned(t *testing.T) {
	e := (&Error{Op: "put", Status: 403, Message: "no\n key LTAIx \xff secret hush-hush " + strings.Repeat("很长", 200)}).clean(
		Options{AccessKeyID: "LTAIx", AccessKeySecret: "hush-hush"})
	if !strings.HasPrefix(e.Error(), "oss: put: 403: no key *** secret *** 很长") || len(e.Message) > maxMessage+len("…") {
		t.Errorf("%d bytes: %s", len(e.Message), e)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []Options{
		{Endpoint: "https://oss-cn-hangzhou.aliyuncs.com", Bucket: "Not_A_Bucket", AccessKeyID: "a", AccessKeySecret: "hush-hush"},
		{Endpoint: "https://bad host", Bucket: "bucket", AccessKeyID: "a", AccessKeySecret: "hush-hush"},
		{Endpoint: "", Bucket: "bucket", AccessKeyID: "a", AccessKeySecret: "hush-hush"},
	} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func FuzzDisposition(f *testing.F) {
	for _, s := range []string{"a.txt", "报告.pdf", "a\"b", "a\r\nX: y", "%", "", strings.Repeat("字", 200), "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := disposition(name, "image/png")
		for _, r := range got {
			if r < ' ' || r > '~' {
				t.Fatalf("%q: %q", name, got)
			}
		}
		if strings.Count(got, `"`) != 2 {
			t.Errorf("%q: %q", name, got)
		}
	})
}
