package feishu

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
	"magpie/internal/kv"
)

// heard is a channel that runs, with what it logs.
func heard(t *testing.T, w *world) (*receiving, *channeltest.Log) {
	t.Helper()
	var log channeltest.Log
	return start(t, w.channel(t, channels.Deps{Log: logTo(&log)})), &log
}

// toBot is a message of a group that mentions the bot.
func toBot(from, text, replyTo string) fake.Said {
	return fake.Said{From: from, Chat: crowd, Text: "@_user_1 " + text, Mentions: []string{fake.BotID}, ReplyTo: replyTo}
}

// A quoted card is read as it was sent, not as the request to upgrade; ours is
// known as ours, also after a restart and when it was streamed.
func TestQuotedCards(t *testing.T) {
	w := newWorld(t, fake.Options{})
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	card := mustSend(t, r.Feishu, outbound(at(crowd), "1", "The **answer**: `a<b` & more\n\n| a | b |\n|---|---|\n| 1 | 2 |"))
	stream := mustSend(t, r.Feishu, draftOf(at(crowd), "2", "growing"))
	if err := r.Edit(channeltest.Bounded(t), stream, outbound(at(crowd), "2", "the **whole** answer")); err != nil {
		t.Fatal(err)
	}
	plain := mustSend(t, r.Feishu, outbound(at(crowd), "3", "plain words"))
	for round := range 2 {
		for id, want := range map[string]string{card.ID: "a<b", stream.ID: "whole", plain.ID: "plain words"} {
			w.Say(toBot(bob, "what do you mean?", id))
			in := r.Next(t)
			for in.ReplyTo == nil || in.ReplyTo.ID != id { // what the first run had no time to acknowledge
				in = r.Next(t)
			}
			if q := in.ReplyTo; !q.Mine || !strings.Contains(q.Text, want) || strings.Contains(q.Text, "升级") || strings.Contains(q.Text, "[image]") {
				t.Errorf("round %d: %+v", round, q)
			}
		}
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		r = start(t, w.channel(t, channels.Deps{Table: table}))
	}
}

// A card that is degraded all the same is never taken for words, in whatever
// language the platform asks to upgrade.
func TestDegradedCards(t *testing.T) {
	for _, words := range []string{
		"请升级至最新版本客户端，以查看内容", "請升級至最新版本用戶端，以查看內容", "Please upgrade to the latest version of the client to view the content",
		"Please update Lark to the latest client version", "最新バージョンにアップグレードしてください", "최신 버전으로 업그레이드하세요",
		"Actualiza a la última versión para ver el contenido", "Veuillez mettre à jour vers la dernière version", "Bitte aktualisieren Sie auf die neueste Version", "Vui lòng cập nhật lên phiên bản mới nhất",
	} {
		m := message{ID: "om_1", Kind: formCard, Content: mustEncode(object{"title": "", "elements": [][]object{
			{{"tag": "text", "text": words}}, {{"tag": "img", "image_key": "img_v3_x"}},
		}})}
		if said, _ := m.read(); said.text != "["+noCard+"]" || said.files != nil {
			t.Errorf("%s: %+v", words, said)
		}
		m.Content = strings.Replace(m.Content, `"title":""`, `"title":"Report"`, 1)
		if said, _ := m.read(); said.text != "Report\n["+noCard+"]" {
			t.Errorf("%s with a title: %+v", words, said)
		}
		half := len([]rune(words)) - 6
		m.Content = mustEncode(object{"title": nil, "elements": [][]object{
			{{"tag": "img", "image_key": "img_v3_x"}}, {{"tag": "text", "text": string([]rune(words)[:half])}, {"tag": "text", "text": string([]rune(words)[half:])}},
		}})
		if said, _ := m.read(); said.text != "["+noCard+"]" {
			t.Errorf("%s in pieces: %+v", words, said)
		}
	}
}

