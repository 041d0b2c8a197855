package web

import (
	"net/url"

	"magpie/tools"
	"magpie/tools/web/page"
)

// FetchWith is Fetch with another reader of pages.
func FetchWith(o *Options, read func(string, *url.URL, page.Format) (page.Page, error)) tools.Tool {
	return newFetch(o, read)
}
