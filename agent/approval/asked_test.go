package approval_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/chat"
)

// Whoever writes while a question stands is told once, also who was faster than
// the question.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := desk(new(tables))
		ctx, cancel := context.WithCancelCause(t.Context())
		told := make(chan string, 1)
		go func() {
			text, err := c.Waiting(t.Context(), room, "zh")
			if err != nil {
				t.Error(err)
			}
			told <- text
		}()
		synctest.Wait() // nothing is asked yet
		_, done := c.asked(ctx, scop)
		if text := <-told; !strings.Contains(text, "我正在等待") || !strings.Contains(text, "/批准 ") {
			t.Errorf("%q", text)
		}
		if text, err := c.Waiting(t.Context(), room, "en"); err != nil || text != "" {
			t.Errorf("once more: %q, %v", text, err)
		}
		soon, end := context.WithTimeout(t.Context(), time.Hour)
		defer end()
		if text, err := c.Waiting(soon, chat.Address{Channel: "telegram", Chat: "9"}, "en"); err != nil || text != "" || soon.Err() == nil {
			t.Errorf("another chat: %q, %v, %v", text, err, soon.Err())
		}
		cancel(errStopped)
		<-done
	})
}

// A turn that is stopped before its question goes out, or while it does, leaves
// none behind: nothing stands open, and what was shown says that it is over.
func TestStoppedWhileAsking(t *testing.T) {
	for name, late := range map[string]bool{"before": false, "meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := desk(new(tables))
				ctx, cancel := context.WithCancelCause(t.Context())
				if stop := func() { cancel(errStopped) }; late {
					c.sending = stop
				} else {
					c.waiting = stop
				}
				if err := c.Approve(ctx, scop, spec, args); !errors.Is(err, errStopped) && !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
				if open, err := c.Open(t.Context(), room); err != nil || len(open) != 0 {
					t.Errorf("open: %+v, %v", open, err)
				}
				if !late && len(c.sent) != 0 {
					t.Errorf("%d messages", len(c.sent))
				}
				if late && (len(c.sent) != 2 || (<-c.sent).Buttons == nil || (<-c.sent).Answer == nil) {
					t.Error("the question does not say that it is over")
				}
			})
		})
	}
}
