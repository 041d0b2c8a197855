package discord_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	fake "magpie/internal/fakes/discord"
)

const kind = "application/json"

var bot = "Bot " + fake.DefaultToken

func post(t *testing.T, url, path, body string) (status, code int) {
	t.Helper()
	status, code, _ = call(t, url, request{bot, "POST", path, kind, body})
	return status, code
}

// get decodes the answer to a call.
func get(t *testing.T, url, path string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v10"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", bot)
	req.Header.Set("User-Agent", "DiscordBot (test, 1)")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("GET %s: %s: %v", path, data, err)
	}
}

// With Rates, what is faster than Discord allows is refused until its window
// ends. Messages and edits are counted apart, channels too, all together only
// by the second.
func TestRates(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, url := serve(t, &fake.Options{Rates: true, Now: func() time.Time { return now }})
	var got []int
	send := func(path string) {
		status, _ := post(t, url, path, `{"content":"x"}`)
		got = append(got, status)
	}
	for range 6 {
		send("/channels/" + annDM + "/messages")
	}
	now = now.Add(4 * time.Second)
	send("/channels/" + annDM + "/messages")
	send("/channels/" + crowd + "/messages")
	status, _, _ := call(t, url, request{bot, "PATCH", "/channels/" + annDM + "/messages/" + s.Messages(annDM)[0].ID, kind, `{"content":"y"}`})
	got = append(got, status)
	now = now.Add(time.Second)
	send("/channels/" + annDM + "/messages")
	if want := "[200 200 200 200 200 429 429 200 200 200]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	now = now.Add(time.Second)
	for range 50 {
		if status, _, _ := call(t, url, request{bot, "GET", "/users/@me", "", ""}); status != 200 {
			t.Fatalf("got %d", status)
		}
	}
	if status, _, _ := call(t, url, request{bot, "GET", "/users/@me", "", ""}); status != 429 || s.Limited() != 3 {
		t.Errorf("the 51st in a second: %d, %d refused", status, s.Limited())
	}
}

// An interaction is answered once, within 3 s; its token is good for 15 min,
// for its own messages, also where the bot may not write.
func TestInteractionTokens(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, url := serve(t, &fake.Options{Now: func() time.Time { return now }})
	s.Forbid(crowd, fake.ViewChannel)
	use := func() (id, answer, hook string) {
		id = s.Use(ann, crowd, "status")
		token := fake.Secret + id
		return id, "/interactions/" + id + "/" + token + "/callback", "/webhooks/" + fake.BotID + "/" + token
	}
	check := func(what string, wantStatus, wantCode int, r request) {
		t.Helper()
		if status, code, _ := call(t, url, r); status != wantStatus || code != wantCode {
			t.Errorf("%s: %d, code %d, want %d, %d", what, status, code, wantStatus, wantCode)
		}
	}
	const deferred, words = `{"type":5}`, `{"content":"hello"}`
	id, answer, hook := use()
	check("message without access", 403, 50001, request{bot, "POST", "/channels/" + crowd + "/messages", kind, words})
	check("edit before the answer", 404, 10015, request{"", "PATCH", hook + "/messages/@original", kind, words})
	check("answer", 204, 0, request{"", "POST", answer, kind, deferred})
	if !s.Interaction(id).Thinking || len(s.Messages(crowd)) != 0 {
		t.Errorf("deferred: %+v", s.Interaction(id))
	}
	check("second answer", 400, 40060, request{"", "POST", answer, kind, deferred})
	check("edit", 200, 0, request{"", "PATCH", hook + "/messages/@original", kind, words})
	check("follow-up", 200, 0, request{"", "POST", hook, kind, `{"content":"more"}`})
	check("unknown message", 404, 10008, request{"", "PATCH", hook + "/messages/5", kind, words})
	shown := s.Messages(crowd)
	if len(shown) != 2 || shown[0].Text != "hello" || shown[1].Text != "more" || shown[0].Interaction != id || s.Interaction(id).Thinking {
		t.Errorf("shown %+v", shown)
	}
	check("edit of a follow-up", 200, 0, request{"", "PATCH", hook + "/messages/" + shown[1].ID, kind, words})
	now = now.Add(15*time.Minute + time.Second)
	check("too late", 401, 50027, request{"", "POST", hook, kind, words})
	_, answer, hook = use()
	now = now.Add(3*time.Second + time.Millisecond)
	check("late answer", 404, 10062, request{"", "POST", answer, kind, deferred})
	check("edit after a late answer", 404, 10015, request{"", "PATCH", hook + "/messages/@original", kind, words})
	_, answer, hook = use()
	check("third", 204, 0, request{"", "POST", answer, kind, deferred})
	check("deletion", 204, 0, request{"", "DELETE", hook + "/messages/@original", "", ""})
	check("edit of what is gone", 404, 10008, request{"", "PATCH", hook + "/messages/@original", kind, words})
}

