package app

import (
	"os"

	"magpie/config"
	"magpie/tools/screenshot"
	"magpie/tools/web"
	"magpie/tools/web/guard"
	"magpie/tools/web/page"
	"magpie/tools/web/pdftext"
	"magpie/tools/web/search"
)

// webOptions is the section tools.web as the tools want it.
func webOptions(c config.WebTools) (*web.Options, error) {
	g, err := guard.New(&guard.Options{Allow: c.AllowPrivate})
	if err != nil {
		return nil, err
	}
	return &web.Options{
		Guard: g, Format: page.Format(c.Fetch.Format), MaxChars: c.Fetch.MaxChars, PDF: pdftext.Command(),
		Search: search.New(search.Options{
			Provider: c.Search.Provider, APIKey: c.Search.APIKey, EngineID: c.Search.EngineID, BaseURL: c.Search.BaseURL,
		}),
		MaxResults: c.Search.MaxResults,
	}, nil
}

// screen is what takes pictures on this machine.
func (t *toolbox) screen(o *outfit, g *guard.Guard) *screenshot.Options {
	return &screenshot.Options{
		Files: o.fence, Media: t.p.files(), Guard: g, Wall: t.wear.wall,
		Chrome: screenshot.Chrome(o.cfg.Tools.Screenshot.Chrome), Desktop: screenshot.Desktop(os.LookupEnv),
	}
}
