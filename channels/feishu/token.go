package feishu

import (
	"context"
	"encoding/json"
	"errors"
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

// fetchToken gets an access token of the app. The SDK keeps one for the whole
// process and goes on using it after it was revoked; this one belongs to the
// instance.
func (c *client) fetchToken(ctx context.Context) (string, time.Duration, error) {
	const op = "tenant_access_token"
	raw, err := c.bare(ctx, op, tokenPath, map[string]string{"app_id": c.cfg.AppID, "app_secret": string(c.cfg.AppSecret)})
	if err != nil {
		return "", 0, err
	}
	var answer struct {
		Token  string `json:"tenant_access_token"`
		Expire int64  `json:"expire"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Token == "" {
		return "", 0, c.Fail(op, channels.Temporary, errors.New("answer without a token"))
	}
	return answer.Token, time.Duration(answer.Expire) * time.Second, nil
}
