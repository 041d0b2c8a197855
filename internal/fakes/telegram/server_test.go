package telegram_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	fake "magpie/internal/fakes/telegram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	person int64 = 11
	group  int64 = -1001
)

// bot is the simplest client there is.
type bot struct {
	t    *testing.T
	base string
	http http.Client
}

func newBot(t *testing.T, o *fake.Options) (*fake.Server, *bot) {
	t.Helper()
	s, base := serve(t, o)
	s.AddPerson(fake.Person{ID: person, Name: "Ann"})
	s.AddGroup(fake.Group{ID: group, Title: "Group", Topics: []int{5}})
	b := &bot{t: t, base: base + "/bot" + s.Token()}
	b.http.Transport = &http.Transport{DisableKeepAlives: true}
	return s, b
}

type reply struct {
	OK     bool            `json:"ok"`
	Code   int             `json:"error_code"`
	Text   string          `json:"description"`
	Result json.RawMessage `json:"result"`
	Params struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

func (b *bot) ask(ctx context.Context, method, kind, body string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.base+"/"+method, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", kind)
	resp, err := b.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	var r reply
	err = json.NewDecoder(resp.Body).Decode(&r)
	if err == nil && !r.OK && r.Code != resp.StatusCode {
		err = fmt.Errorf("code %d in an answer with status %d", r.Code, resp.StatusCode)
	}
	return r, err
}

// call posts pairs of parameter and value.
func (b *bot) call(method string, pairs ...string) reply {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := b.ask(ctx, method, "application/x-www-form-urlencoded", form.Encode())
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	return r
}

func TestRefusals(t *testing.T) {
	s, b := newBot(t, nil)
	long := strings.Repeat("好", 4096)
	s.AddPerson(fake.Person{ID: 99, Name: "Angry"})
	s.Shut(99, fake.Blocked)
	message := b.call("sendMessage", "chat_id", "11", "text", "first")
	if !message.OK {
		t.Fatalf("%+v", message)
	}
	keyboard := func(data string) string {
		return `{"inline_keyboard":[[{"text":"x","callback_data":"` + data + `"}]]}`
	}
	for _, c := range []struct {
		method, pairs, want string
	}{
		{"sendMessage", "chat_id=11|text=" + long, ""},
		{"sendMessage", "chat_id=11|parse_mode=HTML|text=<b>" + long + "</b>", ""},
		{"sendMessage", "chat_id=11|text=" + long + "a", "400 Bad Request: message is too long"},
		{"sendMessage", "chat_id=11|text=" + strings.Repeat("😀", 2049), "400 Bad Request: message is too long"},
		{"sendMessage", "chat_id=11|text= \n ", "400 Bad Request: message text is empty"},
		{"sendMessage", "chat_id=11|parse_mode=HTML|text=<b></b>", "400 Bad Request: message text is empty"},
		{"sendMessage", "chat_id=12|text=x", "400 Bad Request: chat not found"},
		{"sendMessage", "chat_id=99|text=x", "403 Forbidden: bot was blocked by the user"},
		{"sendMessage", "chat_id=11|text=x|txt=y", `400 Bad Request: unknown parameter "txt"`},
		{"sendMessage", "chat_id=11|text=x|reply_markup=" + keyboard(strings.Repeat("d", 64)), ""},
		{"sendMessage", "chat_id=11|text=x|reply_markup=" + keyboard(strings.Repeat("d", 65)), "400 Bad Request: BUTTON_DATA_INVALID"},
		{"sendMessage", "chat_id=11|text=x|reply_markup={", "400 Bad Request: can't parse reply markup JSON object"},
		{"sendMessage", `chat_id=11|text=x|reply_parameters={"message_id":999}`, "400 Bad Request: message to be replied not found"},
		{"sendMessage", `chat_id=11|text=x|reply_parameters={"message_id":999,"allow_sending_without_reply":true}`, ""},
		{"sendMessage", "chat_id=-1001|text=x|message_thread_id=6", "400 Bad Request: message thread not found"},
		{"sendMessage", "chat_id=-1001|text=x|message_thread_id=5", ""},
		{"editMessageText", "chat_id=11|message_id=1|text=first", "400 Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"},
		{"editMessageText", "chat_id=11|message_id=777|text=x", "400 Bad Request: message to edit not found"},
		{"deleteMessage", "chat_id=11|message_id=777", "400 Bad Request: message to delete not found"},
		{"sendChatAction", "chat_id=11|action=dance", "400 Bad Request: wrong parameter action in request"},
		{"answerCallbackQuery", "callback_query_id=1", "400 Bad Request: query is too old and response timeout expired or query ID is invalid"},
		{"getFile", "file_id=x", "400 Bad Request: invalid file_id"},
		{"setMessageReaction", `chat_id=11|message_id=1|reaction=[{"type":"emoji","emoji":"🦖"}]`, "400 Bad Request: REACTION_INVALID"},
		{"setWebhook", "url=http://example.org", "400 Bad Request: bad webhook: An HTTPS URL must be provided for webhook"},
		{"sendPhoto", "chat_id=11", "400 Bad Request: there is no photo in the request"},
		{"sendSecrets", "", "404 Not Found: method not found"},
	} {
		var pairs []string
		for _, p := range strings.Split(c.pairs, "|") {
			if k, v, ok := strings.Cut(p, "="); ok {
				pairs = append(pairs, k, v)
			}
		}
		r := b.call(c.method, pairs...)
		got := ""
		if !r.OK {
			got = fmt.Sprintf("%d %s", r.Code, r.Text)
		}
		if got != c.want {
			t.Errorf("%s %.80s: %q, want %q", c.method, c.pairs, got, c.want)
		}
	}
}

func TestTokens(t *testing.T) {
	s, b := newBot(t, nil)
	valid := b.base
	base := strings.TrimSuffix(valid, s.Token())
	for token, code := range map[string]int{"123456:wrong": 401, "nonsense": 404, ":x": 404, s.Token(): 0} {
		b.base = base + token
		if r := b.call("getMe"); r.Code != code {
			t.Errorf("token %q: %+v", token, r)
		}
	}
	b.base = valid
	s.Revoke()
	if r := b.call("getMe"); r.Code != 401 {
		t.Errorf("revoked: %+v", r)
	}
}

func TestContentTypes(t *testing.T) {
	_, b := newBot(t, nil)
	ctx := context.Background()
	for kind, want := range map[string]bool{"application/json": true, "text/plain": false, "": false} {
		r, err := b.ask(ctx, "sendMessage", kind, `{"chat_id":11,"text":"x","reply_markup":{"inline_keyboard":[]}}`)
		if err != nil || r.OK != want {
			t.Errorf("%q: %+v, %v", kind, r, err)
		}
	}
	if r, err := b.ask(ctx, "sendMessage", "application/json", `{"chat_id":`); err != nil || r.Code != 400 {
		t.Errorf("broken JSON: %+v, %v", r, err)
	}
}

func updates(t *testing.T, r reply) (ids []int64) {
	t.Helper()
	var list []struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(r.Result, &list); err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	for _, u := range list {
		ids = append(ids, u.ID)
	}
	return ids
}

// Unconfirmed updates come again, confirmed ones never.
func TestOffsets(t *testing.T) {
	s, b := newBot(t, nil)
	for i := range 5 {
		s.Say(fake.Said{From: person, Text: fmt.Sprint(i)})
	}
	first := updates(t, b.call("getUpdates", "limit", "2"))
	again := updates(t, b.call("getUpdates"))
	if len(first) != 2 || len(again) != 5 || again[0] != first[0] {
		t.Fatalf("%v, then %v", first, again)
	}
	rest := updates(t, b.call("getUpdates", "offset", fmt.Sprint(first[1]+1)))
	if len(rest) != 3 || rest[0] != first[1]+1 || s.Pending() != 3 {
		t.Fatalf("rest %v, pending %d", rest, s.Pending())
	}
	if last := updates(t, b.call("getUpdates", "offset", "-1")); len(last) != 1 || last[0] != rest[2] {
		t.Fatalf("last %v", last)
	}
	if r := b.call("getUpdates", "limit", "101"); r.OK {
		t.Error("limit 101 was taken")
	}
	b.call("getUpdates", "offset", fmt.Sprint(rest[2]+1), "allowed_updates", `["callback_query"]`)
	s.Say(fake.Said{From: person, Text: "declined"})
	if s.Pending() != 0 {
		t.Error("an update of a declined kind is queued")
	}
}

// The newer of two polls wins, and a poll that waits gets what comes.
func TestTwoPollers(t *testing.T) {
	s, b := newBot(t, nil)
	results := make(chan reply, 2)
	poll := func() { results <- b.call("getUpdates", "timeout", "20") }
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(poll)
	waitCalls(t, s, "getUpdates", 1)
	wg.Go(poll)
	if r := <-results; r.Code != 409 || !strings.Contains(r.Text, "terminated by other getUpdates request") {
		t.Errorf("the older poll: %+v", r)
	}
	s.Say(fake.Said{From: person, Text: "hello"})
	if r := <-results; len(updates(t, r)) != 1 {
		t.Errorf("the newer poll: %+v", r)
	}
}

func waitCalls(t *testing.T, s *fake.Server, method string, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for s.Calls(method) < n {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s was called %d times", method, s.Calls(method))
		}
	}
}

