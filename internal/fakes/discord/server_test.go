package discord_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	fake "magpie/internal/fakes/discord"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// talk connects to the gateway and sends frames; it returns the close code, or
// 0 when the gateway goes on and answers with operation op.
func talk(t *testing.T, url, query string, frames ...string) (code, op int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, strings.Replace(url, "http", "ws", 1)+"/?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	for _, f := range frames {
		if err := ws.Write(ctx, websocket.MessageText, []byte(f)); err != nil {
			t.Fatal(err)
		}
	}
	for {
		_, data, err := ws.Read(ctx)
		if err != nil {
			return int(websocket.CloseStatus(err)), 0
		}
		var f struct {
			Op int `json:"op"`
		}
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(err)
		}
		if f.Op != 10 {
			return 0, f.Op
		}
	}
}

// The gateway refuses what Discord's refuses, with its codes.
func TestGatewayRefuses(t *testing.T) {
	const v9 = "v=9&encoding=json"
	token := fake.DefaultToken
	identify := func(intents int, more string) string {
		return fmt.Sprintf(`{"op":2,"d":{"token":%q,"intents":%d,"properties":{"os":"linux"}%s}}`, token, intents, more)
	}
	for name, c := range map[string]struct {
		query  string
		frames []string
		code   int
		op     int
	}{
		"good":                   {v9, []string{identify(513, "")}, 0, 0},
		"bot in front":           {v9, []string{strings.Replace(identify(513, ""), token, "Bot "+token, 1)}, 0, 0},
		"heartbeat":              {v9, []string{`{"op":1,"d":null}`}, 0, 11},
		"version":                {"v=8&encoding=json", nil, 4012, 0},
		"encoding":               {"v=9&encoding=etf", nil, 4012, 0},
		"no json":                {v9, []string{`{`}, 4002, 0},
		"no intents":             {v9, []string{`{"op":2,"d":{"token":"x","properties":{}}}`}, 4002, 0},
		"unknown operation":      {v9, []string{`{"op":77}`}, 4001, 0},
		"presence before":        {v9, []string{`{"op":3,"d":{}}`}, 4003, 0},
		"token":                  {v9, []string{strings.Replace(identify(513, ""), token, "wrong", 1)}, 4004, 0},
		"shard":                  {v9, []string{identify(513, `,"shard":[1,2]`)}, 4010, 0},
		"intents":                {v9, []string{identify(1<<19, "")}, 4013, 0},
		"content intent":         {v9, []string{identify(1<<15, "")}, 4014, 0},
		"resume of nothing":      {v9, []string{fmt.Sprintf(`{"op":6,"d":{"token":%q,"session_id":"x","seq":1}}`, token)}, 0, 9},
		"resume with bad token":  {v9, []string{`{"op":6,"d":{"token":"x","session_id":"x","seq":1}}`}, 4004, 0},
		"resume without a place": {v9, []string{fmt.Sprintf(`{"op":6,"d":{"token":%q,"session_id":"x"}}`, token)}, 4002, 0},
		"too large":              {v9, []string{`{"op":1,"d":"` + strings.Repeat("x", 5000) + `"}`}, int(websocket.StatusMessageTooBig), 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := serve(t, &fake.Options{NoContent: true})
			if code, op := talk(t, url, c.query, c.frames...); max(code, 0) != c.code || op != c.op {
				t.Errorf("closed with %d, operation %d; want %d, %d", code, op, c.code, c.op)
			}
		})
	}
}

type request struct{ token, method, path, kind, body string }

// call makes a call of the API and returns what was answered.
func call(t *testing.T, url string, r request) (status, code int, field string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), r.method, url+"/api/v9"+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", r.token)
	req.Header.Set("User-Agent", "DiscordBot (test, 1)")
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var e struct {
		Code   int                        `json:"code"`
		Errors map[string]json.RawMessage `json:"errors"`
	}
	if resp.StatusCode >= 400 {
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
	}
	for name := range e.Errors {
		field = name
	}
	return resp.StatusCode, e.Code, field
}

