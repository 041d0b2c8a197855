package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"magpie/tools"
	"magpie/tools/web"
	"magpie/tools/web/page"
)

// A reader that panics costs its page, and neither the others nor the program.
func TestReaderPanics(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>this is %s", r.URL.Path)
	}))
	defer srv.Close()
	tool := web.FetchWith(options(t), func(doc string, base *url.URL, f page.Format) (page.Page, error) {
		if strings.Contains(doc, "bad") {
			var none []int
			_ = none[len(doc)]
		}
		return page.Read(doc, base, f)
	})
	e := executor(t, nil, tool)
	if res := e.Run(t.Context(), tools.Scope{}, "web_fetch", fmt.Sprintf(`{"url":%q}`, srv.URL+"/bad")); res.OK || !strings.Contains(res.Text, "breaks the reader") {
		t.Errorf("%+v", res)
	}
	res := e.Run(t.Context(), tools.Scope{}, "web_fetch", fmt.Sprintf(`{"urls":[%q,%q,%q]}`, srv.URL+"/one", srv.URL+"/bad", srv.URL+"/two"))
	if !res.OK || !strings.Contains(res.Text, "this is /one") || !strings.Contains(res.Text, "this is /two") || !strings.Contains(res.Text, "breaks the reader") {
		t.Errorf("%+v", res)
	}
}
