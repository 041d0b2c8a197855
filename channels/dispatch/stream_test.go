package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

var streaming = channels.Limits{Text: 200, Edit: time.Second, Typing: 5 * time.Second}

// start runs d until the returned function is called, which waits for it.
func start(t *testing.T, d *Dispatcher) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func event(kind chat.EventKind, text string) chat.Event {
	return chat.Event{V: 1, Kind: kind, Addr: chat.Address{Channel: "fake", Chat: "c"}, Turn: "t1", Text: text}
}

func final(id, text string) chat.Outbound {
	out := message(id, text)
	out.Final, out.Turn = true, "t1"
	return out
}

// pass lets time go by until everything is settled.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

const sentence = "This is a sentence that is long enough. "

func TestStreamedReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, receipts, drafts := newFull(streaming), &counting{}, &kv.Memory{}
		d := New(ch, &Options{Receipts: receipts, Drafts: drafts, Stream: true})
		defer start(t, d)()
		d.Event(event(chat.TurnStarted, ""))
		d.Event(event(chat.TurnDelta, "Short"))
		pass(3 * time.Second)
		if n := ch.log("send"); n != 0 {
			t.Fatalf("%d messages for five letters", n)
		}
		text := ""
		for range 20 { // one delta each 100 ms
			text += "word and "
			d.Event(event(chat.TurnDelta, text))
			pass(100 * time.Millisecond)
		}
		if n := ch.log("send"); n != 1 {
			t.Fatalf("%d messages, want one draft", n)
		}
		if n := ch.log("edit"); n < 1 || n > 3 {
			t.Errorf("%d edits in 2 s", n)
		}
		if _, err := drafts.Get(t.Context(), "t1"); err != nil {
			t.Errorf("draft not stored: %v", err)
		}
		if err := d.Deliver(t.Context(), final("a", text+"**end**")); err != nil {
			t.Fatal(err)
		}
		d.Event(event(chat.TurnDelta, "late"))
		d.Event(event(chat.TurnEnded, ""))
		pass(5 * time.Minute)
		if diff := cmp.Diff([]string{text + "**end**"}, texts(ch.visible())); diff != "" {
			t.Error(diff)
		}
		if _, err := drafts.Get(t.Context(), "t1"); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("draft not forgotten: %v", err)
		}
		if receipts.writes != 1 {
			t.Errorf("%d writes of receipts, want 1", receipts.writes)
		}
	})
}

// What is shown at the end is the same with and without streaming.
func TestStreamedEqualsSent(t *testing.T) {
	for _, text := range []string{"short", sentence, strings.Repeat(sentence, 30), "```go\n" + strings.Repeat("x := 1\n", 60) + "```", strings.Repeat("中文句子。", 100)} {
		synctest.Test(t, func(t *testing.T) {
			plain := newFull(streaming)
			if err := New(plain, nil).Deliver(t.Context(), final("a", text)); err != nil {
				t.Fatal(err)
			}
			ch := newFull(streaming)
			d := New(ch, &Options{Stream: true})
			defer start(t, d)()
			runes := []rune(text)
			for i := 0; i < len(runes); i += 1 + len(runes)/25 {
				d.Event(event(chat.TurnDelta, string(runes[:i])))
				pass(300 * time.Millisecond)
				for _, s := range ch.visible() {
					if len([]rune(s.Text)) > 200 {
						t.Fatalf("draft is over the limit: %q", s.Text)
					}
				}
				if n := len(ch.visible()); n > 1 {
					t.Fatalf("%d messages while writing", n)
				}
			}
			if err := d.Deliver(t.Context(), final("a", text)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain.visible(), ch.visible()); diff != "" {
				t.Errorf("(-sent +streamed):\n%s", diff)
			}
		})
	}
}

// The process dies while a draft stands in the chat; the next one streams into
// the same message, and so does the final text.
func TestDraftSurvivesCrash(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ch, kept := newFull(streaming), &store{}
			opt := &Options{Receipts: &kept.receipts, Drafts: &kept.drafts, Stream: true}
			d := New(ch, opt)
			stop := start(t, d)
			d.Event(event(chat.TurnDelta, sentence))
			pass(2 * time.Second)
			stop()
			d = New(ch, opt)
			defer start(t, d)()
			if again { // the turn is repeated from its journal
				d.Event(event(chat.TurnDelta, sentence+sentence))
				pass(2 * time.Second)
			}
			if err := d.Deliver(t.Context(), final("a", "The end of it.")); err != nil {
				t.Fatal(err)
			}
			pass(time.Hour)
			if diff := cmp.Diff([]string{"The end of it."}, texts(ch.visible())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The process dies after the final edit, at any write.
func TestFinalSurvivesCrash(t *testing.T) {
	text := strings.Repeat(sentence, 12)
	for crash := range 3 {
		synctest.Test(t, func(t *testing.T) {
			ch, kept := newFull(streaming), &store{}
			ctx, cancel := context.WithCancel(t.Context())
			dying := kept.dying(crash, cancel)
			d := New(ch, &Options{Receipts: dying, Drafts: dying, Stream: true})
			stop := start(t, d)
			d.Event(event(chat.TurnDelta, sentence))
			pass(2 * time.Second)
			err := d.Deliver(ctx, final("a", text))
			cancel()
			stop()
			if err == nil {
				t.Fatal("delivered")
			}
			d = New(ch, &Options{Receipts: &kept.receipts, Drafts: &kept.drafts, Stream: true})
			defer start(t, d)()
			if err := d.Deliver(t.Context(), final("a", text)); err != nil {
				t.Fatal(err)
			}
			pass(time.Hour)
			got := strings.Join(texts(ch.visible()), " ")
			if first := strings.Count(got, strings.TrimSpace(sentence)); crash == 0 && first != 12 || first < 12 {
				t.Errorf("crash %d: %d sentences: %q", crash, first, got)
			}
		})
	}
}

func TestDraftWithoutFinalGoes(t *testing.T) {
	for name, end := range map[string]func(*Dispatcher){
		"ended": func(d *Dispatcher) { d.Event(event(chat.TurnEnded, "")) },
		"died":  func(*Dispatcher) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch, drafts := newFull(streaming), &kv.Memory{}
				d := New(ch, &Options{Drafts: drafts, Stream: true})
				defer start(t, d)()
				d.Event(event(chat.TurnDelta, sentence))
				pass(2 * time.Second)
				end(d)
				pass(15 * time.Minute)
				if all := ch.visible(); len(all) != 0 {
					t.Errorf("left behind: %+v", all)
				}
				if err := d.Deliver(t.Context(), final("a", "late answer")); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{"late answer"}, texts(ch.visible())); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A draft that a dead process left and whose turn never comes back goes away.
func TestOrphanedDraftGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, drafts := newFull(streaming), &kv.Memory{}
		opt := &Options{Drafts: drafts, Stream: true}
		d := New(ch, opt)
		stop := start(t, d)
		d.Event(event(chat.TurnDelta, sentence))
		pass(2 * time.Second)
		stop()
		d = New(ch, opt)
		defer start(t, d)()
		pass(11 * time.Minute)
		if all := ch.visible(); len(all) != 0 {
			t.Errorf("left behind: %+v", all)
		}
	})
}

