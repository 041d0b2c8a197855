package discord

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
	"magpie/internal/kv"
)

func texts(t *testing.T, r *receiving, n int) []string {
	t.Helper()
	var all []string
	for range n {
		all = append(all, r.Next(t).Text)
	}
	return all
}

// quiet fails when something else has come in.
func (r *receiving) quiet(t *testing.T) {
	t.Helper()
	select {
	case in := <-r.In:
		t.Errorf("unexpected message %+v", in)
	default:
	}
}

func connected(t *testing.T, w *world, n int) {
	t.Helper()
	channeltest.Eventually(t, "connected", func() bool { return w.Opened("identify")+w.Opened("resume") >= n })
}

// Every way in which a connection ends is followed by one on which nothing is
// missing and nothing comes twice.
func TestReconnect(t *testing.T) {
	for name, c := range map[string]struct {
		end     func(*world)
		resumes bool
	}{
		"cut":             {func(w *world) { w.Drop() }, true},
		"asked":           {func(w *world) { w.Ask(7) }, true},
		"4000":            {func(w *world) { w.CloseWith(4000) }, true},
		"4008":            {func(w *world) { w.CloseWith(4008) }, true},
		"4007 seq":        {func(w *world) { w.CloseWith(4007) }, false},
		"4009 timeout":    {func(w *world) { w.CloseWith(4009) }, false},
		"session expired": {func(w *world) { w.Expire() }, false},
		"normal closure":  {func(w *world) { w.CloseWith(1000) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := start(t, w.channel(t, channels.Deps{}), nil)
			connected(t, w, 1)
			w.Say(fake.Said{From: ann, Channel: annDM, Text: "one"})
			w.Say(fake.Said{From: bob, Channel: crowd, Text: "two"})
			got := texts(t, r, 2)
			c.end(w)
			w.Say(fake.Said{From: ann, Channel: annDM, Text: "three"})
			w.Say(fake.Said{From: bob, Channel: crowd, Text: "four"})
			connected(t, w, 2)
			w.Say(fake.Said{From: ann, Channel: annDM, Text: "five"})
			seen := map[string]int{}
			for _, text := range append(got, texts(t, r, 3)...) {
				seen[text]++
			}
			if diff := cmp.Diff(map[string]int{"one": 1, "two": 1, "three": 1, "four": 1, "five": 1}, seen); diff != "" {
				t.Error(diff)
			}
			r.quiet(t)
			if c.resumes != (w.Opened("resume") > 0) || c.resumes != (w.Opened("identify") == 1) {
				t.Errorf("%d identifications, %d resumes", w.Opened("identify"), w.Opened("resume"))
			}
		})
	}
}

// A gateway that answers no heartbeat is left after one interval, and what it
// kept back comes by the resume.
func TestZombie(t *testing.T) {
	w := newWorld(t, &fake.Options{Heartbeat: 200 * time.Millisecond})
	status := channels.NewStatus(nil)
	r := start(t, w.channel(t, channels.Deps{Status: status}), nil)
	channeltest.Eventually(t, "heartbeats", func() bool { return w.Heartbeats() >= 2 })
	// A connection that was too slow before READY has begun another session.
	channeltest.Eventually(t, "ready", func() bool { return status.State().Connected })
	begun := w.Opened("identify")
	w.Deaf(true)
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "kept back"})
	channeltest.Eventually(t, "the zombie is noticed", func() bool { return strings.Contains(status.State().LastError, "heartbeat") })
	w.Deaf(false)
	if in := r.Next(t); in.Text != "kept back" {
		t.Errorf("got %q", in.Text)
	}
	channeltest.Eventually(t, "resume", func() bool { return w.Opened("resume") >= 1 })
	if n := w.Opened("identify"); n != begun {
		t.Errorf("%d identifications more", n-begun)
	}
}

// The gateway may ask for a heartbeat at any time.
func TestHeartbeatOnDemand(t *testing.T) {
	w := newWorld(t, nil)
	start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	before := w.Heartbeats()
	w.Ask(1)
	channeltest.Eventually(t, "the heartbeat", func() bool { return w.Heartbeats() > before })
}

