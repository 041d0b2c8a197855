package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

// moody takes messages at all times and, from a moment on, changes none: it
// refuses edits and deletions, or lets them hang.
type moody struct {
	full
	mood *mood
}

type mood struct {
	mu     sync.Mutex
	edit   func(context.Context) error // nil: it is well
	delete func(context.Context) error
	late   bool // an edit that hung is made all the same, when its caller has gone
}

func (m *mood) set(edit, del func(context.Context) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.edit, m.delete = edit, del
}

func (m *mood) get() (edit, del func(context.Context) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.edit, m.delete
}

func (c moody) Edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	if edit, _ := c.mood.get(); edit != nil {
		err := edit(ctx)
		if c.mood.late {
			_ = c.full.Edit(ctx, ref, msg)
		}
		return err
	}
	return c.full.Edit(ctx, ref, msg)
}

func (c moody) Delete(ctx context.Context, ref chat.MessageRef) error {
	if _, del := c.mood.get(); del != nil {
		return del(ctx)
	}
	err := c.full.Delete(ctx, ref)
	if channels.KindOf(err) == channels.Rejected {
		return nil // already gone
	}
	return err
}

func hangs(ctx context.Context) error {
	<-ctx.Done()
	return &channels.Error{Channel: "fake", Op: "edit", Kind: channels.Ambiguous, Err: ctx.Err()}
}

func says(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// moods are the ways in which messages cannot be changed.
func moods() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"rate limited for half a minute": says(limited(30 * time.Second)),
		"rate limited for long":          says(limited(140 * time.Second)),
		"rate limited, unknown":          says(limited(0)),
		"temporary":                      says(failure(channels.Temporary)),
		"unclassified":                   says(errors.New("broken pipe")),
		"ambiguous":                      says(failure(channels.Ambiguous)),
		"rejected":                       says(failure(channels.Rejected)),
		"too long":                       says(failure(channels.TooLong)),
		"hanging":                        hangs,
	}
}

// promptly delivers and fails the test when that takes longer than a second.
func promptly(t *testing.T, d *Dispatcher, out chat.Outbound) {
	t.Helper()
	began := time.Now()
	if err := d.Deliver(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("%q was there after %v", out.ID, took)
	}
}

// While no message can be changed, the answer is there within a second, whole
// and once; the half of it goes when that can be done, and what is said next
// neither waits nor overtakes.
func TestAnswerWhileEditsAreRefused(t *testing.T) {
	text := strings.Repeat(sentence, 9) // two messages
	for name, edit := range moods() {
		for whose, del := range map[string]func(context.Context) error{"deletes": nil, "neither": edit} {
			for _, when := range []string{"at the end", "before"} {
				t.Run(name+"/"+whose+"/"+when, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						lim := streaming
						lim.Rate = channels.Rate{PerSecond: 30, Burst: 30, PerChat: time.Second, ChatBurst: 5}
						ch, drafts := moody{newFull(lim), &mood{}}, &kv.Memory{}
						d := New(ch, &Options{Stream: true, Drafts: drafts})
						defer start(t, d)()
						d.Event(event(chat.TurnDelta, sentence))
						pass(2 * time.Second)
						ch.mood.set(edit, del)
						if when == "before" { // also while the reply is written
							for n := 2; n < 5; n++ {
								d.Event(event(chat.TurnDelta, text[:n*len(sentence)]))
								pass(3 * time.Second)
							}
						}
						promptly(t, d, final("a", text))
						d.Event(event(chat.TurnEnded, ""))
						pass(2 * time.Second)
						promptly(t, d, message("b", "and then"))
						pass(time.Minute)
						ch.mood.set(nil, nil)
						pass(time.Hour)
						want := append(parts(t, lim, text), "and then")
						if (name == "rejected" || name == "too long") && del != nil {
							want = slices.Insert(want, 0, texts(ch.visible())[0]) // nothing can be done
						}
						if diff := cmp.Diff(want, texts(ch.visible())); diff != "" {
							t.Errorf("(-want +got):\n%s", diff)
						}
						if left, err := kv.List(t.Context(), drafts, ""); err != nil || len(left) != 0 {
							t.Errorf("left in the table: %v, %v", left, err)
						}
					})
				})
			}
		}
	}
}

// parts are the messages of a text that is not streamed.
func parts(t *testing.T, lim channels.Limits, text string) []string {
	t.Helper()
	ch := newFull(lim)
	if err := New(ch, nil).Deliver(t.Context(), final("plain", text)); err != nil {
		t.Fatal(err)
	}
	return texts(ch.visible())
}

// recognising knows a message that comes again, by its id.
type recognising struct {
	moody
	seen map[string]chat.MessageRef
}

func (c recognising) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	if ref, ok := c.seen[msg.ID]; ok {
		return ref, nil
	}
	ref, err := c.moody.Send(ctx, msg)
	if err == nil {
		c.seen[msg.ID] = ref
	}
	return ref, err
}

// The program dies after an answer went by itself: the next one takes the half
// away at its start, and makes no second answer of it when the first is
// delivered again.
func TestLeftDraftSurvivesCrash(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ch, kept := recognising{moody{newFull(streaming), &mood{}}, map[string]chat.MessageRef{}}, &store{}
			ctx, cancel := context.WithCancel(t.Context())
			opt := &Options{Receipts: &kept.receipts, Drafts: &kept.drafts, Stream: true}
			dying := opt
			if again {
				dies := kept.dying(0, cancel)
				dying = &Options{Receipts: dies, Drafts: dies, Stream: true}
			}
			d := New(ch, dying)
			stop := start(t, d)
			d.Event(event(chat.TurnDelta, sentence))
			pass(2 * time.Second)
			ch.mood.set(says(limited(140*time.Second)), hangs)
			if err := d.Deliver(ctx, final("a", "the end")); (err != nil) != again {
				t.Fatalf("delivered: %v", err)
			}
			cancel()
			stop()
			ch.mood.set(nil, nil)
			d = New(ch, opt)
			if again {
				promptly(t, d, final("a", "the end"))
			}
			defer start(t, d)()
			pass(time.Minute) // not only when it is taken for an orphan
			if diff := cmp.Diff([]string{"the end"}, texts(ch.visible())); diff != "" {
				t.Errorf("again %v: %s", again, diff)
			}
		})
	}
}

