package qq_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tencent-connect/botgo"
	"github.com/tencent-connect/botgo/constant"
	"github.com/tencent-connect/botgo/dto"
	"github.com/tencent-connect/botgo/event"
	"github.com/tencent-connect/botgo/interaction/signature"
	"github.com/tencent-connect/botgo/interaction/webhook"
	"github.com/tencent-connect/botgo/openapi"
	"github.com/tencent-connect/botgo/token"

	fake "magpie/internal/fakes/qq"
)

// botgoBase is set in the child process that is botgo: its Start never
// returns, its state is global and it logs secrets to the standard output.
const botgoBase = "MAGPIE_TEST_BOTGO_BASE"

// TestBotgo lets the platform's own SDK talk to the fake: tokens, gateway,
// events, replies, the same msg_seq twice, markdown, presses, recall, and
// taking up the session after op 7.
func TestBotgo(t *testing.T) {
	if base := os.Getenv(botgoBase); base != "" {
		beBotgo(base)
		return
	}
	s, base := serve(t, &fake.Options{Markdown: true})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	expect := startBotgo(ctx, t, base)
	expect("me " + fake.BotID)
	expect("ready")
	s.Say(fake.Said{Chat: ann, Text: "hello 你好"})
	expect("c2c hello 你好")
	expect("refused 40054005")
	shown := s.Messages(ann)
	if len(shown) != 1 || shown[0].Text != "**re**: hello 你好" || !shown[0].Markdown || len(shown[0].Keyboard) != 1 {
		t.Fatalf("the chat shows %+v", shown)
	}
	press, err := s.Press(ann, "", shown[0].ID, "data-1")
	if err != nil {
		t.Fatal(err)
	}
	expect("press data-1")
	if !s.Answered(press) {
		t.Error("the press was not answered")
	}
	if err := s.AskReconnect(ctx); err != nil {
		t.Fatal(err)
	}
	s.Say(fake.Said{Chat: crowd, From: "M1", Text: "while it was away"})
	expect("group while it was away")
	if s.Sessions() != 1 {
		t.Errorf("%d sessions: it did not take up the old one", s.Sessions())
	}
	if shown := s.Messages(crowd); len(shown) != 0 {
		t.Errorf("what was taken back is still there: %+v", shown)
	}
}

// startBotgo starts the child; expect reads the next thing it says.
func startBotgo(ctx context.Context, t *testing.T, base string) (expect func(want string)) {
	t.Helper()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestBotgo$")
	child.Env = append(os.Environ(), botgoBase+"="+base)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill() // it never ends by itself
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()
	})
	lines := bufio.NewScanner(out)
	return func(want string) {
		t.Helper()
		for lines.Scan() {
			if line, ok := strings.CutPrefix(lines.Text(), "botgo: "); ok {
				if line != want {
					t.Fatalf("botgo says %q, want %q", line, want)
				}
				return
			}
		}
		t.Fatalf("botgo is gone, want %q: %v", want, lines.Err())
	}
}

// silent is a logger that keeps botgo's secrets to itself.
type silent struct{}

