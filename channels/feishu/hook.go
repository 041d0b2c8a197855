package feishu

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"

	"magpie/channels"
)

const (
	// maxEvent bounds one webhook call in bytes.
	maxEvent = 4 << 20
	// hookWindow is how old a signed call may be. A repeated event is signed
	// anew; within the window a repeat of the same call has the same id.
	hookWindow = 10 * time.Minute
)

// serveHook lets the platform call until ctx ends, and looks from time to time
// whether the credentials still hold: nobody calls to say that they do not.
func (f *Feishu) serveHook(ctx context.Context, in *intake) error {
	ctx, cancel := context.WithCancel(ctx)
	in.open(ctx)
	stop := f.signs.keep(ctx, f)
	shut := f.hook.Open(ctx, in)
	defer func() {
		cancel()
		shut() // the calls inside end, since the intake does
		in.wait()
		stop()
	}()
	f.deps.Status.Connected()
	f.deps.Log.Info("feishu ready", "bot", f.me.Load().Name, "mode", modeWebhook)
	tick := time.NewTicker(f.pace.look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch _, err := f.whoAmI(ctx); {
		case err == nil:
			f.deps.Status.Connected()
		case ctx.Err() != nil:
		case channels.Final(err):
			return err
		default:
			f.trouble(err)
		}
	}
}

// Receive takes calls until ctx ends, whoever runs the channel.
func (f *Feishu) Receive(ctx context.Context, sink channels.Sink) error {
	if f.cfg.Mode != modeWebhook {
		return nil
	}
	if err := f.identify(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	inner, cancel := context.WithCancel(ctx)
	in := newIntake(f, sink)
	in.open(inner)
	shut := f.hook.Open(inner, in)
	<-ctx.Done()
	cancel()
	shut()
	in.wait()
	return nil
}

// identify asks who the bot is, which Run does too, until it is known.
func (f *Feishu) identify(ctx context.Context) error {
	for wait := f.backoff(); f.me.Load() == nil; {
		me, err := f.whoAmI(ctx)
		switch {
		case err == nil:
			f.me.CompareAndSwap(nil, me)
		case ctx.Err() != nil:
			return nil
		case channels.Final(err):
			return err
		default:
			wait.Pause(ctx, err)
		}
	}
	return nil
}

// Hook takes the platform's calls in webhook mode; in mode ws there is nothing
// to call.
func (f *Feishu) Hook() http.Handler { return http.HandlerFunc(f.serveCall) }

// serveCall answers 200 only for what is stored.
func (f *Feishu) serveCall(w http.ResponseWriter, r *http.Request) {
	switch {
	case f.cfg.Mode != modeWebhook:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodPost:
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	in, ctx, leave, ok := f.hook.Enter(r.Context())
	if !ok {
		http.Error(w, "not running", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "body cannot be read", http.StatusBadRequest)
		return
	}
	plain, ok := f.authentic(r.Header, body)
	if !ok {
		http.Error(w, "not from the platform", http.StatusUnauthorized)
		return
	}
	if plain.Challenge != "" {
		answer(w, map[string]string{"challenge": plain.Challenge})
		return
	}
	ev := f.read(plain.raw)
	f.serveEvent(ctx, w, ev, in.take(ev))
}

func (f *Feishu) serveEvent(ctx context.Context, w http.ResponseWriter, ev event, done <-chan error) {
	data, err := f.verdict(ctx, ev, done)
	if err != nil { // no silence: an empty answer would be an acknowledgement
		f.deps.Log.Warn("an event was not stored and will come again", "err", err)
		http.Error(w, "not stored", http.StatusServiceUnavailable)
		return
	}
	if data == nil {
		data = []byte("{}")
	}
	w.Header().Set("Content-Type", jsonType)
	_, _ = w.Write(data) // the caller may be gone; then it calls again
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", jsonType)
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone; then it calls again
}

// call is the body of a webhook call that is proved to be the platform's.
type call struct {
	Challenge string `json:"challenge"` // of the test when the address is entered
	raw       []byte
}

// authentic decrypts a call and proves it: by its signature when there is an
// encrypt key, and by the verification token when there is one. The call that
// tests the address is not signed; who can encrypt it knows the key.
func (f *Feishu) authentic(h http.Header, body []byte) (*call, bool) {
	plain, key := body, string(f.cfg.EncryptKey)
	if key != "" {
		var sealed struct {
			Encrypt string `json:"encrypt"`
		}
		if json.Unmarshal(body, &sealed) != nil || sealed.Encrypt == "" {
			return nil, false
		}
		var err error
		if plain, err = larkevent.EventDecrypt(sealed.Encrypt, key); err != nil {
			return nil, false
		}
	}
	var about struct {
		call
		Type   string `json:"type"`
		Token  string `json:"token"`
		Header struct {
			Token string `json:"token"`
		} `json:"header"`
	}
	if json.Unmarshal(plain, &about) != nil {
		return nil, false
	}
	token := about.Header.Token
	if about.Type == "url_verification" {
		token = about.Token
	} else {
		about.Challenge = ""
		if key != "" && !f.signed(h, body) {
			return nil, false
		}
	}
	if want := string(f.cfg.VerificationToken); want != "" && subtle.ConstantTimeCompare([]byte(token), []byte(want)) != 1 {
		return nil, false
	}
	about.raw = plain
	return &about.call, true
}

// signed checks a call's signature and that it is fresh.
func (f *Feishu) signed(h http.Header, body []byte) bool {
	stamp := h.Get("X-Lark-Request-Timestamp")
	want := larkevent.Signature(stamp, h.Get("X-Lark-Request-Nonce"), string(f.cfg.EncryptKey), string(body))
	if subtle.ConstantTimeCompare([]byte(want), []byte(h.Get("X-Lark-Signature"))) != 1 {
		return false
	}
	at, err := strconv.ParseInt(stamp, 10, 64)
	return err == nil && f.deps.Now().Sub(time.Unix(at, 0)).Abs() <= hookWindow
}
