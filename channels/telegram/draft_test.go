package telegram

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/telegram"
)

// What a draft is, Telegram decides: it is shown in private chats, and a server
// or a bot that has none is told apart from trouble that passes.
func TestDraft(t *testing.T) {
	for name, c := range map[string]struct {
		ways  fake.Ways
		chat  int64
		fault *fake.Fault
		want  channels.Kind
		shown string
	}{
		"private chat":  {shown: "one and two", chat: ann},
		"group":         {chat: crowd, want: channels.Rejected},
		"old server":    {ways: fake.Ways{Old: true}, chat: ann, want: channels.Rejected},
		"older server":  {chat: ann, fault: &fake.Fault{Code: 404, Text: "Not Found"}, want: channels.Rejected},
		"bot without":   {ways: fake.Ways{NoDrafts: true}, chat: ann, want: channels.Rejected},
		"too fast":      {chat: ann, fault: &fake.Fault{Code: 429, Text: "Too Many Requests: retry after 3", RetryAfter: 3}, want: channels.RateLimited},
		"outage":        {chat: ann, fault: &fake.Fault{Code: 502, Page: true}, want: channels.Temporary},
		"broken markup": {chat: ann, fault: &fake.Fault{Formatted: true, Code: 400, Text: "Bad Request: can't parse entities: x"}, shown: "one and two"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &fake.Options{Ways: c.ways})
			tg := w.channel(t, channels.Deps{})
			if c.fault != nil {
				c.fault.Method = "sendMessageDraft"
				w.Fail(*c.fault)
			}
			err := tg.Draft(channeltest.Bounded(t), at(c.chat), "turn", "one **and** two")
			if (err == nil) != (c.shown != "") || err != nil && channels.KindOf(err) != c.want {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if got := w.Draft(c.chat); got != c.shown {
				t.Errorf("the chat shows %q", got)
			}
		})
	}
}

// The drafts of one reply have one id, never 0; another reply has another.
func TestDraftIDs(t *testing.T) {
	w := newWorld(t, nil)
	tg := w.channel(t, channels.Deps{})
	for _, id := range []string{"s:1", "s:1", "s:2", ""} {
		if err := tg.Draft(channeltest.Bounded(t), at(ann), id, "text"); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, call := range w.Requests("sendMessageDraft") {
		ids = append(ids, call.Params["draft_id"])
	}
	if ids[0] != ids[1] || ids[1] == ids[2] || ids[0] == "0" || ids[3] == "0" {
		t.Errorf("ids %q", ids)
	}
}

// An address in an answer is not fetched by Telegram unless the operator wants
// previews; neither when the answer is edited, nor in plain text. What a turn
// says that has read text from outside has none in any case.
func TestLinkPreviews(t *testing.T) {
	page := []chat.Source{{Kind: chat.SourcePage}}
	for _, c := range []struct {
		on      bool
		sources []chat.Source
	}{{false, nil}, {true, nil}, {true, page}, {false, page}} {
		on := c.on && c.sources == nil
		w := newWorld(t, nil)
		tg := w.channel(t, channels.Deps{}, func(conf *Config) { conf.LinkPreviews = c.on })
		ctx := channeltest.Bounded(t)
		send := func(text string) chat.MessageRef {
			ref, err := tg.Send(ctx, chat.Outbound{Meta: chat.Meta{ID: text, Addr: at(ann)}, Text: text, Sources: c.sources})
			if err != nil {
				t.Fatal(err)
			}
			return ref
		}
		ref := send("see https://evil.example/?secret=1")
		send("or [here](https://evil.example/2)")
		w.Fail(fake.Fault{Formatted: true, Code: 400, Text: "Bad Request: can't parse entities: x"})
		send("plain https://evil.example/3")
		if err := tg.Edit(ctx, ref, chat.Outbound{Text: "now https://evil.example/4", Sources: c.sources}); err != nil {
			t.Fatal(err)
		}
		if err := tg.Draft(ctx, at(ann), "turn", "writing https://evil.example/5"); err != nil {
			t.Fatal(err)
		}
		var want []string
		if on {
			want = []string{"https://evil.example/?secret=1", "https://evil.example/2", "https://evil.example/3", "https://evil.example/4"}
		}
		if diff := cmp.Diff(want, w.Fetched()); diff != "" {
			t.Errorf("previews %v: fetched (-want +got):\n%s", on, diff)
		}
	}
}
