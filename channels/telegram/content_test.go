package telegram

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
)

// told is what the bot hears of a message with these fields, in a private chat.
func told(t *testing.T, id int, fields string) *chat.Inbound {
	t.Helper()
	ev := offline().event(fmt.Appendf(nil, `{"update_id":1,"message":{"message_id":%d,"date":1790000000,
		"chat":{"id":7,"type":"private","first_name":"Mia"},"from":{"id":7,"first_name":"Mia"},%s}}`, id, fields))
	if ev.in == nil {
		t.Fatalf("passed over: %s", ev.skip)
	}
	return ev.in
}

// Messages without a text and a file of their own are heard of all the same.
func TestContents(t *testing.T) {
	for _, c := range []struct{ name, fields, text, files string }{
		{
			"checklist", `"checklist":{"title":"Trip","tasks":[{"id":1,"text":"tickets","completion_date":1790000000},{"id":2,"text":"买牙刷"}]}`,
			"[Checklist: Trip]\n- [x] tickets\n- [ ] 买牙刷", "",
		},
		{"paid media", `"paid_media":{"star_count":5,"paid_media":[{"type":"preview","width":1,"height":1,"duration":3}]}`, "[Paid media: 1 for 5 Telegram Stars]", ""},
		{
			"paid media that was paid for", `"caption":"look","paid_media":{"star_count":5,"paid_media":[{"type":"photo","photo":[{"file_id":"p1","width":9,"height":9}]},{"type":"video","video":{"file_id":"v1"}}]}`,
			"look\n[Paid media: 2 for 5 Telegram Stars]", "image p1, video v1",
		},
		{"story", `"story":{"id":4,"chat":{"id":9,"type":"private","first_name":"Ben"}}`, "[Story of Ben: stories are not shown to bots]", ""},
		{"game", `"game":{"title":"Snake","description":"Eat","photo":[]}`, "[Game: Snake, Eat]", ""},
		{"invoice", `"invoice":{"title":"Tea","description":"100 g","currency":"XTR","total_amount":3}`, "[Invoice: Tea, 100 g]", ""},
		{"giveaway", `"giveaway":{"chats":[{"id":-5,"type":"channel","title":"News"}],"winner_count":2,"prize_description":"a pen"}`, "[Giveaway of News: a pen]", ""},
		{
			"live photo", `"live_photo":{"file_id":"mov","duration":3,"photo":[{"file_id":"still","width":9,"height":9}]},"photo":[{"file_id":"still","width":9,"height":9}]`,
			"", "image still",
		},
		{"forwarded checklist", `"forward_origin":{"type":"hidden_user","sender_user_name":"Ann"},"checklist":{"title":"Trip","tasks":[]}`, "[Forwarded from Ann]\n[Checklist: Trip]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := told(t, 50, c.fields)
			if diff := cmp.Diff(c.text, in.Text); diff != "" {
				t.Error(diff)
			}
			if got := sources(in.Attachments); got != c.files {
				t.Errorf("files %q, want %q", got, c.files)
			}
			// The same, when somebody asks about it.
			quoted := told(t, 51, `"text":"what is this?","reply_to_message":{"message_id":50,"date":1,"chat":{"id":7},"from":{"id":7,"first_name":"Mia"},`+c.fields+`}`)
			if q := quoted.ReplyTo; q == nil || q.Text != in.Text || sources(q.Attachments) != c.files {
				t.Errorf("quoted: %+v", q)
			}
			if strings.Contains(c.fields, "caption") || strings.Contains(c.fields, "forward_origin") {
				return
			}
			outside := told(t, 52, `"text":"and this?","external_reply":{"origin":{"type":"hidden_user","sender_user_name":"Ann"},`+c.fields+`}`)
			if q := outside.ReplyTo; q == nil || q.Text != in.Text || sources(q.Attachments) != c.files {
				t.Errorf("quoted from elsewhere: %+v", q)
			}
		})
	}
}

func sources(all []chat.Attachment) string {
	var list []string
	for _, a := range all {
		list = append(list, string(a.Kind)+" "+a.Source)
	}
	return strings.Join(list, ", ")
}

