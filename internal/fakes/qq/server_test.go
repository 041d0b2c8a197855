package qq_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	fake "magpie/internal/fakes/qq"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ann   = "c2c:ANN"
	bob   = "c2c:BOB"
	crowd = "group:CROWD"
)

func serve(t *testing.T, o *fake.Options) (*fake.Server, string) {
	t.Helper()
	s := fake.New(o)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	s.AddPerson("ANN", "Ann")
	s.AddPerson("BOB", "Bob")
	s.AddGroup("CROWD")
	return s, web.URL
}

// bot is the simplest client there is.
type bot struct {
	t     *testing.T
	base  string
	token string
	http  http.Client
}

type reply struct {
	Status int
	Code   int    `json:"code"`
	Text   string `json:"message"`
	ID     string `json:"id"`
	Token  string `json:"access_token"`
	Info   string `json:"file_info"`
	After  string
}

func newBot(t *testing.T, o *fake.Options) (*fake.Server, *bot) {
	t.Helper()
	s, base := serve(t, o)
	b := &bot{t: t, base: base, http: http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	r := b.call("POST /app/getAppAccessToken", fmt.Sprintf(`{"appId":%q,"clientSecret":%q}`, s.AppID(), s.Secret()))
	if b.token = r.Token; b.token == "" {
		t.Fatalf("no token: %+v", r)
	}
	return s, b
}

func (b *bot) ask(ctx context.Context, call, kind, body string) (reply, error) {
	method, path, _ := strings.Cut(call, " ")
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Authorization", "QQBot "+b.token)
	resp, err := b.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	r := reply{Status: resp.StatusCode, After: resp.Header.Get("Retry-After")}
	err = json.NewDecoder(resp.Body).Decode(&r)
	return r, err
}

func (b *bot) call(call, body string) reply {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := b.ask(ctx, call, "application/json", body)
	if err != nil {
		b.t.Fatalf("%s: %v", call, err)
	}
	return r
}

func b64(data string) string { return base64.StdEncoding.EncodeToString([]byte(data)) }

func TestRefusals(t *testing.T) {
	s, b := newBot(t, nil)
	id := s.Say(fake.Said{Chat: ann, Text: "hi"})
	inGroup := s.Say(fake.Said{Chat: crowd, From: "M", Text: "hi"})
	file := b.call("POST /v2/users/ANN/files", `{"file_type":4,"file_name":"a.txt","file_data":"`+b64("x")+`","srv_send_msg":false}`)
	if file.Info == "" {
		t.Fatalf("%+v", file)
	}
	const to, togroup, files = "POST /v2/users/ANN/messages", "POST /v2/groups/CROWD/messages", "POST /v2/users/ANN/files"
	for _, c := range []struct {
		call, body string
		code       int
	}{
		{to, `{"content":"x","msg_type":0,"msg_id":"` + id + `","msg_seq":1}`, 0},
		{to, `{"content":"x","msg_type":0,"msg_id":"` + id + `","msg_seq":1}`, 40054005},
		{to, `{"content":"x","msg_type":0,"msg_id":"` + id + `"}`, 40054005}, // 1 is the default
		{to, `{"content":"x","msg_type":0,"msg_id":"` + inGroup + `","msg_seq":2}`, 40034024},
		{to, `{"content":"x","msg_type":0,"event_id":"` + id + `","msg_seq":2}`, 40034025},
		{to, `{"content":"x","msg_type":0,"msg_id":"a","event_id":"b"}`, 12002},
		{to, `{"content":" ","msg_type":0,"msg_id":"` + id + `","msg_seq":2}`, 50006},
		{to, `{"content":"x","contents":"y"}`, 12002},
		{to, `{`, 12002},
		{to, `{"content":"x","msg_type":5}`, 340069},
		{to, `{"content":"see a.example","msg_type":0}`, 40054010},
		{to, `{"msg_type":2,"markdown":{"content":"**x**"}}`, 50056},
		{to, `{"content":"x","msg_type":7,"media":{"file_info":"nonsense"}}`, 304080},
		{to, `{"content":"","msg_type":7,"media":{"file_info":"` + file.Info + `"}}`, 50006},
		{to, `{"content":" ","msg_type":7,"media":{"file_info":"` + file.Info + `"}}`, 0},
		{togroup, `{"content":" ","msg_type":7,"media":{"file_info":"` + file.Info + `"}}`, 304080},
		{togroup, `{"msg_type":6,"input_notify":{"input_type":1,"input_second":5}}`, 12002},
		{to, `{"msg_type":6,"msg_id":"` + id + `","msg_seq":3,"input_notify":{"input_type":1,"input_second":61}}`, 12002},
		{to, `{"msg_type":6,"msg_id":"` + id + `","msg_seq":3,"input_notify":{"input_type":1,"input_second":60}}`, 0},
		{"POST /v2/users/NOBODY/messages", `{"content":"x"}`, 10001},
		{"POST /v2/groups/ANN/messages", `{"content":"x"}`, 40054003},
		{files, `{"file_type":5,"file_data":"eA=="}`, 12002},
		{files, `{"file_type":4,"file_data":"eA=="}`, 12002},
		{files, `{"file_type":1,"file_name":"a.png","file_data":"eA=="}`, 12002},
		{files, `{"file_type":1}`, 12002},
		{files, `{"file_type":1,"file_data":"eA=="}`, 304083},
		{files, `{"file_type":1,"file_data":"not base64"}`, 304082},
		{files, `{"file_type":1,"url":"http://127.0.0.1:1/x"}`, 850026},
		{files, `{"upload_id":"none"}`, 12002},
		{files, `{"file_type":4,"file_name":"a","file_data":"` + b64(strings.Repeat("x", 10<<20+1)) + `"}`, 850012},
		// As the Python SDK writes them.
		{togroup, `{"group_openid":"CROWD","msg_type":0,"content":"x","embed":null,"ark":null,"message_reference":null,"media":null,"msg_id":"` + inGroup + `","msg_seq":1,"event_id":null,"markdown":null,"keyboard":null}`, 0},
		{files, `{"openid":"ANN","file_type":1,"url":"http://127.0.0.1:1/x","srv_send_msg":false}`, 850026},
		{togroup, `{"content":"x","is_wakeup":true}`, 22006},
		{"PUT /interactions/none", `{"code":0}`, 12002},
		{"DELETE /v2/users/ANN/messages/none", ``, 306002},
	} {
		if r := b.call(c.call, c.body); r.Code != c.code {
			t.Errorf("%s %s: %+v, want %d", c.call, c.body, r, c.code)
		}
	}
	ctx := context.Background()
	if r, err := b.ask(ctx, to, "text/plain", `{"content":"x"}`); err != nil || r.Code != 50035 {
		t.Errorf("content type: %+v, %v", r, err)
	}
	if r, err := b.ask(ctx, files, "application/json", strings.Repeat(" ", 33<<20)); err != nil || r.Status != 413 {
		t.Errorf("33 MB: %+v, %v", r, err)
	}
}

func TestWindowsAndQuota(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	s, b := newBot(t, &fake.Options{Active: 4, Now: func() time.Time { return now }})
	send := func(chat, id string, seq int) int {
		kind, openid, _ := strings.Cut(chat, ":")
		path := map[string]string{"c2c": "users", "group": "groups"}[kind]
		return b.call("POST /v2/"+path+"/"+openid+"/messages", fmt.Sprintf(`{"content":"x","msg_id":%q,"msg_seq":%d}`, id, seq)).Code
	}
	for chat, life := range map[string]time.Duration{ann: time.Hour, crowd: 5 * time.Minute} {
		began := now
		most := map[string]int{ann: 4, crowd: 5}[chat]
		id := s.Say(fake.Said{Chat: chat, From: "M", Text: "hi"})
		for seq := range most {
			if code := send(chat, id, seq+1); code != 0 {
				t.Errorf("%s: reply %d: %d", chat, seq, code)
			}
		}
		if code := send(chat, id, 6); code != 40034128 || s.Replies(chat, id) != most {
			t.Errorf("%s: one reply too many: %d", chat, code)
		}
		id = s.Say(fake.Said{Chat: chat, From: "M", Text: "hi"})
		now = began.Add(life)
		if code := send(chat, id, 1); code != 0 {
			t.Errorf("%s: at the end: %d", chat, code)
		}
		now = now.Add(time.Second)
		if code := send(chat, id, 2); code != 40034005 {
			t.Errorf("%s: after the end: %d", chat, code)
		}
		now = began
	}
	for i := range 5 {
		if code := send(bob, "", 1); (code == 0) != (i < 4) {
			t.Errorf("active message %d: %d", i, code)
		}
	}
	if code := send(bob, "", 1); code != 40034100 {
		t.Errorf("over the day's quota: %d", code)
	}
	now = now.Add(61 * time.Minute) // a new day in China
	if code := send(bob, "", 1); code != 0 || s.ActiveUsed(bob) != 1 {
		t.Errorf("next day: %d", code)
	}
	s.Refuse(bob)
	s.Refuse(crowd)
	if a, b := send(bob, "", 1), send(crowd, "", 1); a != 40054013 || b != 40034105 {
		t.Errorf("closed: %d and %d", a, b)
	}
}

func TestTokens(t *testing.T) {
	s, b := newBot(t, nil)
	if r := b.call("POST /app/getAppAccessToken", `{"appId":"1","clientSecret":"x"}`); r.Status != 200 || r.Code != 100016 {
		t.Errorf("wrong secret: %+v", r)
	}
	good := b.token
	for _, token := range []string{"", "wrong", good + "x"} {
		b.token = token
		if r := b.call("GET /users/@me", ""); r.Status != 401 || r.Code != 11244 {
			t.Errorf("token %q: %+v", token, r)
		}
	}
	b.token = good
	s.ForgetTokens()
	if r := b.call("GET /users/@me", ""); r.Code != 11244 {
		t.Errorf("forgotten: %+v", r)
	}
}

func TestRates(t *testing.T) {
	now := time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)
	s, b := newBot(t, &fake.Options{Rates: true, Now: func() time.Time { return now }})
	const to = "POST /v2/groups/CROWD/messages"
	for i := range 20 {
		if r := b.call(to, `{"content":"x"}`); r.Code != 0 {
			t.Fatalf("message %d: %+v", i, r)
		}
	}
	if r := b.call(to, `{"content":"x"}`); r.Code != 22009 || r.Status != 429 {
		t.Fatalf("the 21st: %+v", r)
	}
	s.Grant(fake.Policy{TooFast: 20028})
	if r := b.call(to, `{"content":"x"}`); r.Code != 20028 || r.Status != 429 || r.After == "" {
		t.Fatalf("the 22nd: %+v", r)
	}
	now = now.Add(4 * time.Second)
	if r := b.call(to, `{"content":"x"}`); r.Code != 0 {
		t.Errorf("later: %+v", r)
	}
}

