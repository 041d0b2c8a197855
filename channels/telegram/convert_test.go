package telegram

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/telegram"
)

// offline is a channel that knows its bot and is never run.
func offline() *Telegram {
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	t := newTelegram(instance, Config{Token: fake.DefaultToken, APIBase: "http://127.0.0.1:1"}, channels.Deps{Now: now}, quick())
	t.me.Store(&user{ID: fake.BotID, Bot: true, First: "Magpie Test", Username: "magpie_test_bot"})
	return t
}

const updates = "testdata/updates.json"

func TestUpdates(t *testing.T) {
	tg := offline()
	channeltest.Convert(t, updates, func(t *testing.T, raw []byte) (*chat.Inbound, string) {
		ev := tg.event(raw)
		if !ev.known {
			t.Error("the update's id is not known")
		}
		return ev.in, ev.skip
	})
}

func TestBrokenUpdates(t *testing.T) {
	tg := offline()
	for raw, known := range map[string]bool{
		`{"update_id":5,"message":"text"}`:                            true,
		`{"update_id":5,"message":{"message_id":"one"}}`:              true,
		`{"update_id":0,"message":{"chat":{"id":1e400}}}`:             true,
		`{"message":{"message_id":1,"chat":{"id":1},"text":"no id"}}`: false,
		`{"update_id":"five"}`:                                        false,
		`[]`:                                                          false,
		`null`:                                                        false,
		`{"update_id":5,"callback_query":{"id":"1","from":7,"data":"x"}}`:       true,
		`{"update_id":5,"message":{"message_id":1,"chat":{"id":1},"text":7.5}}`: true,
	} {
		ev := tg.event([]byte(raw))
		if ev.in != nil || ev.skip == "" || !ev.bad || ev.known != known {
			t.Errorf("%s: %+v", raw, ev)
		}
	}
}

func TestLongText(t *testing.T) {
	text := strings.Repeat("长", 200_000)
	raw := mustJSON(t, map[string]any{"update_id": 1, "message": map[string]any{
		"message_id": 1, "date": 1, "chat": map[string]any{"id": 5, "type": "private"}, "text": text,
		"entities": []any{map[string]any{"type": "bold", "offset": 0, "length": 200_000}},
	}})
	if in := offline().event([]byte(raw)).in; in == nil || in.Text != "**"+text+"**" {
		t.Error("a long text did not come through")
	}
}

// Whatever comes, an event is an inbound message or a named skip, and its text
// is valid.
func FuzzUpdate(f *testing.F) {
	for _, s := range channeltest.Samples(f, updates) {
		f.Add([]byte(s.Payload))
	}
	f.Add([]byte(`{"update_id":1,"message":{"message_id":1,"chat":{"id":1},"text":"\ud800","entities":[{"type":"pre","offset":0,"length":1}]}}`))
	tg := offline()
	f.Fuzz(func(t *testing.T, raw []byte) {
		ev := tg.event(raw)
		if (ev.in == nil) == (ev.skip == "") {
			t.Fatalf("%q: inbound %v, skip %q", raw, ev.in, ev.skip)
		}
		if ev.in == nil {
			return
		}
		if !utf8.ValidString(ev.in.Text) || ev.in.ID == "" || ev.in.Addr.Chat == "" {
			t.Fatalf("%q: %+v", raw, ev.in)
		}
	})
}