func (silent) Debug(...any)          {}
func (silent) Info(...any)           {}
func (silent) Warn(...any)           {}
func (silent) Error(...any)          {}
func (silent) Debugf(string, ...any) {}
func (silent) Infof(string, ...any)  {}
func (silent) Warnf(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Sync() error           { return nil }

func tell(format string, args ...any) { fmt.Printf("botgo: "+format+"\n", args...) }

// beBotgo runs the SDK until the process is killed.
func beBotgo(base string) {
	constant.APIDomain, constant.TokenDomain = base, base
	botgo.SetLogger(silent{})
	credentials := token.NewQQBotTokenSource(&token.QQBotCredentials{AppID: fake.DefaultAppID, AppSecret: fake.DefaultSecret})
	api := botgo.NewOpenAPI(fake.DefaultAppID, credentials).WithTimeout(time.Minute)
	ctx := context.Background()
	me, err := api.Me(ctx)
	if err != nil {
		tell("me: %v", err)
		return
	}
	tell("me %s", me.ID)
	intents := event.RegisterHandlers(
		event.ReadyHandler(func(*dto.WSPayload, *dto.WSReadyData) { tell("ready") }),
		event.C2CMessageEventHandler(func(p *dto.WSPayload, m *dto.WSC2CMessageData) error { return onPrivate(ctx, api, p, m) }),
		event.GroupATMessageEventHandler(func(p *dto.WSPayload, m *dto.WSGroupATMessageData) error { return onGroup(ctx, api, p, m) }),
		event.InteractionEventHandler(func(_ *dto.WSPayload, i *dto.WSInteractionData) error {
			err := api.PutInteraction(ctx, i.ID, `{"code":0}`)
			var b struct {
				Data string `json:"button_data"`
			}
			if err == nil {
				err = json.Unmarshal(i.Data.Resolved, &b)
			}
			if err != nil {
				tell("press: %v", err)
			}
			tell("press %s", b.Data)
			return nil
		}),
	)
	at, err := api.WS(ctx, nil, "")
	if err != nil {
		tell("gateway: %v", err)
		return
	}
	tell("stopped: %v", botgo.NewSessionManager().Start(at, credentials, &intents))
}

// openid finds what botgo's types lose.
func openid(raw []byte, group bool) string {
	var e struct {
		D struct {
			Group  string `json:"group_openid"`
			Author struct {
				User string `json:"user_openid"`
			} `json:"author"`
		} `json:"d"`
	}
	_ = json.Unmarshal(raw, &e) // then the call fails and says so
	if group {
		return e.D.Group
	}
	return e.D.Author.User
}

func onPrivate(ctx context.Context, api openapi.OpenAPI, p *dto.WSPayload, m *dto.WSC2CMessageData) error {
	tell("c2c %s", m.Content)
	var reply dto.MessageToCreate
	err := json.Unmarshal([]byte(`{"keyboard":{"content":{"rows":[{"buttons":[{"id":"b1","group_id":"g",
		"render_data":{"label":"go","visited_label":"gone","style":1},"action":{"type":1,"permission":{"type":2},"data":"data-1"}}]}]}}}`), &reply)
	if err != nil {
		return err
	}
	reply.MsgType, reply.MsgID, reply.MsgSeq = dto.MarkdownMsg, m.ID, 7
	reply.Markdown = &dto.Markdown{Content: "**re**: " + m.Content}
	if _, err := api.PostC2CMessage(ctx, openid(p.RawMessage, false), &reply); err != nil {
		tell("reply: %v", err)
		return nil
	}
	_, err = api.PostC2CMessage(ctx, openid(p.RawMessage, false), &reply)
	if err == nil || !strings.Contains(err.Error(), "40054005") {
		tell("the same msg_seq twice: %v", err)
		return nil
	}
	tell("refused 40054005")
	return nil
}

func onGroup(ctx context.Context, api openapi.OpenAPI, p *dto.WSPayload, m *dto.WSGroupATMessageData) error {
	group := openid(p.RawMessage, true)
	sent, err := api.PostGroupMessage(ctx, group, &dto.MessageToCreate{Content: "soon gone", MsgID: m.ID, MsgSeq: 1})
	if err == nil {
		err = api.RetractGroupMessage(ctx, group, sent.ID)
	}
	if err != nil {
		tell("group: %v", err)
		return nil
	}
	tell("group %s", strings.TrimSpace(m.Content))
	return nil
}

// botgo's webhook finds the fake's calls authentic, and answers the validation
// to the fake's liking.
func TestBotgoWebhook(t *testing.T) {
	s, _ := serve(t, nil)
	botgo.SetLogger(silent{})
	got := make(chan string, 10)
	event.RegisterHandlers(event.C2CMessageEventHandler(func(_ *dto.WSPayload, m *dto.WSC2CMessageData) error {
		got <- m.Content
		return nil
	}))
	credentials := &token.QQBotCredentials{AppID: s.AppID(), AppSecret: s.Secret()}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if ok, err := signature.Verify(s.Secret(), r.Header, body); !ok || err != nil {
			t.Errorf("signature: %v, %v", ok, err)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		webhook.HTTPHandler(w, r, credentials)
	}))
	defer web.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.SetHook(ctx, web.URL); err != nil {
		t.Fatal(err)
	}
	s.Say(fake.Said{Chat: ann, Text: "over the hook"})
	select {
	case text := <-got:
		if text != "over the hook" {
			t.Errorf("got %q", text)
		}
	case <-ctx.Done():
		t.Fatal("nothing came")
	}
}
