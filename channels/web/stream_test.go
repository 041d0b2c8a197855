package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

func texts(all []message) []string {
	list := []string{}
	for _, m := range all {
		list = append(list, m.Text)
	}
	return list
}

func TestStreamResumesExactly(t *testing.T) {
	s := newSite(t, nil)
	h := s.web.Handler()
	first := send(t, s.web, out("main", "1", "one"))
	gone := send(t, s.web, out("main", "2", "two"))
	all, last, kinds := stored(t, h, "main", "")
	if diff := cmp.Diff([]string{"one", "two"}, texts(all)); diff != "" {
		t.Fatal(diff)
	}
	if kinds[len(kinds)-1] != "sync" {
		t.Errorf("events %v", kinds)
	}
	// What happens while the tab is away:
	send(t, s.web, out("main", "1", "one")) // a repeat
	send(t, s.web, out("main", "3", "three"))
	send(t, s.web, out("other", "4", "elsewhere"))
	if err := s.web.Edit(t.Context(), first, out("main", "e", "one, changed")); err != nil {
		t.Fatal(err)
	}
	if err := s.web.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	var ids struct{ IDs []string }
	got := []string{}
	stream(h, "main", "?after="+last, func(e event) bool {
		switch e.kind {
		case "message":
			var m message
			if err := json.Unmarshal(e.data, &m); err != nil {
				t.Error(err)
			}
			got = append(got, m.Text)
		case "reset":
			t.Error("reset without need")
		case "sync":
			if err := json.Unmarshal(e.data, &ids); err != nil {
				t.Error(err)
			}
			return false
		}
		return true
	})
	if diff := cmp.Diff([]string{"three", "one, changed"}, got); diff != "" {
		t.Error(diff)
	}
	if len(ids.IDs) != 2 {
		t.Errorf("there are said to be %v", ids.IDs)
	}
	if again, _, kinds := stored(t, h, "main", "?after=999999"); len(again) != 2 || kinds[0] != "reset" && !strings.Contains(fmt.Sprint(kinds), "reset") {
		t.Errorf("after what never was: %v, events %v", texts(again), kinds)
	}
}