// However long a reply was streamed, there is a place left for its last edit and
// one for the answer instead.
func TestStreamingLeavesRoomForTheAnswer(t *testing.T) {
	for more := range 3 { // the place for the next edit is about to come, or is there
		synctest.Test(t, func(t *testing.T) {
			lim := streaming
			lim.Rate = channels.Rate{PerChat: 3 * time.Second, ChatBurst: 3}
			ch := moody{newFull(lim), &mood{}}
			d := New(ch, &Options{Stream: true})
			defer start(t, d)()
			for n := range 90 + more {
				d.Event(event(chat.TurnDelta, sentence+strings.Repeat("x", n)))
				pass(time.Second)
			}
			if n := ch.log("edit"); n < 20 || n > 31 {
				t.Errorf("%d edits in 90 s at one in three", n)
			}
			ch.mood.set(says(failure(channels.Rejected)), nil)
			promptly(t, d, final("a", "the end"))
		})
	}
}

// A call of the stream hangs when the answer comes: the answer does not wait,
// and what the call may leave behind goes.
func TestAnswerWhileACallHangs(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("edit, late ", late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch := moody{newFull(streaming), &mood{late: late}}
				d := New(ch, &Options{Stream: true})
				defer start(t, d)()
				d.Event(event(chat.TurnDelta, sentence))
				pass(2 * time.Second)
				ch.mood.set(hangs, nil)
				d.Event(event(chat.TurnDelta, sentence+sentence))
				pass(2 * time.Second)
				promptly(t, d, final("a", "the end"))
				ch.mood.set(nil, nil)
				promptly(t, d, message("b", "and then"))
				pass(time.Hour)
				if diff := cmp.Diff([]string{"the end", "and then"}, texts(ch.visible())); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
	t.Run("first message", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ch := slowOpening{newFull(streaming)}
			d := New(ch, &Options{Stream: true})
			defer start(t, d)()
			d.Event(event(chat.TurnDelta, sentence))
			pass(2 * time.Second)
			promptly(t, d, final("a", "the end"))
			pass(time.Hour)
			if diff := cmp.Diff([]string{"the end"}, texts(ch.visible())); diff != "" {
				t.Error(diff)
			}
		})
	})
	t.Run("draft", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ch := hangingDrafter{newDrafter()}
			d := New(ch, &Options{Stream: true})
			defer start(t, d)()
			d.Event(event(chat.TurnDelta, sentence))
			pass(2 * time.Second)
			promptly(t, d, final("a", "the end"))
			if diff := cmp.Diff([]string{"the end"}, texts(ch.visible())); diff != "" {
				t.Error(diff)
			}
		})
	})
}

// slowOpening takes long for the first message of a stream.
type slowOpening struct{ full }

func (c slowOpening) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	if msg.Draft {
		if err := sleep(ctx, 10*time.Second); err != nil {
			return chat.MessageRef{}, err
		}
	}
	return c.full.Send(ctx, msg)
}

type hangingDrafter struct{ drafter }

func (hangingDrafter) Draft(ctx context.Context, _ chat.Address, _, _ string) error {
	return hangs(ctx)
}

// A refusal that passes at once, or a platform that is slow for everything, is
// no reason for a second message.
func TestAnswerAfterAShortRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := newFull(streaming)
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		d.Event(event(chat.TurnDelta, sentence))
		pass(2 * time.Second)
		ch.fail("edit", failure(channels.Temporary), limited(200*time.Millisecond))
		promptly(t, d, final("a", "the end"))
		if ch.log("send") != 1 || ch.log("delete") != 0 {
			t.Errorf("calls: %q", ch.calls)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ch := slowEdits{newFull(streaming)}
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		d.Event(event(chat.TurnDelta, sentence))
		pass(2 * time.Second)
		d.Event(event(chat.TurnDelta, sentence+sentence))
		pass(5 * time.Second)
		if err := d.Deliver(t.Context(), final("a", "the end")); err != nil {
			t.Fatal(err)
		}
		if ch.log("send") != 1 || ch.log("delete") != 0 {
			t.Errorf("calls: %q", ch.calls)
		}
	})
}

// slowEdits takes a second and a half for every edit.
type slowEdits struct{ full }

func (c slowEdits) Edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	if err := sleep(ctx, 1500*time.Millisecond); err != nil {
		return err
	}
	return c.full.Edit(ctx, ref, msg)
}

// What cannot be deleted is made as short as can be.
func TestLeftDraftThatCannotBeDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := moody{newFull(streaming), &mood{}}
		d := New(ch, &Options{Stream: true})
		defer start(t, d)()
		d.Event(event(chat.TurnDelta, sentence))
		pass(2 * time.Second)
		ch.mood.set(says(limited(time.Minute)), says(failure(channels.Rejected)))
		promptly(t, d, final("a", "the end"))
		ch.mood.set(nil, says(failure(channels.Rejected)))
		pass(time.Hour)
		if diff := cmp.Diff([]string{"…", "the end"}, texts(ch.visible())); diff != "" {
			t.Error(diff)
		}
	})
}
