package channels_test

import (
	"strings"
	"testing"

	"magpie/channels"
	"magpie/chat"
)

func TestMentioned(t *testing.T) {
	for _, c := range []struct {
		who      chat.Sender
		id, name string
		text     string
	}{
		{chat.Sender{}, "", "", "tea"},
		{chat.Sender{ID: "1001", Name: "Ada Lovelace"}, "1001", "Ada Lovelace", "Ada Lovelace: tea"},
		{chat.Sender{ID: "ou_a-1", Username: "ada"}, "ou_a-1", "ada", "ada: tea"},
		{chat.Sender{ID: `1"><b>`, Name: "安娜"}, "", "安娜", "安娜: tea"},
		{chat.Sender{ID: "$:x", Name: "**A** <at id=all> [x](y) @everyone `z`"}, "", "A at id all x y everyone z", "A at id all x y everyone z: tea"},
		{chat.Sender{Name: strings.Repeat("长", 50)}, "", strings.Repeat("长", 40), strings.Repeat("长", 40) + ": tea"},
	} {
		msg := chat.Outbound{Mention: c.who}
		if id, name := channels.Mentioned(msg); id != c.id || name != c.name {
			t.Errorf("%+v is mentioned as %q, %q", c.who, id, name)
		}
		if got := channels.Named(msg, "tea"); got != c.text {
			t.Errorf("%+v: %q, want %q", c.who, got, c.text)
		}
	}
}
