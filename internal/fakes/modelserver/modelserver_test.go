package modelserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/internal/fakes/modelserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a body to a path and returns status and answer; a connection
// that is cut shows as err.
func post(t *testing.T, s *modelserver.Server, path, body string) (status int, answer string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("X-Api-Key", "k")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

const (
	chat     = "/v1/chat/completions"
	messages = "/v1/messages"
)

func TestEcho(t *testing.T) {
	s := modelserver.New(t)
	for _, c := range []struct{ name, path, body, want string }{
		{"openai whole", chat, `{"model":"m","messages":[{"role":"user","content":"你好"}]}`, `"content":"echo: 你好"`},
		{"openai stream", chat, `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`, "data: [DONE]\n\n"},
		{"anthropic whole", messages, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"你好"}]}`, `"text":"echo: 你好"`},
		{"anthropic stream", messages, `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"}]}`, "event: message_stop\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, got, err := post(t, s, c.path, c.body)
			if err != nil || status != http.StatusOK || !strings.Contains(got, c.want) {
				t.Errorf("got %d %v %s, want 200 with %q", status, err, got, c.want)
			}
		})
	}
	if s.Count() != 4 || len(s.Requests()) != 4 {
		t.Errorf("counted %d, kept %d; want 4 and 4", s.Count(), len(s.Requests()))
	}
}

