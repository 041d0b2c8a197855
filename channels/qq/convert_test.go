package qq

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
)

const events = "testdata/events.json"

func frameOf(t *testing.T, raw []byte) *frame {
	t.Helper()
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	return &f
}

func plainQQ(t testing.TB) *QQ {
	t.Helper()
	cfg := Config{AppID: "1", AppSecret: "s"}
	if err := cfg.complete(false); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2025, 3, 3, 21, 7, 0, 0, time.UTC) }
	return newQQ("main", cfg, channels.Deps{Now: now}, quick())
}

// Every kind of event, as the sink gets it, and what can be replied to.
func TestEvents(t *testing.T) {
	channeltest.Convert(t, events, func(t *testing.T, raw []byte) (*chat.Inbound, string) {
		f := frameOf(t, raw)
		ev := plainQQ(t).event(f)
		switch {
		case ev.in == nil:
		case ev.in.Happening == chat.Added:
			if ev.window.ID != f.EventID || !ev.window.Event {
				t.Errorf("window %+v", ev.window)
			}
		case ev.in.Happening != "":
			if ev.window.ID != "" {
				t.Errorf("window %+v", ev.window)
			}
		case ev.in.Press != nil && (ev.window.ID != f.EventID || !ev.window.Event),
			ev.in.Press == nil && (ev.window.ID != ev.in.MessageID || ev.window.Event || !ev.window.At.Equal(ev.in.At)):
			t.Errorf("window %+v", ev.window)
		}
		return ev.in, ev.skip
	})
}

// Events that are nothing for the sink, and whether they can be replied to.
func TestEventsWithoutMessage(t *testing.T) {
	const user, team = "c2c:AB12CD34EF56AB12CD34EF56AB12CD34", "group:GG12CD34EF56AB12CD34EF56AB12CDGG"
	cases := map[string]struct {
		chat   string
		window bool
		closed bool
	}{
		"c2c_empty":      {user, true, false},
		"c2c_bot":        {user, false, false},
		"friend_del":     {user, false, true},
		"c2c_msg_reject": {user, false, true},

		"switch_of_active_messages": {user, false, false},
		"group_nothing":             {team, true, false},
		"guild_at":                  {"", false, false},
	}
	for _, s := range channeltest.Samples(t, events) {
		if s.Want != nil {
			continue
		}
		c, ok := cases[s.Name]
		delete(cases, s.Name)
		ev := plainQQ(t).event(frameOf(t, s.Payload))
		if !ok || ev.chat != c.chat || ev.bad || (ev.window.ID != "") != c.window {
			t.Errorf("%s: %+v", s.Name, ev)
		}
		var a account
		if ev.state != nil {
			ev.state(&a)
		}
		if a.Closed != c.closed {
			t.Errorf("%s: closed %v", s.Name, a.Closed)
		}
	}
	if len(cases) > 0 {
		t.Errorf("no samples for %v", cases)
	}
}

func TestBrokenEvents(t *testing.T) {
	for kind, payloads := range map[string][]string{
		"C2C_MESSAGE_CREATE":      {`7`, `{}`, `{"id":"x"}`, `{"id":"x","author":[]}`, `{"author":{"user_openid":"u"}}`, `null`},
		"GROUP_AT_MESSAGE_CREATE": {`{"id":"x","author":{"member_openid":"m"}}`, `{"id":"x","group_openid":"g"}`},
		"INTERACTION_CREATE":      {`{}`, `{"id":"x","chat_type":2,"data":{"type":11,"resolved":[]}}`, `{"id":"x","data":{"type":11,"resolved":{}}}`},
		"FRIEND_ADD":              {`[]`, `{"timestamp":1}`},
	} {
		for _, p := range payloads {
			f := frame{Data: json.RawMessage(p)}
			f.Type = ""
			if err := json.Unmarshal([]byte(`"`+kind+`"`), &f.Type); err != nil {
				t.Fatal(err)
			}
			if ev := plainQQ(t).event(&f); ev.in != nil || ev.window.ID != "" || ev.skip == "" {
				t.Errorf("%s %s: %+v", kind, p, ev)
			}
		}
	}
}

// What comes in from outside never breaks, and what goes to the sink is whole.
func FuzzEvent(f *testing.F) {
	for _, s := range channeltest.Samples(f, events) {
		f.Add([]byte(s.Payload))
	}
	f.Add([]byte(`{"op":0,"t":"C2C_MESSAGE_CREATE","d":{"id":"x","author":{"user_openid":"u"},"content":"\ud800<faceType=1,ext=\"\">"}}`))
	q := plainQQ(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var fr frame
		if json.Unmarshal(raw, &fr) != nil {
			return
		}
		ev := q.event(&fr)
		if ev.in == nil {
			if ev.skip == "" {
				t.Error("neither a message nor a reason")
			}
			return
		}
		in := ev.in
		if in.ID == "" || !strings.HasPrefix(in.Addr.Chat, direct) && !strings.HasPrefix(in.Addr.Chat, group) || in.From.ID == "" ||
			!utf8.ValidString(in.Text) || in.At.IsZero() ||
			in.Text == "" && len(in.Attachments) == 0 && in.Press == nil && in.Happening == "" && !in.Mentioned && in.ReplyTo == nil {
			t.Errorf("%+v", in)
		}
		var a account
		ev.note(&a)
	})
}
