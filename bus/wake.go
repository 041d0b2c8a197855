package bus

import (
	"strings"

	"github.com/nats-io/nats.go"

	"magpie/chat"
)

// laneControl is the last token of the subject of commands and presses.
const laneControl = "ctl"

// wake tells every worker that a chat has something new. It is sent after the
// message was stored, so that whoever looks finds it; one that is lost is made
// good by the sweep.
func (b *Bus) wake(sid chat.SessionKey, control bool) {
	subject := "wake." + string(sid) + ".msg"
	if control {
		subject = "wake." + string(sid) + "." + laneControl
	}
	if err := b.nc.Publish(subject, nil); err != nil {
		b.log.Warn("wake-up not sent, the sweep will do", "err", err)
	}
}

// onWake calls fn for every wake-up until the returned function is called.
func (b *Bus) onWake(fn func(sid chat.SessionKey, control bool)) (stop func(), err error) {
	sub, err := b.nc.Subscribe("wake.*.*", func(m *nats.Msg) {
		parts := strings.Split(m.Subject, ".")
		fn(chat.SessionKey(parts[1]), parts[2] == laneControl)
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, nil
}