// The API refuses what Discord's refuses, with its codes.
func TestRESTRefuses(t *testing.T) {
	const json, here = "application/json", "/channels/" + annDM + "/messages"
	good := "Bot " + fake.DefaultToken
	s, url := serve(t, nil)
	theirs := s.Say(fake.Said{From: ann, Channel: annDM, Text: "hi"})
	button := func(id string) string { return fmt.Sprintf(`{"type":2,"style":1,"label":"x","custom_id":%q}`, id) }
	rows := func(buttons ...string) string {
		return `{"content":"x","components":[{"type":1,"components":[` + strings.Join(buttons, ",") + `]}]}`
	}
	six := strings.Split(strings.Repeat(button("a")+"|", 6), "|")[:6]
	for name, c := range map[string]struct {
		token, method, path, kind, body string
		status, code                    int
		field                           string
	}{
		"good":              {good, "POST", here, json, `{"content":"x"}`, 200, 0, ""},
		"at the limit":      {good, "POST", here, json, `{"content":"` + strings.Repeat("好", 2000) + `"}`, 200, 0, ""},
		"no token":          {"", "POST", here, json, `{"content":"x"}`, 401, 0, ""},
		"token without Bot": {fake.DefaultToken, "POST", here, json, `{"content":"x"}`, 401, 0, ""},
		"unknown channel":   {good, "POST", "/channels/9/messages", json, `{"content":"x"}`, 404, 10003, ""},
		"unknown path":      {good, "GET", "/nothing", "", "", 404, 0, ""},
		"empty":             {good, "POST", here, json, `{"content":""}`, 400, 50006, ""},
		"too long":          {good, "POST", here, json, `{"content":"` + strings.Repeat("好", 2001) + `"}`, 400, 50035, "content"},
		"nonce":             {good, "POST", here, json, `{"content":"x","nonce":"` + strings.Repeat("n", 26) + `"}`, 400, 50035, "nonce"},
		"misspelt":          {good, "POST", here, json, `{"contents":"x"}`, 400, 50035, "_errors"},
		"no json":           {good, "POST", here, json, `{`, 400, 50109, ""},
		"content type":      {good, "POST", here, "text/plain", `x`, 400, 50035, "_errors"},
		"unknown reference": {good, "POST", here, json, `{"content":"x","message_reference":{"message_id":"5"}}`, 400, 50035, "message_reference"},
		"mentions":          {good, "POST", here, json, `{"content":"x","allowed_mentions":{"parse":["all"]}}`, 400, 50035, "allowed_mentions"},
		"six buttons":       {good, "POST", here, json, rows(six...), 400, 50035, "components"},
		"same button twice": {good, "POST", here, json, rows(button("a"), button("a")), 400, 50035, "components"},
		"button's data":     {good, "POST", here, json, rows(button(strings.Repeat("d", 101))), 400, 50035, "components"},
		"edit theirs":       {good, "PATCH", here + "/" + theirs, json, `{"content":"x"}`, 403, 50005, ""},
		"edit nothing":      {good, "PATCH", here + "/5", json, `{"content":"x"}`, 404, 10008, ""},
		"delete nothing":    {good, "DELETE", here + "/5", "", "", 404, 10008, ""},
		"limit":             {good, "GET", here + "?limit=101", "", "", 400, 50035, "limit"},
		"after":             {good, "GET", here + "?after=x", "", "", 400, 50035, "after"},
		"command's name":    {good, "PUT", "/applications/" + fake.BotID + "/commands", json, `[{"type":1,"name":"Up","description":"x"}]`, 400, 50035, "0"},
		"interaction":       {"", "POST", "/interactions/1/t/callback", json, `{"type":6}`, 404, 10062, ""},
		"webhook":           {"", "POST", "/webhooks/" + fake.BotID + "/t", json, `{"content":"x","flags":64}`, 404, 10015, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, code, field := call(t, url, request{c.token, c.method, c.path, c.kind, c.body})
			if status != c.status || code != c.code || field != c.field {
				t.Errorf("%d, code %d, field %q; want %d, %d, %q", status, code, field, c.status, c.code, c.field)
			}
		})
	}
}

// A form needs a file for each attachment, and no file may be too large.
func TestForms(t *testing.T) {
	_, url := serve(t, nil)
	for name, c := range map[string]struct {
		payload string
		size    int
		status  int
		code    int
	}{
		"good":            {`{"content":"x","attachments":[{"id":0,"filename":"a"}]}`, 3, 200, 0},
		"at the limit":    {`{}`, 10 << 20, 200, 0},
		"too large":       {`{}`, 10<<20 + 1, 413, 40005},
		"missing file":    {`{"attachments":[{"id":1}]}`, 3, 400, 50035},
		"request's limit": {`{}`, 26 << 20, 413, 40005},
	} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		_ = form.WriteField("payload_json", c.payload)
		part, err := form.CreateFormFile("files[0]", "a.bin")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(make([]byte, c.size)) // a Buffer takes everything
		_ = form.Close()
		status, code, _ := call(t, url, request{"Bot " + fake.DefaultToken, "POST", "/channels/" + annDM + "/messages", form.FormDataContentType(), body.String()})
		if status != c.status || code != c.code {
			t.Errorf("%s: %d, code %d", name, status, code)
		}
	}
}

// People read a text without its marks, and code as it is.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"**bold** *it* __u__ ~~gone~~ ||dark||": "bold it u gone dark",
		`a \*b\* C:\\path\\file`:                `a *b* C:\path\file`,
		"`**code**` and ``a ` b``":              "**code** and a ` b",
		"```go\nx := 1 // **\n```":              "x := 1 // **",
		"[text](<https://x.org/a_b>)":           "text",
		"<https://x.org/a_b>":                   "https://x.org/a_b",
		"# Head\n> quote\n-# small":             "Head\nquote\nsmall",
		"snake_case_name 你好 👩‍👩‍👧":              "snake_case_name 你好 👩‍👩‍👧",
		"@\u200beveryone":                       "@everyone",
	} {
		if got := fake.Read(text); got != want {
			t.Errorf("%q reads %q, want %q", text, got, want)
		}
	}
}
