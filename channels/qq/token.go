package qq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"magpie/channels"
)

const (
	// tokenMargin is how long before its end a token is replaced. The platform
	// gives a new one in the last 60 s only
	// (bot.q.qq.com/wiki/develop/api-v2/dev-prepare/interface-framework/api-use.html,
	// read November 2026).
	tokenMargin = 50 * time.Second
	// tokenPatience bounds the call for one.
	tokenPatience = 15 * time.Second
)

// tokens gets access tokens and keeps the present one.
type tokens struct {
	c     *client
	at    string
	clock func() time.Time
	turn  chan struct{} // one asks, the others wait for what it gets

	mu    sync.Mutex
	value string
	until time.Time
}

// now is the present token, good or not; "" when there is none.
func (t *tokens) now() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.value
}

func (t *tokens) valid() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.value, t.value != "" && t.clock().Before(t.until)
}

// evict forgets a token that the platform refused. Others may have replaced
// it meanwhile.
func (t *tokens) evict(bad string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == bad {
		t.until = time.Time{}
	}
}

// get returns a token that should be good.
func (t *tokens) get(ctx context.Context) (string, error) {
	if token, ok := t.valid(); ok {
		return token, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", t.c.fail("getAppAccessToken", channels.Temporary, ctx.Err())
	}
	if token, ok := t.valid(); ok {
		return token, nil
	}
	token, life, err := t.ask(ctx)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.value, t.until = token, t.clock().Add(life-min(tokenMargin, life/2))
	return token, nil
}

// seconds is a number that comes as a number or as a string.
type seconds int64

// UnmarshalJSON implements json.Unmarshaler.
func (s *seconds) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	*s = seconds(n)
	return err
}

func (t *tokens) ask(ctx context.Context) (token string, life time.Duration, err error) {
	const op = "getAppAccessToken"
	ctx, cancel := context.WithTimeout(ctx, tokenPatience)
	defer cancel()
	body, err := json.Marshal(map[string]string{"appId": t.c.app, "clientSecret": string(t.c.secret)})
	if err != nil {
		return "", 0, t.c.fail(op, channels.Rejected, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.at, bytes.NewReader(body))
	if err != nil {
		return "", 0, t.c.fail(op, channels.Rejected, errors.New("token_base is not a valid address"))
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := t.c.exchange(req)
	if err != nil {
		return "", 0, t.c.fail(op, channels.Temporary, err)
	}
	var got struct {
		Token string  `json:"access_token"`
		Life  seconds `json:"expires_in"`
	}
	err = t.c.read(request{op: op}, answer, &got)
	switch {
	case channels.KindOf(err) == channels.Unauthorized:
		return "", 0, t.c.fail(op, channels.Unauthorized, fmt.Errorf("app_id or app_secret is wrong; compare them with q.qq.com: %w", errors.Unwrap(err)))
	case channels.KindOf(err) == channels.Rejected && err != nil:
		return "", 0, t.c.fail(op, channels.Temporary, errors.Unwrap(err)) // an unknown code is no proof
	case err != nil:
		return "", 0, err
	case got.Token == "" || got.Life <= 0:
		return "", 0, t.c.fail(op, channels.Temporary, errors.New("answer without a token"))
	}
	return got.Token, time.Duration(got.Life) * time.Second, nil
}