func TestFinalWithoutText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(streaming)
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		d.Event(event(chat.TurnDelta, sentence))
		pass(2 * time.Second)
		if err := d.Deliver(t.Context(), final("a", "")); err != nil {
			t.Fatal(err)
		}
		if all := ch.visible(); len(all) != 0 {
			t.Errorf("left behind: %+v", all)
		}
	})
}

func TestFinalWhenDraftCannotBeEdited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(streaming)
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		d.Event(event(chat.TurnDelta, sentence))
		pass(2 * time.Second)
		ch.fail("edit", failure(channels.Ambiguous), failure(channels.Rejected))
		if err := d.Deliver(t.Context(), final("a", "the end")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"the end"}, texts(ch.visible())); diff != "" {
			t.Error(diff)
		}
	})
}

// Where sending works but editing does not, the answer comes as a message of its
// own, and long before sending itself would be given up.
func TestFinalWhenEditingIsDown(t *testing.T) {
	for _, kind := range []channels.Kind{channels.Temporary, channels.Ambiguous} {
		synctest.Test(t, func(t *testing.T) {
			ch := newFull(streaming)
			d := New(ch, &Options{Stream: true})
			defer start(t, d)()
			d.Event(event(chat.TurnDelta, sentence))
			pass(2 * time.Second)
			for range 100 {
				ch.fail("edit", failure(kind))
			}
			began := time.Now()
			if err := d.Deliver(t.Context(), final("a", "the end")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"the end"}, texts(ch.visible())); diff != "" {
				t.Error(diff)
			}
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("the answer came after %v", took)
			}
		})
	}
}

// The final text comes while the draft is on its way: one message all the same.
func TestFinalMeetsDraftInFlight(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ch := newFull(streaming)
			ch.slow = 5 * time.Second
			d := New(ch, &Options{Stream: true})
			stop := start(t, d)
			d.Event(event(chat.TurnDelta, sentence))
			pass(2 * time.Second)
			if stopped { // the program stops meanwhile: the draft must be known
				stop()
			} else {
				defer stop()
			}
			if err := d.Deliver(t.Context(), final("a", "the end")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"the end"}, texts(ch.visible())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFinalButtonsComeWithTheEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(streaming)
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		d.Event(event(chat.TurnDelta, sentence))
		pass(2 * time.Second)
		out := final("a", strings.TrimSpace(sentence))
		out.Buttons = [][]chat.Button{{{Label: "ok", Data: "1"}}}
		if err := d.Deliver(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]shown{{Text: out.Text, Buttons: 1}}, ch.visible()); diff != "" {
			t.Error(diff)
		}
	})
}

// While the platform wants silence, edits are left out and the final message
// still comes.
func TestEditsYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(streaming)
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		d.Event(event(chat.TurnDelta, sentence))
		pass(2 * time.Second)
		ch.fail("edit", limited(20*time.Second))
		d.Event(event(chat.TurnDelta, sentence+sentence))
		pass(2 * time.Second)
		edits := ch.log("edit")
		for range 10 {
			d.Event(event(chat.TurnDelta, strings.Repeat(sentence, 3)))
			pass(time.Second)
		}
		if n := ch.log("edit"); n != edits {
			t.Errorf("%d edits in the silence", n-edits)
		}
		if err := d.Deliver(t.Context(), final("a", "the end")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"the end"}, texts(ch.visible())); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNotStreamed(t *testing.T) {
	type notStreamed struct {
		ch channels.Channel
		*minimal
		on bool
	}
	off, quiet, small := newFull(streaming), newFull(channels.Limits{Text: 200}), newMinimal(streaming)
	cases := map[string]notStreamed{
		"switched off": {off, off.minimal, false},
		"no edit pace": {quiet, quiet.minimal, true},
		"no editor":    {small, small, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := New(c.ch, &Options{Stream: c.on})
				defer start(t, d)()
				d.Event(event(chat.TurnDelta, sentence))
				pass(10 * time.Second)
				if n := c.log("send"); n != 0 {
					t.Errorf("%d drafts", n)
				}
				if err := d.Deliver(t.Context(), final("a", sentence)); err != nil || c.log("send") != 1 {
					t.Errorf("%d messages, err %v", c.log("send"), err)
				}
			})
		})
	}
}
