package bus

import (
	"encoding/json"
	"strings"

	"github.com/nats-io/nats.go"

	"magpie/chat"
)

// Publish tells whoever watches. Events are not stored: one may be lost.
func (b *Bus) Publish(ev chat.Event) {
	ev.V = chat.Version
	data, err := json.Marshal(ev)
	if err != nil {
		b.log.Warn("event not encoded", "kind", ev.Kind, "err", err)
		return
	}
	if err := b.nc.Publish("ev."+string(ev.Addr.Session())+"."+string(ev.Kind), data); err != nil {
		b.log.Debug("event not sent", "kind", ev.Kind, "err", err)
	}
}

// Events calls fn for every event of every process, one after the other, until
// the returned function is called. fn must be quick.
func (b *Bus) Events(fn func(chat.Event)) (stop func(), err error) {
	sub, err := b.nc.Subscribe("ev.>", func(m *nats.Msg) {
		if strings.HasPrefix(m.Subject, pauseSubject) {
			return
		}
		var ev chat.Event
		if err := json.Unmarshal(m.Data, &ev); err != nil {
			b.log.Warn("event not understood", "subject", m.Subject, "err", err)
			return
		}
		fn(ev)
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = sub.Unsubscribe() }, nil
}
