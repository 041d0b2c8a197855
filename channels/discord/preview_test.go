package discord

import (
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
)

// Links in answers are not fetched by Discord, unless that is wanted: neither in
// a message, nor in an edit, nor in the answer to a command. What a turn says that
// has read text from outside has none in any case.
func TestLinkPreviews(t *testing.T) {
	page := []chat.Source{{Kind: chat.SourcePage}}
	for _, c := range []struct {
		on      bool
		sources []chat.Source
	}{{false, nil}, {true, nil}, {true, page}, {false, page}} {
		on := c.on && c.sources == nil
		w := newWorld(t, patient(nil))
		d := w.channel(t, channels.Deps{})
		d.cfg.LinkPreviews = c.on
		r := start(t, d, nil)
		connected(t, w, 1)
		_, in := r.use(t, w, crowd)
		const text = "see https://example.org/a_b and [here](https://example.org) and `<https://x.org>`"
		for _, msg := range []chat.Outbound{out(at(annDM), "1", text), reply(in, "2", text), reply(in, "3", text)} {
			msg.Sources = c.sources
			ref, err := d.Send(channeltest.Bounded(t), msg)
			if err != nil {
				t.Fatal(err)
			}
			check := func(m fake.Message) {
				t.Helper()
				if bare := !strings.Contains(m.Source, "<https://example.org"); m.Previews != on || bare != on || !strings.Contains(m.Source, "`<https://x.org>`") {
					t.Errorf("previews %v: %v, %q", on, m.Previews, m.Source)
				}
			}
			last := func() fake.Message { all := w.Messages(ref.Chat); return all[len(all)-1] }
			check(last())
			if err := d.Edit(channeltest.Bounded(t), ref, msg); err != nil {
				t.Fatal(err)
			}
			check(last())
		}
	}
}
