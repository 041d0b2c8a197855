package qq

import (
	"fmt"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
)

// What comes in the middle of a turn, such as files, leaves the last reply to
// the answer and uses up no active message; what a job says may.
func TestMiddleOfATurnLeavesRoom(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	heard(t, w, r, ann, "hi")
	for i := range 7 {
		msg := reminder(ann, fmt.Sprint("m", i), "file")
		msg.Turn = "t"
		_, err := r.Send(channeltest.Bounded(t), msg)
		if fits := i < repliesEach-1; (err == nil) != fits || !fits && channels.KindOf(err) != channels.Rejected {
			t.Errorf("message %d: %v", i, err)
		}
	}
	r.mustSend(t, answering(ann, "a", "the answer"))
	if n := w.ActiveUsed(ann); n != 0 {
		t.Errorf("%d active messages were used", n)
	}
	job := answering(ann, "j", "the job's outcome")
	job.Unasked = true
	r.mustSend(t, job)
	if shown := texts(w, ann); w.ActiveUsed(ann) != 1 || shown[len(shown)-1] != "the job's outcome" {
		t.Errorf("the chat shows %q, %d active", shown, w.ActiveUsed(ann))
	}
}
