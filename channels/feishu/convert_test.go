package feishu

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
)

// offline is a channel that was told who it is and never calls anybody.
func offline(t testing.TB) *Feishu {
	t.Helper()
	cfg := Config{AppID: "cli_a", AppSecret: "secret", APIBase: "http://127.0.0.1:1"}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	f := newFeishu(instance, cfg, channels.Deps{Now: func() time.Time { return time.UnixMilli(1763200000000) }}, quick())
	f.me.Store(&bot{OpenID: fake.BotID, Name: fake.BotName})
	return f
}

const events = "testdata/events.json"

func TestEvents(t *testing.T) {
	f := offline(t)
	channeltest.Convert(t, events, func(t *testing.T, raw []byte) (*chat.Inbound, string) {
		ev := f.read(raw)
		if again := f.read(raw); ev.in != nil && again.in.ID != ev.in.ID {
			t.Errorf("ids %q and %q", ev.in.ID, again.in.ID)
		}
		if ev.bad {
			return ev.in, "bad: " + ev.skip
		}
		return ev.in, ev.skip
	})
}

func FuzzRead(f *testing.F) {
	for _, s := range channeltest.Samples(f, events) {
		f.Add([]byte(s.Payload))
	}
	channel := offline(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		ev := channel.read(raw)
		switch {
		case ev.in == nil && ev.skip == "":
			t.Error("passed over without a reason")
		case ev.in == nil:
		case ev.in.ID == "" || ev.in.Addr.Chat == "" || ev.in.From.ID == "" || ev.in.V == 0 || ev.in.At.IsZero():
			t.Errorf("incomplete: %+v", ev.in)
		case ev.in.Text == "" && len(ev.in.Attachments) == 0 && ev.in.Press == nil && utf8.Valid(raw) && !strings.Contains(string(raw), `text`):
			t.Logf("nothing in it: %+v", ev.in)
		}
		if ev.in != nil && !utf8.ValidString(ev.in.Text) {
			t.Errorf("text %q", ev.in.Text)
		}
	})
}

// Pieces of an event may come in any order and mixed with others; what cannot
// be put together is forgotten.
func TestPieces(t *testing.T) {
	var p pieces
	give := func(id string, seq, sum int, payload string) (string, bool) {
		out, whole := p.join(framed(id, seq, sum, payload))
		return string(out), whole
	}
	if out, whole := give("a", 0, 1, "alone"); out != "alone" || !whole {
		t.Errorf("alone: %q %v", out, whole)
	}
	for _, step := range []struct {
		id      string
		seq     int
		payload string
		want    string
	}{{"a", 2, "3", ""}, {"b", 0, "x", ""}, {"a", 0, "1", ""}, {"a", 0, "1", ""}, {"b", 2, "z", ""}, {"a", 1, "2", "123"}, {"b", 1, "y", "xyz"}} {
		if out, whole := give(step.id, step.seq, 3, step.payload); out != step.want || whole != (step.want != "") {
			t.Errorf("%+v: %q %v", step, out, whole)
		}
	}
	for _, odd := range [][2]int{{-1, 3}, {3, 3}, {0, maxPieces + 1}} {
		if _, whole := give("odd", odd[0], odd[1], "x"); whole {
			t.Errorf("%v is whole", odd)
		}
	}
	for i := range maxPartial * 3 {
		give(fmt.Sprint("half", i), 0, 2, "x")
	}
	if len(p.parts) > maxPartial || len(p.order) != len(p.parts) {
		t.Errorf("%d events are kept, %d in order", len(p.parts), len(p.order))
	}
	if _, whole := give("half0", 1, 2, "y"); whole {
		t.Error("a forgotten event was put together")
	}
}

// A field of another form than documented costs that field, not the message; of
// a text in several languages it is always the same that is read.
func TestOtherForms(t *testing.T) {
	f := offline(t)
	read := func(kind, content, more string) event {
		return f.read([]byte(`{"header":{"event_type":"im.message.receive_v1"},"event":{"sender":{"sender_id":{"open_id":"ou_1"}},"message":{"message_id":"om_1","chat_id":"oc_1","chat_type":"p2p","message_type":"` +
			kind + `","content":` + mustEncode(content) + more + `}}}`))
	}
	for name, c := range map[string]struct {
		ev    event
		text  string
		files int
	}{
		"mentions as an object":     {read("text", `{"text":"hi"}`, `,"mentions":{}`), "hi", 0},
		"a voice without time":      {read("audio", `{"file_key":"file_1","duration":""}`, ""), "", 1},
		"a place in words":          {read("location", `{"name":"西湖","longitude":"","latitude":true}`, ""), "[location: 西湖 (, )]", 0},
		"options of a poll":         {read("vote", `{"topic":"吃什么","options":"面"}`, ""), "[poll: 吃什么: ]", 0},
		"a key as a number":         {read("post", `{"title":"T","content":[[{"tag":"text","text":"a"},{"tag":"img","image_key":7},{"tag":"text","text":"b"}]]}`, ""), "T\nab", 0},
		"a video by its other name": {read("video", `{"file_key":"file_1","image_key":"img_1","file_name":"a.mp4"}`, ""), "", 1},
		"mentions by ids":           {read("post", `{"content":[[{"tag":"at","user_id":"ou_bob"},{"tag":"at","user_id":"all_members"},{"tag":"at","user_id":"ou_x"}]]}`, `,"mentions":[{"key":"@_user_1","id":{"open_id":"ou_bob"},"name":"Bob"}]`), "@Bob@all@somebody", 0},
		"no object":                 {read("text", `"hi"`, ""), "[message that cannot be read: text]", 0},
	} {
		if c.ev.in == nil || c.ev.in.Text != c.text || len(c.ev.in.Attachments) != c.files {
			t.Errorf("%s: %+v, %s", name, c.ev.in, c.ev.skip)
		}
	}
	for range 20 {
		m := message{Kind: "post", Content: `{"ja_jp":{"content":[[{"tag":"text","text":"や"}]]},"en_us":{"content":[[{"tag":"text","text":"hi"}]]},"zh_cn":{"content":[[{"tag":"text","text":"嗨"}]]}}`}
		if said, _ := m.read(); said.text != "嗨" {
			t.Fatalf("%+v", said)
		}
	}
}

// Where a card stands is told beside the context by older cards.
func TestOlderPresses(t *testing.T) {
	f := offline(t)
	ev := f.read([]byte(`{"header":{"event_type":"card.action.trigger","event_id":"e1"},"event":{"operator":{"open_id":"ou_1"},"action":{"value":{"d":"yes"}},"open_message_id":"om_1","open_chat_id":"oc_1"}}`))
	if ev.in == nil || ev.in.Press.Message != "om_1" || ev.in.Addr.Chat != "oc_1" || ev.in.Press.Data != "yes" {
		t.Errorf("%+v, %s", ev.in, ev.skip)
	}
}