// However the request to upgrade stands in a card, it is no word of anybody.
func TestDegradedOtherwise(t *testing.T) {
	const zh, en = "请升级至最新版本客户端，以查看内容", "Please upgrade to the latest version to view the content"
	text := func(words string) object { return object{"tag": "text", "text": words} }
	for name, content := range map[string]object{
		"in two languages": {"title": nil, "elements": [][]object{{text(zh)}, {text(en)}}},
		"in a note":        {"title": "", "elements": [][]object{{{"tag": "note", "elements": []object{{"tag": "img", "image_key": "k"}, text(zh)}}}}},
		"as the title":     {"title": zh, "elements": [][]object{{}}},
		"as both":          {"title": zh, "elements": [][]object{{text(zh)}, {text("")}}},
	} {
		m := message{ID: "om_1", Kind: formCard, Content: mustEncode(content)}
		if said, _ := m.read(); said.text != "["+noCard+"]" || said.files != nil {
			t.Errorf("%s: %+v", name, said)
		}
	}
	// Who writes of an upgrade among other words says something.
	m := message{Kind: formCard, Content: mustEncode(object{"title": "Notice", "elements": [][]object{{text("All: " + en)}, {text("before Friday")}}})}
	if said, _ := m.read(); !strings.Contains(said.text, "before Friday") {
		t.Errorf("a notice: %+v", said)
	}
}

// Parts that hold others, and cells that hold more than words.
func TestPartsOfCards(t *testing.T) {
	plain := func(words string) object { return object{"tag": "plain_text", "content": words} }
	m := message{Kind: formCard, Content: mustEncode(object{"schema": "2.0", "body": object{"elements": []object{
		{"tag": "collapsible_panel", "header": object{"title": plain("Details")}, "elements": []object{{"tag": "markdown", "content": "inside"}}},
		{"tag": "table", "columns": []object{{"name": "s", "display_name": "State"}, {"name": "p", "display_name": "Who"}}, "rows": []object{
			{"s": []object{{"text": "done", "color": "green"}, {"text": "late", "color": "red"}}, "p": object{"name": "Ann"}},
		}},
	}}})}
	const want = "Details\ninside\nState | Who\ndone, late | Ann"
	if said, _ := m.read(); said.text != want {
		t.Errorf("%q, want %q", said.text, want)
	}
}

// A raw card has what it shows in properties, and its Markdown in pieces.
func TestRawCards(t *testing.T) {
	part := func(tag string, property object) object { return object{"tag": tag, "property": property} }
	words := func(text string) object { return part("plain_text", object{"content": text}) }
	card := object{"schema": 2, "header": part("card_header", object{"title": words("Weekly")}), "body": part("body", object{"elements": []object{
		part("markdown", object{"elements": []object{
			part("text", object{"content": "Sales are "}), part("text", object{"content": "up", "textStyle": object{}}),
			{"tag": "br"},
			part("link", object{"content": "see", "url": object{"url": "https://a/1"}}),
			part("list", object{"items": []object{{"type": "ul", "elements": []object{part("text", object{"content": "一"})}}, {"type": "ul", "elements": []object{part("text", object{"content": "二"})}}}}),
		}}),
		part("column_set", object{"columns": []object{part("column", object{"elements": []object{part("div", object{"text": words("left")})}})}}),
		part("table", object{
			"columns": []object{{"name": "n", "displayName": "Name"}},
			"rows":    []object{{"n": object{"data": "甲"}}, {"n": object{"data": []object{{"text": "late"}}}}},
		}),
		part("button", object{"text": words("Open")}), part("img", object{"imageID": "1"}),
	}})}
	for name, content := range map[string]object{"as text": {"json_card": mustEncode(card), "card_schema": 2}, "as an object": {"json_card": card}} {
		m := message{Kind: formCard, Content: mustEncode(content)}
		const want = "Weekly\nSales are up\nsee\n- 一\n- 二\nleft\nName\n甲\nlate\n[Open]\n[image]"
		if said, _ := m.read(); said.text != want {
			t.Errorf("%s: %q, want %q", name, said.text, want)
		}
	}
}

