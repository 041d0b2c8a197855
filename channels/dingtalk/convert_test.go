package dingtalk

import (
	"context"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/open-dingtalk/dingtalk-stream-sdk-go/payload"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"

	fake "magpie/internal/fakes/dingtalk"
)

func robotFrame(data string) *payload.DataFrame {
	return &payload.DataFrame{Type: typeCallback, Data: data, Headers: payload.DataFrameHeader{
		payload.DataFrameHeaderKTopic: payload.BotMessageCallbackTopic, payload.DataFrameHeaderKMessageId: "frame1",
		payload.DataFrameHeaderKTime: "1789994600999",
	}}
}

func lonely(t *testing.T) *DingTalk {
	t.Helper()
	cfg := Config{ClientID: "dingrobot01", ClientSecret: "s3cret"}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	return newDingTalk(instance, cfg, channels.Deps{}, quick())
}

// Every kind of the documentation becomes what testdata says.
func TestMessages(t *testing.T) {
	dt := lonely(t)
	channeltest.Convert(t, "testdata/messages.json", func(_ *testing.T, raw []byte) (*chat.Inbound, string) {
		a, skip, _ := dt.read(context.Background(), robotFrame(string(raw)))
		return &a.in, skip
	})
}

func TestSkipped(t *testing.T) {
	dt := lonely(t)
	for name, c := range map[string]struct {
		data string
		bad  bool
	}{
		"not JSON":               {`{`, true},
		"wrong types":            {`{"msgId":5,"senderId":[]}`, true},
		"no sender":              {`{"msgId":"m","conversationType":"1","msgtype":"text","text":{"content":"x"}}`, true},
		"group without id":       {`{"msgId":"m","senderId":"s","conversationType":"2","msgtype":"text","text":{"content":"x"}}`, true},
		"empty text":             {`{"msgId":"m","senderId":"s","conversationType":"1","msgtype":"text","text":{"content":"  \n "}}`, false},
		"empty in a group":       {`{"msgId":"m","senderId":"s","conversationType":"2","conversationId":"c","msgtype":"text","text":{"content":" "}}`, false},
		"the bot's own":          {`{"msgId":"m","senderId":"b","chatbotUserId":"b","conversationType":"1","msgtype":"text","text":{"content":"x"}}`, false},
		"rich text with nothing": {`{"msgId":"m","senderId":"s","conversationType":"1","msgtype":"richText","content":{"richText":[]}}`, false},
	} {
		if _, skip, bad := dt.read(context.Background(), robotFrame(c.data)); skip == "" || bad != c.bad {
			t.Errorf("%s: skipped %q, bad %v", name, skip, bad)
		}
	}
}

// A field of another form than documented costs that field, not the message.
func TestOtherForms(t *testing.T) {
	a, skip, _ := lonely(t).read(context.Background(), robotFrame(`{"msgId":"m","senderId":"s","senderNick":7,"isInAtList":"yes","conversationType":"1","msgtype":"text","text":{"content":"x","repliedMsg":"?"}}`))
	if skip != "" || a.in.Text != "x" || a.in.ID != "dingtalk:dingtalk:m" {
		t.Errorf("got %+v, skipped %q", a.in, skip)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"msgId":"m","senderId":"s","conversationType":"1","msgtype":"text","text":{"content":"x"}}`, false)
	f.Add(`{"msgId":"m","senderId":"s","conversationType":"2","conversationId":"c","isInAtList":true,"msgtype":"richText","content":{"richText":[{"text":"@a b"},{"downloadCode":"d"}]}}`, false)
	f.Add(`{"msgId":"m","senderId":"s","conversationType":"1","msgtype":"video","content":{"duration":"5","downloadCode":"d"},"createAt":1e300}`, false)
	f.Add(`{"outTrackId":"magpie-x","userId":"u","content":"{\"cardPrivateData\":{\"actionIds\":[\"a\"],\"params\":{\"data\":7}}}"}`, true)
	cfg := Config{ClientID: "c", ClientSecret: "s", CardTemplateID: "t", CardButtonsKey: "buttons"}
	if err := cfg.complete(); err != nil {
		f.Fatal(err)
	}
	dt := newDingTalk(instance, cfg, channels.Deps{Now: func() time.Time { return time.Unix(1e9, 0) }}, quick())
	dt.cards.open["magpie-x"] = &openCard{chat: "user:u"}
	f.Fuzz(func(t *testing.T, data string, press bool) {
		frame := robotFrame(data)
		if press {
			frame.Headers.Set(payload.DataFrameHeaderKTopic, payload.CardInstanceCallbackTopic)
		}
		a, skip, _ := dt.read(context.Background(), frame)
		if skip != "" || a.withheld != nil {
			return
		}
		in := a.in
		if in.ID == "" || in.From.ID == "" || in.Addr.Channel != instance || in.At.IsZero() {
			t.Errorf("incomplete: %+v", in)
		}
		if _, err := parseTarget(in.Addr.Chat); err != nil {
			t.Error(err)
		}
		if !utf8.ValidString(in.Text) || in.Text == "" && len(in.Attachments) == 0 && in.Press == nil && in.ReplyTo == nil && (in.Direct || !in.Mentioned) {
			t.Errorf("text %q", in.Text)
		}
		if _, err := json.Marshal(in); err != nil {
			t.Error(err)
		}
	})
}

// A mention arrives without the bot's name, in plain and in rich text.
func TestMentionInRichText(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(t, nil, nil)
	w.Say(fake.Said{From: bob().Chat(), Chat: crowd().Chat(), Text: "what is this?", Mention: true, Files: []fake.File{{Kind: "picture", Data: []byte("x")}}})
	in := r.Next(t)
	if in.Text != "what is this?" || !in.Mentioned || in.Direct || len(in.Attachments) != 1 {
		t.Errorf("got %+v", in)
	}
}
