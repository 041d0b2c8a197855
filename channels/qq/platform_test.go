package qq

import (
	"fmt"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/channels/render"
	fake "magpie/internal/fakes/qq"
)

// docs/platforms.md holds the limits that the code relies on.
func TestPlatformTable(t *testing.T) {
	channeltest.PlatformTable(t, "QQ", map[string]any{
		"text, characters": maxText, "texts of one answer before a file": maxParts,
		"replies to a private message": directReplies, "replies to a group's message": groupReplies,
		"window of a private message": directWindow, "window of a group's message": groupWindow,
		"messages a minute in a group": perMinute, "messages a second, not verified": perSecond,
		"label of a button, characters": maxLabel,
		"input notify, seconds":         notifySeconds, "input notifies to a message": maxNotifies,
		"picture, bytes": maxImage, "voice, bytes": maxVoice, "file and video, bytes": maxFile,
		"file in one call, bytes": maxWhole, "file in parts from, bytes": partsFrom,
		"pause between pieces of a stream": streamPace,
	})
}

// A person may be another one in groups: the ids are as the platform gives
// them, either way.
func TestScenesHaveTheirIDs(t *testing.T) {
	openid := strings.TrimPrefix(ann, direct)
	for _, differ := range []bool{false, true} {
		w := newWorld(t, nil)
		w.Grant(fake.Policy{SceneIDs: differ})
		r := start(t, w.channel(t, channels.Deps{}))
		w.Say(fake.Said{Chat: ann, Text: "hi"})
		private := r.Next(t).From.ID
		w.Say(fake.Said{Chat: crowd, From: openid, Text: "hi"})
		inGroup := r.Next(t).From.ID
		if private != openid || inGroup != w.MemberID(openid) || (private == inGroup) == differ {
			t.Errorf("%s in private, %s in the group; differ: %v", private, inGroup, differ)
		}
	}
}

// An answer of 12000 characters arrives whole as text: in a group by its five
// replies, in private by three beside the working sign and active messages.
func TestLongAnswersAreText(t *testing.T) {
	for name, paragraph := range map[string]string{
		"words":   strings.Repeat("Some words of a long answer, with **marks** and `code`. ", 12),
		"中文":      strings.Repeat("很长的回答里的一句话，带有**重点**和`代码`。", 25),
		"no end":  strings.Repeat("字", 2100),
		"as code": "```go\n" + strings.Repeat("x := compute(1) // and two words\n", 30) + "```",
	} {
		var text strings.Builder
		for text.Len() == 0 || len([]rune(text.String()))+len([]rune(paragraph)) < 12000 {
			text.WriteString(paragraph + "\n\n")
		}
		for _, chatID := range []string{ann, crowd} {
			t.Run(name+" to "+chatID[:4], func(t *testing.T) {
				w := newWorld(t, &fake.Options{Markdown: true})
				r := start(t, w.channel(t, channels.Deps{}, withMarkdown))
				id := heard(t, w, r, chatID, "at length, please")
				if err := r.Typing(channeltest.Bounded(t), at(chatID)); err != nil {
					t.Fatal(err)
				}
				l := r.Limits()
				parts := render.Split(text.String(), l.Text, l.Size)
				if len(parts) > l.Parts {
					t.Errorf("%d parts, %d go as text", len(parts), l.Parts)
				}
				for i, part := range parts {
					msg := answering(chatID, fmt.Sprint("a#", i), part)
					msg.ReplyTo = id
					r.mustSend(t, msg)
				}
				var all strings.Builder
				for _, m := range w.Messages(chatID) {
					if m.File != nil {
						t.Errorf("a file: %q", m.File.Name)
					}
					all.WriteString(m.Text + "\n")
				}
				if got, want := letters(all.String()), letters(rich(text.String())); got != want {
					t.Errorf("%d of %d characters arrived", len([]rune(got)), len([]rune(want)))
				}
			})
		}
	}
}

// letters is a text without what splitting it adds.
func letters(text string) string {
	return strings.NewReplacer("```go", "", "`", "", "\n", "", " ", "", "*", "").Replace(text)
}
