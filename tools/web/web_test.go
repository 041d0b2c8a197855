package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/text/encoding/simplifiedchinese"

	"magpie/tools"
	"magpie/tools/tooltest"
	"magpie/tools/web"
	"magpie/tools/web/guard"
	"magpie/tools/web/pdftext"
)

// TestMain is also the process that reads PDF files.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == pdftext.Flag {
		if err := pdftext.Serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// options let the tests' servers through.
func options(t testing.TB) *web.Options {
	t.Helper()
	g, err := guard.New(&guard.Options{Allow: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &web.Options{Guard: g, PDF: []string{exe, pdftext.Flag}}
}

func executor(t testing.TB, o *tools.Options, all ...tools.Tool) *tools.Executor {
	t.Helper()
	reg := &tools.Registry{}
	if err := reg.RegisterAll(all...); err != nil {
		t.Fatal(err)
	}
	return tools.NewExecutor(reg, o)
}

// arguments writes a call's arguments.
func arguments(t testing.TB, v map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func run(t testing.TB, tool tools.Tool, args map[string]any) tools.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	return executor(t, nil, tool).Run(ctx, tools.Scope{}, tool.Spec().Name, arguments(t, args))
}

const paragraph = "<p>Magpies have been seen in all parts of the city since the spring, and people who feed them say that they come back every single morning.</p>"

// site answers by path.
func site(t testing.TB) *httptest.Server {
	t.Helper()
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("<title>报告</title><p>喜鹊的报告</p>")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string][2]string{
		"/article": {"text/html; charset=utf-8", "<title>Birds</title><nav>Navigation</nav><article><h1>Birds</h1>" + strings.Repeat(paragraph, 4) + `<p>See <a href="/more">more</a>.</p></article>`},
		"/gbk":     {"text/html; charset=gbk", gbk},
		"/json":    {"application/json", `{"a": [1, "<b>"]}`},
		"/text":    {"text/plain", "plain <b>text</b>\nsecond line"},
		"/rss":     {"application/rss+xml", "<rss><item>one</item></rss>"},
		"/png":     {"image/png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"},
		"/liar":    {"text/plain", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"},
		"/none":    {"", "<!doctype html><title>Sniffed</title><p>without a type"},
		"/empty":   {"text/html", ""},
		"/long":    {"text/plain", strings.Repeat("喜", 3000)},
		"/pdf":     {"application/octet-stream", string(pdf)},
		"/badpdf":  {"application/pdf", "%PDF-1.4 no more"},
		"/slash":   {"text/html", "<p>a</p>"},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/article", http.StatusMovedPermanently)
			return
		}
		p, ok := pages[r.URL.Path]
		if !ok {
			http.Error(w, "no such page here", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", p[0])
		fmt.Fprint(w, p[1])
	}))
	t.Cleanup(srv.Close)
	return srv
}

// pdf says "Hello from a PDF".
var pdf = func() []byte {
	var b bytes.Buffer
	var at []int
	b.WriteString("%PDF-1.4\n")
	content := "BT /F1 12 Tf 72 700 Td (Hello from a PDF) Tj ET"
	for i, o := range []string{
		"<</Type /Catalog /Pages 2 0 R>>", "<</Type /Pages /Kids [3 0 R] /Count 1>>",
		"<</Type /Page /Parent 2 0 R /Contents 4 0 R /Resources <</Font <</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content),
		"<</Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding>>",
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, table)
	return b.Bytes()
}()

func TestConformance(t *testing.T) {
	srv := site(t)
	hang := hanging(t)
	url := func(path string) string { return arguments(t, map[string]any{"url": srv.URL + path}) }
	slow := arguments(t, map[string]any{"url": hang})
	good := []string{url("/article"), arguments(t, map[string]any{"url": srv.URL + "/json", "headers": map[string]string{"X-A": "b"}})}
	tooltest.Run(t, web.Fetch(options(t)), &tooltest.Options{Slow: slow, Good: []string{
		arguments(t, map[string]any{"url": srv.URL + "/article", "format": "text", "max_chars": 300}),
		arguments(t, map[string]any{"urls": []string{srv.URL + "/gbk", srv.URL + "/json"}}),
	}})
	tooltest.Run(t, web.Get(options(t)), &tooltest.Options{Slow: slow, Good: good})
	tooltest.Run(t, web.Post(options(t)), &tooltest.Options{Slow: slow, Good: good})
	tooltest.Run(t, web.Request(options(t)), &tooltest.Options{Slow: slow, Good: append(good, arguments(t, map[string]any{"url": srv.URL, "method": "DELETE", "body": "x"}))})
	o := options(t)
	o.Search = found{}
	tooltest.Run(t, web.Search(o), &tooltest.Options{Good: []string{`{"query":"喜鹊"}`, `{"query":"a","count":3}`}})
}

// hanging is the address of a server that never answers.
func hanging(t testing.TB) string {
	t.Helper()
	end := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(end); srv.Close() })
	return srv.URL
}

// SEC-4: what web tools bring is from outside.
func TestTheirTextIsUntrusted(t *testing.T) {
	for _, tool := range []tools.Tool{web.Fetch(nil), web.Search(nil), web.Get(nil), web.Post(nil), web.Request(nil)} {
		if s := tool.Spec(); !s.Untrusted || s.Category != tools.Network {
			t.Errorf("%s: untrusted %v, category %s", s.Name, s.Untrusted, s.Category)
		}
	}
}

