package qq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"magpie/channels"
	"magpie/channels/rest"
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

// seconds is a number that comes as a number or as a string.
type seconds int64

// UnmarshalJSON implements json.Unmarshaler.
func (s *seconds) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	*s = seconds(n)
	return err
}

// noBotCodes: there is no such bot. Elsewhere the code is about a channel of a
// guild (bot.q.qq.com/wiki/develop/api-v2/dev-prepare/access-token.html, read
// November 2026).
func noBotCodes() []int { return []int{10004} }

func (c *client) fetchToken(ctx context.Context) (token string, life time.Duration, err error) {
	const op = "getAppAccessToken"
	body, err := rest.JSON(map[string]string{"appId": c.cfg.AppID, "clientSecret": string(c.cfg.AppSecret)})
	if err != nil {
		return "", 0, c.Fail(op, channels.Rejected, err)
	}
	raw, err := c.Do(ctx, rest.Request{Op: op, URL: c.cfg.TokenBase + "/app/getAppAccessToken", Body: body, Bare: true, Patience: tokenPatience})
	switch {
	case channels.KindOf(err) == channels.Unauthorized, refusedWith(err, noBotCodes()):
		return "", 0, c.Fail(op, channels.Unauthorized, fmt.Errorf("app_id or app_secret is wrong; compare them with q.qq.com: %w", errors.Unwrap(err)))
	case channels.KindOf(err) == channels.Rejected:
		return "", 0, c.Fail(op, channels.Temporary, errors.Unwrap(err)) // an unknown code is no proof
	case err != nil:
		return "", 0, err
	}
	var got struct {
		Token string  `json:"access_token"`
		Life  seconds `json:"expires_in"`
	}
	if err := json.Unmarshal(raw, &got); err != nil || got.Token == "" || got.Life <= 0 {
		return "", 0, c.Fail(op, channels.Temporary, errors.New("answer without a token"))
	}
	return got.Token, time.Duration(got.Life) * time.Second, nil
}
