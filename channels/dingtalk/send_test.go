package dingtalk

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"

	fake "magpie/internal/fakes/dingtalk"
)

// robotOf makes a channel that was never run.
func robotOf(t *testing.T, w *world, d channels.Deps) channels.Channel {
	t.Helper()
	return w.channel(t, d)
}

func vias(messages []fake.Message) (all []string) {
	for _, m := range messages {
		all = append(all, m.Via)
	}
	return all
}

// A chat's session webhook is used while it is good, then the robot API; a
// webhook that DingTalk has forgotten costs nothing but itself.
func TestWebhookThenRobot(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	clock := func() time.Time { return now }
	w := newWorld(t, &fake.Options{Now: clock})
	w.via = "session"
	ch := robotOf(t, w, channels.Deps{Now: clock})
	send := func(text string) string {
		t.Helper()
		ref, err := ch.Send(channeltest.Bounded(t), outbound(ann().Chat(), text))
		if err != nil {
			t.Fatal(err)
		}
		return ref.ID
	}
	if id := send("one"); !strings.HasPrefix(id, bySession) {
		t.Errorf("id %q", id)
	}
	now = now.Add(90*time.Minute - sessionMargin - time.Second)
	send("two, just in time")
	now = now.Add(2 * time.Second)
	if id := send("three, too late"); !strings.HasPrefix(id, "pqk") {
		t.Errorf("id %q", id)
	}
	now = now.Add(sessionMargin)
	base(ch).sessions.hold(ann().Chat(), w.session(ann().Chat()))
	send("four, by a new webhook")
	w.DropSessions()
	send("five, after it is gone")
	calls := w.Calls(fake.OpWebhook)
	send("six")
	if w.Calls(fake.OpWebhook) != calls {
		t.Error("a webhook that is gone was called again")
	}
	want := []string{fake.OpWebhook, fake.OpWebhook, fake.OpPerson, fake.OpWebhook, fake.OpPerson, fake.OpPerson}
	if got := vias(w.Messages(ann().Chat())); !slices.Equal(got, want) {
		t.Errorf("went by %q, want %q", got, want)
	}
}

// In a group the answer mentions the one it answers, and nobody else, whatever
// the model writes.
func TestMentions(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(t, nil, nil)
	w.Say(fake.Said{From: bob().Chat(), Chat: crowd().Chat(), Text: "first?", Mention: true})
	first := r.Next(t)
	w.Say(fake.Said{From: ann().Chat(), Chat: crowd().Chat(), Text: "second?", Mention: true})
	r.Next(t)
	answer := outbound(crowd().Chat(), "to Bob; @all @0003 <@all> <a atId=\"@ALL\">x</a>")
	answer.ReplyTo = first.MessageID
	for _, msg := range []chat.Outbound{answer, outbound(crowd().Chat(), "to nobody @all")} {
		if _, err := r.Send(channeltest.Bounded(t), msg); err != nil {
			t.Fatal(err)
		}
	}
	m := w.Messages(crowd().Chat())
	if len(m) != 2 || !slices.Equal(m[0].At, []string{bob().StaffID}) || !strings.HasPrefix(m[0].Text, "@"+bob().StaffID+" ") {
		t.Fatalf("the group shows %+v", m)
	}
	if m[1].At != nil || strings.Contains(m[0].Text, "<a atId") || m[0].Title == "" {
		t.Errorf("the group shows %+v", m)
	}
}

