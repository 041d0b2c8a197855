package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"magpie/config"
	"magpie/tools"
	"magpie/tools/web"
)

// The keys of tools.web reach the tools.
func TestWebKeysReachTheTools(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/search" && r.URL.Query().Get("format") == "json" {
			_, _ = w.Write([]byte(`{"results":[{"title":"one","url":"https://a.example/"},{"title":"two","url":"https://b.example/"}]}`))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<p>see <a href=/x>this</a>" + strings.Repeat(" and more", 100)))
	}))
	defer srv.Close()
	for name, c := range map[string]struct {
		config        config.WebTools
		tool, args    string
		want, wantNot string
		succeeds      bool
	}{
		"closed":  {config.WebTools{}, "web_fetch", `{"url":"` + srv.URL + `"}`, "tools.web.allow_private", "and more", false},
		"allowed": {config.WebTools{AllowPrivate: []string{"127.0.0.0/8"}}, "web_fetch", `{"url":"` + srv.URL + `"}`, "[this](", "Truncated", true},
		"fetch": {
			config.WebTools{AllowPrivate: []string{"127.0.0.0/8"}, Fetch: config.Fetch{Format: "text", MaxChars: 100}},
			"web_fetch", `{"url":"` + srv.URL + `"}`, "Truncated", "[this](", true,
		},
		"search": {
			config.WebTools{Search: config.Search{Provider: "searxng", BaseURL: srv.URL, MaxResults: 1}},
			"web_search", `{"query":"a","count":5}`, "https://a.example/", "https://b.example/", true,
		},
	} {
		o, err := webOptions(c.config)
		if err != nil {
			t.Fatal(err)
		}
		reg := &tools.Registry{}
		if err := reg.RegisterAll(web.Fetch(o), web.Search(o)); err != nil {
			t.Fatal(err)
		}
		res := tools.NewExecutor(reg, nil).Run(t.Context(), tools.Scope{}, c.tool, c.args)
		if res.OK != c.succeeds || !strings.Contains(res.Text, c.want) || strings.Contains(res.Text, c.wantNot) {
			t.Errorf("%s: %s", name, res.Text)
		}
	}
	if _, err := webOptions(config.WebTools{AllowPrivate: []string{"home"}}); err == nil {
		t.Error("a bad network is accepted")
	}
}
