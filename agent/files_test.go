package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/agent"
	"magpie/chat"
)

// post is a media store to which files are on their way: a file arrives when
// its time is over, counted from the start of the test; without one it never
// does.
type post struct {
	shelf
	mu    sync.Mutex
	times map[string]time.Duration
	began time.Time
	asked []string
}

func newPost(times map[string]time.Duration) *post {
	return &post{shelf: shelf{}, times: times, began: time.Now()}
}

func (p *post) Await(ctx context.Context, a chat.Attachment) (chat.Attachment, error) {
	if a.Pending == "" {
		return a, nil
	}
	p.mu.Lock()
	p.asked = append(p.asked, a.Pending)
	p.mu.Unlock()
	arrives := make(<-chan time.Time)
	if d, ok := p.times[a.Pending]; ok {
		arrives = time.After(time.Until(p.began.Add(d)))
	}
	select {
	case <-ctx.Done():
		return a, context.Cause(ctx)
	case <-arrives:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a.Ref = "ref-" + a.Pending
	p.shelf[a.Ref] = "pixels of " + a.Pending
	a.Pending = ""
	return a, nil
}

func picture(keys ...string) chat.Inbound {
	in := chat.Inbound{From: ann, Direct: true, Text: "picture " + strings.Join(keys, " ")}
	for _, k := range keys {
		in.Attachments = append(in.Attachments, chat.Attachment{Kind: chat.Image, MIME: "image/png", Name: k, Pending: k})
	}
	return in
}

// shown lists the pictures of the n-th request.
func (b *bot) shown(n int) string {
	var all []string
	for _, m := range b.model.request(n).Messages {
		for _, img := range m.Images {
			all = append(all, string(img.Data))
		}
	}
	return strings.Join(all, ", ")
}

// A turn waits for its files, and what the person says meanwhile belongs to
// it, with its files, unless every message is to have its own turn.
func TestTurnWaitsForFiles(t *testing.T) {
	for _, tt := range []struct {
		opt   agent.Options
		turns [][]string
	}{
		{agent.Options{Busy: agent.Steer}, [][]string{{"in:1", "in:2", "in:3"}}},
		{agent.Options{Busy: agent.Collect}, [][]string{{"in:1", "in:2", "in:3"}}},
		{agent.Options{Busy: agent.Interrupt}, [][]string{{"in:1", "in:2", "in:3"}}},
		{agent.Options{Busy: agent.Queue}, [][]string{{"in:1"}, {"in:2"}, {"in:3"}}},
		{agent.Options{Busy: agent.Queue, Debounce: 100 * time.Millisecond}, [][]string{{"in:1", "in:2", "in:3"}}},
	} {
		t.Run(fmt.Sprint(tt.opt.Busy, tt.opt.Debounce), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				b := w.bot(echo, nil)
				p := newPost(map[string]time.Duration{"a": 5 * time.Second, "b": 2 * time.Second, "c": 8 * time.Second})
				b.ports.Media, b.model.limits.Vision = p, true
				b.with(&tt.opt)
				w.put(picture("a", "b"))
				wait := b.start(t.Context())
				pass(time.Second)
				w.say("what is this?")
				pass(2 * time.Second)
				w.put(picture("c"))
				pass(time.Second)
				if n := len(b.model.requests()); n > 0 && tt.opt.Busy != agent.Queue {
					t.Errorf("asked %d times before the files were there", n)
				}
				b.mustEnd(wait)
				wantEqual(t, "turns", tt.turns, w.answered())
				last := len(b.model.requests())
				if got, want := b.shown(last), "pixels of a, pixels of b, pixels of c"; got != want {
					t.Errorf("shown %q, want %q", got, want)
				}
			})
		})
	}
}

// A file that joins a running turn is waited for before the model is asked
// again.
func TestSteeredFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot(slow(turnsOf()), nil).tool("read", ok("x"))
		b.ports.Media, b.model.limits.Vision = newPost(map[string]time.Duration{"a": 4 * time.Second}), true
		b.with(&agent.Options{Busy: agent.Steer})
		w.say("look")
		wait := b.start(t.Context())
		pass(300 * time.Millisecond)
		w.put(picture("a"))
		b.mustEnd(wait)
		wantEqual(t, "turns", [][]string{{"in:1", "in:2"}}, w.answered())
		if got := b.shown(2); got != "pixels of a" {
			t.Errorf("shown %q", got)
		}
	})
}

