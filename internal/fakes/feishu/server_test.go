package feishu_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	fake "magpie/internal/fakes/feishu"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/larksuite/oapi-sdk-go/v3/cache.(*cron).start"))
}

// caller is a client that can do everything wrong.
type caller struct {
	t          *testing.T
	url, token string
}

func (c *caller) call(method, path, body string) (code int, data map[string]any) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", c.token)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	var a struct {
		Code  int            `json:"code"`
		Token string         `json:"tenant_access_token"`
		Data  map[string]any `json:"data"`
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		c.t.Fatalf("%s %s: %v in %s", method, path, err, raw)
	}
	if a.Token != "" {
		c.token = "Bearer " + a.Token
	}
	return a.Code, a.Data
}

func (c *caller) want(code int, method, path, body string) map[string]any {
	c.t.Helper()
	got, data := c.call(method, path, body)
	if got != code {
		c.t.Errorf("%s %s %.120s: code %d, want %d", method, path, body, got, code)
	}
	return data
}

// The fake refuses what Feishu refuses, with its codes.
func TestRefusals(t *testing.T) {
	now := time.Now()
	s, url, chat := serve(t, &fake.Options{Now: func() time.Time { return now }})
	c := &caller{t: t, url: url}
	const messages = "/open-apis/im/v1/messages"
	send := func(kind, content, more string) string {
		quoted, _ := json.Marshal(content) // a string always can be written
		return fmt.Sprintf(`{"receive_id":%q,"msg_type":%q,"content":%s%s}`, chat, kind, quoted, more)
	}
	to := messages + "?receive_id_type=chat_id"
	c.want(99991661, "POST", to, "{}")
	c.token = "Bearer x-1"
	c.want(99991671, "POST", to, "{}")
	c.token = "Bearer t-unknown"
	c.want(99991663, "POST", to, "{}")
	c.want(10014, "POST", "/open-apis/auth/v3/tenant_access_token/internal", `{"app_id":"cli_x","app_secret":"x"}`)
	c.want(10003, "POST", "/open-apis/auth/v3/tenant_access_token/internal", `{"app_id":"cli_x"}`)
	c.want(0, "POST", "/open-apis/auth/v3/tenant_access_token/internal", fmt.Sprintf(`{"app_id":%q,"app_secret":%q}`, s.AppID(), s.Secret()))
	c.want(99991201, "POST", "/open-apis/im/v1/nonsense", "{}")
	c.want(99992402, "POST", to, `{"misspelt":1}`)
	c.want(230001, "POST", messages, send("text", `{"text":"x"}`, ""))
	c.want(230034, "POST", to, `{"receive_id":"oc_none","msg_type":"text","content":"{}"}`)
	for content, code := range map[string]int{
		`{"text":"x"}`: 0, `{"text":""}`: 230001, `{}`: 230001, `no JSON`: 230001, `{"text":"` + strings.Repeat("x", 150<<10) + `"}`: 230025,
	} {
		c.want(code, "POST", to, send("text", content, ""))
	}
	card := func(elements string) string { return `{"schema":"2.0","body":{"elements":[` + elements + `]}}` }
	table := `{"tag":"markdown","content":"| a |\n| - |\n| 1 |"}`
	for content, code := range map[string]int{
		card(`{"tag":"markdown","content":"x"}`): 0, card(""): 230099, `{"schema":"1.0"}`: 230099, card(`{"tag":"action"}`): 230099,
		card(strings.Repeat(table+",", 5) + table): 230099, card(`{"tag":"button"}`): 230099, card(`{"tag":"markdown","content":"` + strings.Repeat("x", 31<<10) + `"}`): 230025,
		`{"type":"card","data":{"card_id":"1"}}`: 230099,
	} {
		c.want(code, "POST", to, send("interactive", content, ""))
	}
	c.want(230001, "POST", to, send("post", `{"zh_cn":{"content":[[{"tag":"table"}]]}}`, ""))
	c.want(230017, "POST", to, send("image", `{"image_key":"img_x"}`, ""))
	c.want(230001, "POST", to, send("text", `{"text":"x"}`, `,"uuid":"`+strings.Repeat("u", 51)+`"`))
	one := c.want(0, "POST", to, send("text", `{"text":"once"}`, `,"uuid":"u"`))
	if two := c.want(0, "POST", to, send("text", `{"text":"other"}`, `,"uuid":"u"`)); two["message_id"] != one["message_id"] {
		t.Error("a uuid was taken twice")
	}
	now = now.Add(61 * time.Minute)
	if three := c.want(0, "POST", to, send("text", `{"text":"later"}`, `,"uuid":"u"`)); three["message_id"] == one["message_id"] {
		t.Error("a uuid is remembered for longer than an hour")
	}
	id := messages + "/" + one["message_id"].(string)
	c.want(230001, "PATCH", id, `{"content":"{}"}`)
	c.want(230054, "PUT", id, `{"msg_type":"interactive","content":"{}"}`)
	c.want(231001, "POST", id+"/reactions", `{"reaction_type":{"emoji_type":"NOPE"}}`)
	c.want(231011, "DELETE", id+"/reactions/x", "")
	c.want(0, "DELETE", id, "")
	c.want(230110, "DELETE", id, "")
	c.want(230011, "POST", id+"/reply", `{"msg_type":"text","content":"{\"text\":\"x\"}"}`)
	now = now.Add(2 * time.Hour)
	c.want(99991663, "GET", id, "")
}

