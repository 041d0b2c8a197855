package discord

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
)

// asked is what the bot hears of a message of Ann's with these fields.
func asked(t *testing.T, fields string) *chat.Inbound {
	t.Helper()
	var m message
	raw := `{"id":"334385199974967042","channel_id":"900","type":0,"author":{"id":"5","username":"ann"},` + fields + `}`
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		t.Fatal(err)
	}
	in, why := offline().convert(&m)
	if in == nil {
		t.Fatalf("passed over: %s", why)
	}
	return in
}

const ofComponents = `"flags":32768,"content":"","components":[
	{"type":17,"accent_color":1,"components":[
		{"type":10,"content":"## Build 7 failed"},
		{"type":9,"components":[{"type":10,"content":"see log"}],"accessory":{"type":11,"media":{"url":"u","proxy_url":"https://media.discordapp.net/t.png","content_type":"image/png"}}},
		{"type":14,"divider":true},
		{"type":12,"items":[{"media":{"url":"u","proxy_url":"https://media.discordapp.net/g.mp4","content_type":"video/mp4"},"description":"the crash"}]},
		{"type":13,"file":{"url":"u","proxy_url":"https://media.discordapp.net/l.txt"},"name":"l.txt"},
		{"type":1,"components":[{"type":2,"style":1,"label":"Retry","custom_id":"r"},{"type":3,"custom_id":"s","options":[{"label":"a","value":"b"}]}]},
		{"type":99,"content":{"of":"2027"},"items":"?"}
	]},
	{"type":10,"content":"末尾"}]`

// Messages of components, which other bots send, are told when they are quoted
// or forwarded; they have no content.
func TestComponents(t *testing.T) {
	want := strings.Join([]string{"## Build 7 failed", "see log", "[the crash]", "末尾"}, "\n")
	q := asked(t, `"content":"why?","type":19,"message_reference":{"message_id":"34","channel_id":"900"},
		"referenced_message":{"id":"34","channel_id":"900","author":{"id":"6","username":"ci","bot":true},`+ofComponents+`}`).ReplyTo
	if q == nil || q.Text != want || len(q.Attachments) != 3 || q.Attachments[0].Kind != chat.Image || q.Attachments[1].Kind != chat.Video || q.Attachments[2].Kind != chat.File {
		t.Errorf("quoted: %+v", q)
	}
	in := asked(t, `"content":"","message_reference":{"type":1,"message_id":"34","channel_id":"8"},"message_snapshots":[{"message":{"type":0,`+ofComponents+`}}]`)
	if in.Text != "[Forwarded]\n"+want || len(in.Attachments) != 3 || !in.Forwarded {
		t.Errorf("forwarded: %+v", in)
	}
	var m message
	if err := json.Unmarshal([]byte(`{"id":"34",`+ofComponents+`}`), &m); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"t.png", "g.mp4", "l.txt"} {
		if got := m.address(mediaFile(i)); !strings.HasSuffix(got, want) {
			t.Errorf("file %d is at %q", i, got)
		}
	}
}

// The embeds of a program say what its words do not; those of people repeat a
// link.
func TestEmbedsBesideWords(t *testing.T) {
	const fields = `"content":"Deploy","embeds":[{"type":"rich","title":"v7","fields":[{"name":"state","value":"failed"}]},{"type":"link","title":"a page"}]`
	reply := func(author string) string {
		return asked(t, `"content":"why?","type":19,"message_reference":{"message_id":"34","channel_id":"900"},
			"referenced_message":{"id":"34","channel_id":"900",`+author+`,`+fields+`}`).ReplyTo.Text
	}
	for author, want := range map[string]string{
		`"author":{"id":"6","username":"ci","bot":true}`:                   "Deploy\nv7\nstate: failed",
		`"webhook_id":"6","author":{"id":"6","username":"ci","bot":false}`: "Deploy\nv7\nstate: failed",
		`"author":{"id":"6","username":"bob"}`:                             "Deploy",
	} {
		if diff := cmp.Diff(want, reply(author)); diff != "" {
			t.Errorf("%s: %s", author, diff)
		}
	}
}

// What is forwarded keeps what it is: a voice message, and the names in it.
func TestForwardedVoiceAndNames(t *testing.T) {
	in := asked(t, `"content":"","message_reference":{"type":1,"message_id":"34","channel_id":"8"},"message_snapshots":[{"message":{"type":0,"flags":8192,
		"content":"for <@77>","mentions":[{"id":"77","username":"zoe","global_name":"佐伊"}],
		"attachments":[{"id":"1","filename":"voice-message.ogg","content_type":"audio/ogg","size":9,"url":"https://cdn.discordapp.com/v","duration_secs":2.5}]}}]`)
	if in.Text != "[Forwarded]\nfor @佐伊" || len(in.Attachments) != 1 || in.Attachments[0].Kind != chat.Voice {
		t.Errorf("got %+v", in)
	}
}

// A command that is mentioned has a number beside its name, which nobody sees.
func TestMentionedCommands(t *testing.T) {
	if in := asked(t, `"content":"try </model set:123> <#77> <t:5:R>"`); in.Text != "try /model set <#77> <t:5:R>" {
		t.Errorf("%q", in.Text)
	}
}
