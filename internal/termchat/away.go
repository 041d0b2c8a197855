package termchat

import (
	"fmt"
	"time"
)

// away tells somebody who reads from a pipe that the bot is gone, that it is
// back, and when it has been gone for too long.
type away struct {
	o       Options
	limit   *time.Timer   // nil while the bot is there
	tooLong chan struct{} // closed when limit is over
}

// note is for one goroutine.
func (a *away) note(e event) {
	switch {
	case e.kind == evLost && a.limit == nil:
		fmt.Fprintln(a.o.Err, words().lost)
		a.limit = time.AfterFunc(a.o.Away, func() { close(a.tooLong) })
	case e.kind != evLost && a.limit != nil && a.limit.Stop():
		a.limit = nil
		fmt.Fprintln(a.o.Err, words().again)
	}
}

func (a *away) error(then string) error {
	return fmt.Errorf("the bot has been away for %s: %s", a.o.Away, then)
}
