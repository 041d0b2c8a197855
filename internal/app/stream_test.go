package app_test

import (
	"slices"
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

// states is all that a chat has shown, also what is gone: drafts, and each
// state of a message that was edited.
type states struct {
	mu  sync.Mutex
	all []string
}

func (s *states) note(m telegram.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, m.Text)
}

func (s *states) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// growing are the ways in which a reply grows on Telegram: as a draft, or, where
// there are none, in a message that is edited.
func growing() map[string]telegram.Ways {
	return map[string]telegram.Ways{"draft": {}, "edits": {NoDrafts: true}}
}

// The reply is shown while it is written, and ends as the whole in one message.
func TestStreaming(t *testing.T) {
	for name, ways := range growing() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := &states{}
			w := newWorld(t, &telegram.Options{OnMessage: seen.note, Ways: ways})
			w.door = `allow: ["*"]`
			w.model.Reply(streamed(poem))
			b := w.start("bot")
			b.ready()
			w.say("a poem, please")
			w.wait(owner, "whole text", func(m []telegram.Message) bool { return len(m) > 0 && m[0].Text == poem })
			w.model.Reply(nil)
			w.say("end")
			msgs := w.wait(owner, "end", func(m []telegram.Message) bool { return count(m, "echo: end") == 1 })
			if edited := msgs[0].Edits > 0; len(msgs) != 2 || msgs[0].Text != poem || edited != ways.NoDrafts {
				t.Errorf("the chat shows %d messages, the first edited %d times: %q", len(msgs), msgs[0].Edits, texts(msgs))
			}
			grown := slices.Compact(seen.list())
			whole := slices.Index(grown, poem)
			if whole < 2 {
				t.Fatalf("before the whole text the chat showed %d states of it", whole)
			}
			for _, text := range grown[:whole] {
				if first := []rune(text); len(first) >= len([]rune(poem)) || !strings.HasPrefix(poem, string(first[:10])) {
					t.Errorf("the chat showed %q", text)
				}
			}
		})
	}
}

// Killed while the reply is being shown: the next life ends with the whole
// text in exactly one message, that of the draft where it was one already.
func TestKilledWhileStreaming(t *testing.T) {
	for name, ways := range growing() {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			t.Run(name+", "+sig.String(), func(t *testing.T) {
				t.Parallel()
				killedWhileStreaming(t, ways, sig)
			})
		}
	}
}

func killedWhileStreaming(t *testing.T, ways telegram.Ways, sig syscall.Signal) {
	seen := &states{}
	w := newWorld(t, &telegram.Options{OnMessage: seen.note, Ways: ways})
	w.door = `allow: ["*"]`
	w.model.Reply(streamed(poem))
	b := w.start("bot")
	b.ready()
	w.say("a poem, please")
	b.await("a reply that has grown", func() bool { return len(slices.Compact(seen.list())) > 1 })
	if slices.Contains(seen.list(), poem) {
		t.Fatal("the reply was whole before the bot was killed")
	}
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
