package qq

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
)

// read is what becomes of an event, given its body without id and author.
func readEvent(t *testing.T, kind, body string) event {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatal(err)
	}
	d["id"], d["group_openid"] = "m1", "G"
	d["author"] = map[string]any{"user_openid": "U", "member_openid": "U"}
	raw, err := json.Marshal(map[string]any{"op": 0, "t": kind, "id": "e1", "d": d})
	if err != nil {
		t.Fatal(err)
	}
	return plainQQ(t).event(frameOf(t, raw))
}

// Marks are read as what they show, in messages and in what they quote: no
// openid reaches the model. A mention of everybody is none of the bot.
func TestMarksAreRead(t *testing.T) {
	const mentions = `"mentions":[{"id":"B0T","is_you":true,"scope":"single"},{"id":"L1","username":"李雷"}]`
	for name, c := range map[string]struct {
		body   string
		want   string
		called bool
		quote  string
	}{
		"old marks":              {`{"content":"<@!B0T>，你好 <@L1>",` + mentions + `}`, "，你好 @李雷", true, ""},
		"new marks":              {`{"content":"<qqbot-at-user id=\"B0T\" /> 你好 <qqbot-at-user id='L1'/>",` + mentions + `}`, "你好 @李雷", true, ""},
		"everybody":              {`{"content":"<@all> 开会 <qqbot-at-everyone />","mentions":[{"scope":"all","is_you":true}]}`, "@everyone 开会 @everyone", false, ""},
		"faces without a name":   {`{"content":"好<faceType=4 faceId=\"0\" ext=\"\"><emoji:4><faceType=1,faceId=\"3\">"}`, "好[表情][表情][表情]", false, ""},
		"in the quoted message":  {`{"content":"why?","message_type":103,"msg_elements":[{"msg_idx":"a","content":"<@!B0T> ask <@L1> and <@XYZ>"}],` + mentions + `}`, "why?", true, "ask @李雷 and @somebody"},
		"the message as element": {`{"content":"just this","message_type":0,"msg_elements":[{"content":"just this"}]}`, "just this", false, ""},
	} {
		ev := readEvent(t, "GROUP_MESSAGE_CREATE", c.body)
		if ev.in == nil {
			t.Errorf("%s: passed over, %s", name, ev.skip)
			continue
		}
		quote := ""
		if ev.in.ReplyTo != nil {
			quote = ev.in.ReplyTo.Text
		}
		if ev.in.Text != c.want || ev.in.Mentioned != c.called || quote != c.quote || (ev.in.ReplyTo != nil) != (c.quote != "") {
			t.Errorf("%s: %q, mentioned %v, quote %+v", name, ev.in.Text, ev.in.Mentioned, ev.in.ReplyTo)
		}
	}
}

// What is shared as a card is read, alone, beside words and in a quote; of what
// QQ does not tell the kind at least, so that nobody is met with silence.
func TestSharedCards(t *testing.T) {
	const song = `{"ark_name":"图文H5","ark_type":"tuwen","prompt":"[分享]恨幸福来过","fields":{"title":"恨幸福来过","desc":"金钟国","tag":"QQ音乐","jump_url":"https://i.y.qq.com/x","preview":"https://p"}}`
	for name, c := range map[string]struct{ body, want, quote string }{
		"alone":               {`{"content":"","message_type":3,"ark_data":` + song + `}`, "[分享]恨幸福来过\n金钟国\nQQ音乐\nhttps://i.y.qq.com/x", ""},
		"with its summary":    {`{"content":"[卡片消息] 图文H5\n摘要: [分享]恨幸福来过","message_type":3,"ark_data":` + song + `}`, "[卡片消息] 图文H5\n摘要: [分享]恨幸福来过\n金钟国\nQQ音乐\nhttps://i.y.qq.com/x", ""},
		"fields as text":      {`{"message_type":3,"ark_data":{"prompt":"[位置]西湖","fields":"{\"name\":\"西湖\",\"address\":\"杭州\"}"}}`, "[位置]西湖\n杭州", ""},
		"fields of any form":  {`{"message_type":3,"ark_data":{"ark_name":"小程序","fields":[7]}}`, "[小程序]", ""},
		"without its content": {`{"content":"","message_type":3}`, "[card whose content QQ does not tell]", ""},
		"another kind":        {`{"content":"","message_type":12}`, "[message of type 12]", ""},
		"markdown":            {`{"content":"","message_type":2,"markdown":{"content":"**hi**"}}`, "**hi**", ""},
		"quoted markdown":     {`{"content":"这是什么","message_type":103,"msg_elements":[{"msg_idx":"a","message_type":2,"markdown":{"content":"**hi**"}}]}`, "这是什么", "**hi**"},
		"quoted":              {`{"content":"这是什么","message_type":103,"msg_elements":[{"msg_idx":"a","message_type":3,"ark_data":` + song + `}]}`, "这是什么", "[分享]恨幸福来过\n金钟国\nQQ音乐\nhttps://i.y.qq.com/x"},
		"quoted, not told":    {`{"content":"这是什么","message_type":103,"msg_elements":[{"msg_idx":"a","message_type":3}]}`, "这是什么", "[card whose content QQ does not tell]"},
	} {
		ev := readEvent(t, "C2C_MESSAGE_CREATE", c.body)
		if ev.in == nil {
			t.Errorf("%s: passed over, %s", name, ev.skip)
			continue
		}
		var quote *chat.Quote
		if c.quote != "" {
			quote = &chat.Quote{ID: "a", Text: c.quote}
		}
		if diff := cmp.Diff(quote, ev.in.ReplyTo); ev.in.Text != c.want || diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", name, ev.in.Text, diff)
		}
	}
}

// A field of another form than documented costs that field, not the message.
func TestOtherForms(t *testing.T) {
	ev := readEvent(t, "C2C_MESSAGE_CREATE", `{"content":"look","timestamp":"1741035967000","message_scene":"default","mentions":{},
		"attachments":[{"url":"https://multimedia.nt.qq.com.cn/d?x","filename":"a.png","content_type":"image/png","size":"1234"}]}`)
	if ev.in == nil || ev.in.Text != "look" || len(ev.in.Attachments) != 1 || ev.in.Attachments[0].Kind != chat.Image {
		t.Fatalf("%+v, %q", ev.in, ev.skip)
	}
	if want := time.UnixMilli(1741035967000).UTC(); !ev.in.At.Equal(want) {
		t.Errorf("at %v, want %v", ev.in.At, want)
	}
}

// Files are fetched over TLS, however QQ writes their addresses.
func TestAddressesOfFiles(t *testing.T) {
	for at, want := range map[string]string{
		"http://multimedia.nt.qq.com.cn/d?x":       "https://multimedia.nt.qq.com.cn/d?x",
		"//multimedia.nt.qq.com.cn/d?x":            "https://multimedia.nt.qq.com.cn/d?x",
		"multimedia.nt.qq.com.cn/d?x":              "https://multimedia.nt.qq.com.cn/d?x",
		"https://grouptalk.c2c.qq.com:443/?rkey=1": "https://grouptalk.c2c.qq.com:443/?rkey=1",
	} {
		ev := readEvent(t, "C2C_MESSAGE_CREATE", `{"attachments":[{"content_type":"image/png","filename":"a.png","url":"`+at+`"}]}`)
		if a := ev.in.Attachments[0]; a.Source != want || plainQQ(t).fetchable(a.Source) != nil {
			t.Errorf("%s: %s, %v", at, a.Source, plainQQ(t).fetchable(a.Source))
		}
	}
}
