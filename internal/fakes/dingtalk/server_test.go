package dingtalk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"
)

// caller is a plain HTTP client with a token.
type caller struct {
	t     *testing.T
	url   string
	token string
}

func newCaller(t *testing.T, url string) *caller {
	t.Helper()
	c := &caller{t: t, url: url}
	status, got := c.call("POST", "/v1.0/oauth2/accessToken", fmt.Sprintf(`{"appKey":%q,"appSecret":%q}`, DefaultClientID, DefaultClientSecret))
	if status != http.StatusOK || got["expireIn"] != 7200.0 {
		t.Fatalf("token: %d %v", status, got)
	}
	c.token = got["accessToken"].(string)
	return c
}

func (c *caller) call(method, path, body string) (int, map[string]any) {
	c.t.Helper()
	return c.raw(method, path, "application/json", strings.NewReader(body))
}

func (c *caller) raw(method, path, kind string, body io.Reader) (int, map[string]any) {
	c.t.Helper()
	req, err := http.NewRequest(method, c.url+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", "application/json")
	if c.token != "" {
		req.Header.Set("x-acs-dingtalk-access-token", c.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	var got map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, got
}

const robot = `"robotCode":"` + DefaultClientID + `",`

// What DingTalk refuses is refused with its status and code.
func TestRefusals(t *testing.T) {
	s, url := serve(t, &Options{MaxParam: 100})
	c := newCaller(t, url)
	person := func(key, param string) string {
		return fmt.Sprintf(`{%s"userIds":["0001"],"msgKey":%q,"msgParam":%q}`, robot, key, param)
	}
	const (
		oto    = "POST /v1.0/robot/oToMessages/batchSend"
		group  = "POST /v1.0/robot/groupMessages/send"
		create = "POST /v1.0/card/instances/createAndDeliver"
		stream = "PUT /v1.0/card/streaming"
		update = "PUT /v1.0/card/instances"
	)
	made := `{"cardTemplateId":"` + DefaultTemplate + `","outTrackId":"o1","cardData":{"cardParamMap":{"content":""}},"openSpaceId":"dtv1.card//IM_ROBOT.0001","imRobotOpenSpaceModel":{},"imRobotOpenDeliverModel":{"spaceType":"IM_ROBOT"}}`
	for _, k := range []struct{ call, body, code string }{
		{"POST /v1.0/oauth2/accessToken", `{"appKey":"x","appSecret":"y"}`, "invalidClientIdOrSecret"},
		{"POST /v1.0/gateway/connections/open", `{"clientId":"x","clientSecret":"y","subscriptions":[]}`, "invalidClientIdOrSecret"},
		{"POST /v1.0/gateway/connections/open", `{"clientId":"` + DefaultClientID + `","clientSecret":"` + DefaultClientSecret + `"}`, "invalidParameter.param.invalid"},
		{"POST /v1.0/robot/none", `{}`, "InvalidAction.NotFound"},
		{"GET /v1.0/robot/oToMessages/batchSend", ``, "InvalidAction.NotFound"},
		{oto, `{`, "invalidParameter.msgBody.invalid"},
		{oto, `{"userIds":["0001"]}`, "invalidParameter.robotCode.empty"},
		{oto, `{"robotCode":"other"}`, "invalidParameter.robotCode.notExsit"},
		{oto, `{` + robot + `"msgKey":"sampleText"}`, "invalidParameter.userIds.empty"},
		{oto, `{` + robot + `"userIds":["0001"]}`, "invalidParameter.msgKey.empty"},
		{oto, person("sampleNone", `{}`), "invalidParameter.msgKey.invalid"},
		{oto, person("sampleText", `x`), "invalidParameter.msgParam.invalid"},
		{oto, person("sampleText", `{"content":7}`), "invalidParameter.msgParam.invalid"},
		{oto, person("sampleText", `{"content":""}`), "miss.param.contentOfText"},
		{oto, person("sampleText", `{"content":"`+strings.Repeat("x", 100)+`"}`), "invalidParameter.msgParam.tooLong"},
		{oto, person("sampleMarkdown", `{"text":"x"}`), "miss.param.markdownTotitle"},
		{oto, person("sampleMarkdown", `{"title":"x"}`), "miss.param.markdownTotext"},
		{oto, person("sampleImageMsg", `{"photoURL":"@none"}`), "miss.param.photoTophotoUrl"},
		{oto, person("sampleFile", `{"mediaId":"@none","fileName":"a","fileType":"b"}`), "miss.param.file"},
		{oto, person("sampleAudio", `{"mediaId":"@none"}`), "miss.param.audio"},
		{oto, person("sampleVideo", `{}`), "miss.param.video"},
		{oto, strings.Replace(person("sampleText", `{"content":"x"}`), "0001", "9999", 1), "staffId.notExisted"},
		{group, person("sampleText", `{"content":"x"}`), "miss.openConversationId"},
		{group, `{` + robot + `"openConversationId":"cidNone"}`, "invalid.openConversationId"},
		{"POST /v1.0/robot/otoMessages/batchRecall", `{` + robot + `"processQueryKeys":[]}`, "invalidParameter.processQueryKey.missing"},
		{"POST /v1.0/robot/messageFiles/download", `{"robotCode":"x"}`, "invalidParameter.robotCode.auth"},
		{"POST /v1.0/robot/messageFiles/download", `{` + robot + `"downloadCode":"x"}`, "invalidParameter.robotCode.downloadCode"},
		{create, strings.Replace(made, DefaultTemplate, "none", 1), "param.templateNotExist"},
		{create, strings.Replace(made, `"o1"`, `""`, 1), "param.outTrackIdEmpty"},
		{create, strings.Replace(made, "IM_ROBOT.0001", "IM_NONE.0001", 1), "param.spaceError"},
		{create, strings.Replace(made, `"content":""`, `"content":7`, 1), "invalidParameter.param.invalid"},
		{create, made, ""},
		{create, made, "param.outTrackIdRepeat"},
		{stream, `{"outTrackId":"o2"}`, "param.stream.outTrackId"},
		{stream, `{"outTrackId":"o1"}`, "param.stream.keyEmpty"},
		{stream, `{"outTrackId":"o1","key":"content"}`, "param.stream.contentEmpty"},
		{stream, `{"outTrackId":"o1","key":"content","content":"x"}`, "param.stream.guidEmpty"},
		{stream, `{"outTrackId":"o1","key":"content","content":"x","guid":"g"}`, "param.stream.isFull"},
		{stream, `{"outTrackId":"o1","key":"content","content":"` + strings.Repeat("好", maxCardText+1) + `","guid":"g","isFull":true}`, "param.stream.content"},
		{update, `{"outTrackId":"o2"}`, "param.cardNotExist"},
	} {
		method, path, _ := strings.Cut(k.call, " ")
		status, got := c.call(method, path, k.body)
		if code, _ := got["code"].(string); code != k.code || (status == http.StatusOK) != (k.code == "") {
			t.Errorf("%s %.80s: %d %v, want %q", k.call, k.body, status, got, k.code)
		}
	}
	if m := s.Messages("user:0001"); len(m) != 1 || m[0].State != Processing {
		t.Errorf("refused calls had an effect: %+v", m)
	}
	s.Expire()
	if status, got := c.call("POST", "/v1.0/robot/oToMessages/batchSend", `{}`); status != 400 || got["code"] != "InvalidAuthentication" {
		t.Errorf("an old token: %d %v", status, got)
	}
	if _, got := c.raw("POST", "/v1.0/oauth2/accessToken", "text/plain", strings.NewReader(`{}`)); got["code"] != "InvalidContentType" {
		t.Errorf("another content type: %v", got)
	}
}

// A repeated guid changes nothing; states follow the calls.
func TestCardStates(t *testing.T) {
	s, url := serve(t, nil)
	c := newCaller(t, url)
	c.call("POST", "/v1.0/card/instances/createAndDeliver", `{"cardTemplateId":"`+DefaultTemplate+`","outTrackId":"o1","openSpaceId":"dtv1.card//IM_GROUP.cidGroup==","imGroupOpenSpaceModel":{},"imGroupOpenDeliverModel":{"robotCode":"`+DefaultClientID+`"}}`)
	for _, k := range []struct{ guid, text, flags, state, shown string }{
		{"1", "a", ``, Inputing, "a"},
		{"1", "b", ``, Inputing, "a"},
		{"2", "b", `,"isFinalize":true`, Finished, "b"},
		{"3", "c", `,"isError":true`, Failed, "c"},
	} {
		c.call("PUT", "/v1.0/card/streaming", fmt.Sprintf(`{"outTrackId":"o1","key":"content","isFull":true,"guid":%q,"content":%q%s}`, k.guid, k.text, k.flags))
		if m := s.Messages("group:cidGroup=="); len(m) != 1 || m[0].State != k.state || m[0].Text != k.shown {
			t.Errorf("%+v: the group shows %+v", k, m)
		}
	}
	if _, err := s.Press("user:0001", "o1", "x"); err == nil {
		t.Error("a button that is not there was pressed")
	}
}

func TestWebhookRules(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	s, url := serve(t, &Options{Rates: true, Now: func() time.Time { return now }})
	at, _ := s.Session("", "group:cidGroup==")
	c := &caller{t: t, url: url}
	for _, k := range []struct {
		path, kind, body string
		code             float64
	}{
		{at, "application/json", `{"msgtype":"text","text":{"content":"x"}}`, 0},
		{at, "text/plain", `{"msgtype":"text","text":{"content":"x"}}`, 43004},
		{at, "application/json", `{`, 40035},
		{at, "application/json", `{"msgtype":"text"}`, 40035},
		{at, "application/json", `{"msgtype":"markdown","markdown":{"text":"x"}}`, 40035},
		{at, "application/json", `{"msgtype":"image"}`, 400105},
		{at + "x", "application/json", `{"msgtype":"text","text":{"content":"x"}}`, 300001},
	} {
		if status, got := c.raw("POST", k.path, k.kind, strings.NewReader(k.body)); status != 200 || got["errcode"] != k.code {
			t.Errorf("%s: %d %v, want %v", k.body, status, got, k.code)
		}
	}
	fast := 0.0
	for range 25 {
		_, got := c.raw("POST", at, "application/json", strings.NewReader(`{"msgtype":"text","text":{"content":"x"}}`))
		fast = max(fast, got["errcode"].(float64))
	}
	if fast != 410100 {
		t.Errorf("26 messages in a minute: %v", fast)
	}
	for later, code := range []float64{410100, 0} {
		now = now.Add(slowedFor/2 + time.Duration(later)*time.Second)
		if _, got := c.raw("POST", at, "application/json", strings.NewReader(`{"msgtype":"text","text":{"content":"x"}}`)); got["errcode"] != code {
			t.Errorf("half of the ten minutes later: %v, want %v", got, code)
		}
	}
	now = now.Add(91 * time.Minute)
	if _, got := c.raw("POST", at, "application/json", strings.NewReader(`{"msgtype":"text","text":{"content":"x"}}`)); got["errcode"] != 300001.0 {
		t.Errorf("a webhook after its time: %v", got)
	}
}

func TestUploadRules(t *testing.T) {
	s, url := serve(t, &Options{StrictFiles: true})
	c := newCaller(t, url)
	for _, k := range []struct {
		as, name string
		size     int
		code     float64
	}{
		{"image", "a.png", 10, 0},
		{"image", "a.webp", 10, 40004},
		{"file", "a.pdf", 10, 0},
		{"file", "a.txt", 10, 40004},
		{"voice", "a.mp3", 2 << 20, 0},
		{"voice", "a.mp3", 2<<20 + 1, 40009},
		{"poem", "a.txt", 10, 40004},
		{"file", "a.pdf", 0, 40035},
	} {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, _ := w.CreateFormFile("media", k.name)
		_, _ = part.Write(make([]byte, k.size))
		_ = w.Close()
		_, got := c.raw("POST", "/media/upload?type="+k.as+"&access_token="+c.token, w.FormDataContentType(), &form)
		if got["errcode"] != k.code {
			t.Errorf("%+v: %v", k, got)
		}
	}
	for path, code := range map[string]float64{"/media/upload?type=file": 41001, "/media/upload?type=file&access_token=x": 40014, "/media/upload?access_token=" + c.token: 43004} {
		if _, got := c.raw("POST", path, "application/json", strings.NewReader(`{}`)); got["errcode"] != code {
			t.Errorf("%s: %v, want %v", path, got, code)
		}
	}
	if len(s.store.media) != 3 {
		t.Errorf("%d files were stored", len(s.store.media))
	}
}

// A ticket opens one connection, for 90 seconds.
func TestTickets(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	s, url := serve(t, &Options{Now: func() time.Time { return now }})
	s.mu.Lock()
	s.gate.tickets["t"] = ticket{now.Add(ticketLife), []string{TopicRobot}}
	s.mu.Unlock()
	now = now.Add(ticketLife)
	for range 2 {
		resp, err := http.Get(url + "/connect?ticket=t")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
}