// Rich messages have no text but blocks; other bots send them, and people
// forward and quote those.
func TestRichMessages(t *testing.T) {
	const fields = `"rich_message":{"blocks":[
		{"type":"heading","size":1,"text":"Report"},
		{"type":"paragraph","text":["Costs ",{"type":"bold","text":["rise ",{"type":"italic","text":"fast"}]},", see ",{"type":"url","text":"here","url":"https://x.example/a"},{"type":"custom_emoji","custom_emoji_id":"1","alternative_text":"📈"}]},
		{"type":"list","items":[{"label":"1.","blocks":[{"type":"paragraph","text":"茶"}]},{"label":"2.","blocks":[{"type":"paragraph","text":"rice"}]}]},
		{"type":"pre","language":"go","text":"x := 1"},
		{"type":"divider"},
		{"type":"blockquote","blocks":[{"type":"paragraph","text":"one"},{"type":"paragraph","text":"two"}]},
		{"type":"table","cells":[[{"text":"a"},{"text":"b"}],[{"align":"left"},{"text":"d"}]],"caption":"T"},
		{"type":"details","summary":"More","blocks":[{"type":"mathematical_expression","expression":"e=mc^2"}]},
		{"type":"thinking","text":"hm"},
		{"type":"photo","photo":[{"file_id":"p","width":2,"height":2}],"caption":{"text":"a view","credit":"Ann"}},
		{"type":"voice_note","voice_note":{"file_id":"v"}},
		{"type":"of 2028","blocks":"none","photo":{}},
		{"type":"of 2027","text":{"type":"new","text":"kept"},"items":[]}]}`
	want := strings.Join([]string{
		"**Report**", "Costs **rise *fast***, see [here](https://x.example/a)📈", "1. 茶\n2. rice", "```go\nx := 1\n```", "---",
		"> one\n> \n> two", "a | b\n | d\nT", "More\ne=mc^2", "a view — Ann", "kept",
	}, "\n\n")
	in := told(t, 50, fields)
	if diff := cmp.Diff(want, in.Text); diff != "" {
		t.Error(diff)
	}
	if got := sources(in.Attachments); got != "image p, voice v" {
		t.Errorf("files %q", got)
	}
	q := told(t, 51, `"text":"sum it up","reply_to_message":{"message_id":50,"date":1,"chat":{"id":7},"from":{"id":8,"is_bot":true,"first_name":"Other"},`+fields+`}`).ReplyTo
	if q == nil || q.Text != want || len(q.Attachments) != 2 {
		t.Errorf("quoted: %+v", q)
	}
	for text, mentioned := range map[string]bool{"hi @Magpie_test_bot!": true, "hi @magpie_test_bot2": false, "a@magpie_test_bot": false} {
		if in := told(t, 52, `"rich_message":{"blocks":[{"type":"paragraph","text":["`+text+`"]}]}`); in.Mentioned != mentioned {
			t.Errorf("%q: mentioned %v", text, in.Mentioned)
		}
	}
}

// What a link hides is told of a quoted message too.
func TestQuotedLink(t *testing.T) {
	q := told(t, 51, `"text":"what does it say?","reply_to_message":{"message_id":50,"date":1,"chat":{"id":7},"from":{"id":7,"first_name":"Mia"},
		"text":"read this","entities":[{"type":"text_link","offset":5,"length":4,"url":"https://x.example/a"}]}`).ReplyTo
	if q == nil || q.Text != "read [this](https://x.example/a)" {
		t.Errorf("quoted: %+v", q)
	}
}

// A quoted message keeps whom it mentions, also the bot.
func TestQuotedMention(t *testing.T) {
	q := told(t, 51, `"text":"hello?","reply_to_message":{"message_id":50,"date":1,"chat":{"id":7},"from":{"id":7,"first_name":"Mia"},
		"text":"@magpie_test_bot","entities":[{"type":"mention","offset":0,"length":16}]}`).ReplyTo
	if q == nil || q.Text != "@magpie_test_bot" {
		t.Errorf("quoted: %+v", q)
	}
}

// Who marks a passage of a message means that, of the whole.
func TestMarkedPassage(t *testing.T) {
	const whole = `"reply_to_message":{"message_id":50,"date":1,"chat":{"id":7},"from":{"id":8,"first_name":"Ben"},"text":"one two three"}`
	q := told(t, 51, `"text":"why?","quote":{"text":"two","position":4,"is_manual":true,"entities":[{"type":"bold","offset":0,"length":3}]},`+whole).ReplyTo
	if q == nil || q.Text != "one two three" || q.Passage != "two" {
		t.Errorf("quoted: %+v", q)
	}
	q = told(t, 51, `"text":"why?","quote":{"text":"two","position":4,"is_manual":true},"external_reply":{"origin":{"type":"hidden_user","sender_user_name":"Ann"}}`).ReplyTo
	if q == nil || q.Text != "two" || q.Passage != "two" {
		t.Errorf("quoted from elsewhere: %+v", q)
	}
}

