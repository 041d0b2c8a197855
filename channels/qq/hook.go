package qq

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/tencent-connect/botgo/dto"

	"magpie/channels"
)

const (
	// maxHook bounds one webhook call in bytes.
	maxHook = 1 << 20
	// replayWindow is how old a signed call may be. Repeats within it have the
	// ids of the first, so nothing happens twice; the platform repeats what
	// was not acknowledged, perhaps with the first signature.
	replayWindow    = time.Hour
	signatureHeader = "X-Signature-Ed25519"
	timestampHeader = "X-Signature-Timestamp"
)

// serveHook lets the platform call until ctx ends, and proves the credentials
// from time to time.
func (q *QQ) serveHook(ctx context.Context, in *intake) error {
	ctx, cancel := context.WithCancel(ctx)
	defer q.hook.Open(ctx, in)()
	defer cancel() // before the gate shuts: it ends the calls inside
	tick := time.NewTicker(q.pace.hook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch err := q.whoAmI(ctx); {
		case err == nil:
			q.deps.Status.Connected()
		case ctx.Err() != nil:
		case channels.KindOf(err) == channels.Unauthorized:
			return err
		default:
			q.deps.Status.Failed(err)
		}
	}
}

// Receive takes calls until ctx ends, whoever runs the channel.
func (q *QQ) Receive(ctx context.Context, sink channels.Sink) error {
	if q.cfg.Mode != modeWebhook {
		return nil
	}
	for wait := q.backoff(); *q.me.Load() == ""; {
		err := q.whoAmI(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case channels.KindOf(err) == channels.Unauthorized:
			return err
		default:
			wait.Pause(ctx, err)
		}
	}
	inner, cancel := context.WithCancel(ctx)
	in := newIntake(q, sink)
	shut := q.hook.Open(inner, in)
	in.run(inner)
	cancel()
	shut()
	return nil
}

// key is the bot's signing key: the secret repeated to the length of a seed
// (bot.q.qq.com/wiki/develop/api-v2/dev-prepare/interface-framework/sign.html,
// read November 2026).
func key(secret string) ed25519.PrivateKey {
	seed := bytes.Repeat([]byte(secret), ed25519.SeedSize/len(secret)+1)
	return ed25519.NewKeyFromSeed(seed[:ed25519.SeedSize])
}

// authentic checks the signature over timestamp and body, and its age.
func (q *QQ) authentic(r *http.Request, body []byte) bool {
	stamp := r.Header.Get(timestampHeader)
	signature, err := hex.DecodeString(r.Header.Get(signatureHeader))
	at, badTime := strconv.ParseInt(stamp, 10, 64)
	if err != nil || badTime != nil || len(signature) != ed25519.SignatureSize {
		return false
	}
	if age := q.deps.Now().Sub(time.Unix(at, 0)); age > replayWindow || age < -replayWindow {
		return false
	}
	public := key(string(q.cfg.AppSecret)).Public().(ed25519.PublicKey)
	return ed25519.Verify(public, append([]byte(stamp), body...), signature)
}

// serve answers calls; an event is acknowledged only when it is stored.
func (q *QQ) serve(w http.ResponseWriter, r *http.Request) {
	if q.cfg.Mode != modeWebhook {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHook))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "body cannot be read", http.StatusBadRequest)
		return
	case !q.authentic(r, body):
		http.Error(w, "wrong signature", http.StatusUnauthorized)
		return
	}
	in, ctx, leave, ok := q.hook.Enter(r.Context())
	if !ok {
		http.Error(w, "not running", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	q.answer(ctx, w, in, body)
}

func (q *QQ) answer(ctx context.Context, w http.ResponseWriter, in *intake, body []byte) {
	var f frame
	if err := json.Unmarshal(body, &f); err != nil {
		q.skipped.Add(1)
		q.deps.Log.Warn("event skipped", "why", "undecodable", "err", err)
		reply(w, http.StatusOK, acknowledgement(true)) // it would never become better
		return
	}
	switch f.OPCode {
	case dto.HTTPCallbackValidation:
		q.validate(w, &f)
	case dto.WSDispatchEvent:
		if err := in.take(ctx, &f); err != nil {
			q.deps.Log.Warn("an event was not stored and will come again", "err", err)
			reply(w, http.StatusServiceUnavailable, acknowledgement(false))
			return
		}
		reply(w, http.StatusOK, acknowledgement(true))
	default:
		reply(w, http.StatusOK, acknowledgement(true))
	}
}

// plainToken is the shape of what the platform lets the bot sign. Nothing else
// is signed: with a free choice of words anybody could make valid events.
var plainToken = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// validate proves to the platform that this address has the secret.
func (q *QQ) validate(w http.ResponseWriter, f *frame) {
	var ask dto.WHValidationReq
	err := json.Unmarshal(f.Data, &ask)
	if _, bad := strconv.ParseInt(ask.EventTs, 10, 64); err != nil || bad != nil || !plainToken.MatchString(ask.PlainToken) {
		http.Error(w, "not a validation", http.StatusBadRequest)
		return
	}
	signature := ed25519.Sign(key(string(q.cfg.AppSecret)), []byte(ask.EventTs+ask.PlainToken))
	reply(w, http.StatusOK, map[string]string{"plain_token": ask.PlainToken, "signature": hex.EncodeToString(signature)})
}

// acknowledgement is the answer to an event; d other than 0 asks for a repeat.
func acknowledgement(stored bool) map[string]int {
	d := 1
	if stored {
		d = 0
	}
	return map[string]int{"op": int(dto.HTTPCallbackAck), "d": d}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the platform may be gone
}
