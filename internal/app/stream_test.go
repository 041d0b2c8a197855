package app_test

import (
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// streamed writes a long text slowly, so that a draft is seen on a slow machine
// too.
func streamed(text string) func(modelserver.Request) modelserver.Answer {
	return func(modelserver.Request) modelserver.Answer {
		return modelserver.Answer{Text: text, Pieces: modelserver.Pieces{N: 30, Pause: 300 * time.Millisecond}}
	}
}

var poem = strings.TrimSpace(strings.Repeat("The magpie builds its nest of twigs and mud. 喜鹊用树枝和泥筑巢。 ", 12))

// drafts notes what a chat has shown at some time.
type drafts struct {
	mu    sync.Mutex
	shown []telegram.Message
}

func (d *drafts) note(m telegram.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = append(d.shown, m)
}

func (d *drafts) all() []telegram.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]telegram.Message(nil), d.shown...)
}

// The reply is shown while it is written, in one message that ends as the whole.
func TestStreaming(t *testing.T) {
	t.Parallel()
	d := &drafts{}
	w := newWorld(t, &telegram.Options{OnMessage: d.note})
	w.door = `allow: ["*"]`
	w.model.Reply(streamed(poem))
	b := w.start("bot")
	b.ready()
	w.say("a poem, please")
	w.wait(owner, "whole text", func(m []telegram.Message) bool { return len(m) > 0 && m[0].Text == poem })
	w.model.Reply(nil)
	w.say("end")
	msgs := w.wait(owner, "end", func(m []telegram.Message) bool { return count(m, "echo: end") == 1 })
	if len(msgs) != 2 || msgs[0].Text != poem || msgs[0].Edits == 0 {
		t.Errorf("the chat shows %d messages, the first edited %d times: %q", len(msgs), msgs[0].Edits, texts(msgs))
	}
	all := d.all()
	if first := []rune(all[0].Text); len(first) >= len([]rune(poem)) || !strings.HasPrefix(poem, string(first[:10])) {
		t.Errorf("the draft was %q", all[0].Text)
	}
}

// Killed while the reply is being shown: the next life ends with the whole
// text in exactly one message, that of the draft.
func TestKilledWhileStreaming(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.door = `allow: ["*"]`
			w.model.Reply(streamed(poem))
			b := w.start("bot")
			b.ready()
			w.say("a poem, please")
			w.wait(owner, "a draft that was edited", func(m []telegram.Message) bool { return len(m) == 1 && m[0].Edits > 0 })
			if err := b.signal(sig); sig == syscall.SIGTERM {
				clean(t, err)
			}
			w.model.Reply(func(modelserver.Request) modelserver.Answer { return modelserver.Answer{Text: poem} })
			w.start("bot").ready()
			w.wait(owner, "whole text", func(m []telegram.Message) bool { return count(m, poem) == 1 })
			w.model.Reply(nil)
			w.say("end")
			msgs := w.wait(owner, "end", func(m []telegram.Message) bool { return count(m, "echo: end") == 1 })
			if len(msgs) != 2 || msgs[0].Text != poem {
				t.Errorf("the chat shows %d messages: %q", len(msgs), texts(msgs))
			}
		})
	}
}

// A reply longer than a message of the platform is shown whole and once.
func TestStreamingOfALongReply(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.door = `allow: ["*"]`
	long := strings.TrimSpace(strings.Repeat(poem+"\n\n", 12))
	w.model.Reply(streamed(long))
	b := w.start("bot")
	b.ready()
	w.say("all of it, please")
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	whole := func(m []telegram.Message) bool {
		var all string
		for i := range m {
			all += m[i].Text
		}
		return squeeze(all) == squeeze(long)
	}
	msgs := w.wait(owner, "the whole text, in parts", whole)
	if len(msgs) < 2 {
		t.Errorf("%d messages hold %d characters", len(msgs), len([]rune(long)))
	}
}
