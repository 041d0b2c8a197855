package search_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/tools"
	"magpie/tools/web/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(provider, base string) search.Options {
	o := search.Options{Provider: provider, APIKey: key, BaseURL: base}
	if provider == "google" {
		o.EngineID = "engine"
	}
	return o
}

// Every provider: address, key, parameters and the shape of its answer.
func TestProviders(t *testing.T) {
	for name, v := range vendors() {
		t.Run(name, func(t *testing.T) {
			got, err := search.New(options(name, v.serve(t, 0, ""))).Search(t.Context(), "喜鹊 & more", 3)
			if err != nil {
				t.Fatal(err)
			}
			var want []search.Result
			for i := range 3 {
				want = append(want, search.Result{Title: fmt.Sprintf("Title & 喜鹊 %d", i+1), URL: fmt.Sprintf("https://example.org/%d", i+1), Snippet: fmt.Sprintf("An extract of %d", i+1)})
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A service refuses a count above its own: ours stays below.
func TestCountIsClamped(t *testing.T) {
	most := map[string]int{"brave": 20, "tavily": 20, "google": 10, "bing": 50, "searxng": 25, "duckduckgo": 30}
	for name, v := range vendors() {
		c := search.New(options(name, v.serve(t, 0, "")))
		for count, want := range map[int]int{-5: 1, 0: 1, 1: 1, most[name]: most[name], most[name] + 1: most[name], 1000: most[name]} {
			if got, err := c.Search(t.Context(), "a", count); err != nil || len(got) != want {
				t.Errorf("%s: asked for %d, got %d, %v; want %d", name, count, len(got), err, want)
			}
		}
	}
}

func TestTheBaseMayHaveAPath(t *testing.T) {
	v := vendors()["brave"]
	v.path = "/proxy" + v.path
	if _, err := search.New(options("brave", v.serve(t, 0, "")+"/proxy/")).Search(t.Context(), "a", 1); err != nil {
		t.Error(err)
	}
}

func TestMissingKeysAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		o    search.Options
		want string
	}{
		"nothing":        {search.Options{}, "tools.web.search.provider is missing"},
		"unknown":        {search.Options{Provider: "altavista"}, "one of brave, tavily"},
		"brave":          {search.Options{Provider: "brave"}, "tools.web.search.api_key is missing"},
		"tavily":         {search.Options{Provider: "tavily"}, "tools.web.search.api_key is missing"},
		"bing":           {search.Options{Provider: "bing"}, "tools.web.search.api_key is missing"},
		"google":         {search.Options{Provider: "google"}, "tools.web.search.api_key is missing"},
		"google, no cx":  {search.Options{Provider: "google", APIKey: key}, "tools.web.search.engine_id is missing"},
		"searxng":        {search.Options{Provider: "searxng"}, "tools.web.search.base_url is missing"},
		"base is no URL": {search.Options{Provider: "searxng", BaseURL: "not a url"}, "base_url is no URL"},
	} {
		_, err := search.New(c.o).Search(t.Context(), "a", 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, v := range vendors() {
		o := options(name, v.serve(t, 0, ""))
		o.APIKey = "wrong-" + key
		if _, err := search.New(o).Search(t.Context(), "a", 1); name != "searxng" && name != "duckduckgo" && kindOf(err) != tools.Permission {
			t.Errorf("%s: wrong key: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		provider string
		status   int
		body     string
		want     string
	}{
		"brave busy":         {"brave", 429, `{"type":"ErrorResponse","error":{"code":"RATE_LIMITED","detail":"Request rate limit exceeded for plan."}}`, "too many searches (429 Too Many Requests: Request rate limit exceeded for plan.)"},
		"tavily used up":     {"tavily", 432, `{"detail":{"error":"This request exceeds your plan's set usage limit."}}`, "too many searches"},
		"tavily key echoed":  {"tavily", 400, `{"detail":{"error":"bad key ` + key + `"}}`, "bad key ***"},
		"google quota":       {"google", 429, `{"error":{"code":429,"message":"Quota exceeded"}}`, "too many searches (429 Too Many Requests: Quota exceeded)"},
		"bing down":          {"bing", 503, "<html>", "trouble of its own (503"},
		"searxng no JSON":    {"searxng", 403, "Forbidden", "search.formats"},
		"duckduckgo riddle":  {"duckduckgo", 202, "<form class=anomaly>", "a riddle"},
		"other code":         {"brave", 418, "", "418"},
		"no JSON":            {"brave", 200, "<html>", "cannot be read"},
		"redirect":           {"brave", 302, "http://127.0.0.1:1/", "302"},
		"half an answer":     {"tavily", 200, `{"results":[{"title":"a"`, "cannot be read"},
		"an answer of wrong": {"google", 200, `{"items":"none"}`, "cannot be read"},
	} {
		_, err := search.New(options(c.provider, (&vendor{}).serve(t, c.status, c.body))).Search(t.Context(), "a", 1)
		if kindOf(err) == "" || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

func kindOf(err error) tools.ErrorKind {
	var said *tools.Error
	if errors.As(err, &said) {
		return said.Kind
	}
	return ""
}

// The key stands in Google's URL, and Go puts URLs into its errors.
func TestNoKeyLeaks(t *testing.T) {
	for name := range vendors() {
		_, err := search.New(options(name, "http://127.0.0.1:1")).Search(t.Context(), "a", 1)
		if err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "no connection") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := fmt.Sprintf("%v %+v", options("google", ""), search.New(options("google", ""))); strings.Contains(got, key) {
		t.Errorf("printed: %s", got)
	}
}

func TestResultsAreTidied(t *testing.T) {
	long := strings.Repeat("字", 1000)
	body := `{"results":[{"title":"","url":"https://a.example/","content":""},{"title":"again","url":"https://a.example/"},
{"title":"x","url":"javascript:alert(1)"},{"title":"y","url":""},{"title":"List<String> &lt;b&gt;","url":"https://b.example/?q=喜鹊","content":"` + long + `"}]}`
	got, err := search.New(options("tavily", (&vendor{}).serve(t, 200, body))).Search(t.Context(), "a", 20)
	if err != nil {
		t.Fatal(err)
	}
	want := []search.Result{
		{Title: "a.example", URL: "https://a.example/"},
		{Title: "List<String> <b>", URL: "https://b.example/?q=喜鹊", Snippet: strings.Repeat("字", 599) + "…"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, empty := range []string{"{}", `{"results":null}`, `{"results":[]}`} {
		if got, err := search.New(options("tavily", (&vendor{}).serve(t, 200, empty))).Search(t.Context(), "a", 1); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", empty, got, err)
		}
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := options("brave", "http://example.invalid")
	o.HTTP = &http.Client{Transport: hang{cancel}}
	if _, err := search.New(o).Search(ctx, "a", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("want the cancellation, got %v", err)
	}
}

// hang cancels the caller once a request is under way and then waits for it.
type hang struct{ begun func() }

func (h hang) RoundTrip(r *http.Request) (*http.Response, error) {
	h.begun()
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func FuzzAnswers(f *testing.F) {
	for _, v := range vendors() {
		f.Add(v.answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		for name := range vendors() {
			o := options(name, "http://example.invalid")
			o.HTTP = &http.Client{Transport: says(answer)}
			got, err := search.New(o).Search(t.Context(), "a", 5)
			if err == nil && len(got) > 5 {
				t.Errorf("%s: %d results", name, len(got))
			}
			if err != nil && kindOf(err) == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

type says string

func (s says) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: body{strings.NewReader(string(s))}, Header: http.Header{}}, nil
}

type body struct{ *strings.Reader }

func (body) Close() error { return nil }