// A reply with everything in it is the same in both APIs.
func TestReplySeesTheSameHistory(t *testing.T) {
	s := modelserver.New(t)
	const (
		tool    = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`
		openai  = `{"model":"m","messages":[{"role":"system","content":"sys"},{"role":"user","content":"u1"},{"role":"assistant","content":"a1","tool_calls":[{"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"x\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"r1"},{"role":"user","content":[{"type":"text","text":"u2"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}],"tools":[{"type":"function","function":{"name":"read_file","description":"d","parameters":` + tool + `}}]}`
		claude  = `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"sys"}],"messages":[{"role":"user","content":"u1"},{"role":"assistant","content":[{"type":"text","text":"a1"},{"type":"tool_use","id":"c1","name":"read_file","input":{"path":"x"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r1"},{"type":"text","text":"u2"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}],"tools":[{"name":"read_file","description":"d","input_schema":` + tool + `}]}`
		wantSys = "sys"
	)
	want := []modelserver.Message{
		{Role: "user", Text: "u1"},
		{Role: "assistant", Text: "a1", Calls: []modelserver.Call{{ID: "c1", Name: "read_file", Args: `{"path":"x"}`}}},
		{Role: "tool", Text: "r1", CallID: "c1"},
		{Role: "user", Text: "u2", Images: 1},
	}
	for _, c := range []struct{ path, body string }{{chat, openai}, {messages, claude}} {
		if status, got, err := post(t, s, c.path, c.body); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %v %s", c.path, status, err, got)
		}
	}
	for _, r := range s.Requests() {
		if diff := cmp.Diff(want, r.Messages); diff != "" || r.System != wantSys || !r.Offers("read_file") || r.LastUser() != "u2" {
			t.Errorf("%s: system %q, tools %v: %s", r.API, r.System, r.Tools, diff)
		}
	}
}

func TestIllegalRequestsAreRefused(t *testing.T) {
	user := `{"role":"user","content":"u"}`
	call := `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	oa := func(msgs string) string { return `{"model":"m","messages":[` + msgs + `]}` }
	oaTools := func(tools string) string { return `{"model":"m","messages":[` + user + `],"tools":[` + tools + `]}` }
	fn := func(name, schema string) string {
		return `{"type":"function","function":{"name":"` + name + `","parameters":` + schema + `}}`
	}
	an := func(msgs string) string {
		return `{"model":"m","max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[` + msgs + `]}`
	}
	use := `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]}`
	for _, c := range []struct{ name, path, body, want string }{
		{"no json", chat, `{`, "parse the JSON"},
		{"no model", chat, `{"messages":[` + user + `]}`, "model"},
		{"no messages", chat, oa(""), "messages"},
		{"unknown role", chat, oa(`{"role":"robot","content":"x"}`), "robot"},
		{"empty content", chat, oa(`{"role":"user","content":""}`), "content"},
		{"null content", chat, oa(`{"role":"user","content":null}`), "content"},
		{"tool without call", chat, oa(user + `,{"role":"tool","tool_call_id":"c9","content":"x"}`), "preceding message"},
		{"call without result", chat, oa(user + `,` + call + `,` + user), "c1"},
		{"call at the end", chat, oa(user + `,` + call), "c1"},
		{"result twice", chat, oa(user + `,` + call + `,{"role":"tool","tool_call_id":"c1","content":"x"},{"role":"tool","tool_call_id":"c1","content":"x"}`), "preceding message"},
		{"arguments no object", chat, oa(user + `,` + strings.ReplaceAll(call, `"{}"`, `"{"`)), "arguments"},
		{"image in a tool message", chat, oa(user + `,` + call + `,{"role":"tool","tool_call_id":"c1","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`), "Image URLs"},
		{"duplicate tools", chat, oaTools(fn("f", `{"type":"object"}`) + `,` + fn("f", `{"type":"object"}`)), "unique"},
		{"tool name", chat, oaTools(fn("f g", `{"type":"object"}`)), "pattern"},
		{"schema type", chat, oaTools(fn("f", `{"type":"object","properties":{"a":{"type":"strnig"}}}`)), "strnig"},
		{"schema array without items", chat, oaTools(fn("f", `{"type":"object","properties":{"a":{"type":"array"}}}`)), "items"},
		{"schema required", chat, oaTools(fn("f", `{"type":"object","required":["a"]}`)), "required"},
		{"schema no object", chat, oaTools(fn("f", `{"type":"string"}`)), "object"},
		{"both limits", chat, `{"model":"m","max_tokens":1,"max_completion_tokens":1,"messages":[` + user + `]}`, "max_tokens"},
		{"stream options", chat, `{"model":"m","stream_options":{"include_usage":true},"messages":[` + user + `]}`, "stream_options"},
		{"claude: no max_tokens", messages, `{"model":"m","messages":[` + user + `]}`, "max_tokens"},
		{"claude: unknown role", messages, an(`{"role":"system","content":"x"}`), "role"},
		{"claude: same role twice", messages, an(user + `,` + user), "alternate"},
		{"claude: assistant first", messages, an(`{"role":"assistant","content":"x"}`), "first message"},
		{"claude: assistant last", messages, an(user + `,{"role":"assistant","content":"x"}`), "prefill"},
		{"claude: blank text", messages, an(`{"role":"user","content":" "}`), "non-whitespace"},
		{"claude: call without result", messages, an(user + `,` + use + `,` + user), "without `tool_result`"},
		{"claude: call at the end", messages, an(user + `,` + use), "without `tool_result`"},
		{"claude: result without call", messages, an(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c9","content":"x"}]}`), "unexpected `tool_use_id`"},
		{"claude: text before result", messages, an(user + `,` + use + `,{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"c1","content":"x"}]}`), "come first"},
		{"claude: empty result", messages, an(user + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":""}]}`), "empty"},
		{"claude: unsigned thinking", messages, an(user + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]},` + user), "signature"},
		{"claude: calls but no tools", messages, `{"model":"m","max_tokens":9,"messages":[` + user + `,` + use + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"x"}]}]}`, "must define `tools`"},
		{"claude: five caches", messages, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 4) + `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}`, "maximum of 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := modelserver.New(t)
			status, got, err := post(t, s, c.path, c.body)
			if err != nil || status != http.StatusBadRequest || !strings.Contains(got, strings.ReplaceAll(c.want, `"`, `\"`)) {
				t.Errorf("got %d %v %s, want 400 about %q", status, err, got, c.want)
			}
			if v := s.Violations(); len(v) != 1 || len(s.Requests()) != 0 {
				t.Errorf("violations %q, kept requests %d; want one and none", v, len(s.Requests()))
			}
		})
	}
}

func TestFaults(t *testing.T) {
	bodies := map[string]string{
		chat:     `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`,
		messages: `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"}]}`,
	}
	for path, body := range bodies {
		s := modelserver.New(t)
		s.Script(
			modelserver.Answer{Text: "abcdef", Fault: modelserver.Cut},
			modelserver.Answer{Text: "abcdef", Fault: modelserver.Short},
			modelserver.Answer{Fault: modelserver.TooLong},
			modelserver.Answer{Status: 503, Header: map[string]string{"Retry-After": "7"}},
			modelserver.Answer{Status: 200, Body: "<html>"},
		)
		if _, got, err := post(t, s, path, body); err == nil || !strings.Contains(got, "ab") || strings.Contains(got, "cd") {
			t.Errorf("%s: cut: %v %q, want the first piece and an error", path, err, got)
		}
		if _, got, err := post(t, s, path, body); err != nil || !strings.Contains(got, "ab") || strings.Contains(got, "cd") {
			t.Errorf("%s: short: %v %q, want the first piece and no error", path, err, got)
		}
		if status, got, _ := post(t, s, path, body); status != 400 || !strings.Contains(got, "maximum") {
			t.Errorf("%s: too long: %d %s", path, status, got)
		}
		if status, got, _ := post(t, s, path, body); status != 503 || !json.Valid([]byte(got)) {
			t.Errorf("%s: 503: %d %s", path, status, got)
		}
		if status, got, _ := post(t, s, path, body); status != 200 || got != "<html>" {
			t.Errorf("%s: body: %d %s", path, status, got)
		}
	}
}

// An answer that hangs lets go when the server is closed, and Close waits.
func TestCloseEndsWhatHangs(t *testing.T) {
	for _, fault := range []modelserver.Fault{modelserver.Hang, modelserver.Stall} {
		s := modelserver.New(nil)
		asked := make(chan struct{})
		s.Reply(func(modelserver.Request) modelserver.Answer {
			close(asked)
			return modelserver.Answer{Text: "abc", Fault: fault}
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _, _ = post(t, s, chat, `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`)
		}()
		<-asked
		s.Close()
		s.Close()
		<-done
	}
}

func TestKey(t *testing.T) {
	s := modelserver.New(t)
	s.RequireKey("other")
	if status, _, _ := post(t, s, chat, `{}`); status != http.StatusUnauthorized {
		t.Errorf("wrong key: got %d, want 401", status)
	}
	s.RequireKey("k")
	if status, _, _ := post(t, s, messages, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`); status != http.StatusOK {
		t.Errorf("right key: got %d, want 200", status)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`))
	f.Add([]byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result"}]}],"tools":[{"type":"function"}]}`))
	f.Add([]byte(`{"messages":[null]}`))
	s := modelserver.New(nil)
	f.Cleanup(s.Close)
	h := s.Handler()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{chat, messages} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Anthropic-Version", "1")
			w := &recorder{header: http.Header{}}
			h.ServeHTTP(w, r)
			if w.status != 0 && w.status != http.StatusOK && w.status != http.StatusBadRequest {
				t.Errorf("status %d for %q", w.status, body)
			}
		}
	})
}

type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Flush()                      {}