// Frames that a client must not send close the connection with the platform's
// codes.
func TestGatewayRefusals(t *testing.T) {
	_, b := newBot(t, nil)
	good := `"QQBot ` + b.token + `"`
	for frame, code := range map[string]websocket.StatusCode{
		`{"op":2,"d":{"token":"QQBot wrong","intents":33554432,"shard":[0,1]}}`:     4004,
		`{"op":2,"d":{"token":"` + b.token + `","intents":33554432,"shard":[0,1]}}`: 4004,
		`{"op":2,"d":{"token":` + good + `,"intents":33554432,"shard":[0,4]}}`:      4010,
		`{"op":2,"d":{"token":` + good + `,"intents":0,"shard":[0,1]}}`:             4013,
		`{"op":2,"d":{"token":` + good + `,"intents":1,"shard":[0,1]}}`:             4014,
		`{"op":6,"d":{"token":"QQBot wrong","session_id":"x","seq":1}}`:             4004,
		`{"op":5}`: 4003,
		`nonsense`: 4002,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		ws, _, err := websocket.Dial(ctx, b.base+"/websocket", &websocket.DialOptions{HTTPClient: &b.http})
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, _, err = ws.Read(ctx)
		}
		if got := websocket.CloseStatus(err); got != code {
			t.Errorf("%s: %d, want %d", frame, got, code)
		}
		_ = ws.CloseNow()
		cancel()
	}
}
