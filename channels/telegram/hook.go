package telegram

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"magpie/channels"
)

const (
	// maxUpdate bounds one webhook call in bytes.
	maxUpdate = 4 << 20
	// secretHeader proves that a call comes from Telegram.
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
)

// hookURL is where Telegram calls.
func (t *Telegram) hookURL() string { return t.cfg.PublicURL + "/hooks/" + t.name }

func (t *Telegram) setWebhook(ctx context.Context) error {
	_, err := t.api.call(ctx, "setWebhook", tgbotapi.Params{
		"url": t.hookURL(), "secret_token": string(t.cfg.WebhookSecret), "allowed_updates": allowedUpdates,
	})
	return err
}

// serveHook lets Telegram call until ctx ends, and looks from time to time
// whether it still can.
func (t *Telegram) serveHook(ctx context.Context, in *intake) error {
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { in.run(ctx) })
	defer t.hook.Open(ctx, in)()
	defer cancel() // before the gate shuts: it ends the calls inside
	tick := time.NewTicker(t.pace.hook)
	defer tick.Stop()
	started := t.deps.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch err := t.lookAtHook(ctx, started); {
		case err == nil:
			t.deps.Status.Connected()
		case ctx.Err() != nil:
		case channels.Final(err):
			return err
		default:
			t.trouble(err)
		}
	}
}

// Receive takes calls until ctx ends, whoever runs the channel.
func (t *Telegram) Receive(ctx context.Context, sink channels.Sink) error {
	if t.cfg.Mode != modeWebhook {
		return nil
	}
	in := newIntake(t, sink)
	for wait := t.backoff(); ; {
		err := t.identify(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil
		}
		if channels.Final(err) {
			return err
		}
		wait.Pause(ctx, err)
	}
	inner, cancel := context.WithCancel(ctx)
	shut := t.hook.Open(inner, in)
	in.run(inner)
	cancel()
	shut()
	return nil
}

// lookAtHook sets the webhook again when it is gone, and reports an error that
// Telegram had with it since the last look.
func (t *Telegram) lookAtHook(ctx context.Context, started time.Time) error {
	raw, err := t.api.call(ctx, "getWebhookInfo", nil)
	if err != nil {
		return err
	}
	var info struct {
		URL     string `json:"url"`
		ErrorAt int64  `json:"last_error_date"`
		Error   string `json:"last_error_message"`
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return t.api.Fail("getWebhookInfo", channels.Temporary, err)
	}
	if info.URL != t.hookURL() {
		t.deps.Log.Warn("the webhook was gone and is set again; does another program use the same token?")
		return t.setWebhook(ctx)
	}
	at := time.Unix(info.ErrorAt, 0)
	if info.Error != "" && at.After(started) && t.deps.Now().Sub(at) <= t.pace.hook {
		return t.api.Fail("webhook", channels.Temporary, fmt.Errorf("telegram cannot deliver: %s", info.Error))
	}
	return nil
}

// serveUpdate answers 200 only for what is stored.
func (t *Telegram) serveUpdate(w http.ResponseWriter, r *http.Request) {
	given := []byte(r.Header.Get(secretHeader))
	switch {
	case t.cfg.Mode != modeWebhook:
		http.NotFound(w, r)
		return
	case subtle.ConstantTimeCompare(given, []byte(t.cfg.WebhookSecret)) != 1:
		http.Error(w, "wrong secret", http.StatusUnauthorized)
		return
	case r.Method != http.MethodPost:
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	in, ctx, leave, ok := t.hook.Enter(r.Context())
	if !ok {
		http.Error(w, "not running", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpdate))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		// Telegram repeats what is refused for ever; nothing it sends is so long.
		in.skip(event{skip: "update is too long", bad: true})
		return
	}
	if err != nil {
		http.Error(w, "body cannot be read", http.StatusBadRequest)
		return
	}
	if err := in.take(ctx, t.event(raw)); err != nil {
		t.deps.Log.Warn("an update was not stored and will come again", "err", err)
		http.Error(w, "not stored", http.StatusServiceUnavailable)
	}
}
