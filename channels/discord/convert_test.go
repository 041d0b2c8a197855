package discord

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
)

// offline is a channel that knows its bot and is never run.
func offline() *Discord {
	d := newDiscord(instance, Config{Token: fake.DefaultToken, APIBase: publicAPI}, channels.Deps{}, quick())
	d.me.Store(&self{ID: fake.BotID, Name: "magpie-test", App: fake.BotID})
	return d
}

// convert does what the receiver does, without its look-ups.
func (d *Discord) convert(m *message) (*chat.Inbound, string) {
	if why := d.unwanted(m, false); why != "" {
		return nil, why
	}
	in := d.inbound(m, place{Guild: m.Guild}, &roles{ids: []string{"290"}})
	if in.Text == "" && len(in.Attachments) == 0 && !in.Mentioned {
		return nil, "nothing to read in it"
	}
	return &in, ""
}

const messages = "testdata/messages.json"

func TestMessages(t *testing.T) {
	d := offline()
	channeltest.Convert(t, messages, func(t *testing.T, raw []byte) (*chat.Inbound, string) {
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		return d.convert(&m)
	})
}

// Whatever comes over the gateway can be read or is refused: no panic, valid
// UTF-8, an id and an address that sending can use.
func FuzzMessage(f *testing.F) {
	for _, s := range channeltest.Samples(f, messages) {
		f.Add([]byte(s.Payload))
	}
	f.Add([]byte(`{"id":"18446744073709551616","channel_id":"x","author":{"id":""},"content":"<@> <@!> <@&>"}`))
	d := offline()
	f.Fuzz(func(t *testing.T, data []byte) {
		var m message
		if json.Unmarshal(data, &m) != nil {
			return
		}
		in, _ := d.convert(&m)
		if in == nil {
			return
		}
		if !utf8.ValidString(in.Text) || in.Addr.Chat != m.Channel || in.MessageID != m.ID {
			t.Errorf("got %+v", in)
		}
		if strings.Contains(in.Text, "<@"+fake.BotID+">") {
			t.Errorf("the mention stays: %q", in.Text)
		}
	})
}

func FuzzInteraction(f *testing.F) {
	f.Add([]byte(`{"id":"1","type":2,"data":{"name":"model","options":[{"value":"gpt"},{"value":1.5},{"value":null}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var i interaction
		if json.Unmarshal(data, &i) != nil {
			return
		}
		if text := i.command(); !strings.HasPrefix(text, "/") || !utf8.ValidString(text) {
			t.Errorf("got %q", text)
		}
	})
}
