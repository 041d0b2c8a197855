package search_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const key = "sk-test-1234567890"

// vendor is a server that refuses what the real one refuses, in its words, and
// answers in its shape.
type vendor struct {
	path, method string
	// problem says what is wrong with a request: status and body, 0 for
	// nothing.
	problem func(r *http.Request) (int, string)
	answer  string
	asked   []string // counts that were asked for
}

// many repeats an entry, counted from 1.
func many(n int, entry string) string {
	var all []string
	for i := range n {
		all = append(all, strings.ReplaceAll(entry, "#", fmt.Sprint(i+1)))
	}
	return strings.Join(all, ",")
}

func vendors() map[string]*vendor {
	v := map[string]*vendor{}
	v["brave"] = &vendor{path: "/res/v1/web/search", method: http.MethodGet, problem: func(r *http.Request) (int, string) {
		switch n := r.URL.Query().Get("count"); {
		case r.Header.Get("X-Subscription-Token") != key:
			return 422, `{"type":"ErrorResponse","error":{"id":"1","status":422,"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The provided subscription token is invalid."},"time":1}`
		case r.URL.Query().Get("q") == "" || !between(n, 1, 20):
			return 422, `{"type":"ErrorResponse","error":{"id":"1","status":422,"code":"VALIDATION","detail":"Unable to validate request parameter(s)"}}`
		}
		v["brave"].asked = append(v["brave"].asked, r.URL.Query().Get("count"))
		return 0, ""
	}, answer: `{"type":"search","query":{"original":"喜鹊"},"web":{"type":"search","results":[` +
		many(20, `{"title":"Title &amp; <strong>喜鹊</strong> #","url":"https://example.org/#","is_source_local":false,"description":"An <strong>extract</strong>\n of #","age":"2 days ago"}`) + `]}}`}
	v["tavily"] = &vendor{path: "/search", method: http.MethodPost, problem: func(r *http.Request) (int, string) {
		var in struct {
			Query      string
			MaxResults int `json:"max_results"`
		}
		err := json.NewDecoder(r.Body).Decode(&in)
		switch {
		case r.Header.Get("Authorization") != "Bearer "+key:
			return 401, `{"detail":{"error":"Unauthorized: missing or invalid API key."}}`
		case r.Header.Get("Content-Type") != "application/json" || err != nil || in.Query == "" || in.MaxResults < 0 || in.MaxResults > 20:
			return 400, `{"detail":{"error":"Invalid request"}}`
		}
		v["tavily"].asked = append(v["tavily"].asked, fmt.Sprint(in.MaxResults))
		return 0, ""
	}, answer: `{"query":"喜鹊","answer":null,"images":[],"results":[` + many(20, `{"title":"Title & 喜鹊 #","url":"https://example.org/#","content":"An extract of #","score":0.9,"raw_content":null}`) + `],"response_time":1.2}`}
	v["google"] = &vendor{path: "/customsearch/v1", method: http.MethodGet, problem: func(r *http.Request) (int, string) {
		q := r.URL.Query()
		switch {
		case q.Get("key") != key:
			return 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`
		case q.Get("cx") != "engine" || q.Get("q") == "" || !between(q.Get("num"), 1, 10):
			return 400, `{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}`
		}
		v["google"].asked = append(v["google"].asked, q.Get("num"))
		return 0, ""
	}, answer: `{"kind":"customsearch#search","items":[` + many(10, `{"kind":"customsearch#result","title":"Title & 喜鹊 #","link":"https://example.org/#","snippet":"An extract of #"}`) + `]}`}
	v["bing"] = &vendor{path: "/v7.0/search", method: http.MethodGet, problem: func(r *http.Request) (int, string) {
		switch q := r.URL.Query(); {
		case r.Header.Get("Ocp-Apim-Subscription-Key") != key:
			return 401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`
		case q.Get("q") == "" || !between(q.Get("count"), 1, 50):
			return 400, `{"_type":"ErrorResponse","errors":[{"code":"InvalidRequest"}]}`
		}
		v["bing"].asked = append(v["bing"].asked, r.URL.Query().Get("count"))
		return 0, ""
	}, answer: `{"_type":"SearchResponse","webPages":{"value":[` + many(50, `{"id":"#","name":"Title & 喜鹊 #","url":"https://example.org/#","snippet":"An extract of #"}`) + `]}}`}
	keyless(v)
	return v
}

// keyless adds the services that need none.
func keyless(v map[string]*vendor) {
	v["searxng"] = &vendor{path: "/search", method: http.MethodGet, problem: func(r *http.Request) (int, string) {
		if r.URL.Query().Get("format") != "json" || r.URL.Query().Get("q") == "" {
			return 400, "No query"
		}
		return 0, ""
	}, answer: `{"query":"喜鹊","number_of_results":0,"results":[` + many(25, `{"url":"https://example.org/#","title":"Title & 喜鹊 #","content":"An extract of #","engine":"x","score":1.0}`) + `],"answers":[],"suggestions":[]}`}
	v["duckduckgo"] = &vendor{path: "/html/", method: http.MethodPost, problem: func(r *http.Request) (int, string) {
		if r.PostFormValue("q") == "" || r.UserAgent() == "" || strings.HasPrefix(r.UserAgent(), "Go-http-client") {
			return 403, "Forbidden"
		}
		return 0, ""
	}, answer: duckPage()}
}

func between(n string, low, high int) bool {
	var got int
	_, err := fmt.Sscan(n, &got)
	return err == nil && got >= low && got <= high
}

// duckPage is a page as html.duckduckgo.com gives it, with an advertisement.
func duckPage() string {
	entry := `<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2F#&amp;rut=abc">Title &amp; <b>喜鹊</b> #</a></h2>
<div class="result__extras"><a class="result__url" href="//duckduckgo.com/l/?uddg=x">example.org</a></div>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">An <b>extract</b> of #</a></div></div>`
	ad := `<div class="result result--ad"><h2 class="result__title"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example&amp;u3=https%3A%2F%2Fbing.com">Buy birds</a></h2></div>`
	return `<!DOCTYPE html><html><body><div id="links" class="results">` + ad + strings.ReplaceAll(many(30, entry), "</div></div>,", "</div></div>") + `</div></body></html>`
}

// serve starts the vendor; status, when not 0, is what it answers to all.
func (v *vendor) serve(t *testing.T, status int, body string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status == 0 {
			status, body := v.problem(r)
			switch {
			case r.URL.Path != v.path || r.Method != v.method:
				http.Error(w, "no such endpoint: "+r.Method+" "+r.URL.Path, http.StatusNotFound)
			case status != 0:
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			default:
				_, _ = io.WriteString(w, v.answer)
			}
			return
		}
		if status == http.StatusFound {
			w.Header().Set("Location", body)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
