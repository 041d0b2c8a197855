package screenshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"magpie/tools"
	"magpie/tools/web/guard"
)

const (
	maxSide  = 16_384           // pixels; Chromium draws no larger ones
	loadTime = 20 * time.Second // for a page; then it is taken as it is
	idleTime = 2 * time.Second  // for what loads after it
)

// visit is one page in the browser.
type visit struct {
	*browser
	address string // of the document that was asked for last
	status  int    // of the document
	loaded  bool
	idle    bool
	crashed bool
	judge   func(*url.URL) error // asks the policy about what the page loads
	refused error                // of the document: what the policy says of it
}

func (c camera) webpage(ctx context.Context, in in, part image.Rectangle) (p picture, err error) {
	u, err := guard.URL(in.URL)
	if err != nil {
		return p, err
	}
	way, err := startProxy(c.opt.Guard)
	if err != nil {
		return p, fmt.Errorf("open the browser's way out: %w", err)
	}
	defer way.close()
	b, err := startBrowser(ctx, &c.opt, way)
	if err != nil {
		return p, fmt.Errorf("start the browser: %w", err)
	}
	defer func() { err = errors.Join(err, b.close()) }()
	v := &visit{browser: b, address: u.String(), judge: func(u *url.URL) error { return guard.Judge(ctx, u) }}
	b.events = v.event
	p, err = v.take(way, u, in.FullPage, part)
	switch {
	case ctx.Err() != nil:
		return p, context.Cause(ctx)
	case v.crashed || errors.Is(err, errGone):
		return p, tools.Errorf(tools.Failed, "the browser broke down at this page; read it with web_fetch instead")
	}
	return p, err
}

func (v *visit) take(way *proxy, u *url.URL, full bool, part image.Rectangle) (picture, error) {
	if err := v.open(); err != nil {
		return picture{}, err
	}
	// Every request waits for a word of ours, also where redirects lead.
	if err := v.call("Fetch.enable", map[string]any{"patterns": []map[string]any{{"urlPattern": "*"}}}, nil); err != nil {
		return picture{}, err
	}
	if err := v.navigate(way, u); err != nil {
		return picture{}, err
	}
	shot := map[string]any{"format": "png"}
	cut, err := v.clip(full, part)
	if err != nil {
		return picture{}, err
	}
	if cut != nil {
		shot["clip"], shot["captureBeyondViewport"] = cut, true
	}
	var taken struct {
		Data []byte `json:"data"` // base64, as Go reads bytes
	}
	if err := v.call("Page.captureScreenshot", shot, &taken); err != nil {
		return picture{}, err
	}
	return picture{png: taken.Data, name: fileWord(u.Hostname()), says: v.says(cut)}, nil
}

// open makes a page and switches on what is needed of it.
func (v *visit) open() error {
	var target struct {
		ID string `json:"targetId"`
	}
	if err := v.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	if err := v.call("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached); err != nil {
		return err
	}
	if err := v.call("Browser.setDownloadBehavior", map[string]any{"behavior": "deny"}, nil); err != nil {
		return err
	}
	v.session = attached.Session
	for _, method := range []string{"Page.enable", "Network.enable", "Inspector.enable"} {
		if err := v.call(method, nil, nil); err != nil {
			return err
		}
	}
	window := map[string]any{"width": windowWidth, "height": windowHeight, "deviceScaleFactor": 1, "mobile": false}
	if err := v.call("Emulation.setDeviceMetricsOverride", window, nil); err != nil {
		return err
	}
	return v.call("Page.setLifecycleEventsEnabled", map[string]any{"enabled": true}, nil)
}

// event notes what happens to the page.
func (v *visit) event(method string, params json.RawMessage) {
	var e struct {
		Type string
		Name string

		RequestID    string
		ResourceType string
		Request      struct{ URL string }
		Response     struct{ Status int }
	}
	if json.Unmarshal(params, &e) != nil {
		return
	}
	switch method {
	case "Fetch.requestPaused":
		v.pass(e.RequestID, e.ResourceType == "Document", e.Request.URL)
	case "Network.requestWillBeSent":
		if e.Type == "Document" && v.status == 0 {
			v.address = e.Request.URL
		}
	case "Network.responseReceived":
		if e.Type == "Document" && v.status == 0 {
			v.status = e.Response.Status
		}
	case "Page.loadEventFired":
		v.loaded = true
	case "Page.lifecycleEvent":
		v.idle = v.idle || v.loaded && e.Name == "networkIdle"
	case "Page.javascriptDialogOpening": // a page that says something waits for an answer
		_, _ = v.send("Page.handleJavaScriptDialog", map[string]any{"accept": false})
	case "Inspector.targetCrashed":
		v.crashed = true
	}
}