// Of failures only those are, which hold words of a server.
func TestTheirFailures(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/code":
			http.Error(rw, "do this", http.StatusTeapot)
		case "/away":
			rw.Header().Set("Location", "gopher://do-this/")
			rw.WriteHeader(http.StatusFound)
		default:
			rw.Header().Set("Content-Encoding", "do this")
		}
	}))
	defer srv.Close()
	own, open := web.Fetch(nil), web.Fetch(options(t))
	for _, k := range []struct {
		tool tools.Tool
		args map[string]any
		want bool
	}{
		{own, map[string]any{"url": srv.URL}, false},
		{own, map[string]any{"urls": []string{srv.URL, "ftp://x"}}, false},
		{open, map[string]any{"url": "ftp://x"}, false},
		{open, map[string]any{"url": srv.URL + "/code"}, true},
		{open, map[string]any{"url": srv.URL + "/away"}, true},
		{open, map[string]any{"url": srv.URL + "/pack"}, true},
		{open, map[string]any{"urls": []string{"ftp://x", srv.URL + "/code"}}, true},
		{web.Search(nil), map[string]any{"query": "x"}, false},
	} {
		if res := run(t, k.tool, k.args); res.OK || res.Untrusted != k.want {
			t.Errorf("%v: untrusted %v, want %v: %s", k.args, res.Untrusted, k.want, res.Text)
		}
	}
}

func TestPrivateAddressesNeedTheOwnersWord(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") }))
	defer srv.Close()
	for _, tool := range []tools.Tool{web.Fetch(nil), web.Get(nil), web.Post(nil), web.Request(nil)} {
		for _, url := range []string{srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), "http://169.254.169.254/latest/meta-data/", "http://[::ffff:10.0.0.1]/"} {
			res := run(t, tool, map[string]any{"url": url})
			if res.OK || res.Err != tools.Security || !strings.Contains(res.Text, "tools.web.allow_private") {
				t.Errorf("%s %s: %s: %s", tool.Spec().Name, url, res.Err, res.Text)
			}
		}
		for _, url := range []string{"file:///etc/passwd", "ftp://example.org/", "http://2130706433/", "http://0x7f.1/"} {
			if res := run(t, tool, map[string]any{"url": url}); res.Err != tools.Security {
				t.Errorf("%s %s: %s: %s", tool.Spec().Name, url, res.Err, res.Text)
			}
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	for range 64 { // 64 MiB
		_, _ = z.Write(bytes.Repeat([]byte("a"), 1<<20))
	}
	z.Close()
	gone := make(chan struct{}, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/endless":
			w.Header().Set("Content-Type", "text/plain")
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("b"), 64<<10)); err != nil {
					break
				}
			}
			gone <- struct{}{}
		case "/headers":
			w.Header().Set("X-Large", strings.Repeat("h", 100<<10))
		case "/br":
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, "\x0b\x02\x80")
		case "/notgzip":
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "this is no gzip")
		}
	}))
	defer srv.Close()
	for _, tool := range []tools.Tool{web.Fetch(options(t)), web.Get(options(t))} {
		name := tool.Spec().Name
		for path, want := range map[string]string{"/bomb": "longer", "/endless": "longer", "/headers": "no answer", "/br": `"br"`, "/notgzip": "gzip"} {
			res := run(t, tool, map[string]any{"url": srv.URL + path})
			longer := strings.Contains(res.Text, "longer") || strings.Contains(res.Text, "Truncated: the first")
			if want == "longer" && (!res.OK || !longer || len(res.Text) > 1<<20) || want != "longer" && (res.OK || !strings.Contains(res.Text, want)) {
				t.Errorf("%s %s: ok %v, %d bytes: %.200s", name, path, res.OK, len(res.Text), res.Text)
			}
		}
		<-gone
	}
}

// TOOL-9: a server that does not answer costs the tool's time and no more.
func TestASlowServer(t *testing.T) {
	ex := executor(t, &tools.Options{NetworkTimeout: 50 * time.Millisecond}, web.Fetch(options(t)), web.Get(options(t)))
	url := hanging(t)
	for _, name := range []string{"web_fetch", "http_get"} {
		if res := ex.Run(t.Context(), tools.Scope{}, name, arguments(t, map[string]any{"url": url})); res.Err != tools.Timeout {
			t.Errorf("%s: want a time-out, got %s: %s", name, res.Err, res.Text)
		}
	}
	if err := ex.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Nothing a model writes may break a tool.
func FuzzArguments(f *testing.F) {
	ex := executor(f, nil, web.Fetch(nil), web.Search(nil), web.Get(nil), web.Post(nil), web.Request(nil))
	for _, args := range []string{
		`{"url":"http://127.0.0.1:1/","format":"text"}`, `{"urls":["http://[::1]/","x"],"maxChars":"7"}`, `{"url":"http://%zz/","headers":{"a\nb":"c"}}`,
		`{"url":"http://127.0.0.1:1","method":"PUT","body":{"a":[1]}}`, `{"query":"q","numResults":"5"}`, `"{\"url\":\"file:///\"}"`,
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		if strings.Contains(args, ".") && !strings.Contains(args, "127.0.0.1") {
			t.Skip() // might be a name to look up
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for _, name := range []string{"web_fetch", "web_search", "http_get", "http_post", "http_request"} {
			if res := ex.Run(ctx, tools.Scope{}, name, args); strings.Contains(res.Text, "broke down") || res.OK {
				t.Errorf("%s(%s): %s", name, args, res.Text)
			}
		}
	})
}