func TestRates(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	_, b := newBot(t, &fake.Options{Rates: true, Now: func() time.Time { return now }})
	send := func(chat string) reply { return b.call("sendMessage", "chat_id", chat, "text", "x") }
	for i := range 3 {
		if r := send("11"); !r.OK {
			t.Fatalf("message %d: %+v", i, r)
		}
	}
	if r := send("11"); r.Code != 429 || r.Params.RetryAfter < 1 {
		t.Fatalf("fourth message at once: %+v", r)
	}
	for i := range 20 {
		if r := send("-1001"); !r.OK {
			t.Fatalf("group message %d: %+v", i, r)
		}
	}
	r := send("-1001")
	if r.Code != 429 {
		t.Fatalf("21st message to a group: %+v", r)
	}
	now = now.Add(time.Duration(r.Params.RetryAfter) * time.Second)
	if r := send("-1001"); !r.OK {
		t.Errorf("after retry_after: %+v", r)
	}
}

func TestFaults(t *testing.T) {
	s, b := newBot(t, nil)
	s.Fail(fake.Fault{Drop: true})
	s.Fail(fake.Fault{After: true})
	s.Fail(fake.Fault{})
	for i, shown := range []int{0, 1, 1} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		done := make(chan error, 1)
		go func() {
			_, err := b.ask(ctx, "sendMessage", "application/json", `{"chat_id":11,"text":"x"}`)
			done <- err
		}()
		waitCalls(t, s, "sendMessage", i+1)
		if i > 0 { // it hangs, once it has had its effect
			_, _ = s.Wait(ctx, person, func(m []fake.Message) bool { return len(m) == shown })
			cancel()
		}
		err := <-done
		cancel()
		if err == nil || len(s.Messages(person)) != shown {
			t.Errorf("fault %d: %v, the chat shows %d", i, err, len(s.Messages(person)))
		}
	}
	s.Fail(fake.Fault{Method: "getMe", Code: 502, Page: true})
	if _, err := b.ask(context.Background(), "getMe", "application/json", "{}"); err == nil {
		t.Error("an HTML page was JSON")
	}
	if r := b.call("getMe"); !r.OK {
		t.Errorf("a fault of one call hit two: %+v", r)
	}
}

func TestMigration(t *testing.T) {
	s, b := newBot(t, nil)
	s.Migrate(group, -100777)
	if r := b.call("sendMessage", "chat_id", "-1001", "text", "x"); r.Code != 400 || r.Params.MigrateTo != -100777 {
		t.Errorf("%+v", r)
	}
	if r := b.call("sendMessage", "chat_id", "-100777", "text", "x"); !r.OK {
		t.Errorf("%+v", r)
	}
}
