package qq

import (
	"fmt"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
)

// What comes in the middle of a turn, such as files, leaves the last reply to
// the answer.
func TestMiddleOfATurnLeavesRoom(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	heard(t, w, r, ann, "hi")
	for i := range 7 {
		msg := reminder(ann, fmt.Sprint("m", i), "file")
		msg.Turn = "t"
		_, err := r.Send(channeltest.Bounded(t), msg)
		if fits := i < directReplies-1; err != nil || fits != (w.ActiveUsed(ann) == 0) {
			t.Errorf("message %d: %v", i, err)
		}
	}
	r.mustSend(t, answering(ann, "a", "the answer"))
	shown := w.Messages(ann)
	if last := shown[len(shown)-1]; last.ReplyTo == "" || last.Text != "the answer" || w.ActiveUsed(ann) != 7-(directReplies-1) {
		t.Errorf("the chat shows %+v, %d active", shown, w.ActiveUsed(ann))
	}
}
