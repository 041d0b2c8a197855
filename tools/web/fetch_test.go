package web_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"magpie/tools"
	"magpie/tools/web"
)

func TestFetch(t *testing.T) {
	srv := site(t)
	tool := web.Fetch(options(t))
	for path, want := range map[string][]string{
		"/article": {"URL: " + srv.URL + "/article", "Title: Birds", "Type: text/html; charset=utf-8", "Shown: the article", "[more](" + srv.URL + "/more)"},
		"/away":    {"URL: " + srv.URL + "/article", "Magpies"},
		"/gbk":     {"Title: 报告", "charset=gbk", "喜鹊的报告"},
		"/json":    {"Type: application/json", `{"a": [1, "<b>"]}`},
		"/text":    {"Type: text/plain", "plain <b>text</b>\nsecond line"},
		"/rss":     {"Type: application/rss+xml", "<rss><item>one"},
		"/png":     {"Binary content: image/png, 16 bytes"},
		"/liar":    {"Binary content: image/png, 16 bytes"},
		"/none":    {"Title: Sniffed", "without a type"},
		"/empty":   {"no text", "screenshot"},
		"/pdf":     {"Type: application/pdf", "Hello from a PDF"},
	} {
		res := run(t, tool, map[string]any{"url": srv.URL + path})
		for _, w := range want {
			if !res.OK || !strings.Contains(res.Text, w) {
				t.Errorf("%s: %q is missing in: %s", path, w, res.Text)
			}
		}
		if strings.Contains(res.Text, "Navigation") {
			t.Errorf("%s: the menu is still there: %s", path, res.Text)
		}
	}
	for path, want := range map[string]string{"/nowhere": "404", "/badpdf": "damaged"} {
		if res := run(t, tool, map[string]any{"url": srv.URL + path}); res.OK || !strings.Contains(res.Text, want) {
			t.Errorf("%s: %s", path, res.Text)
		}
	}
	srv.Close()
	if res := run(t, tool, map[string]any{"url": srv.URL}); res.OK || !strings.Contains(res.Text, "nothing listens there") {
		t.Errorf("no server: %s", res.Text)
	}
}

func TestFetchFormats(t *testing.T) {
	srv := site(t)
	tool := web.Fetch(options(t))
	for _, name := range []string{"format", "extractMode", "extract_mode", "outputFormat", "output_format"} {
		for value, want := range map[string]string{"text": "See more.", "markdown": "See [more](", "html": `<a href="` + srv.URL + `/more">more</a>`} {
			if res := run(t, tool, map[string]any{"url": srv.URL + "/article", name: value}); !strings.Contains(res.Text, want) {
				t.Errorf("%s %s: %q is missing in %s", name, value, want, res.Text)
			}
		}
	}
	if res := run(t, tool, map[string]any{"url": srv.URL + "/article", "format": "pdf"}); res.Err != tools.InvalidArgs {
		t.Errorf("unknown format: %s", res.Text)
	}
	o := options(t)
	o.Format = "text"
	if res := run(t, web.Fetch(o), map[string]any{"url": srv.URL + "/article"}); !strings.Contains(res.Text, "See more.") {
		t.Errorf("the configured format: %s", res.Text)
	}
}

func TestFetchMaxChars(t *testing.T) {
	srv := site(t)
	o := options(t)
	o.MaxChars = 2999
	for name, c := range map[string]struct {
		args map[string]any
		want int
	}{
		"as configured": {map[string]any{}, 2999},
		"one less":      {map[string]any{"max_chars": 2998}, 2998},
		"all":           {map[string]any{"maxChars": 3000}, 3000},
		"cast":          {map[string]any{"maxChars": "1"}, 1},
	} {
		c.args["url"] = srv.URL + "/long"
		res := run(t, web.Fetch(o), c.args)
		if got := strings.Count(res.Text, "喜"); got != c.want || strings.Contains(res.Text, "Truncated") != (c.want < 3000) {
			t.Errorf("%s: %d characters, want %d: %.200s", name, got, c.want, res.Text)
		}
	}
	for _, bad := range []int{0, -1, 200001} {
		if res := run(t, web.Fetch(o), map[string]any{"url": srv.URL + "/long", "max_chars": bad}); res.Err != tools.InvalidArgs {
			t.Errorf("%d: %.100s", bad, res.Text)
		}
	}
	// Larger than other tools' results, and still in one piece.
	if res := run(t, web.Fetch(options(t)), map[string]any{"urls": []string{srv.URL + "/long", srv.URL + "/long"}}); strings.Count(res.Text, "喜") != 6000 {
		t.Errorf("two long pages: %.300s", res.Text)
	}
}