// Without the intent, what people write is empty, also by REST, but for private
// chats, the bot's own messages and those that mention it, as a reply does that
// notifies it.
func TestContentIsWithheld(t *testing.T) {
	s, url := serve(t, &fake.Options{NoContent: true})
	if status, _ := post(t, url, "/channels/"+crowd+"/messages", `{"content":"mine"}`); status != 200 {
		t.Fatal(status)
	}
	mine := s.Messages(crowd)[0].ID
	file := []fake.File{{Name: "a.png", MIME: "image/png", Data: []byte("x")}}
	for want, m := range map[string]fake.Said{
		"":                        {Text: "secret", Files: file},
		"<@" + fake.BotID + "> a": {Text: "<@" + fake.BotID + "> a"},
		"reply":                   {Text: "reply", ReplyTo: mine},
	} {
		m.From, m.Channel = ann, crowd
		var got struct {
			Content string `json:"content"`
			Files   []any  `json:"attachments"`
		}
		id := s.Say(m)
		get(t, url, "/channels/"+crowd+"/messages/"+id, &got)
		if got.Content != want || len(got.Files) != 0 {
			t.Errorf("got %+v, want %q", got, want)
		}
		if want != "" {
			continue
		}
		var reply struct {
			Quoted struct {
				Content string `json:"content"`
			} `json:"referenced_message"`
		}
		get(t, url, "/channels/"+crowd+"/messages/"+s.Say(fake.Said{From: ann, Channel: crowd, Text: "<@" + fake.BotID + ">", ReplyTo: id}), &reply)
		if reply.Quoted.Content != "" {
			t.Errorf("the quoted message says %q", reply.Quoted.Content)
		}
	}
	for text, said := range map[string]fake.Said{
		"quiet reply": {From: ann, Channel: crowd, Text: "x", ReplyTo: mine, Quiet: true},
		"role":        {From: ann, Channel: crowd, Text: "<@&390> x"},
	} {
		var got struct{ Content string }
		get(t, url, "/channels/"+crowd+"/messages/"+s.Say(said), &got)
		if got.Content != "" {
			t.Errorf("%s: %q", text, got.Content)
		}
	}
}

// Each permission that is missing has its refusal; without history the list is
// empty.
func TestPermissions(t *testing.T) {
	s, url := serve(t, nil)
	id := s.Say(fake.Said{From: ann, Channel: crowd, Text: "hi"})
	here := "/channels/" + crowd + "/messages"
	for name, c := range map[string]struct {
		denied       fake.Permission
		method, path string
		body         string
		status, code int
	}{
		"view":     {fake.ViewChannel, "POST", here, `{"content":"x"}`, 403, 50001},
		"send":     {fake.SendMessages, "POST", here, `{"content":"x"}`, 403, 50013},
		"reply":    {fake.ReadHistory, "POST", here, `{"content":"x","message_reference":{"message_id":"` + id + `"}}`, 400, 160002},
		"message":  {fake.ReadHistory, "GET", here + "/" + id, "", 403, 50013},
		"reaction": {fake.AddReactions, "PUT", here + "/" + id + "/reactions/%F0%9F%91%8D/@me", "", 403, 50013},
	} {
		s.Forbid(crowd, c.denied)
		what := request{bot, c.method, c.path, "", c.body}
		if c.body != "" {
			what.kind = kind
		}
		if status, code, _ := call(t, url, what); status != c.status || code != c.code {
			t.Errorf("%s: %d, code %d", name, status, code)
		}
	}
	var list []any
	s.Forbid(crowd, fake.ReadHistory)
	if get(t, url, here, &list); len(list) != 0 {
		t.Errorf("without history %d messages are listed", len(list))
	}
	s.Forbid(crowd, 0)
	if get(t, url, here, &list); len(list) == 0 {
		t.Error("with history none is listed")
	}
	var guilds []struct {
		Permissions string `json:"permissions"`
	}
	s.Forbid(guild, fake.AttachFiles)
	if get(t, url, "/users/@me/guilds", &guilds); len(guilds) != 1 || strings.HasPrefix(guilds[0].Permissions, "-") {
		t.Errorf("guilds %+v", guilds)
	}
}

// The list of commands comes back with ids, and with other languages only when
// they are asked for.
func TestCommandsAreKept(t *testing.T) {
	s, url := serve(t, nil)
	path := "/applications/" + fake.BotID + "/commands"
	status, _, _ := call(t, url, request{bot, "PUT", path, kind, `[{"type":1,"name":"new","description":"x","name_localizations":{"zh-CN":"新对话"},"options":[]}]`})
	if status != 200 {
		t.Fatal(status)
	}
	for query, want := range map[string]string{"": "", "?with_localizations=true": "新对话"} {
		var got []struct {
			ID, Name string
			Names    map[string]string `json:"name_localizations"`
		}
		if get(t, url, path+query, &got); len(got) != 1 || got[0].ID == "" || got[0].Names["zh-CN"] != want {
			t.Errorf("%q: %+v", query, got)
		}
	}
	if err := s.ChangeCommands("[]"); err != nil || s.Commands() != "[]" {
		t.Errorf("%v, %s", err, s.Commands())
	}
}