// People outside the organisation have no staff id: the webhook reaches them,
// and then nothing does.
func TestOutsider(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(t, nil, nil)
	w.Say(fake.Said{Chat: out().Chat(), Text: "hello"})
	in := r.Next(t)
	if in.Addr.Chat != out().Chat() || in.From.ID != strings.TrimPrefix(out().Chat(), userPrefix) {
		t.Fatalf("got %+v", in)
	}
	if _, err := r.Send(channeltest.Bounded(t), outbound(in.Addr.Chat, "welcome")); err != nil {
		t.Fatal(err)
	}
	picture := upload(chat.Image, "dot.png", 10)
	if _, err := r.SendMedia(channeltest.Bounded(t), outbound(in.Addr.Chat, ""), []channels.Upload{picture}); err != nil {
		t.Fatal(err)
	}
	_, err := r.SendMedia(channeltest.Bounded(t), outbound(in.Addr.Chat, ""), []channels.Upload{upload(chat.File, "a.pdf", 10)})
	if channels.KindOf(err) != channels.Rejected || err == nil {
		t.Errorf("a file: %v", err)
	}
	w.DropSessions()
	_, err = r.Send(channeltest.Bounded(t), outbound(in.Addr.Chat, "too late"))
	if channels.KindOf(err) != channels.Rejected || err == nil || !strings.Contains(err.Error(), "outside the organisation") {
		t.Errorf("without a webhook: %v", err)
	}
	if m := w.Messages(in.Addr.Chat); len(m) != 2 || !strings.Contains(m[1].Text, "![](@fakeMedia") {
		t.Errorf("the chat shows %+v", m)
	}
}

// Only DingTalk's own servers, over TLS, and the configured ones are called.
func TestTrusted(t *testing.T) {
	c := newClient("d", Config{APIBase: "http://127.0.0.1:1234", OAPIBase: "https://oapi.example.org"}, nil, time.Now)
	for at, want := range map[string]bool{
		"https://oapi.dingtalk.com/robot/sendBySession?session=1": true,
		"https://oapi.example.org/x":                              true,
		"http://127.0.0.1:1234/x":                                 true,
		"http://127.0.0.1:1235/x":                                 false,
		"http://oapi.dingtalk.com/x":                              false,
		"https://oapi.dingtalk.com.evil.org/x":                    false,
		"https://evildingtalk.com/x":                              false,
		"https://oapi.dingtalk.com:8443/x":                        false,
		"https://me@oapi.dingtalk.com/x":                          false,
		"https://169.254.169.254/x":                               false,
		"":                                                        false,
		"://":                                                     false,
	} {
		if got := c.trusted(at); got != want {
			t.Errorf("%q: %v", at, got)
		}
	}
	s := sessions{now: time.Now, trusted: c.trusted, known: map[string]session{}}
	s.hold("user:a", session{URL: "https://evil.example/x", Until: time.Now().Add(time.Hour)})
	if got := s.known["user:a"]; got.URL != "" || !got.Until.IsZero() {
		t.Errorf("kept %+v", got)
	}
}

// One token serves all calls; it is replaced when DingTalk does not take it
// any more, and before its time ends.
func TestToken(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	var mu sync.Mutex
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	w := newWorld(t, &fake.Options{Now: clock})
	ch := robotOf(t, w, channels.Deps{Now: clock})
	send := func() {
		t.Helper()
		if _, err := ch.Send(channeltest.Bounded(t), outbound(ann().Chat(), "x")); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(send)
	}
	wg.Wait()
	tokens := func(want int) {
		t.Helper()
		if n := w.Calls(fake.OpToken); n != want {
			t.Errorf("%d tokens were fetched, want %d", n, want)
		}
	}
	tokens(1)
	w.Expire()
	send()
	tokens(2)
	for _, later := range []time.Duration{2*time.Hour - tokenMargin - time.Minute, 2 * time.Minute} {
		mu.Lock()
		now = now.Add(later)
		mu.Unlock()
		send()
	}
	tokens(3)
	if n := w.Calls(fake.OpPerson); n != 20 {
		t.Errorf("%d calls, want 19 and the one that was refused", n)
	}
	if n := len(w.Messages(ann().Chat())); n != 19 {
		t.Errorf("the chat shows %d messages, want 19", n)
	}
}

