package feishu

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"magpie/channels/rest"
	"magpie/chat"
)

// Where apps are made by a scanned code.
const (
	publicAccounts   = "https://accounts.feishu.cn"
	larkAccounts     = "https://accounts.larksuite.com"
	larkAPI          = "https://open.larksuite.com"
	registrationPath = "/oauth/v1/app/registration"
	// maxRegistration bounds an answer in bytes.
	maxRegistration = 64 << 10
)

// Registration makes an app on the open platform: somebody scans a code with
// their Feishu or Lark and confirms. It is a device flow (RFC 8628) of
// accounts.feishu.cn (larksuite/node-sdk 1.74.0 scene/registration, read
// November 2026). The zero value asks Feishu.
type Registration struct {
	HTTP     *http.Client // nil: connections of its own
	Accounts string       // "" = Feishu's
	Lark     string       // for those whose organisation is on Lark; "" = Lark's
	// Base is the api_base that is wanted: "" and Feishu's begin at Feishu,
	// Lark's at Lark, and any other is asked itself and kept.
	Base string
	// Show is told what link to show as a code, and how long it is good for.
	Show func(link string, good time.Duration)
	// Trouble is told when the platform does not answer, and nil when it does
	// again.
	Trouble func(error)
}

// App is what was made.
type App struct {
	ID     string
	Secret chat.Secret
	Owner  string // open id of who confirmed, for allow
	Base   string // api_base
}

// The ways in which a registration ends without an app.
var (
	ErrDeclined = errors.New("the code was scanned and refused")
	ErrExpired  = errors.New("nobody has scanned the code in time")
)

// registered is an answer of either step.
type registered struct {
	Device   string `json:"device_code"`
	Link     string `json:"verification_uri_complete"`
	Interval int    `json:"interval"`   // seconds
	Expires  int    `json:"expires_in"` // seconds
	ID       string `json:"client_id"`
	Secret   string `json:"client_secret"`
	User     struct {
		ID    string `json:"open_id"`
		Brand string `json:"tenant_brand"`
	} `json:"user_info"`
	Error string `json:"error"`
	About string `json:"error_description"`
}

// Run shows a link and waits until somebody has confirmed, declined or let it
// expire. A server that does not answer meanwhile is asked again.
func (r *Registration) Run(ctx context.Context) (App, error) {
	client, closeIdle := rest.HTTPClient(r.HTTP)
	defer closeIdle()
	base := r.hosts().accounts
	begun, err := register(ctx, client, base, url.Values{
		"action": {"begin"}, "archetype": {"PersonalAgent"}, "auth_method": {"client_secret"}, "request_user_info": {"open_id"},
	})
	if err != nil {
		return App{}, fmt.Errorf("ask for a code: %w", err)
	}
	link, err := wanted(begun.Link)
	if err != nil || begun.Device == "" {
		return App{}, errors.Join(errors.New("the platform gave no link to show"), err)
	}
	good := time.Duration(cmp.Or(begun.Expires, 600)) * time.Second
	if r.Show != nil {
		r.Show(link, good)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, good, ErrExpired)
	defer cancel()
	return r.await(ctx, client, begun)
}

// hosts are where apps are made; own is an api_base of neither Feishu nor Lark.
type hosts struct{ accounts, lark, own string }

func (r *Registration) hosts() hosts {
	trimmed := func(given, usual string) string { return strings.TrimRight(cmp.Or(given, usual), "/") }
	h := hosts{accounts: trimmed(r.Accounts, publicAccounts), lark: trimmed(r.Lark, larkAccounts)}
	switch base := trimmed(r.Base, publicAPI); base {
	case publicAPI:
	case larkAPI:
		h.accounts = h.lark
	default:
		h = hosts{base, base, base}
	}
	return h
}

// api is the api_base of an app that was made at one of them.
func (h hosts) api(at, brand string) string {
	switch {
	case h.own != "":
		return h.own
	case brand == "lark", brand == "" && at == h.lark:
		return larkAPI
	}
	return publicAPI
}

// await polls until there is an app or none will come.
func (r *Registration) await(ctx context.Context, client *http.Client, begun *registered) (App, error) {
	pause := time.Duration(max(1, cmp.Or(begun.Interval, 5))) * time.Second
	h := r.hosts()
	base, ill := h.accounts, false
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return App{}, context.Cause(ctx)
		}
		got, err := register(ctx, client, base, url.Values{"action": {"poll"}, "device_code": {begun.Device}})
		if r.Trouble != nil && ctx.Err() == nil && ill != (err != nil) {
			ill = err != nil
			r.Trouble(err)
		}
		switch {
		case err != nil: // it may answer the next time; the code expires
		case got.User.Brand == "lark" && got.ID == "" && base != h.lark:
			base = h.lark
		case got.ID != "" && got.Secret != "":
			return App{ID: got.ID, Secret: chat.Secret(got.Secret), Owner: got.User.ID, Base: h.api(base, got.User.Brand)}, nil
		case got.Error == "access_denied":
			return App{}, ErrDeclined
		case got.Error == "expired_token":
			return App{}, ErrExpired
		case got.Error == "slow_down":
			pause += 5 * time.Second
		case got.Error != "" && got.Error != "authorization_pending":
			return App{}, fmt.Errorf("the platform ends the registration: %s: %s", got.Error, got.About)
		}
	}
}

// register makes one call. What is pending is answered with status 400 and a
// body all the same.
func register(ctx context.Context, client *http.Client, base string, form url.Values) (*registered, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+registrationPath, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxRegistration))
	if err != nil {
		return nil, err
	}
	var got registered
	if err := json.Unmarshal(raw, &got); err != nil || got.Device == "" && got.ID == "" && got.Error == "" && got.User.Brand == "" {
		return nil, fmt.Errorf("HTTP status %d without an answer of the platform", resp.StatusCode)
	}
	return &got, nil
}

// wanted adds to the link what the app needs: the page that is confirmed lists
// it. The names are those of the app's manifest, packed as the page reads them.
func wanted(link string) (string, error) {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" {
		return "", errors.New("the platform's link is none")
	}
	data, err := json.Marshal(object{
		"scopes":    object{"tenant": Scopes()},
		"events":    object{"items": object{"tenant": Events()}},
		"callbacks": object{"items": Callbacks()},
	})
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("from", "sdk")
	q.Set("tp", "sdk")
	q.Set("source", "magpie")
	q.Set("name", "Magpie")
	q.Set("addons", base64.RawURLEncoding.EncodeToString(packed.Bytes()))
	u.RawQuery = q.Encode()
	return u.String(), nil
}