// Cards of others are read in each of their forms.
func TestForeignCards(t *testing.T) {
	two := object{
		"schema": "2.0", "header": object{"title": object{"tag": "plain_text", "content": "Weekly"}, "subtitle": object{"tag": "plain_text", "content": "week 47"}},
		"body": object{"elements": []object{
			{"tag": "markdown", "content": "**Sales** up&#33; <font color=green>10%</font><br><at id=ou_x mention_key=@_user_1></at>"},
			{"tag": "column_set", "columns": []object{{"tag": "column", "elements": []object{{"tag": "div", "text": object{"tag": "lark_md", "content": "left"}}}}}},
			{"tag": "img", "img_key": "img_v3_1"},
			{"tag": "table", "columns": []object{{"name": "n", "display_name": "Name"}, {"name": "v", "display_name": "Value"}}, "rows": []object{{"n": "甲", "v": 3}}},
			{"tag": "button", "text": object{"tag": "plain_text", "content": "Open"}, "behaviors": []object{{"type": "callback", "value": object{"content": "no words"}}}},
		}},
	}
	one := object{"header": two["header"], "elements": two["body"].(object)["elements"]}
	const want = "Weekly\nweek 47\n**Sales** up! 10%\n@Ann\nleft\n[image]\nName | Value\n甲 | 3\n[Open]"
	for name, content := range map[string]object{
		"bare": two, "schema 1.0": one, "user_dsl": {"title": "", "elements": [][]object{{{"tag": "text", "text": "请升级至最新版本客户端，以查看内容"}}}, "user_dsl": mustEncode(two)},
		"user_dsl as an object": {"user_dsl": two}, "json_card": {"json_card": mustEncode(two)},
	} {
		i := item{ID: "om_1", Kind: formCard, Mentions: []mention{{Key: "@_user_1", ID: ann, Name: "Ann"}}}
		i.Body.Content = mustEncode(content)
		if text, files := i.said(); text != want || files != nil {
			t.Errorf("%s: %q %v", name, text, files)
		}
	}
	for _, odd := range []string{"", "{", "[]", `"x"`, `{"user_dsl":7}`, `{"elements":[[1]]}`, `{"body":` + strings.Repeat(`{"elements":[`, 5000) + strings.Repeat(`]}`, 5000) + `}`} {
		m := message{Kind: formCard, Content: odd}
		if said, ok := m.read(); !ok || said.text != "["+noCard+"]" {
			t.Errorf("%.40s: %+v", odd, said)
		}
	}
}

// Picture first, then "what is this?": the files of the quoted message come
// with the question, and can be fetched.
func TestQuotedMedia(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r, _ := heard(t, w)
	kinds := map[string]chat.Kind{"image": chat.Image, "file": chat.File, "audio": chat.Voice, "media": chat.Video}
	for _, f := range []fake.File{
		{Kind: "image", Data: dot()}, {Kind: "file", Name: "报告.pdf", Data: []byte("%PDF-1.4 x")}, {Kind: "audio", Data: []byte("OggS voice")}, {Kind: "media", Name: "v.mp4", Data: []byte("video")},
	} {
		first := w.Say(fake.Said{From: ann, Chat: crowd, Files: []fake.File{f}})
		r.Next(t) // it came before the bot was asked
		w.Say(toBot(bob, "what is this?", first))
		in := r.Next(t)
		if q := in.ReplyTo; q == nil || q.ID != first || len(q.Attachments) != 1 || len(in.Attachments) != 0 || in.Text != "what is this?" {
			t.Fatalf("%s: %+v, quote %+v", f.Kind, in, in.ReplyTo)
		}
		a := in.ReplyTo.Attachments[0]
		if kinds[f.Kind] != a.Kind || f.Name != "" && a.Name != f.Name {
			t.Errorf("%s: %+v", f.Kind, a)
		}
		body, err := w.channel(t, channels.Deps{}).Fetch(channeltest.Bounded(t), a) // a later process
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, f.Data) {
			t.Errorf("%s: %q %v", f.Kind, got, err)
		}
		_ = body.Close()
	}
	album := w.Say(fake.Said{From: ann, Chat: crowd, Text: "两张", Files: []fake.File{{Kind: "image", Data: dot()}, {Kind: "image", Data: dot()}}})
	r.Next(t)
	w.Say(toBot(bob, "compare", album))
	if q := r.Next(t).ReplyTo; q.Text != "两张" || len(q.Attachments) != 2 || q.From != "Ann" || q.Mine {
		t.Errorf("a text with pictures: %+v", q)
	}
	sticker := w.Say(fake.Said{From: ann, Chat: crowd, Type: "sticker", Content: `{"file_key":"file_x"}`})
	r.Next(t)
	w.Say(toBot(bob, "?", sticker))
	if q := r.Next(t).ReplyTo; q.Text != "[sticker]" || q.Attachments != nil {
		t.Errorf("a sticker: %+v", q)
	}
	forward := w.Say(fake.Said{From: ann, Chat: crowd, Type: "merge_forward", Content: "Merged and Forwarded Message", Forwarded: []fake.Said{
		{From: bob, Text: "first"}, {From: eve, Type: "image", Content: `{"image_key":"img_v3_x"}`}, {From: eve, Text: "二\n行"},
	}})
	if in := r.Next(t); !in.Forwarded || in.Text != "[forwarded messages]\n> first\n> [image]\n> 二\n> 行" {
		t.Errorf("a forward: %q", in.Text)
	}
	w.Say(toBot(bob, "sum it up", forward))
	if q := r.Next(t).ReplyTo; !strings.Contains(q.Text, "> first\n> [image]\n> 二\n> 行") || q.Attachments != nil {
		t.Errorf("a quoted forward: %+v", q)
	}
}