// CardKit wants growing numbers and an open stream, and a card is sent once.
func TestCardKit(t *testing.T) {
	now := time.Now()
	s, url, chat := serve(t, &fake.Options{Now: func() time.Time { return now }})
	c := &caller{t: t, url: url}
	c.want(0, "POST", "/open-apis/auth/v3/tenant_access_token/internal", fmt.Sprintf(`{"app_id":%q,"app_secret":%q}`, s.AppID(), s.Secret()))
	const kit = "/open-apis/cardkit/v1/cards"
	c.want(200220, "POST", kit, `{"type":"card_json","data":"{}"}`)
	made := c.want(0, "POST", kit, `{"type":"card_json","data":"{\"schema\":\"2.0\",\"config\":{\"streaming_mode\":true},\"body\":{\"elements\":[{\"tag\":\"markdown\",\"element_id\":\"e\",\"content\":\"x\"}]}}"}`)
	id := made["card_id"].(string)
	sending := fmt.Sprintf(`{"receive_id":%q,"msg_type":"interactive","content":"{\"type\":\"card\",\"data\":{\"card_id\":\"%s\"}}"}`, chat, id)
	c.want(0, "POST", "/open-apis/im/v1/messages?receive_id_type=chat_id", sending)
	c.want(230099, "POST", "/open-apis/im/v1/messages?receive_id_type=chat_id", sending)
	text := func(code, sequence int, content string) {
		t.Helper()
		c.want(code, "PUT", kit+"/"+id+"/elements/e/content", fmt.Sprintf(`{"content":%q,"sequence":%d}`, content, sequence))
	}
	text(10002, 0, "zero")
	text(0, 5, "five")
	text(300317, 5, "again")
	text(10002, 6, "")
	c.want(200740, "PUT", kit+"/none/elements/e/content", `{"content":"x","sequence":1}`)
	c.want(300313, "PUT", kit+"/"+id+"/elements/other/content", `{"content":"x","sequence":7}`)
	now = now.Add(11 * time.Minute)
	text(200850, 8, "late")
	text(300309, 9, "closed")
	c.want(300122, "PATCH", kit+"/"+id+"/settings", `{"settings":"x","sequence":10}`)
	c.want(0, "PATCH", kit+"/"+id+"/settings", `{"settings":"{\"config\":{\"streaming_mode\":true}}","sequence":11}`)
	text(0, 12, "open again")
	if m := s.Messages(chat); len(m) != 1 || m[0].Text != "open again" || !m[0].Streaming {
		t.Errorf("the chat shows %+v", m)
	}
}
