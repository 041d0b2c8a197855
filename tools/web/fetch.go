package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"magpie/tools"
	"magpie/tools/web/guard"
	"magpie/tools/web/page"
	"magpie/tools/web/pdftext"
)

//go:embed web_fetch.md
var fetchText string

// The limits of web_fetch.
const (
	maxDocument  = 4 << 20  // bytes of a page, after decompression
	maxFile      = 16 << 20 // bytes of a PDF
	maxAnswer    = 200_000  // characters a model may ask for
	headerChars  = 2_000    // for what stands before a page
	fetchAtOnce  = 3
	minPageChars = 500 // a page gets at least this much of the answer
)

type fetchIn struct {
	URL      string   `json:"url,omitempty" jsonschema:"The page to read."`
	URLs     []string `json:"urls,omitempty" jsonschema:"Several pages to read at once, instead of url." rule:"maxitems=10,minlen=1"`
	Format   string   `json:"format,omitempty" jsonschema:"How the page is written: markdown keeps links, lists and tables; text is bare; html is the cleaned HTML of what is shown, without menus, scripts and styles." rule:"enum=text|markdown|html"`
	MaxChars int      `json:"max_chars,omitempty" jsonschema:"How many characters come back at most, over all pages." rule:"min=1,max=200000"`
}

// Fetch makes web_fetch.
func Fetch(o *Options) tools.Tool { return newFetch(o, page.Read) }

func newFetch(o *Options, parse parser) tools.Tool {
	f := &fetcher{opt: o.withDefaults(), parse: parse}
	f.client = f.opt.Guard.Client()
	spec := tools.Spec{
		Name: "web_fetch", Description: strings.TrimSpace(fetchText), Category: tools.Network, Effect: tools.Reads,
		Main: "url", Untrusted: true, MaxChars: maxAnswer + 10*headerChars,
		Aliases: map[string]string{"extract_mode": "format", "output_format": "format", "uri": "url", "link": "url"},
	}
	return tools.New(spec, f.fetch, tools.WithSubject(guard.Normal), tools.WithSubjects(everyURL), tools.WithStamp(once))
}

// everyURL lets a policy judge each page of several.
func everyURL(args json.RawMessage) []string {
	var in fetchIn
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	var all []string
	for _, u := range in.URLs {
		all = append(all, guard.Normal(u))
	}
	return all
}

// once is the stamp of what is read once in a turn: a page does not change
// while one works on it.
func once(context.Context, tools.Scope, json.RawMessage) (string, bool) { return "", true }

type fetcher struct {
	opt    Options
	client *http.Client
	parse  parser
}

// parser is page.Read.
type parser func(doc string, base *url.URL, f page.Format) (page.Page, error)

func (f *fetcher) fetch(ctx context.Context, _ tools.Scope, in fetchIn) (tools.Result, error) {
	urls := in.URLs
	switch {
	case in.URL != "" && len(in.URLs) > 0: // one would pass a policy's look at the other
		return tools.Result{}, tools.Errorf(tools.InvalidArgs, "url and urls are both given; give one of them")
	case in.URL != "":
		urls = []string{in.URL}
	case len(in.URLs) == 0:
		return tools.Result{}, tools.Errorf(tools.InvalidArgs, "no url; give url, or urls for several pages")
	}
	most := in.MaxChars
	if most == 0 {
		most = f.opt.MaxChars
	}
	most = max(min(most, maxAnswer)/len(urls), min(most, minPageChars))
	format := f.opt.Format
	if in.Format != "" {
		format = page.Format(in.Format)
	}
	pages := make([]string, len(urls))
	errs := make([]error, len(urls))
	slots := make(chan struct{}, fetchAtOnce)
	var all sync.WaitGroup
	for i, u := range urls {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			pages[i], errs[i] = f.safely(ctx, u, format, most)
		})
	}
	all.Wait()
	return joined(urls, pages, errs)
}

