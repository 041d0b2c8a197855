package bus

import (
	"strings"

	"github.com/nats-io/nats.go"

	"magpie/chat"
)

// The last token of a subject of the IN stream is the lane: the origin of the
// message, or ctl for commands and presses. A wake-up names the lanes that are
// treated apart, and msg for all others.
const (
	laneControl = "ctl"
	laneTask    = string(chat.FromTask)
	laneOther   = "msg"
)

// wake tells every worker that a chat has something new. It is sent after the
// message was stored, so that whoever looks finds it; one that is lost is made
// good by the sweep.
func (b *Bus) wake(sid chat.SessionKey, lane string) {
	if lane != laneControl && lane != laneTask {
		lane = laneOther
	}
	if err := b.nc.Publish("wake."+string(sid)+"."+lane, nil); err != nil {
		b.log.Warn("wake-up not sent, the sweep will do", "err", err)
	}
}

// onWake calls fn for every wake-up until the returned function is called.
func (b *Bus) onWake(fn func(sid chat.SessionKey, lane string)) (stop func(), err error) {
	sub, err := b.nc.Subscribe("wake.*.*", func(m *nats.Msg) {
		parts := strings.Split(m.Subject, ".")
		fn(chat.SessionKey(parts[1]), parts[2])
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, nil
}
