package dingtalk

import (
	"context"
	"encoding/json"
	"testing"
)

// A mention of the bot is taken out of rich text as far as it can be told, and
// never what a person wrote beside it.
func TestMentionsInRichText(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   string // while the bot's name is not known
		known  string // when it is
	}{
		{[]string{"@Magpie Bot", " /help"}, "Bot /help", "/help"},
		{[]string{"@Magpie Bot\n第一行\n第二行"}, "Bot\n第一行\n第二行", "第一行\n第二行"},
		{[]string{"@Magpie Bot你好，看图"}, "Bot你好，看图", "你好，看图"},
		{[]string{"@Magpie Bot hello there"}, "Bot hello there", "hello there"},
		{[]string{"@张三 和", "@Magpie Bot ", "你好"}, "@张三 和@Magpie Bot 你好", "@张三 和你好"},
		{[]string{"问一下\n@Magpie Bot\n好吗"}, "问一下\n@Magpie Bot\n好吗", "问一下\n\n好吗"},
		{[]string{"@Magpie Bots hello"}, "Bots hello", "Bots hello"},
		{[]string{"@Magpie\n第一行\n第二行"}, "第一行\n第二行", "第一行\n第二行"},
		{[]string{"@Magpie你好，看图"}, "@Magpie你好，看图", "@Magpie你好，看图"},
		{[]string{"@Magpie你好，看图", "\n第二行"}, "@Magpie你好，看图\n第二行", "@Magpie你好，看图\n第二行"},
		{[]string{"@Magpie\u2005你好"}, "你好", "你好"},
		{[]string{"@Magpie你好，看图 谢谢"}, "@Magpie你好，看图 谢谢", "@Magpie你好，看图 谢谢"},
		{[]string{"@Magpie\t你好"}, "你好", "你好"},
		{[]string{"@Magpie", "/help"}, "/help", "/help"},
		{[]string{"@喜鹊", " 给", "@李四", "发个消息"}, "给@李四发个消息", "给@李四发个消息"},
		{[]string{"@Magpie你好"}, "@Magpie你好", "@Magpie你好"},
		{[]string{"看", "@Magpie"}, "看", "看"},
		{[]string{"no name"}, "no name", "no name"},
		{[]string{"@Magpie Bot"}, "Bot", ""},
	} {
		parts := []map[string]string{}
		for _, p := range c.pieces {
			parts = append(parts, map[string]string{"text": p})
		}
		rich, err := json.Marshal(parts)
		if err != nil {
			t.Fatal(err)
		}
		const head = `{"msgId":"m","senderId":"s","conversationType":"2","conversationId":"c","chatbotUserId":"b","isInAtList":true,`
		dt := lonely(t)
		for _, want := range []string{c.want, c.known} {
			a, skip, _ := dt.read(context.Background(), robotFrame(head+`"msgtype":"richText","content":{"richText":`+string(rich)+`}}`))
			if a.in.Text != want || skip != "" {
				t.Errorf("%q becomes %q, want %q (skipped %q)", c.pieces, a.in.Text, want, skip)
			}
			// A quote of the bot tells its name.
			dt.read(context.Background(), robotFrame(head+`"msgtype":"text","text":{"content":"why?","repliedMsg":{"msgId":"q","senderId":"b","senderNick":"Magpie Bot","content":"x"}}}`))
		}
	}
}
