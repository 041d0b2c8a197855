package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"magpie/chat"
)

// sameTime is how far the clocks of a platform and of this machine may be apart
// for a message to be recognised by when it was sent.
const sameTime = 10 * time.Second

// Words returns what a message of the bot holds, by the id that its platform
// gave it or by which quotes name it; false when nobody knows (any more).
func (r *Receipts) Words(ctx context.Context, a chat.Address, id string) (part chat.Part, found bool, err error) {
	for _, place := range placesOf(a) {
		seq, found, err := r.words.find(ctx, place, platformID(a.Channel, a.Chat, id))
		if err != nil {
			return part, false, err
		}
		if !found {
			continue
		}
		rec, found, err := r.read(ctx, seq)
		if err != nil {
			return part, false, err
		}
		for i, ref := range rec.Refs {
			if found && i < len(rec.Parts) && ref.Channel == a.Channel && ref.Chat == a.Chat && (ref.ID == id || ref.Index == id) {
				return rec.Parts[i], true, nil
			}
		}
	}
	return part, false, nil
}

// errEnough ends a search.
var errEnough = errors.New("the rest was sent later")

// WordsAt is Words for a message of which only is known when it was sent: the
// one that was sent next to that time, and not far from it.
func (r *Receipts) WordsAt(ctx context.Context, a chat.Address, at time.Time) (part chat.Part, found bool, err error) {
	best := sameTime + 1
	look := func(msg jetstream.Msg) error {
		var rec chat.Receipt
		if json.Unmarshal(msg.Data(), &rec) != nil {
			return nil // Receipt says so where it matters
		}
		if rec.Began.After(at.Add(sameTime)) {
			return errEnough
		}
		for _, p := range rec.Parts {
			if off := p.At.Sub(at).Abs(); !p.At.IsZero() && off < best {
				best, part = off, p
			}
		}
		return nil
	}
	for _, place := range placesOf(a) {
		from := jetstream.ConsumerConfig{FilterSubject: rootReceipt + place}
		err := r.l.b.each(ctx, r.l.b.streams.ids, from, at.Add(-sameTime), look)
		if err != nil && !errors.Is(err, errEnough) {
			return part, false, fmt.Errorf("look for what was sent at %v: %w", at, err)
		}
	}
	return part, best <= sameTime, nil
}

// placesOf are where the receipts of a chat stand: what is quoted in a thread
// may have been said outside of it.
func placesOf(a chat.Address) []string {
	places := []string{string(a.Session())}
	if a.Thread != "" {
		a.Thread = ""
		places = append(places, string(a.Session()))
	}
	return places
}

func platformID(channel, chatID, id string) string { return channel + "|" + chatID + "|" + id }

// platformIDs reads by which ids on their platform the messages of a receipt
// are known.
func platformIDs(data []byte) (ids []string, err error) {
	var rec chat.Receipt
	if err := json.Unmarshal(data, &rec); err != nil || len(rec.Parts) == 0 {
		return nil, err
	}
	for _, ref := range rec.Refs {
		for _, id := range []string{ref.ID, ref.Index} {
			if id != "" {
				ids = append(ids, platformID(ref.Channel, ref.Chat, id))
			}
		}
	}
	return ids, nil
}