// What the platform gives out no files of is said, and the message comes.
func TestPicturesOfCards(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r, _ := heard(t, w)
	card := mustEncode(object{"schema": "2.0", "body": object{"elements": []object{{"tag": "markdown", "content": "chart"}, {"tag": "img", "img_key": "img_v3_1"}}}})
	id := w.Say(fake.Said{From: ann, Type: "interactive", Content: card})
	if in := r.Next(t); in.Text != "chart\n[image]" || in.Attachments != nil {
		t.Errorf("a card: %q %v", in.Text, in.Attachments)
	}
	_, err := r.Fetch(channeltest.Bounded(t), chat.Attachment{Source: source{id, "img_v3_1", true}.String()})
	if channels.KindOf(err) != channels.Rejected || !strings.Contains(err.Error(), "gives out no files of cards and forwarded messages") {
		t.Errorf("fetch: %v", err)
	}
}

// In groups reading takes a scope of its own: the model is told what it does
// not see, the operator once what to add, and everything arrives.
func TestQuotesWithoutScope(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r, log := heard(t, w)
	mine := mustSend(t, r.Feishu, outbound(at(crowd), "1", "**mine**"))
	other := w.Say(fake.Said{From: ann, Chat: crowd, Text: "before"})
	r.Next(t)
	w.Withhold("im:message.group_msg")
	w.Say(fake.Said{From: ann, Chat: crowd, Text: "nobody hears this"})
	for range 2 {
		w.Say(toBot(bob, "this?", other))
		if q := r.Next(t).ReplyTo; q == nil || q.Mine || !strings.HasPrefix(q.Text, "[quoted message could not be read: ") || !strings.Contains(q.Text, "im:message.group_msg") {
			t.Errorf("a quote: %+v", q)
		}
	}
	w.Say(toBot(bob, "and yours?", mine.ID))
	if q := r.Next(t).ReplyTo; q == nil || !q.Mine || q.ID != mine.ID || q.Text != "" {
		t.Errorf("a quote of ours: %+v", q)
	}
	said := fake.Said{From: ann, Chat: crowd, Type: "merge_forward", Content: "x", Mentions: []string{fake.BotID}, Forwarded: []fake.Said{{From: bob, Text: "first"}}}
	w.Say(said)
	if in := r.Next(t); !strings.HasPrefix(in.Text, "[forwarded messages could not be read: ") {
		t.Errorf("a forward: %q", in.Text)
	}
	private := w.Say(fake.Said{From: ann, Text: "alone"})
	r.Next(t)
	w.Say(fake.Said{From: ann, Text: "this", ReplyTo: private})
	if q := r.Next(t).ReplyTo; q.Text != "alone" {
		t.Errorf("a private quote: %+v", q)
	}
	if n := strings.Count(log.String(), "level=WARN msg=\"feishu: without im:message.group_msg"); n != 1 {
		t.Errorf("%d warnings in\n%s", n, log.String())
	}
}

// A quoted message that is gone, and a platform that does not answer, are told
// from one another.
func TestQuotesThatAreGone(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r, _ := heard(t, w)
	first := w.Say(fake.Said{From: ann, Chat: crowd, Text: "gone"})
	r.Next(t)
	w.Recall(first)
	r.Next(t)
	for _, c := range []struct {
		fault *fake.Fault
		want  string
	}{
		{nil, "taken back"},
		{&fake.Fault{Op: "get", Code: 230110, Msg: "Action unavailable as the message has been deleted."}, "deleted"},
		{&fake.Fault{Op: "get", Code: 230050, Msg: "The message is invisible to the operator."}, "the bot may not see it"},
		{&fake.Fault{Op: "get", Status: 502, Page: true}, "did not answer"},
	} {
		if c.fault != nil {
			w.Fail(*c.fault)
		}
		w.Say(toBot(bob, "this?", first))
		if q := r.Next(t).ReplyTo; !strings.Contains(q.Text, c.want) || q.Mine {
			t.Errorf("%+v: %+v", c.fault, q)
		}
	}
}
