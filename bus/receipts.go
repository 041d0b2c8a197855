package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
)

// Receipts are what became of outbound messages, for three days.
type Receipts struct {
	l     *ledger
	words *ledger // by the platforms' ids
}

// Receipts returns those of the store.
func (b *Bus) Receipts() *Receipts { return &Receipts{b.chats.receipts, b.chats.words} }

// Receipt returns the last one stored for that outbound message, if there is
// one.
func (r *Receipts) Receipt(ctx context.Context, id string) (rec chat.Receipt, found bool, err error) {
	seq, found, err := r.l.find(ctx, placeOf(id), id)
	if err != nil || !found {
		return rec, false, err
	}
	return r.read(ctx, seq)
}

// read reads the receipt with that sequence.
func (r *Receipts) read(ctx context.Context, seq uint64) (rec chat.Receipt, found bool, err error) {
	msg, err := r.l.b.message(ctx, r.l.b.streams.ids, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return rec, false, nil // its time was over
	}
	if err == nil {
		err = json.Unmarshal(msg.Data, &rec)
	}
	if err != nil {
		return rec, false, fmt.Errorf("read receipt %d: %w", seq, err)
	}
	return rec, true, nil
}

// Store keeps a receipt under its ID. What it says is kept with the chat that it
// was said in: a second entry for what was sent to another chat, or by a job.
func (r *Receipts) Store(ctx context.Context, rec chat.Receipt) error {
	if err := r.store(ctx, placeOf(rec.ID), rec); err != nil {
		return fmt.Errorf("store receipt of %q: %w", rec.ID, err)
	}
	there := string(rec.Addr.Session())
	if len(rec.Parts) == 0 || rec.Addr == (chat.Address{}) || sessionIn(rec.ID) == there {
		return nil
	}
	words := chat.Receipt{Addr: rec.Addr, Began: rec.Began, At: rec.At, Refs: rec.Refs, Parts: rec.Parts}
	if err := r.store(ctx, there, words); err != nil {
		return fmt.Errorf("store what %q says: %w", rec.ID, err)
	}
	return nil
}

func (r *Receipts) store(ctx context.Context, place string, rec chat.Receipt) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return r.l.add(ctx, place, data)
}

// placeOf is where the receipt of an id stands: with the chat that it names,
// else with all that begin alike, such as the slots of a job.
func placeOf(id string) string {
	if sid := sessionIn(id); sid != "" {
		return sid
	}
	if parts := strings.SplitN(id, ":", 3); len(parts) == 3 {
		id = parts[0] + ":" + parts[1]
	}
	return hashToken(id)
}

// receiptID reads whose receipt an entry is.
func receiptID(data []byte) ([]string, error) {
	var r struct{ ID string }
	err := json.Unmarshal(data, &r)
	return []string{r.ID}, err
}