// A file that never comes costs time, not the turn.
func TestFileNeverComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot(echo, nil)
		b.ports.Media, b.model.limits.Vision = newPost(map[string]time.Duration{"b": 0}), true
		b.with(nil)
		began := time.Now()
		w.put(picture("a", "b", "c"))
		b.mustEnd(b.start(t.Context()))
		if d := time.Since(began); d < time.Minute || d > 5*time.Minute {
			t.Errorf("waited %v", d)
		}
		text := b.model.request(1).Messages[0].Text
		for _, want := range []string{"[image a: could not be received: it did not arrive in time]", "[image b, image/png]", "[image c: could not be received"} {
			if !strings.Contains(text, want) {
				t.Errorf("the model is told %q, want %q", text, want)
			}
		}
		if got := b.shown(1); got != "pixels of b" {
			t.Errorf("shown %q", got)
		}
	})
}

// /stop does not wait for a file.
func TestStopWhileWaitingForFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot(echo, nil)
		b.ports.Media = newPost(map[string]time.Duration{"b": time.Second})
		b.ports.Commands = commander(stopping)
		b.with(nil)
		began := time.Now()
		w.put(picture("b", "a"))
		wait := b.start(t.Context())
		pass(2 * time.Second)
		w.command("/stop")
		b.mustEnd(wait)
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("stopped after %v", d)
		}
		w.say("and now?")
		b.run()
		text := b.model.request(1).Messages[0].Text
		if !strings.Contains(text, "[image a: has not arrived yet]") {
			t.Errorf("the model is told %q", text)
		}
	})
}

// The end of the process does not wait for a file either, and the next holder
// waits again.
func TestHandOverWhileWaitingForFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot(echo, nil)
		b.ports.Media, b.model.limits.Vision = newPost(map[string]time.Duration{"a": time.Minute}), true
		b.with(nil)
		w.put(picture("a"))
		ctx, cancel := context.WithCancel(t.Context())
		wait := b.start(ctx)
		pass(time.Second)
		cancel()
		if err := wait(); err == nil {
			t.Error("ended as if nothing had been left")
		}
		w.crash()
		b.mustEnd(b.start(t.Context()))
		if got := b.shown(1); got != "pixels of a" {
			t.Errorf("shown %q", got)
		}
	})
}

// What goes wrong beside a stored file is said, and the file is there.
func TestVoiceWithoutTranscript(t *testing.T) {
	w := newWorld(t)
	b := w.bot(echo, nil)
	b.ports.Media = shelf{"r": "OggS"}
	b.with(&agent.Options{Workspace: t.TempDir()})
	w.put(chat.Inbound{From: ann, Direct: true, Attachments: []chat.Attachment{
		{Kind: chat.Voice, MIME: "audio/ogg", Ref: "r", Failed: "the speech could not be written down"},
		{Kind: chat.Voice, MIME: "audio/ogg", Ref: "r", Text: "你好 hello"},
	}})
	b.run()
	day := "inbox/" + w.records[0].At.UTC().Format(time.DateOnly) + "/"
	wantEqual(t, "text", strings.Join([]string{
		"你好 hello",
		"[voice, audio/ogg, saved as " + day + "voice.ogg; the speech could not be written down]",
		"[The text above is the transcript of a voice message.]",
		"[voice, audio/ogg, saved as " + day + "voice-2.ogg]",
	}, "\n"), b.model.request(1).Messages[0].Text)
}

// A picture that was sent as a file is one, other files and stickers are not.
func TestPicturesSentAsFiles(t *testing.T) {
	w := newWorld(t)
	b := w.bot(echo, nil)
	b.ports.Media, b.model.limits.Vision = shelf{"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}, true
	b.with(nil)
	w.put(chat.Inbound{From: ann, Direct: true, Attachments: []chat.Attachment{
		{Kind: chat.File, MIME: "image/jpeg", Ref: "a"},
		{Kind: chat.File, MIME: "image/svg+xml", Ref: "b"},
		{Kind: chat.File, MIME: "text/plain", Ref: "c"},
		{Kind: chat.Sticker, MIME: "image/webp", Ref: "d"},
		{Kind: chat.Image, MIME: "", Ref: "e"},
	}})
	b.run()
	if got := b.shown(1); got != "A, E" {
		t.Errorf("shown %q", got)
	}
}
