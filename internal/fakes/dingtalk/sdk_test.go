package dingtalk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/open-dingtalk/dingtalk-stream-sdk-go/card"
	"github.com/open-dingtalk/dingtalk-stream-sdk-go/chatbot"
	"github.com/open-dingtalk/dingtalk-stream-sdk-go/client"
)

// vendor is the SDK's own stream client on the fake.
type vendor struct {
	*client.StreamClient
	messages chan *chatbot.BotCallbackDataModel
	presses  chan *card.CardRequest
}

func newVendor(t *testing.T, s *Server, url string) *vendor {
	t.Helper()
	id, secret := s.Credentials()
	v := &vendor{
		StreamClient: client.NewStreamClient(client.WithAppCredential(client.NewAppCredentialConfig(id, secret)), client.WithOpenApiHost(url)),
		messages:     make(chan *chatbot.BotCallbackDataModel, 100), presses: make(chan *card.CardRequest, 100),
	}
	v.RegisterChatBotCallbackRouter(func(_ context.Context, m *chatbot.BotCallbackDataModel) ([]byte, error) {
		v.messages <- m
		if m.Text.Content == "fail" {
			return nil, errors.New("handler failed")
		}
		return nil, nil
	})
	v.RegisterCardCallbackRouter(func(_ context.Context, r *card.CardRequest) (*card.CardResponse, error) {
		v.presses <- r
		return &card.CardResponse{}, nil
	})
	t.Cleanup(v.Close)
	return v
}

func serve(t *testing.T, o *Options) (*Server, string) {
	t.Helper()
	s := New(o)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	s.AddPerson(Person{StaffID: "0001", Name: "安"})
	s.AddPerson(Person{Name: "Outsider"})
	s.AddGroup(Group{ID: "cidGroup==", Title: "群"})
	return s, web.URL
}

func next[T any](t *testing.T, c chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never: %s", what)
		}
	}
}

// The vendor's client connects, understands what people do, answers pings,
// and its acknowledgements are understood.
func TestVendorClient(t *testing.T) {
	s, url := serve(t, &Options{Ping: 10 * time.Millisecond})
	v := newVendor(t, s, url)
	if err := v.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	id, frame := s.Say(Said{Chat: "user:0001", Text: "你好"})
	m := next(t, v.messages)
	if m.MsgId != id || m.Text.Content != "你好" || m.SenderStaffId != "0001" || m.ConversationType != "1" || m.Msgtype != "text" {
		t.Errorf("got %+v", m)
	}
	eventually(t, "it is acknowledged", func() bool { a, ok := s.Ack(frame); return ok && a.Code == 200 })

	replier := chatbot.NewChatbotReplier()
	if err := replier.SimpleReplyMarkdown(context.Background(), m.SessionWebhook, []byte("title"), []byte("**hi**")); err != nil {
		t.Error(err)
	}
	if got := s.Messages("user:0001"); len(got) != 1 || got[0].Text != "**hi**" || got[0].Via != OpWebhook {
		t.Errorf("the chat shows %+v", got)
	}

	s.Say(Said{Chat: "group:cidGroup==", From: "user:0001", Text: "几点？", Mention: true, Files: []File{{Kind: "picture", Data: []byte("p")}}})
	if m := next(t, v.messages); m.Msgtype != "richText" || m.ConversationId != "cidGroup==" || !m.IsInAtList || m.ConversationTitle != "群" {
		t.Errorf("got %+v", m)
	}
	_, frame = s.Say(Said{Chat: "user:0001", Text: "fail"})
	eventually(t, "its failure is told", func() bool { a, ok := s.Ack(frame); return ok && a.Code == 500 })

	s.mu.Lock()
	s.show(&Message{ID: "card1", Chat: "user:0001", Kind: "card", State: Finished, Buttons: []Button{{Label: "Yes", Data: "y"}}})
	s.mu.Unlock()
	frame, err := s.Press("user:0001", "card1", "y")
	if err != nil {
		t.Fatal(err)
	}
	if r := next(t, v.presses); r.OutTrackId != "card1" || r.UserId != "0001" || r.GetActionString("data") != "y" {
		t.Errorf("got %+v", r)
	}
	eventually(t, "the press is acknowledged", func() bool { a, ok := s.Ack(frame); return ok && a.Code == 200 })
	eventually(t, "pings are answered", func() bool { return len(s.Acked()) > 6 })
	if n := s.Calls(OpOpen); n != 1 {
		t.Errorf("%d connections were opened", n)
	}
}

// The vendor's client obeys a disconnect frame and comes back; what was said
// in between is lost, which is why Magpie does not run it.
func TestVendorReconnects(t *testing.T) {
	s, url := serve(t, nil)
	v := newVendor(t, s, url)
	if err := v.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.Disconnect()
	eventually(t, "the old connection ends", func() bool { return s.Connections() == 0 })
	s.Say(Said{Chat: "user:0001", Text: "nobody hears this"})
	if s.Lost() != 1 {
		t.Error("a message without a connection was not lost")
	}
	eventually(t, "it comes back", func() bool { return s.Connections() == 1 })
	s.Say(Said{Chat: "user:0001", Text: "back"})
	if m := next(t, v.messages); m.Text.Content != "back" {
		t.Errorf("got %q", m.Text.Content)
	}
}

func TestVendorRefused(t *testing.T) {
	s, url := serve(t, nil)
	s.Revoke()
	if err := newVendor(t, s, url).Start(context.Background()); err == nil {
		t.Error("a revoked client was let in")
	}
}

// The payloads have the fields and types of DingTalk's documentation.
func TestPayloadFields(t *testing.T) {
	s, _ := serve(t, nil)
	for want, said := range map[string]Said{
		"text": {Text: "x"}, "picture": {Files: []File{{Kind: "picture"}}}, "audio": {Files: []File{{Kind: "audio"}}},
		"video": {Files: []File{{Kind: "video"}}}, "file": {Files: []File{{Kind: "file", Name: "n"}}}, "richText": {Text: "x", Files: []File{{Kind: "picture"}}},
	} {
		said.Chat = "user:0001"
		s.mu.Lock()
		body := s.message(said, "msg1==")
		s.mu.Unlock()
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		var m chatbot.BotCallbackDataModel
		dec := json.NewDecoder(bytes.NewReader(raw))
		if err := dec.Decode(&m); err != nil || dec.Decode(&m) != io.EOF {
			t.Errorf("%s: %v", want, err)
		}
		if m.Msgtype != want || m.MsgId == "" || m.SessionWebhookExpiredTime == 0 || m.CreateAt == 0 || m.RobotCode == "" || m.SessionWebhook == "" {
			t.Errorf("%s: %+v", want, m)
		}
		content, _ := m.Content.(map[string]any)
		if want != "text" && want != "richText" && content["downloadCode"] == "" {
			t.Errorf("%s: content %+v", want, content)
		}
	}
}
