package bus

import (
	"context"

	"magpie/chat"
)

// AppendOnly stores a record as Commit does and stops there, as a crash would.
func (m *Mailbox) AppendOnly(ctx context.Context, r chat.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	cursor := m.standing.cursor
	for _, in := range r.Inputs {
		cursor = max(cursor, in.Seq)
	}
	_, err := m.append(ctx, entry{Record: r, Cursor: cursor})
	return err
}

// PublishRaw stores bytes in a chat's mailbox that are no message.
func (b *Bus) PublishRaw(ctx context.Context, sid chat.SessionKey, data []byte) error {
	_, err := b.js.Publish(ctx, "in."+string(sid)+".person", data)
	if err == nil {
		b.wake(sid, false)
	}
	return err
}

// SetSchema writes another schema version.
func (b *Bus) SetSchema(ctx context.Context, v string) error {
	kv, err := b.js.KeyValue(ctx, "meta")
	if err == nil {
		_, err = kv.Put(ctx, "schema", []byte(v))
	}
	return err
}

// Waiting counts the messages in all mailboxes, or in the outbound queue.
func (b *Bus) Waiting(ctx context.Context, outbound bool) (int, error) {
	s := b.streams.in
	if outbound {
		s = b.streams.out
	}
	info, err := s.Info(ctx)
	if err != nil {
		return 0, err
	}
	return int(info.State.Msgs), nil
}
