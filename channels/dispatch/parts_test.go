package dispatch

import (
	"fmt"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/chat"
)

// A channel whose messages have a price gets no more of them than it says:
// what is over goes as a file.
func TestPartsAreLimited(t *testing.T) {
	media := map[chat.Kind]int64{chat.File: 10_000}
	for _, c := range []struct {
		parts, most  int
		media        map[chat.Kind]int64
		texts, files int
	}{
		{parts: 3, most: 3, media: media, texts: 3},
		{parts: 4, most: 3, media: media, texts: 2, files: 1},
		{parts: 40, most: 3, media: media, texts: 2, files: 1},
		{parts: 4, most: 0, media: media, texts: 4},
		{parts: 4, most: 3, texts: 4}, // no file can be sent: better many than none
	} {
		t.Run(fmt.Sprintf("%d of %d", c.parts, c.most), func(t *testing.T) {
			ch := newFull(channels.Limits{Text: 20, Parts: c.most, Media: c.media})
			d := New(ch, nil)
			var words []string
			for i := range c.parts {
				words = append(words, fmt.Sprintf("paragraph number %02d", i))
			}
			msg := message("m", strings.Join(words, "\n\n"))
			msg.Buttons = [][]chat.Button{{{Label: "ok", Data: "ok"}}}
			if err := d.Deliver(t.Context(), msg); err != nil {
				t.Fatal(err)
			}
			all := ch.visible()
			if len(all) != c.texts+c.files {
				t.Fatalf("the chat shows %+v", all)
			}
			for i, s := range all {
				if file := i >= c.texts; file != (len(s.Files) == 1) || !file && (s.Buttons == 1) != (i == c.texts-1) {
					t.Errorf("message %d is %+v", i, s)
				}
			}
		})
	}
}
