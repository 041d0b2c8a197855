package dingtalk

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-dingtalk/dingtalk-stream-sdk-go/payload"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"

	fake "magpie/internal/fakes/dingtalk"
)

// What older clients put elsewhere is read as well: nothing that a person said or
// quoted is lost, and no name of a kind stands for it where DingTalk has words.
func TestOlderForms(t *testing.T) {
	file := func(kind chat.Kind) []chat.Attachment {
		return []chat.Attachment{{Kind: kind, Source: "r c1"}}
	}
	for name, c := range map[string]struct {
		body  string
		want  string
		files []chat.Attachment
		quote *chat.Quote
	}{
		"rich text beside the content": {
			`"msgtype":"richText","richText":{"richTextList":[{"text":"看这个 "},{"type":"picture","downloadCode":"c1"},{"pictureUrl":"https://p/1"}]}`,
			"看这个 [picture: https://p/1]", file(chat.Image), nil,
		},
		"a picture with an address":       {`"msgtype":"picture","content":{"pictureUrl":"https://p/1"}`, "[picture: https://p/1]", nil, nil},
		"a card with links":               {`"msgtype":"actionCard","content":{"title":"审批","text":"请假","actionUrlItemList":[{"actionUrl":"https://a/1"},{"actionUrl":"https://a/2"}]}`, "审批\n请假\nhttps://a/1\nhttps://a/2", nil, nil},
		"a document beside the content":   {`"msgtype":"interactiveCard","biz_custom_action_url":"https://alidocs/1"`, "https://alidocs/1", nil, nil},
		"a reply whose text is a content": {`"msgtype":"reply","content":{"text":"why?","repliedMsg":{"msgId":"q","msgType":"text","content":{"text":"old"}}}`, "why?", nil, &chat.Quote{ID: "q", Text: "old"}},
		"a quote with its text beside":    {`"msgtype":"text","text":{"content":"why?","repliedMsg":{"msgId":"q","msgType":"text","text":"old"}}`, "why?", nil, &chat.Quote{ID: "q", Text: "old"}},
		"a quoted document beside":        {`"msgtype":"text","text":{"content":"why?","repliedMsg":{"msgId":"q","msgType":"interactiveCard","biz_custom_action_url":"https://alidocs/1"}}`, "why?", nil, &chat.Quote{ID: "q", Text: "https://alidocs/1"}},
		"a quoted picture's address":      {`"msgtype":"text","text":{"content":"why?","repliedMsg":{"msgId":"q","msgType":"picture","content":{"pictureUrl":"https://p/1"}}}`, "why?", nil, &chat.Quote{ID: "q", Text: "[picture: https://p/1]"}},
		"a quote of a quote":              {`"msgtype":"text","text":{"content":"why?","repliedMsg":{"msgId":"q","msgType":"text","content":"{\"text\":\"old\",\"isReplyMsg\":true,\"repliedMsg\":{\"msgId\":\"z\",\"content\":{\"text\":\"older\"}}}"}}`, "why?", nil, &chat.Quote{ID: "q", Text: "old"}},
		"quoted, in words why not":        {`"msgtype":"text","text":{"content":"why?","repliedMsg":{"msgId":"q","msgType":"unknownMsgType","content":{"unknownMsgType":"暂不支持的消息"}}}`, "why?", nil, &chat.Quote{ID: "q", Text: "[暂不支持的消息]"}},
	} {
		a, skip, _ := lonely(t).read(context.Background(), robotFrame(`{"msgId":"m","robotCode":"r","senderId":"s","conversationType":"1",`+c.body+`}`))
		if skip != "" {
			t.Errorf("%s: skipped, %s", name, skip)
			continue
		}
		if diff := cmp.Diff([]any{c.want, c.files, c.quote}, []any{a.in.Text, a.in.Attachments, a.in.ReplyTo}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The older server says within errcode 88 what is the matter. A token that ends
// while a file is on its way is replaced, and the file sent again; what waits
// heals waits.
func TestRefusalsWithin(t *testing.T) {
	const sent channels.Kind = -1
	for sub, want := range map[string]channels.Kind{
		"40014": sent, "42001": sent, "90018": channels.RateLimited, "60020": channels.Unauthorized, "40010": channels.TooLong,
		"-1": channels.Temporary, "40035": channels.Rejected,
	} {
		w := newWorld(t, nil)
		ch := robotOf(t, w, channels.Deps{}).(channels.MediaSender)
		w.Fail(fake.Fault{Op: fake.OpUpload, Errcode: 88, Code: sub, Message: "x"})
		_, err := ch.SendMedia(channeltest.Bounded(t), outbound(ann().Chat(), ""), []channels.Upload{upload(chat.File, "a.pdf", 100)})
		shown := len(w.Messages(ann().Chat()))
		switch {
		case want == sent && (err != nil || shown != 1):
			t.Errorf("%s: %v, %d messages", sub, err, shown)
		case want != sent && (err == nil || channels.KindOf(err) != want || shown != 0):
			t.Errorf("%s: %v, %d messages, want %v", sub, err, shown, want)
		}
	}
	var n struct{ Sub number } // as text
	if json.Unmarshal([]byte(`{"Sub":"40014"}`), &n) != nil || n.Sub != 40014 {
		t.Errorf("read as %d", n.Sub)
	}
}

// What was pressed stands in the content as text, or as it is, or in the value.
func TestFormsOfPresses(t *testing.T) {
	cfg := Config{ClientID: "c", ClientSecret: "s", CardTemplateID: "t", CardButtonsKey: "buttons"}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	const what = `{"cardPrivateData":{"actionIds":["1"],"params":{"data":"yes"}}}`
	text := jsonText(what)
	for body, want := range map[string]string{
		`"content":` + text: "yes", `"content":` + what: "yes", `"value":` + text: "yes", `"content":"","value":` + text: "yes", `"content":null,"value":` + what: "yes",
		`"content":"{}"`: "", `"content":7`: "", `"x":1`: "",
	} {
		dt := newDingTalk(instance, cfg, channels.Deps{Now: func() time.Time { return time.Unix(1e9, 0) }}, quick())
		dt.cards.open["magpie-x"] = &openCard{chat: "user:u"}
		frame := robotFrame(`{"outTrackId":"magpie-x","userId":"u",` + body + `}`)
		frame.Headers.Set(payload.DataFrameHeaderKTopic, payload.CardInstanceCallbackTopic)
		a, skip, bad := dt.read(context.Background(), frame)
		if (skip == "") != (want != "") || bad != (want == "") || want != "" && a.in.Press.Data != want {
			t.Errorf("%s: %+v, %q, bad %v", body, a.in.Press, skip, bad)
		}
	}
}