// Codes that no trying can heal end Run with words that say what to do.
func TestFatalCodes(t *testing.T) {
	for code, want := range map[int]struct {
		kind channels.Kind
		text string
	}{
		4004: {channels.Unauthorized, "Developer Portal"},
		4010: {channels.Rejected, "4010"},
		4011: {channels.Rejected, "2500 servers"},
		4012: {channels.Rejected, "4012"},
		4013: {channels.Rejected, "4013"},
	} {
		w := newWorld(t, nil)
		status := channels.NewStatus(nil)
		d := w.channel(t, channels.Deps{Status: status})
		r := channeltest.Receive(t, d, nil)
		connected(t, w, 1)
		w.CloseWith(code)
		err := r.Ended()
		if channels.KindOf(err) != want.kind || !strings.Contains(fmt.Sprint(err), want.text) {
			t.Errorf("%d: %v", code, err)
		}
		if st := status.State(); !st.Stopped || st.Connected {
			t.Errorf("%d: status %+v", code, st)
		}
	}
}

// Events that cannot be read, or are nobody's, do not block the others.
func TestStrangeEvents(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	w.Push("MESSAGE_CREATE", map[string]any{"id": 7})
	w.Push("MESSAGE_CREATE", "no object")
	w.Push("MESSAGE_CREATE", map[string]any{"id": "7"})
	w.Push("INTERACTION_CREATE", map[string]any{"id": "8", "type": 3, "channel_id": annDM})
	w.Push("INTERACTION_CREATE", []int{1})
	w.Push("SOMETHING_NEW", nil)
	w.Say(fake.Said{From: ann, Channel: annDM, Text: "fine"})
	if in := r.Next(t); in.Text != "fine" {
		t.Errorf("got %q", in.Text)
	}
	if n := r.Skipped(); n != 3 {
		t.Errorf("%d skipped, want 3", n)
	}
}

// Threads are looked up once, also over a restart, and have a session of their
// own.
func TestThreads(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	for range 2 {
		r := start(t, w.channel(t, channels.Deps{Table: table}), nil)
		connected(t, w, 1)
		w.Say(fake.Said{From: ann, Channel: topic, Text: "in the thread"})
		in := r.Next(t)
		if want := (chat.Address{Channel: instance, Chat: crowd, Thread: topic}); in.Addr != want {
			t.Errorf("address %v, want %v", in.Addr, want)
		}
		if _, err := r.Send(channeltest.Bounded(t), out(in.Addr, "a"+in.ID, "answer")); err != nil {
			t.Fatal(err)
		}
		_ = r.Stop()
	}
	if n := w.Calls("get channel"); n != 1 {
		t.Errorf("%d look-ups", n)
	}
	if n := len(w.Messages(topic)); n != 2 {
		t.Errorf("the thread shows %d messages", n)
	}
}

// Nothing the bot or another bot writes comes in.
func TestNoLoops(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	if _, err := r.Send(channeltest.Bounded(t), out(at(crowd), "1", "my own")); err != nil {
		t.Fatal(err)
	}
	w.Say(fake.Said{From: "666", Channel: crowd, Text: "beep"})
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "hook", Fields: map[string]any{"webhook_id": "5"}})
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "made a thread", Fields: map[string]any{"type": 18}})
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "hello"})
	if in := r.Next(t); in.Text != "hello" {
		t.Errorf("got %q", in.Text)
	}
}

// An edit comes once more as an edited message; a preview that Discord adds
// does not.
func TestEdited(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	id := w.Say(fake.Said{From: ann, Channel: annDM, Text: "see https://example.org"})
	before := r.Next(t)
	w.Unfurl(annDM, id)
	w.Edit(annDM, id, "changed 改")
	in := r.Next(t)
	if in.Text != "changed 改" || !in.Edited || in.ID == before.ID || !strings.HasPrefix(in.ID, before.ID) || in.MessageID != id {
		t.Errorf("got %+v", in)
	}
	r.quiet(t)
}

// A mention of the bot's own role is a mention of the bot; of everyone is not.
func TestRoleMention(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}), nil)
	connected(t, w, 1)
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "<@&" + botRole + "> hi"})
	if in := r.Next(t); in.Text != "hi" || !in.Mentioned {
		t.Errorf("got %q, mentioned %v", in.Text, in.Mentioned)
	}
	w.Say(fake.Said{From: ann, Channel: crowd, Text: "@everyone hi"})
	if in := r.Next(t); in.Text != "@everyone hi" || in.Mentioned {
		t.Errorf("got %q, mentioned %v", in.Text, in.Mentioned)
	}
}
