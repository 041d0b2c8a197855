package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"magpie/channels"
)

const (
	tokenPath = "/open-apis/auth/v3/tenant_access_token/internal"
	// tokenMargin is how long before its end a token is replaced. The platform
	// gives a new one only in the last 30 minutes of its 2 hours; before that it
	// repeats the old one (auth-v3/auth/tenant_access_token_internal, read
	// November 2026).
	tokenMargin = 5 * time.Minute
)

// token is the app's access token. The SDK keeps one for the whole process and
// goes on using it after it was revoked; this one belongs to the instance.
type token struct {
	lock  chan struct{} // holds one while somebody looks or fetches
	value string
	until time.Time
}

func newToken() *token { return &token{lock: make(chan struct{}, 1)} }

// get returns the token, fetching one when there is none that lasts.
func (c *client) accessToken(ctx context.Context) (string, error) {
	const op = "tenant_access_token"
	select {
	case c.token.lock <- struct{}{}:
		defer func() { <-c.token.lock }()
	case <-ctx.Done():
		return "", c.fail(op, channels.Temporary, context.Cause(ctx))
	}
	now := c.now()
	if c.token.value != "" && now.Before(c.token.until) {
		return c.token.value, nil
	}
	body, err := json.Marshal(map[string]string{"app_id": c.appID, "app_secret": c.secret})
	if err != nil {
		return "", c.fail(op, channels.Rejected, err)
	}
	x := exchange{op: op, method: http.MethodPost, url: c.base + tokenPath, contentType: jsonType, body: bytes.NewReader(body)}
	raw, err := c.do(ctx, &x)
	if err != nil {
		return "", err
	}
	var answer struct {
		Token  string `json:"tenant_access_token"`
		Expire int64  `json:"expire"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Token == "" {
		return "", c.fail(op, channels.Temporary, errors.New("answer without a token"))
	}
	life := time.Duration(answer.Expire) * time.Second
	c.token.value, c.token.until = answer.Token, now.Add(max(life-tokenMargin, life/2))
	return answer.Token, nil
}

// evict forgets a token that the platform refused, unless it was replaced
// meanwhile.
func (c *client) evict(ctx context.Context, refused string) error {
	select {
	case c.token.lock <- struct{}{}:
		defer func() { <-c.token.lock }()
	case <-ctx.Done():
		return fmt.Errorf("forget a refused token: %w", context.Cause(ctx))
	}
	if c.token.value == refused {
		c.token.value = ""
	}
	return nil
}
