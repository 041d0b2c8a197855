package web

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"magpie/tools"
	"magpie/tools/web/search"
)

//go:embed web_search.md
var searchText string

// Searcher finds pages; search.Client is one. Its errors are written for the
// model.
type Searcher interface {
	Search(ctx context.Context, query string, count int) ([]search.Result, error)
}

const (
	defaultResults = 10
	mostResults    = 100
)

type searchIn struct {
	Query string `json:"query" jsonschema:"What to look for." rule:"minlen=1,maxlen=1000"`
	Count int    `json:"count,omitempty" jsonschema:"How many results; more than the service gives at once are not asked for." rule:"min=1"`
}

// Search makes web_search. It is offered without a service, too: then it says
// what is missing.
func Search(o *Options) tools.Tool {
	opt := o.withDefaults()
	with, most := opt.Search, min(cmp.Or(max(opt.MaxResults, 0), defaultResults), mostResults)
	if with == nil {
		with = search.New(search.Options{})
	}
	spec := tools.Spec{
		Name: "web_search", Description: strings.TrimSpace(searchText), Category: tools.Network, Effect: tools.Reads,
		Main: "query", Untrusted: true,
		Aliases: map[string]string{"num_results": "count", "limit": "count", "max_results": "count", "q": "query"},
	}
	return tools.New(spec, func(ctx context.Context, _ tools.Scope, in searchIn) (tools.Result, error) {
		if strings.TrimSpace(in.Query) == "" {
			return tools.Result{}, tools.Errorf(tools.InvalidArgs, "the query is empty; want a few words")
		}
		found, err := with.Search(ctx, strings.TrimSpace(in.Query), min(cmp.Or(in.Count, most), most))
		if err != nil {
			return tools.Result{}, err
		}
		if len(found) == 0 {
			return tools.Result{Text: fmt.Sprintf("No results for %q. Try fewer or other words.", in.Query)}, nil
		}
		var b strings.Builder
		fmt.Fprintf(&b, "Results for %q:\n", in.Query)
		for i, r := range found {
			fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, r.Title, r.URL)
			if r.Snippet != "" {
				fmt.Fprintf(&b, "   %s\n", r.Snippet)
			}
		}
		return tools.Result{Text: b.String()}, nil
	}, tools.WithStamp(once))
}
