// Package screenshot holds the tool that takes pictures: of web pages with a
// headless Chromium whose every connection passes the SSRF guard, and of the
// desktop with the system's own tool. Pictures are saved in the workspace. The
// browsers and goroutines of a call end with it.
package screenshot

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/shell/sandbox"
	"magpie/tools/web/guard"
)

//go:embed screenshot.md
var screenshotText string

// Files is the workspace; tools/fs/fence is one.
type Files interface {
	Write(name string, write func(w io.Writer) error) (created bool, err error)
}

// Media stores pictures for the model to look at.
type Media interface {
	Put(ctx context.Context, name, mime string, r io.Reader) (ref string, size int64, err error)
}

// Options of the tool.
type Options struct {
	Files   Files        // required
	Guard   *guard.Guard // nil: a guard that lets nothing private through
	Chrome  string       // the browser's path, see Chrome; "": no web pages
	Desktop []string     // see Desktop; nil: no desktop
	Media   Media        // nil: the model gets the path only
	// Wall gives the sandbox that the browser runs in; nil, or one that gives
	// nil: it runs without.
	Wall func() *sandbox.Sandbox
	Now  func() time.Time
}

const (
	folder     = "screenshots"
	atOnce     = 2 // browsers: each takes some hundred megabytes
	maxPicture = 32 << 20
	maxPixels  = 64 << 20
)

type in struct {
	Mode     string `json:"mode,omitempty" jsonschema:"What to take: a web page or the desktop; webpage when url is given." rule:"enum=webpage|desktop"`
	URL      string `json:"url,omitempty" jsonschema:"The page, for mode webpage."`
	Region   string `json:"region,omitempty" jsonschema:"A part of the picture in pixels as x,y,width,height, such as 0,0,640,480." rule:"pattern=^ *[0-9]{1,5} *(, *[0-9]{1,5} *){3}$"`
	FullPage bool   `json:"full_page,omitempty" jsonschema:"The whole length of the page, not just what fits a window."`
}

// New makes screenshot; false when this machine has neither browser nor desktop,
// so that the tool is not offered.
func New(o *Options) (tools.Tool, bool) {
	c := camera{opt: *o, slots: make(chan struct{}, atOnce)}
	if c.opt.Guard == nil {
		c.opt.Guard, _ = guard.New(nil) // fails on a bad entry only
	}
	if c.opt.Now == nil {
		c.opt.Now = time.Now
	}
	spec := tools.Spec{
		Name: "screenshot", Description: strings.TrimSpace(screenshotText), Category: tools.Network, Effect: tools.Writes,
		Main: "url", Untrusted: true, Aliases: map[string]string{"type": "mode"},
	}
	return tools.New(spec, c.take, tools.WithSubject(guard.Normal), tools.WithStays(c.stays)), c.opt.Chrome != "" || len(c.opt.Desktop) > 0
}

type camera struct {
	opt   Options
	slots chan struct{}
}

// stays is false for the desktop: what is open there is nobody's text from
// outside, and the model that sees it may be following one.
func (c camera) stays(_ tools.Scope, args json.RawMessage) bool {
	var in in
	if json.Unmarshal(args, &in) != nil {
		return true // it is refused
	}
	_ = c.check(&in) // it fills in the mode
	return in.Mode != "desktop"
}

// picture is what was taken.
type picture struct {
	png  []byte
	name string   // a word for the file's name
	says []string // about it, for the model
}

func (c camera) take(ctx context.Context, _ tools.Scope, in in) (tools.Result, error) {
	if err := c.check(&in); err != nil {
		return tools.Result{}, err
	}
	part, err := in.region()
	if err != nil {
		return tools.Result{}, err
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return tools.Result{}, context.Cause(ctx)
	}
	var p picture
	if in.Mode == "desktop" {
		p, err = c.desktop(ctx, part)
	} else {
		p, err = c.webpage(ctx, in, part)
	}
	if err != nil {
		return tools.Result{}, err
	}
	return c.save(ctx, p)
}

// check fills in the mode and refuses what this machine cannot do.
func (c camera) check(in *in) error {
	switch {
	case in.Mode == "" && in.URL != "":
		in.Mode = "webpage"
	case in.Mode == "" && len(c.opt.Desktop) > 0 && !in.FullPage:
		in.Mode = "desktop"
	case in.Mode == "":
		in.Mode = "webpage"
	}
	switch {
	case in.Mode == "webpage" && in.URL == "":
		return tools.Errorf(tools.InvalidArgs, "no url; give the url of the page")
	case in.Mode == "webpage" && c.opt.Chrome == "":
		return tools.Errorf(tools.Failed, "there is no Chromium on this machine, so no pictures of web pages; read the page with web_fetch")
	case in.Mode == "desktop" && (in.URL != "" || in.FullPage):
		return tools.Errorf(tools.InvalidArgs, "url and full_page are for mode webpage; give mode webpage, or leave them out")
	case in.Mode == "desktop" && len(c.opt.Desktop) == 0:
		return tools.Errorf(tools.Failed, "this machine has no desktop that could be taken; only web pages are possible (mode webpage with url)")
	case in.FullPage && in.Region != "":
		return tools.Errorf(tools.InvalidArgs, "full_page and region exclude each other; give one of them")
	}
	return nil
}

// region reads x,y,width,height; empty when it is not given.
func (in in) region() (image.Rectangle, error) {
	if in.Region == "" {
		return image.Rectangle{}, nil
	}
	var n [4]int
	for i, text := range strings.SplitN(in.Region, ",", len(n)) {
		n[i], _ = strconv.Atoi(strings.TrimSpace(text)) // digits, by the rule
	}
	r := image.Rect(n[0], n[1], n[0]+n[2], n[1]+n[3])
	if r.Empty() || r.Max.X > maxSide || r.Max.Y > maxSide {
		return r, tools.Errorf(tools.InvalidArgs, "region %q is empty or too large; want x,y,width,height with width and height from 1 and an end within %d", in.Region, maxSide)
	}
	return r, nil
}

// save writes the picture into the workspace and the media store.
func (c camera) save(ctx context.Context, p picture) (tools.Result, error) {
	config, err := png.DecodeConfig(bytes.NewReader(p.png))
	if err != nil || len(p.png) > maxPicture {
		return tools.Result{}, tools.Errorf(tools.Failed, "the picture cannot be used: it has %d bytes and %w", len(p.png), errors.Join(err, errNoPicture))
	}
	name := path.Join(folder, fmt.Sprintf("%s-%s-%s.png", c.opt.Now().Format("20060102-150405"), p.name, strings.ToLower(rand.Text()[:4])))
	if _, err := c.opt.Files.Write(name, func(w io.Writer) error {
		_, err := w.Write(p.png)
		return err
	}); err != nil {
		return tools.Result{}, err
	}
	res := tools.Result{Text: fmt.Sprintf("Saved as %s (%d×%d pixels, %d bytes). Send it with message or send_media.\n%s",
		name, config.Width, config.Height, len(p.png), strings.Join(p.says, "\n"))}
	if c.opt.Media == nil {
		return res, nil
	}
	ref, size, err := c.opt.Media.Put(ctx, path.Base(name), "image/png", bytes.NewReader(p.png))
	if err != nil {
		return tools.Result{}, fmt.Errorf("store the picture %s: %w", name, err)
	}
	res.Attachments = []chat.Attachment{{Kind: chat.Image, Name: path.Base(name), MIME: "image/png", Size: size, Ref: ref}}
	return res, nil
}

var errNoPicture = errors.New("is no PNG of a usable size")
