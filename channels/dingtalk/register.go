package dingtalk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"magpie/channels"
	"magpie/chat"
)

const (
	// registerPatience is how long a registration goes on over trouble.
	registerPatience = 2 * time.Minute
	// registerSource names the program that asks, as the vendor's connector
	// does; what others may say is not known.
	registerSource = "DING_DWS_CLAW"
	leastPoll      = 2 * time.Second
)

// Registration makes an application with a robot in Stream mode by a QR code
// (dingtalk-openclaw-connector 0.8.21 of 2026-05-17, device-auth.ts; no page).
type Registration struct {
	// URL is what the person opens or scans, within Life.
	URL  string
	Life time.Duration

	api    *client
	device string
	every  time.Duration
}

// BeginRegistration asks DingTalk for a registration; base "" is DingTalk's own
// server.
func BeginRegistration(ctx context.Context, given *http.Client, base string) (*Registration, error) {
	api := newClient("dingtalk", Config{OAPIBase: cmp.Or(base, publicOAPI)}, given, time.Now)
	r := &Registration{api: api}
	var first struct {
		Nonce string `json:"nonce"`
	}
	if err := r.call(ctx, "init", map[string]string{"source": registerSource}, &first); err != nil {
		return nil, err
	}
	var got struct {
		Device   string `json:"device_code"`
		URL      string `json:"verification_uri_complete"`
		Expires  number `json:"expires_in"`
		Interval number `json:"interval"`
	}
	if err := r.call(ctx, "begin", map[string]string{"nonce": first.Nonce}, &got); err != nil {
		return nil, err
	}
	if first.Nonce == "" || got.Device == "" || got.URL == "" {
		return nil, api.Fail("registration", channels.Temporary, errors.New("answer without a code to scan"))
	}
	r.URL, r.device = got.URL, got.Device
	r.Life = time.Duration(cmp.Or(got.Expires, 7200)) * time.Second
	r.every = max(time.Duration(cmp.Or(got.Interval, 3))*time.Second, leastPoll)
	return r, nil
}

func (r *Registration) call(ctx context.Context, step string, in, out any) error {
	return r.api.do(ctx, call{op: "registration/" + step, url: r.api.cfg.OAPIBase + "/app/registration/" + step, in: in, bare: true}, out)
}

// Wait returns the credentials when the person has agreed, or why there are
// none.
func (r *Registration) Wait(ctx context.Context) (clientID string, secret chat.Secret, err error) {
	defer r.api.CloseIdle()
	ctx, cancel := context.WithTimeout(ctx, r.Life)
	defer cancel()
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	well := time.Now()
	for {
		select {
		case <-ctx.Done():
			return "", "", fmt.Errorf("nobody has agreed: %w", ctx.Err())
		case <-tick.C:
		}
		var got struct {
			Status string      `json:"status"`
			ID     string      `json:"client_id"`
			Secret chat.Secret `json:"client_secret"`
			Why    string      `json:"fail_reason"`
		}
		err := r.call(ctx, "poll", map[string]string{"device_code": r.device}, &got)
		switch {
		case err == nil && got.Status == "SUCCESS" && got.ID != "" && got.Secret != "":
			return got.ID, got.Secret, nil
		case err == nil && got.Status == "WAITING":
			well = time.Now()
			continue
		case err == nil && got.Status == "EXPIRED":
			return "", "", errors.New("the code is too old; begin again")
		case err == nil:
			err = fmt.Errorf("dingtalk says %q: %s", got.Status, got.Why)
		}
		if time.Since(well) > registerPatience {
			return "", "", err
		}
	}
}
