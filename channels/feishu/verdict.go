package feishu

import (
	"context"
	"errors"
	"time"
)

var errLate = errors.New("not stored in time")

// verdict waits until an event is stored, or the platform is about to give up
// waiting; then an event that is not stored has failed and comes again. A press
// does not, and whoever pressed waits for the answer: told of an error they
// would press again, while the first press keeps its place and is carried out.
// So they are told that it takes a moment. data is what the answer says.
func (f *Feishu) verdict(ctx context.Context, ev event, done <-chan error) (data []byte, err error) {
	late := time.NewTimer(f.pace.answer)
	defer late.Stop()
	select {
	case err := <-done:
		return nil, err
	case <-late.C:
		if ev.in != nil && ev.in.Press != nil {
			return []byte(moment), nil
		}
		return nil, errLate
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// moment is shown for some seconds by the client of the one who pressed
// (feishu-cards/card-callback-communication, read November 2026).
const moment = `{"toast":{"type":"info","content":"One moment…","i18n":{"zh_cn":"请稍候，正在处理…","en_us":"One moment, it is being done…"}}}`
