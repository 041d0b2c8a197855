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
