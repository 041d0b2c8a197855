package qq

import (
	"fmt"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	fake "magpie/internal/fakes/qq"
	"magpie/internal/kv"
)

func TestTyping(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	id := heard(t, w, r, ann, "hi")
	inGroup := heard(t, w, r, crowd, "hi")
	for range 4 {
		for _, chatID := range []string{ann, crowd, bob} {
			if err := r.Typing(channeltest.Bounded(t), at(chatID)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if w.Replies(ann, id) != maxNotifies || w.Replies(crowd, inGroup) != 0 || w.Calls("messages") != maxNotifies {
		t.Errorf("%d and %d replies, %d calls", w.Replies(ann, id), w.Replies(crowd, inGroup), w.Calls("messages"))
	}
	off := w.channel(t, channels.Deps{Table: r.deps.Table}, func(c *Config) { c.InputNotify = new(bool) })
	heard(t, w, r, ann, "again")
	if err := off.Typing(channeltest.Bounded(t), at(ann)); err != nil || w.Calls("messages") != maxNotifies {
		t.Errorf("switched off: %v", err)
	}
}

// An account that gets no input notifies is not asked for a day.
func TestInputNotifiesThatAreNotGranted(t *testing.T) {
	c := newClock()
	w := newWorld(t, &fake.Options{Now: c.Now})
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table, Now: c.Now}))
	id := heard(t, w, r, ann, "hi")
	w.Fail(fake.Fault{Status: 500, Code: 50059, Text: "input type err"})
	if err := r.Typing(channeltest.Bounded(t), at(ann)); channels.KindOf(err) != channels.Rejected {
		t.Errorf("refused: %v", err)
	}
	after := w.channel(t, channels.Deps{Table: table, Now: c.Now})
	for _, q := range []*QQ{r.QQ, after} {
		if err := q.Typing(channeltest.Bounded(t), at(ann)); err != nil || w.Calls("messages") != 1 {
			t.Errorf("again: %v, %d calls", err, w.Calls("messages"))
		}
	}
	if w.Replies(ann, id) != 0 {
		t.Error("it cost a reply")
	}
	c.pass(forgetAfter)
	heard(t, w, r, ann, "hi")
	if err := r.Typing(channeltest.Bounded(t), at(ann)); err != nil || w.Calls("messages") != 2 {
		t.Errorf("a day later: %v, %d calls", err, w.Calls("messages"))
	}
}

// A notify that the platform does not take costs no reply: all are left.
func TestRefusedInputNotify(t *testing.T) {
	for name, f := range map[string]fake.Fault{
		"refused":  {Status: 400, Code: 12002, Text: "RequestInvalid"},
		"too fast": {Status: 429, Code: 20028, Text: "ChannelHitWriteRateLimit"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := start(t, w.channel(t, channels.Deps{}))
			old := heard(t, w, r, ann, "hi")
			if err := r.Typing(channeltest.Bounded(t), at(ann)); err != nil {
				t.Fatal(err)
			}
			id := heard(t, w, r, ann, "are you there?")
			w.Fail(f)
			if err := r.Typing(channeltest.Bounded(t), at(ann)); err == nil {
				t.Fatal("no error")
			}
			for i := range 2*directReplies - 1 { // the first message's notify was taken
				r.mustSend(t, answering(ann, fmt.Sprint("a", i), "answer"))
			}
			if w.Replies(ann, id) != directReplies || w.Replies(ann, old) != directReplies || w.ActiveUsed(ann) != 0 {
				t.Errorf("%d and %d replies", w.Replies(ann, old), w.Replies(ann, id))
			}
		})
	}
}
