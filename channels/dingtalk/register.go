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
	// failPatience is how long it goes on over FAIL: the vendor's connector waits
	// as long as over trouble, others (HKUDS/nanobot, read November 2026) end at
	// once.
	failPatience = 10 * time.Second
	// registerSource names the program that asks, as the vendor's connector
	// does; what others may say is not known.
	registerSource = "DING_DWS_CLAW"
	leastPoll      = 2 * time.Second
)

// The ways in which a registration ends without an application.
var (
	ErrDeclined = errors.New("the registration was refused")
	ErrExpired  = errors.New("nobody has agreed in time")
)

// Registration makes an application with a robot in Stream mode by a QR code
// (dingtalk-openclaw-connector 0.8.21 of 2026-05-17, device-auth.ts; no page).
type Registration struct {
	// URL is what the person opens or scans, within Life.
	URL  string
	Life time.Duration
	// Trouble is told when DingTalk does not answer or says that it failed, and
	// nil when it is well again.
	Trouble func(error)

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
	ctx, cancel := context.WithTimeoutCause(ctx, r.Life, ErrExpired)
	defer cancel()
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	well, ill := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return "", "", context.Cause(ctx)
		case <-tick.C:
		}
		var got progress
		err := r.call(ctx, "poll", map[string]string{"device_code": r.device}, &got)
		if err == nil {
			if got.Status == "SUCCESS" && got.ID != "" && got.Secret != "" {
				return got.ID, got.Secret, nil
			}
			err = got.wrong()
		}
		if errors.Is(err, ErrExpired) {
			return "", "", err
		}
		if r.Trouble != nil && ctx.Err() == nil && ill != (err != nil) {
			r.Trouble(err)
		}
		ill = err != nil
		patience := registerPatience
		if errors.Is(err, ErrDeclined) {
			patience = failPatience
		}
		if !ill {
			well = time.Now()
		} else if time.Since(well) > patience {
			return "", "", err
		}
	}
}

// progress is how far a registration is.
type progress struct {
	Status string      `json:"status"`
	ID     string      `json:"client_id"`
	Secret chat.Secret `json:"client_secret"`
	Why    string      `json:"fail_reason"`
}

// wrong is why the registration does not go on, nil while it waits.
func (p *progress) wrong() error {
	switch p.Status {
	case "WAITING":
		return nil
	case "EXPIRED":
		return ErrExpired
	case "FAIL":
		return fmt.Errorf("%w: %s", ErrDeclined, cmp.Or(p.Why, "DingTalk does not say why"))
	}
	return fmt.Errorf("dingtalk says %q: %s", p.Status, p.Why)
}
