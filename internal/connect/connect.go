// Package connect is what makes connecting a platform a matter of minutes: the
// app that is made by scanning a code, and what is to be opened, pasted and
// switched on besides.
package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"magpie/channels/dingtalk"
	"magpie/channels/feishu"
	"magpie/internal/proxy"
)

// The ways in which a scan ends without an app; everything else that Run returns
// is trouble on the way.
var (
	ErrDeclined = errors.New("the one who scanned has refused, or may not make apps")
	ErrExpired  = errors.New("nobody has scanned and agreed in time")
)

// Scannable reports whether an app of the platform is made by scanning a code.
func Scannable(platform string) bool {
	return slices.Contains([]string{"feishu", "dingtalk"}, platform)
}

// Scan is the making of an app by a code that somebody scans and agrees to.
type Scan struct {
	Platform string
	// Given are keys of the channel's section that are known: addresses, proxy.
	Given map[string]string
	HTTP  *http.Client // nil: connections of its own, through the proxy of Given
	// Show is told what is to be scanned or opened, and how long it is good for.
	Show func(link string, good time.Duration)
	// Trouble is told when the platform does not answer, and nil when it does
	// again.
	Trouble func(error)
}

// App is what was made.
type App struct {
	Values map[string]string // keys of the channel's section
	Owner  string            // sender id of who agreed; "" = not told
}

// Run shows the code and waits.
func (s *Scan) Run(ctx context.Context) (App, error) {
	client := s.HTTP
	if client == nil {
		transport := proxy.Transport(s.Given["proxy"])
		defer transport.CloseIdleConnections()
		client = &http.Client{Transport: transport}
	}
	switch s.Platform {
	case "feishu":
		return s.feishu(ctx, client)
	case "dingtalk":
		return s.dingtalk(ctx, client)
	}
	return App{}, fmt.Errorf("no app of %s is made by scanning a code", s.Platform)
}

func (s *Scan) feishu(ctx context.Context, client *http.Client) (App, error) {
	var wrong error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := feishu.Registration{HTTP: client, Base: s.Given["api_base"], Trouble: s.Trouble, Show: func(link string, good time.Duration) {
		if wrong = printable(link); wrong != nil {
			cancel()
			return
		}
		s.Show(link, good)
	}}
	made, err := r.Run(ctx)
	switch {
	case wrong != nil:
		return App{}, wrong
	case errors.Is(err, feishu.ErrDeclined):
		return App{}, ErrDeclined
	case errors.Is(err, feishu.ErrExpired):
		return App{}, ErrExpired
	case err != nil:
		return App{}, err
	}
	app := App{Owner: made.Owner, Values: map[string]string{"app_id": made.ID, "app_secret": string(made.Secret)}}
	given := strings.TrimRight(s.Given["api_base"], "/")
	if made.Base != given && (given != "" || made.Base != feishu.PublicBase) {
		app.Values["api_base"] = made.Base
	}
	return app, nil
}

func (s *Scan) dingtalk(ctx context.Context, client *http.Client) (App, error) {
	r, err := dingtalk.BeginRegistration(ctx, client, strings.TrimRight(s.Given["oapi_base"], "/"))
	if err != nil {
		return App{}, fmt.Errorf("ask for a code: %w", err)
	}
	if err := printable(r.URL); err != nil {
		return App{}, err
	}
	s.Show(r.URL, r.Life)
	r.Trouble = s.Trouble
	id, secret, err := r.Wait(ctx)
	switch {
	case errors.Is(err, dingtalk.ErrDeclined):
		return App{}, fmt.Errorf("%w (%w)", ErrDeclined, err)
	case errors.Is(err, dingtalk.ErrExpired):
		return App{}, ErrExpired
	case err != nil:
		return App{}, err
	}
	return App{Values: map[string]string{"client_id": id, "client_secret": string(secret)}}, nil
}

// printable refuses what would do more in a terminal than be read, and what is
// no address of a page.
func printable(link string) error {
	u, err := url.Parse(link)
	strange := strings.ContainsFunc(link, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	if err != nil || strange || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("the platform gave no link that could be shown")
	}
	return nil
}
