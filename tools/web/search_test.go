package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"magpie/tools"
	"magpie/tools/web"
	"magpie/tools/web/search"
)

// found is a Searcher that finds as much as it is asked for.
type found struct{ none bool }

func (f found) Search(_ context.Context, query string, count int) ([]search.Result, error) {
	if f.none {
		return nil, nil
	}
	var all []search.Result
	for i := range count {
		all = append(all, search.Result{Title: fmt.Sprintf("About %s, %d", query, i+1), URL: fmt.Sprintf("https://example.org/%d", i+1), Snippet: "an extract"})
	}
	return all, nil
}

func TestSearchTool(t *testing.T) {
	for name, c := range map[string]struct {
		args string
		most int
		want int
	}{
		"default":             {`{"query":"a"}`, 0, 10},
		"configured":          {`{"query":"a"}`, 4, 4},
		"fewer":               {`{"query":"a","count":2}`, 4, 2},
		"clamped":             {`{"query":"a","count":5}`, 4, 4},
		"clamped far":         {`{"query":"a","count":1000000}`, 1000, 100},
		"numResults":          {`{"query":"a","numResults":3}`, 0, 3},
		"num_results, a text": {`{"query":"a","num_results":"3"}`, 0, 3},
		"limit":               {`{"query":"a","limit":1}`, 0, 1},
	} {
		o := &web.Options{Search: found{}, MaxResults: c.most}
		res := executor(t, nil, web.Search(o)).Run(t.Context(), tools.Scope{}, "web_search", c.args)
		if got := strings.Count(res.Text, "an extract"); !res.OK || got != c.want {
			t.Errorf("%s: %d results, want %d: %.200s", name, got, c.want, res.Text)
		}
	}
	if res := run(t, web.Search(&web.Options{Search: found{}}), map[string]any{"query": "喜鹊", "count": 1}); res.Text != "<outside from=\"web_search\">\nResults for \"喜鹊\":\n\n1. About 喜鹊, 1\n   https://example.org/1\n   an extract\n\n</outside>" {
		t.Errorf("got %q", res.Text)
	}
	if res := run(t, web.Search(&web.Options{Search: found{none: true}}), map[string]any{"query": "喜鹊"}); !res.OK || !strings.Contains(res.Text, "No results") {
		t.Errorf("nothing found: %s", res.Text)
	}
	for _, bad := range []map[string]any{{}, {"query": ""}, {"query": " \n"}, {"query": "a", "count": 0}, {"query": strings.Repeat("字", 1001)}} {
		if res := run(t, web.Search(nil), bad); res.Err != tools.InvalidArgs {
			t.Errorf("%.40v: %s", bad, res.Text)
		}
	}
	if res := run(t, web.Search(nil), map[string]any{"query": "a"}); res.OK || !strings.Contains(res.Text, "tools.web.search.provider") {
		t.Errorf("not configured: %s", res.Text)
	}
}
