package qq

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
)

// Codes decide, whatever the status says.
func TestCodes(t *testing.T) {
	for _, c := range []struct {
		fault fake.Fault
		kind  channels.Kind
	}{
		{fake.Fault{Status: 400, Code: 12002, Text: "RequestInvalid"}, channels.Rejected},
		{fake.Fault{Status: 404, Page: true}, channels.Temporary},
		{fake.Fault{Status: 403, Code: 11253, Text: "ErrorCheckAppPrivilegeNotPass"}, channels.Rejected},
		{fake.Fault{Status: 400, Code: 40054002, Text: "机器人被禁言"}, channels.Rejected},
		{fake.Fault{Status: 400, Code: 40034006, Text: "消息内容违规"}, channels.Rejected},
		{fake.Fault{Status: 400, Code: 40054007, Text: "消息长度超限"}, channels.TooLong},
		{fake.Fault{Status: 413, Page: true}, channels.TooLong},
		{fake.Fault{Status: 400, Code: 11265, Text: "ErrorRobotHasBaned"}, channels.Unauthorized},
		{fake.Fault{Status: 400, Code: 11298, Text: "接口访问源IP不在白名单"}, channels.Unauthorized},
		{fake.Fault{Status: 401, Code: 11243, Text: "ErrorCheckTokenNotPass", Times: 2}, channels.Unauthorized},
		{fake.Fault{Status: 401, Page: true}, channels.Temporary}, // not the platform said it,
		{fake.Fault{Status: 500, Code: 11252, Text: "ErrorCheckAppPrivilegeFailed"}, channels.Temporary},
		{fake.Fault{Status: 400, Code: 50055001, Text: "消息发送异常，请稍后重试"}, channels.Temporary},
		{fake.Fault{Status: 504, Page: true}, channels.Ambiguous},
		{fake.Fault{Status: 200, Code: 12002, Text: "an error in a success"}, channels.Rejected},
		{fake.Fault{Status: 302, Page: true}, channels.Temporary},
		{fake.Fault{Status: 200, Page: true}, channels.Ambiguous},
		{fake.Fault{Drop: true}, channels.Ambiguous},
		{fake.Fault{Status: 400, Code: 20028, Text: "ChannelHitWriteRateLimit", RetryAfter: 7}, channels.RateLimited},
		{fake.Fault{Status: 429, Text: "too many requests", RetryAfter: 7}, channels.RateLimited},
	} {
		w := newWorld(t, nil)
		q := w.channel(t, channels.Deps{})
		w.Fail(c.fault)
		_, err := q.Send(channeltest.Bounded(t), reminder(ann, "m", "x"))
		var e *channels.Error
		if !errors.As(err, &e) || e.Kind != c.kind || e.Channel != instance || e.Op == "" {
			t.Errorf("%+v: %v, want %v", c.fault, err, c.kind)
			continue
		}
		if c.kind == channels.RateLimited && e.RetryAfter != 7*time.Second {
			t.Errorf("%+v: RetryAfter %v", c.fault, e.RetryAfter)
		}
		// Whatever it was, the message can go afterwards, once.
		if _, err := q.Send(channeltest.Bounded(t), reminder(ann, "m", "x")); err != nil || len(w.Messages(ann)) != 1 {
			t.Errorf("%+v: after it: %v, shown %+v", c.fault, err, w.Messages(ann))
		}
	}
}

// Taken, but a person at the platform looks at it first: not an error.
func TestAuditIsNoError(t *testing.T) {
	for _, code := range []int{304023, 304024, 304999} { // the page names the status, not the codes
		w := newWorld(t, nil)
		q := w.channel(t, channels.Deps{})
		w.Fail(fake.Fault{Status: 202, Code: code, Text: "push message is waiting for audit now"})
		if _, err := q.Send(channeltest.Bounded(t), reminder(ann, "m", "x")); err != nil {
			t.Errorf("%d: %v", code, err)
		}
	}
}

// The bot may begin so many sessions a day: then it waits, and does not stop.
func TestSessionLimit(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "getAppAccessToken") {
			_, _ = w.Write([]byte(`{"access_token":"T","expires_in":"7200"}`))
			return
		}
		_, _ = w.Write([]byte(`{"url":"ws://x","session_start_limit":{"total":1000,"remaining":0,"reset_after":60000}}`))
	}))
	defer web.Close()
	q := plainQQ(t)
	q.cfg.APIBase, q.cfg.TokenBase = web.URL, web.URL
	q = newQQ("main", q.cfg, channels.Deps{}, quick())
	defer q.api.CloseIdle()
	_, err := q.gatewayURL(channeltest.Bounded(t), true)
	var e *channels.Error
	if !errors.As(err, &e) || e.Kind != channels.RateLimited || e.RetryAfter != time.Minute {
		t.Errorf("a new session: %v", err)
	}
	if at, err := q.gatewayURL(channeltest.Bounded(t), false); err != nil || at != "ws://x" {
		t.Errorf("an old one: %q, %v", at, err)
	}
}

// Nobody listens: nothing was sent, and the address is not told with secrets.
func TestNoConnection(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	web.Close()
	cfg := Config{AppID: "1", AppSecret: "hidden-secret", APIBase: web.URL, TokenBase: web.URL}
	if err := cfg.complete(false); err != nil {
		t.Fatal(err)
	}
	q := newQQ("main", cfg, channels.Deps{}, quick())
	_, err := q.Send(channeltest.Bounded(t), chat.Outbound{Meta: chat.Meta{ID: "m", Addr: at(ann)}, Text: "x"})
	if channels.KindOf(err) != channels.Temporary || err == nil || strings.Contains(err.Error(), "hidden-secret") {
		t.Errorf("got %v", err)
	}
}

// What the page on access tokens says of each refusal; all have status 200.
func TestTokenRefusals(t *testing.T) {
	for code, want := range map[int]channels.Kind{
		100001: channels.RateLimited, 100007: channels.Unauthorized, 100016: channels.Unauthorized, 10004: channels.Unauthorized, 424242: channels.Temporary,
	} {
		w := newWorld(t, nil)
		q := w.channel(t, channels.Deps{})
		w.Fail(fake.Fault{Op: "token", Status: 200, Code: code, Text: "x"})
		_, err := q.Send(channeltest.Bounded(t), reminder(ann, "m", "x"))
		if err == nil || channels.KindOf(err) != want {
			t.Errorf("%d: %v, want %v", code, err, want)
		}
	}
}