// Of a body that is cut no total is claimed.
func TestFetchCut(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(bytes.Repeat([]byte("x"), 4<<20+1))
	}))
	defer srv.Close()
	res := run(t, web.Fetch(options(t)), map[string]any{"url": srv.URL, "max_chars": 100})
	if want := "the first 100 of the 4194304 characters that were read; the rest of the server's answer was not read;"; !strings.Contains(res.Text, want) {
		t.Errorf("want %q in %.400s", want, res.Text)
	}
}

func TestFetchSeveral(t *testing.T) {
	srv := site(t)
	tool := web.Fetch(options(t))
	res := run(t, tool, map[string]any{"urls": []string{srv.URL + "/gbk", srv.URL + "/nowhere", "file:///x", srv.URL + "/json"}})
	first, last := strings.Index(res.Text, "喜鹊的报告"), strings.Index(res.Text, `"<b>"`)
	if !res.OK || first < 0 || last < first || strings.Count(res.Text, "Not read: ") != 2 || strings.Count(res.Text, "\n---\n") != 3 {
		t.Errorf("two of four: %s", res.Text)
	}
	if res := run(t, tool, map[string]any{"urls": []string{srv.URL + "/x", srv.URL + "/y"}}); res.OK || !strings.Contains(res.Text, "none of the pages") {
		t.Errorf("none: %s", res.Text)
	}
	for name, args := range map[string]map[string]any{
		"both":    {"url": srv.URL, "urls": []string{srv.URL}},
		"neither": {},
		"no urls": {"urls": []string{}},
		"eleven":  {"urls": strings.Split(strings.Repeat(srv.URL+" ", 11), " ")[:11]},
	} {
		if res := run(t, tool, args); res.Err != tools.InvalidArgs {
			t.Errorf("%s: %s: %s", name, res.Err, res.Text)
		}
	}
}

// TOOL-15: a page is asked for once in a turn, unless something was changed.
func TestFetchedOncePerTurn(t *testing.T) {
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("page"))
	}))
	defer srv.Close()
	acts := tools.New(tools.Spec{Name: "act", Description: "Changes something for the test.", Category: tools.Code, Effect: tools.Acts},
		func(context.Context, tools.Scope, struct{}) (tools.Result, error) { return tools.Result{}, nil })
	ex := executor(t, nil, web.Fetch(options(t)), acts)
	args := arguments(t, map[string]any{"url": srv.URL})
	for i, step := range []struct {
		turn, tool, args string
		want             int32
	}{
		{"1", "web_fetch", args, 1},
		{"1", "web_fetch", args, 1},
		{"2", "web_fetch", args, 2},
		{"1", "act", "{}", 2},
		{"1", "web_fetch", args, 3},
		{"", "web_fetch", args, 4},
		{"", "web_fetch", args, 5},
	} {
		if res := ex.Run(t.Context(), tools.Scope{Turn: step.turn}, step.tool, step.args); !res.OK || asked.Load() != step.want {
			t.Errorf("step %d: asked %d times, want %d: %s", i, asked.Load(), step.want, res.Text)
		}
	}
}

// A rule about a host sees every spelling of it.
func TestPolicySeesOneSpelling(t *testing.T) {
	policy, err := tools.NewPolicy([]tools.Rule{{Match: `^https?://intern\.example/`, Action: tools.Deny}})
	if err != nil {
		t.Fatal(err)
	}
	ex := executor(t, &tools.Options{Policy: policy}, web.Fetch(nil), web.Request(nil))
	for _, url := range []string{"https://intern.example/", "HTTP://INTERN.example./a", "http://u:p@intern.example:80/", "intern.example", "https://ｉntern.example/", " https://intern.example"} {
		for _, name := range []string{"web_fetch", "http_request"} {
			if res := ex.Run(t.Context(), tools.Scope{}, name, arguments(t, map[string]any{"url": url})); res.Err != tools.Permission {
				t.Errorf("%s %q: %s: %s", name, url, res.Err, res.Text)
			}
		}
	}
}

// A policy judges each of several pages.
func TestPolicyOfSeveralPages(t *testing.T) {
	policy, err := tools.NewPolicy([]tools.Rule{{Tool: "web_fetch", Match: `^https?://evil\.example/`, Action: tools.Deny}})
	if err != nil {
		t.Fatal(err)
	}
	reg := &tools.Registry{}
	if err := reg.Register(web.Fetch(nil)); err != nil {
		t.Fatal(err)
	}
	e := tools.NewExecutor(reg, &tools.Options{Policy: policy})
	for _, args := range []string{`{"url":"http://evil.example/"}`, `{"urls":["http://127.0.0.1:1/","HTTP://EVIL.example/x"]}`} {
		if res := e.Run(t.Context(), tools.Scope{}, "web_fetch", args); res.Err != tools.Permission {
			t.Errorf("%s: %+v", args, res)
		}
	}
}
