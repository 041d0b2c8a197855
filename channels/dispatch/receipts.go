package dispatch

import (
	"context"
	"sync"

	"magpie/chat"
)

// Receipts are a durable store of what became of messages.
type Receipts interface {
	// Receipt returns the last one that was stored for the message, if there is
	// one.
	Receipt(ctx context.Context, id string) (r chat.Receipt, found bool, err error)
	// Store keeps a receipt under its ID.
	Store(ctx context.Context, r chat.Receipt) error
}

// Remembered are receipts that end with the process. The zero value is ready.
type Remembered struct {
	mu sync.Mutex
	by map[string]chat.Receipt
}

// Receipt implements Receipts.
func (m *Remembered) Receipt(ctx context.Context, id string) (chat.Receipt, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, found := m.by[id]
	return r, found, ctx.Err()
}

// Store implements Receipts.
func (m *Remembered) Store(ctx context.Context, r chat.Receipt) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil {
		m.by = map[string]chat.Receipt{}
	}
	m.by[r.ID] = r
	return nil
}