// Codes of the API server, of webhooks and of proxies.
func TestKinds(t *testing.T) {
	type want struct {
		fault fake.Fault
		kind  channels.Kind
		after time.Duration
	}
	robot := []want{
		{fake.Fault{Code: "invalidParameter.msgParam.tooLong"}, channels.TooLong, 0},
		{fake.Fault{Code: "invalidParameter.robotCode.notExsit"}, channels.Rejected, 0},
		{fake.Fault{Code: "send.too.fast"}, channels.RateLimited, time.Second},
		{fake.Fault{Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForApi"}, channels.RateLimited, time.Second},
		{fake.Fault{Status: 403, Code: "Forbidden.AccessDenied.QpmLimitForAppkeyAndApi"}, channels.RateLimited, time.Minute},
		{fake.Fault{Status: 403, Code: "Forbidden.AccessDenied.IpNotInWhiteList"}, channels.Unauthorized, 0},
		{fake.Fault{Status: 403, Code: "Forbidden.AccessDenied.AccessTokenPermissionDenied", Scopes: []string{"qyapi_x"}}, channels.Rejected, 0},
		{fake.Fault{Status: 401, Code: "unauthorized.client"}, channels.Unauthorized, 0},
		{fake.Fault{Status: 403, Code: "Forbidden.AccessDenied.ApiCountLimitForOrg"}, channels.Rejected, 0},
		{fake.Fault{Code: "robot.oto.notExist"}, channels.Rejected, 0},
		{fake.Fault{Code: "system.err"}, channels.Temporary, 0},
		{fake.Fault{Code: "robot.send.flowControl"}, channels.RateLimited, time.Second},
		{fake.Fault{Code: "resource.unavailable"}, channels.Rejected, 0},
		{fake.Fault{Code: "unknown.send.result"}, channels.Ambiguous, 0},
		{fake.Fault{Status: 500, Code: "system.error"}, channels.Temporary, 0},
		{fake.Fault{Status: 503, Page: true}, channels.Temporary, 0},
		{fake.Fault{Status: 504, Page: true}, channels.Ambiguous, 0},
		{fake.Fault{Status: 404, Page: true}, channels.Temporary, 0},
		{fake.Fault{Status: 429, Page: true}, channels.RateLimited, 0},
		{fake.Fault{Status: 413, Page: true}, channels.TooLong, 0},
		{fake.Fault{Status: 200, Page: true}, channels.Ambiguous, 0},
		{fake.Fault{Drop: true}, channels.Ambiguous, 0},
		{fake.Fault{Op: fake.OpToken, Drop: true}, channels.Temporary, 0},
		{fake.Fault{Op: fake.OpToken, Code: "invalidClientIdOrSecret"}, channels.Unauthorized, 0},
	}
	webhook := []want{
		{fake.Fault{Errcode: -1}, channels.Temporary, 0},
		{fake.Fault{Errcode: 90002}, channels.RateLimited, time.Second},
		{fake.Fault{Errcode: 90018}, channels.RateLimited, time.Second},
		{fake.Fault{Errcode: 430102}, channels.Rejected, 0},
		{fake.Fault{Drop: true}, channels.Ambiguous, 0},
		{fake.Fault{Status: 502, Page: true}, channels.Temporary, 0},
	}
	for via, cases := range map[string][]want{"": robot, "session": webhook} {
		for _, c := range cases {
			w := newWorld(t, nil)
			w.via = via
			ch := robotOf(t, w, channels.Deps{})
			c.fault.Times = 2 // so that no second way helps
			w.Fail(c.fault)
			_, err := ch.Send(channeltest.Bounded(t), outbound(ann().Chat(), "x"))
			var after time.Duration
			if ce, ok := err.(*channels.Error); ok {
				after = ce.RetryAfter
			}
			if err == nil || channels.KindOf(err) != c.kind || after != c.after {
				t.Errorf("%s %+v: got %v after %v, want %v after %v", via, c.fault, err, after, c.kind, c.after)
			}
			whole := strings.Contains(c.fault.Code, "LimitFor") && c.kind == channels.RateLimited || c.fault.Errcode > 90000 && c.fault.Errcode < 91000
			if _, global := channels.Limit(err); global != whole {
				t.Errorf("%s %+v: global %v", via, c.fault, global)
			}
			if len(c.fault.Scopes) > 0 && !strings.Contains(fmt.Sprint(err), "qyapi_x") {
				t.Errorf("%v does not name the missing permission", err)
			}
		}
	}
}

// A webhook's errcode may be a number or a string; anything but 0 is a no.
func TestErrcodeForms(t *testing.T) {
	body := ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	defer web.Close()
	c := newClient("d", Config{APIBase: web.URL, OAPIBase: web.URL}, nil, time.Now)
	defer c.CloseIdle()
	for answer, ok := range map[string]bool{
		`{"errcode":0,"errmsg":"ok"}`: true, `{"errcode":"0","errmsg":"ok"}`: true, `{}`: true,
		`{"errcode":"300001","errmsg":"x"}`: false, `{"errcode":300001}`: false, `ok`: false, `[]`: false, ``: false,
	} {
		body = answer
		err := c.do(channeltest.Bounded(t), call{op: "x", url: web.URL, in: 1, bare: true}, nil)
		if (err == nil) != ok {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// What the answer of a send says about single people is believed.
func TestPeopleNotReached(t *testing.T) {
	answer := ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "accessToken") {
			answerToken(w)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer web.Close()
	cfg := Config{ClientID: "c", ClientSecret: "s", APIBase: web.URL, OAPIBase: web.URL}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	dt := newDingTalk(instance, cfg, channels.Deps{}, quick())
	defer dt.api.CloseIdle()
	for a, kind := range map[string]channels.Kind{
		`{"processQueryKey":"k","invalidStaffIdList":["0001"]}`:        channels.Rejected,
		`{"processQueryKey":"k","flowControlledStaffIdList":["0001"]}`: channels.RateLimited,
		`{}`: channels.Ambiguous,
	} {
		answer = a
		if _, err := dt.Send(channeltest.Bounded(t), outbound("user:0001", "x")); err == nil || channels.KindOf(err) != kind {
			t.Errorf("%s: %v", a, err)
		}
	}
}

func answerToken(w http.ResponseWriter) {
	_, _ = w.Write([]byte(`{"accessToken":"t","expireIn":7200}`))
}

func TestTitle(t *testing.T) {
	for text, want := range map[string]string{
		"# 标题\n\nmore": "标题", "": "…", "   ": "…", "**b** and `c`": "b and c",
		strings.Repeat("好", 50): strings.Repeat("好", 39) + "…", strings.Repeat("好", 40): strings.Repeat("好", 40),
	} {
		if got := title(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestBadAddress(t *testing.T) {
	w := newWorld(t, nil)
	ch := robotOf(t, w, channels.Deps{})
	for _, a := range []string{"", "0001", "user:", "group:", "cid1"} {
		if _, err := ch.Send(channeltest.Bounded(t), outbound(a, "x")); channels.KindOf(err) != channels.Rejected || err == nil {
			t.Errorf("send to %q: %v", a, err)
		}
		if _, err := ch.(channels.MediaSender).SendMedia(channeltest.Bounded(t), outbound(a, ""), []channels.Upload{upload(chat.File, "a.pdf", 1)}); channels.KindOf(err) != channels.Rejected || err == nil {
			t.Errorf("send a file to %q: %v", a, err)
		}
	}
	for _, a := range []string{"user:9999", "group:cid9"} { // nobody there
		if _, err := ch.Send(channeltest.Bounded(t), outbound(a, "x")); channels.KindOf(err) != channels.Rejected || err == nil {
			t.Errorf("send to %q: %v", a, err)
		}
	}
}

// Recall works for what the robot API sent, in private chats and groups, and
// says so where it does not.
func TestRecall(t *testing.T) {
	w := newWorld(t, nil)
	ch := robotOf(t, w, channels.Deps{})
	d := ch.(channels.Deleter)
	for _, a := range []string{ann().Chat(), crowd().Chat()} {
		ref, err := ch.Send(channeltest.Bounded(t), outbound(a, "soon gone"))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := d.Delete(channeltest.Bounded(t), ref); err != nil {
				t.Error(err)
			}
		}
		if m := w.Messages(a); len(m) != 0 {
			t.Errorf("%s shows %+v", a, m)
		}
		for _, id := range []string{"pqk99999999", bySession + "x"} {
			if err := d.Delete(channeltest.Bounded(t), chat.MessageRef{Chat: a, ID: id}); channels.KindOf(err) != channels.Rejected || err == nil {
				t.Errorf("recall of %q: %v", id, err)
			}
		}
	}
}