// pass lets a request go on, or ends it when the policy does not want it.
func (v *visit) pass(id string, document bool, address string) {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		err = v.judge(u)
	}
	if err == nil {
		_, _ = v.send("Fetch.continueRequest", map[string]any{"requestId": id}) // else the page waits until its time is over
		return
	}
	if document && v.refused == nil {
		v.refused = err
	}
	_, _ = v.send("Fetch.failRequest", map[string]any{"requestId": id, "errorReason": "BlockedByClient"})
}

// navigate loads the page, as far as it comes in time.
func (v *visit) navigate(way *proxy, u *url.URL) error {
	v.loaded = false
	var answer struct {
		ErrorText string `json:"errorText"`
	}
	if err := v.call("Page.navigate", map[string]any{"url": u.String()}, &answer); err != nil {
		return err
	}
	if v.refused != nil && (answer.ErrorText != "" || v.status == 0) {
		return v.refused
	}
	if answer.ErrorText != "" {
		if last, err := url.Parse(v.address); err == nil {
			if err := way.failure(last.Hostname()); err != nil {
				return tools.Outside(err) // the page may have led to that host
			}
		}
		return tools.Errorf(tools.Failed, "the page cannot be opened: the browser says %s; check the address, or try web_fetch", answer.ErrorText)
	}
	end := time.Now().Add(loadTime)
	if err := v.until(func() bool { return v.loaded || v.crashed }, end); err != nil {
		return err
	}
	if !v.loaded {
		return nil
	}
	return v.until(func() bool { return v.idle || v.crashed }, time.Now().Add(idleTime))
}

// clip is the part of the page to take, nil for what the window shows.
func (v *visit) clip(full bool, part image.Rectangle) (map[string]any, error) {
	if !full && part.Empty() {
		return nil, nil
	}
	var layout struct {
		Size struct{ Width, Height float64 } `json:"cssContentSize"`
	}
	if err := v.call("Page.getLayoutMetrics", nil, &layout); err != nil {
		return nil, err
	}
	page := image.Rect(0, 0, int(math.Min(layout.Size.Width, maxSide)), int(math.Min(layout.Size.Height, maxSide)))
	if full {
		part = image.Rect(0, 0, max(page.Dx(), 1), max(page.Dy(), 1))
	} else if page = page.Union(image.Rect(0, 0, windowWidth, windowHeight)); !part.Overlaps(page) {
		return nil, tools.Errorf(tools.InvalidArgs, "the region lies outside the page, which has %d×%d pixels", page.Dx(), page.Dy())
	} else {
		part = part.Intersect(page)
	}
	return map[string]any{"x": part.Min.X, "y": part.Min.Y, "width": part.Dx(), "height": part.Dy(), "scale": 1}, nil
}

// says tells the model about the page.
func (v *visit) says(cut map[string]any) []string {
	var history struct {
		CurrentIndex int
		Entries      []struct{ URL, Title string }
	}
	var all []string
	if err := v.call("Page.getNavigationHistory", nil, &history); err == nil && history.CurrentIndex < len(history.Entries) && history.CurrentIndex >= 0 {
		now := history.Entries[history.CurrentIndex]
		all = append(all, "Page: "+short(now.Title)+" <"+short(now.URL)+">")
	}
	if v.status >= http.StatusBadRequest {
		all = append(all, fmt.Sprintf("The server answered %d %s.", v.status, http.StatusText(v.status)))
	}
	if !v.loaded {
		all = append(all, fmt.Sprintf("The page had not loaded completely after %s.", loadTime))
	}
	if height, ok := cut["height"].(int); ok && height == maxSide {
		all = append(all, fmt.Sprintf("The page is longer than the %d pixels that were taken.", maxSide))
	}
	return all
}

const maxShown = 300 // characters of a title or address

func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}

// fileWord makes a part of a file's name of a host.
func fileWord(host string) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(host))
	return strings.Trim(strings.ReplaceAll(word[:min(len(word), 60)], "..", "."), ".-")
}