// An edit that changes nothing that is read is none; one that comes again is.
func TestEditWithoutChange(t *testing.T) {
	tg := offline()
	read := func(kind, fields string) event {
		return tg.event(fmt.Appendf(nil, `{"update_id":1,"%s":{"message_id":50,"date":1790000000,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"Mia"},%s}}`, kind, fields))
	}
	for i, c := range []struct {
		kind, fields string
		heard        bool
	}{
		{"message", `"text":"one"`, true},
		{"edited_message", `"edit_date":1790000001,"text":"one","effect_id":"5"`, false},
		{"edited_message", `"edit_date":1790000002,"text":"two"`, true},
		{"edited_message", `"edit_date":1790000002,"text":"two"`, true}, // was not stored
		{"edited_message", `"edit_date":1790000003,"text":"two"`, false},
		{"edited_message", `"edit_date":1790000004,"text":"one"`, true},
		{"edited_message", `"edit_date":1790000005,"text":"one","document":{"file_id":"a"}`, true},
		{"edited_message", `"edit_date":1790000006,"text":"one","document":{"file_id":"b"}`, true},
		{"message", `"text":"one","document":{"file_id":"b"}`, true}, // once more, after all
	} {
		if ev := read(c.kind, c.fields); (ev.in != nil) != c.heard {
			t.Errorf("%d: %s %s: heard %v", i, c.kind, c.fields, ev.in != nil)
		}
	}
	for n := range 3 * maxVersions {
		tg.versions.note(&chat.Inbound{MessageID: fmt.Sprint(n)})
	}
	if n := len(tg.versions.now) + len(tg.versions.last); n > 2*maxVersions {
		t.Errorf("%d are remembered", n)
	}
}

// Who replies to a story means it.
func TestReplyToStory(t *testing.T) {
	q := told(t, 51, `"text":"where was that?","reply_to_story":{"id":3,"chat":{"id":9,"type":"private","first_name":"Ben"}}`).ReplyTo
	if q == nil || q.Text != "[Story of Ben: stories are not shown to bots]" || q.From != "Ben" || q.ID != "" || q.Mine {
		t.Errorf("quoted: %+v", q)
	}
}

// Every part of a forwarded album says where it comes from; the album does once.
func TestForwardedAlbum(t *testing.T) {
	var parts []chat.Inbound
	for id, caption := range []string{`"caption":"the garden",`, "", "", `"caption":"the pond",`} {
		parts = append(parts, *told(t, 50+id, caption+`"media_group_id":"g","forward_origin":{"type":"hidden_user","sender_user_name":"Ann"},"photo":[{"file_id":"p","width":1,"height":1}]`))
	}
	all := merge(parts)
	if all.Text != "[Forwarded from Ann]\nthe garden\nthe pond" || len(all.Attachments) != 4 || !all.Forwarded {
		t.Errorf("%q, %d files, forwarded %v", all.Text, len(all.Attachments), all.Forwarded)
	}
}

// What people write to a channel stands in one chat for all; each person is
// answered in their own part of it.
func TestMessagesToChannel(t *testing.T) {
	in := told(t, 50, `"text":"hi","direct_messages_topic":{"topic_id":5551,"user":{"id":7}}`)
	if in.Addr.Thread != "d5551" {
		t.Fatalf("address %+v", in.Addr)
	}
	w := newWorld(t, nil)
	tg := w.channel(t, channels.Deps{})
	msg := out(crowd, "hello")
	msg.Addr.Thread = in.Addr.Thread
	if _, err := tg.Send(channeltest.Bounded(t), msg); err != nil {
		t.Fatal(err)
	}
	if err := tg.Typing(channeltest.Bounded(t), msg.Addr); err != nil || w.Calls("sendChatAction") != 0 {
		t.Errorf("typing: %v, %d calls", err, w.Calls("sendChatAction"))
	}
	calls := w.Requests("sendMessage")
	if len(calls) != 1 || calls[0].Params["direct_messages_topic_id"] != "5551" || calls[0].Params["message_thread_id"] != "" {
		t.Errorf("calls %+v", calls)
	}
}