func TestStreamShowsWhatGoesOn(t *testing.T) {
	s := newSite(t, nil)
	a := chat.Address{Channel: "web", Chat: "main"}
	tell := func(kind chat.EventKind, text string) {
		s.web.Event(chat.Event{Kind: kind, Addr: a, Turn: "t1", Text: text, Tool: &chat.ToolEvent{Name: "read_file"}})
	}
	tell(chat.TurnStarted, "")
	var seen []string
	stream(s.web.Handler(), "main", "", func(e event) bool {
		if e.kind != "live" {
			return true
		}
		var l state
		if err := json.Unmarshal(e.data, &l); err != nil {
			t.Error(err)
			return false
		}
		switch {
		case l.Tool != nil:
			seen = append(seen, l.Tool.Name+" "+l.Tool.State)
			tell(chat.TurnDelta, "half **of")
		case l.HTML != "":
			seen = append(seen, l.HTML)
			msg := out("main", "final", "half **of** it")
			msg.Final, msg.Turn = true, "t1"
			send(t, s.web, msg)
			tell(chat.ToolCompleted, "") // late: must not wake the turn again
		case l.Busy:
			seen = append(seen, "busy")
			tell(chat.ToolRequested, "")
		default:
			seen = append(seen, "over")
			return false
		}
		return true
	})
	want := []string{"busy", "read_file runs", "<p>half **of</p>\n", "over"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestLiveForgets(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	l := &live{now: func() time.Time { return now }, rooms: map[string]*room{}}
	for i := range 3 * maxRooms {
		l.typing(fmt.Sprintf("chat%d", i))
	}
	if n := len(l.rooms); n > maxRooms {
		t.Errorf("%d chats are remembered, want at most %d", n, maxRooms)
	}
	l.typing("main")
	if !l.look("main").Busy {
		t.Error("a sign of work is not shown")
	}
	now = now.Add(busyFor)
	if l.look("main").Busy {
		t.Error("work is shown without a sign")
	}
	wake, leave := l.join("main")
	<-wake
	l.event(chat.Event{Kind: chat.TurnDelta, Turn: "a", Text: "draft", Addr: chat.Address{Chat: "main"}})
	l.final("main", message{Turn: "b", Final: true}) // of another turn
	if l.look("main").Text != "draft" {
		t.Error("another turn's message ended the draft")
	}
	l.event(chat.Event{Kind: chat.TurnEnded, Turn: "a", Addr: chat.Address{Chat: "main"}})
	leave()
	if _, there := l.rooms["main"]; there {
		t.Error("a quiet chat without tabs is remembered")
	}
}

func TestEventsOfOthersAreIgnored(t *testing.T) {
	s := newSite(t, nil)
	for _, a := range []chat.Address{{Channel: "telegram", Chat: "main"}, {Channel: "web", Chat: "a b"}, {Channel: "web"}} {
		s.web.Event(chat.Event{Kind: chat.TurnStarted, Addr: a, Turn: "t"})
	}
	if n := len(s.web.live.rooms); n != 0 {
		t.Errorf("%d chats are said to be busy", n)
	}
}

func TestRestartKeepsTheConversation(t *testing.T) {
	table := &kv.Memory{}
	one := newSite(t, table)
	postJSON(one.web.Handler(), messages, post{ID: "m1", Text: "question"})
	send(t, one.web, out("main", "1", "answer"))
	_, last, _ := stored(t, one.web.Handler(), "main", "")
	if err := one.stop(); err != nil {
		t.Fatal(err)
	}
	two := newSite(t, table)
	send(t, two.web, out("main", "1", "answer")) // redelivered
	postJSON(two.web.Handler(), messages, post{ID: "m1", Text: "question"})
	send(t, two.web, out("main", "2", "more"))
	if n := len(two.inbound()); n != 0 {
		t.Errorf("the repeat came in again %d times", n)
	}
	if all, _, _ := stored(t, two.web.Handler(), "main", "?after="+last); cmp.Diff([]string{"more"}, texts(all)) != "" {
		t.Errorf("after the restart comes %v", texts(all))
	}
	all, _, _ := stored(t, two.web.Handler(), "main", "")
	if diff := cmp.Diff([]string{"question", "answer", "more"}, texts(all)); diff != "" {
		t.Error(diff)
	}
}

// Whatever the clock does, messages keep the order in which they came, and the
// oldest go when there are too many.
func TestOrderAndBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var clock atomic.Int64
		clock.Store(1_800_000_000)
		now := func() time.Time { return time.Unix(clock.Load(), 0) }
		keep := rapid.IntRange(1, 6).Draw(rt, "keep")
		table := &kv.Memory{}
		fresh := func() *Web {
			ch, err := New("web", func(v any) error { v.(*Config).KeepMessages = keep; return nil }, channels.Deps{Table: table, Now: now})
			if err != nil {
				rt.Fatal(err)
			}
			return ch.(*Web)
		}
		w := fresh()
		var want []string
		for i := range rapid.IntRange(1, 20).Draw(rt, "messages") {
			clock.Add(rapid.Int64Range(-5, 5).Draw(rt, "clock"))
			if rapid.Bool().Draw(rt, "restart") {
				w = fresh()
			}
			text := fmt.Sprintf("message %d", i)
			if _, err := w.Send(t.Context(), out("main", text, text)); err != nil {
				rt.Fatal(err)
			}
			want = append(want, text)
		}
		want = want[max(0, len(want)-keep):]
		c := w.history.conversation("main")
		var got []string
		for _, p := range c.places {
			m, err := w.history.get(t.Context(), "main", strings.TrimPrefix(p.key, "m.main."))
			if err != nil {
				rt.Fatal(err)
			}
			got = append(got, m.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}