// joined is the answer over all pages; it fails when every page did.
func joined(urls, pages []string, errs []error) (tools.Result, error) {
	if len(urls) == 1 {
		return tools.Result{Text: pages[0]}, errs[0]
	}
	read := 0
	for i := range pages {
		if errs[i] == nil {
			read++
			continue
		}
		pages[i] = fmt.Sprintf("URL: %s\nNot read: %v", clip(urls[i], 300), errs[i])
	}
	text := strings.Join(pages, "\n\n---\n\n")
	if read == 0 {
		return tools.Result{Untrusted: slices.ContainsFunc(errs, tools.IsOutside)}, tools.Errorf(tools.Failed, "none of the pages could be read\n\n%s", text)
	}
	return tools.Result{Text: text}, nil
}

// safely is page on a goroutine of its own, where a parser's panic would end the
// program: what is read was written by strangers.
func (f *fetcher) safely(ctx context.Context, address string, format page.Format, most int) (text string, err error) {
	defer func() {
		if recover() != nil {
			text, err = "", tools.Errorf(tools.Failed, "the page cannot be read: its form breaks the reader; http_get shows it as it is, screenshot as a picture")
		}
	}()
	return f.page(ctx, address, format, most)
}

func (f *fetcher) page(ctx context.Context, address string, format page.Format, most int) (string, error) {
	req, err := newRequest(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5")
	req.Header.Set("Accept-Language", "en,zh;q=0.9,*;q=0.5")
	a, err := ask(f.client, req, maxFile)
	if err != nil {
		return "", err
	}
	if a.code >= http.StatusBadRequest {
		return "", tools.Outside(tools.Errorf(tools.Failed, "%s answered %s; check the address, search for the page, or go on without it", a.url.Host, clip(a.status, 100)))
	}
	doc, err := f.read(ctx, &a, format)
	if err != nil {
		return "", err
	}
	return doc.String(most), nil
}

// document is a page as the model sees it.
type document struct {
	head []string
	body string
	cut  bool // the server had more
}

func (d *document) add(key, value string) {
	if value != "" {
		d.head = append(d.head, key+": "+clip(value, 300))
	}
}

func (f *fetcher) read(ctx context.Context, a *answer, format page.Format) (d document, err error) {
	kind, text := a.kind()
	d.cut = a.cut
	d.add("URL", a.url.Redacted())
	if kind == "application/pdf" {
		d.add("Type", kind)
		if a.cut {
			return d, tools.Errorf(tools.Failed, "the PDF is larger than %d MiB, which is too large to read", maxFile>>20)
		}
		reader := pdftext.Reader{Command: f.opt.PDF}
		if f.opt.Wall != nil {
			reader.Wall = f.opt.Wall()
		}
		d.body, err = reader.Extract(ctx, a.body)
		return d, err
	}
	if !text {
		d.add("Type", kind)
		d.body = a.binary(kind)
		d.cut = false
		return d, nil
	}
	if len(a.body) > maxDocument {
		a.body, d.cut = a.body[:maxDocument], true
	}
	content, charset := page.Decode(a.body, a.header.Get("Content-Type"))
	if kind != "text/html" && kind != "application/xhtml+xml" {
		d.add("Type", kind+"; charset="+charset)
		d.body = strings.TrimSpace(content)
		return d, nil
	}
	p, err := f.parse(content, a.url, format)
	if err != nil {
		return d, err
	}
	d.add("Title", p.Title)
	d.add("Type", kind+"; charset="+charset)
	if p.Article {
		d.add("Shown", "the article; menus and the like are left out")
	}
	d.body = p.Body
	return d, nil
}

// String writes at most `most` characters of the body.
func (d *document) String(most int) string {
	if d.body == "" {
		d.body = "(the page has no text; it may need a browser: screenshot shows it)"
	}
	if total := utf8.RuneCountInString(d.body); total > most {
		of := fmt.Sprintf("%d characters", total)
		if d.cut {
			of = fmt.Sprintf("the %d characters that were read; the rest of the server's answer was not read", total)
		}
		d.add("Truncated", fmt.Sprintf("the first %d of %s; max_chars can ask for more, up to %d", most, of, maxAnswer))
		d.body = string([]rune(d.body)[:most])
	} else if d.cut {
		d.add("Truncated", "the server's answer is longer than what was read")
	}
	return strings.Join(d.head, "\n") + "\n\n" + d.body
}
