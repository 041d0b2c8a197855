package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Brave: api-dashboard.search.brave.com/documentation.

func braveRequest(q query) (*http.Request, error) {
	req, err := q.get("/res/v1/web/search", url.Values{"q": {q.text}, "count": {strconv.Itoa(q.count)}})
	if err == nil {
		req.Header.Set("X-Subscription-Token", string(q.APIKey))
	}
	return req, err
}

func braveResults(body []byte) ([]Result, error) {
	var a struct {
		Web struct {
			Results []struct{ Title, URL, Description string }
		}
	}
	err := json.Unmarshal(body, &a)
	return list(a.Web.Results, func(r struct{ Title, URL, Description string }) Result {
		return Result{r.Title, r.URL, r.Description}
	}), err
}

// Tavily: docs.tavily.com/api-reference/endpoint/search.

func tavilyRequest(q query) (*http.Request, error) {
	address, err := q.address("/search", nil)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"query": q.text, "max_results": q.count})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(body))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+string(q.APIKey))
	}
	return req, err
}

func tavilyResults(body []byte) ([]Result, error) { return plainResults(body) }

// Google: developers.google.com/custom-search/v1/reference/rest/v1/cse/list.

func googleRequest(q query) (*http.Request, error) {
	return q.get("/customsearch/v1", url.Values{
		"key": {string(q.APIKey)}, "cx": {q.EngineID}, "q": {q.text}, "num": {strconv.Itoa(q.count)},
	})
}

func googleResults(body []byte) ([]Result, error) {
	var a struct {
		Items []struct{ Title, Link, Snippet string }
	}
	err := json.Unmarshal(body, &a)
	return list(a.Items, func(r struct{ Title, Link, Snippet string }) Result {
		return Result{r.Title, r.Link, r.Snippet}
	}), err
}

// Bing Web Search API v7. Microsoft ended its own in August 2025; compatible
// servers live on.

func bingRequest(q query) (*http.Request, error) {
	req, err := q.get("/v7.0/search", url.Values{"q": {q.text}, "count": {strconv.Itoa(q.count)}})
	if err == nil {
		req.Header.Set("Ocp-Apim-Subscription-Key", string(q.APIKey))
	}
	return req, err
}

func bingResults(body []byte) ([]Result, error) {
	var a struct {
		WebPages struct {
			Value []struct{ Name, URL, Snippet string }
		}
	}
	err := json.Unmarshal(body, &a)
	return list(a.WebPages.Value, func(r struct{ Name, URL, Snippet string }) Result {
		return Result{r.Name, r.URL, r.Snippet}
	}), err
}

// SearXNG: docs.searxng.org/dev/search_api.html. A key is for a proxy before it.

func searxRequest(q query) (*http.Request, error) {
	req, err := q.get("/search", url.Values{"q": {q.text}, "format": {"json"}})
	if err == nil && q.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+string(q.APIKey))
	}
	return req, err
}

func searxResults(body []byte) ([]Result, error) { return plainResults(body) }

// plainResults reads the answers of Tavily and SearXNG.
func plainResults(body []byte) ([]Result, error) {
	var a struct {
		Results []struct{ Title, URL, Content string }
	}
	err := json.Unmarshal(body, &a)
	return list(a.Results, func(r struct{ Title, URL, Content string }) Result {
		return Result{r.Title, r.URL, r.Content}
	}), err
}

// DuckDuckGo has no API; html.duckduckgo.com is its page without scripts.

func duckRequest(q query) (*http.Request, error) {
	address, err := q.address("/html/", nil)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(url.Values{"q": {q.text}, "b": {""}}.Encode()))
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Referer", "https://html.duckduckgo.com/")
	}
	return req, err
}

func duckResults(body []byte) ([]Result, error) {
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("HTML: %w", err)
	}
	var found []Result
	for n := range doc.Descendants() {
		switch {
		case n.DataAtom != atom.A:
		case hasClass(n, "result__a"):
			if link := duckLink(attribute(n, "href")); link != "" {
				found = append(found, Result{Title: textOf(n), URL: link})
			}
		case hasClass(n, "result__snippet") && len(found) > 0:
			found[len(found)-1].Snippet = textOf(n)
		}
	}
	return found, nil
}

// duckLink takes the address out of /l/?uddg=…; advertisements (/y.js) have
// none that is worth showing.
func duckLink(href string) string {
	u, err := url.Parse(href)
	if err != nil || strings.HasSuffix(u.Path, "/y.js") {
		return ""
	}
	if to := u.Query().Get("uddg"); to != "" {
		if ad, err := url.Parse(to); err != nil || strings.HasSuffix(ad.Path, "/y.js") && strings.HasSuffix(ad.Host, "duckduckgo.com") {
			return ""
		}
		return to
	}
	return href
}

func list[T any](from []T, one func(T) Result) []Result {
	all := make([]Result, len(from))
	for i, r := range from {
		all[i] = one(r)
	}
	return all
}
