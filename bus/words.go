package bus

import (
	"context"
	"encoding/json"

	"magpie/chat"
)

// Words returns what a message of the bot holds, by the id that its platform
// gave it or by which quotes name it; false when nobody knows (any more).
func (r *Receipts) Words(ctx context.Context, a chat.Address, id string) (part chat.Part, found bool, err error) {
	rec, i, err := r.sent(ctx, a, id)
	if err != nil || i < 0 {
		return part, false, err
	}
	return rec.Parts[i], true, nil
}

// Sent returns the id of the outbound message that such a message is a part of;
// "" when nobody knows.
func (r *Receipts) Sent(ctx context.Context, a chat.Address, id string) (string, error) {
	rec, _, err := r.sent(ctx, a, id)
	return rec.ID, err
}

// sent finds the receipt of a message by its id on the platform, and which part
// of it that is, -1 for none.
func (r *Receipts) sent(ctx context.Context, a chat.Address, id string) (chat.Receipt, int, error) {
	for _, place := range placesOf(a) {
		seq, found, err := r.words.find(ctx, place, platformID(a.Channel, a.Chat, id))
		if err != nil {
			return chat.Receipt{}, -1, err
		}
		if !found {
			continue
		}
		rec, found, err := r.read(ctx, seq)
		if err != nil {
			return chat.Receipt{}, -1, err
		}
		for i, ref := range rec.Refs {
			if found && i < len(rec.Parts) && ref.Channel == a.Channel && ref.Chat == a.Chat && (ref.ID == id || ref.Index == id) {
				return rec, i, nil
			}
		}
	}
	return chat.Receipt{}, -1, nil
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
