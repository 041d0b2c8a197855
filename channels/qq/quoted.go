package qq

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

const (
	quotedPrefix = "quoted."
	// quotedLife is how long the files of a message are known when it is quoted.
	quotedLife = 7 * 24 * time.Hour
)

// quotedKey is where a message of a chat stands, by its index.
func quotedKey(chatID, index string) string {
	sum := sha256.Sum256([]byte(chatID + "|" + index))
	return quotedPrefix + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15])
}

// noteFiles remembers a message with files for longer than the account of its chat
// holds it: a quote of it may bring nothing but its index.
func (q *QQ) noteFiles(ctx context.Context, chatID string, l line) {
	if l.Index == "" || len(l.Files) == 0 {
		return
	}
	l.Text = cutRunes(l.Text, maxQuote)
	value, err := json.Marshal(l)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
		defer cancel()
		_, err = q.deps.Table.Update(ctx, quotedKey(chatID, l.Index), value, 0, quotedLife)
	}
	if err != nil {
		q.deps.Log.Warn("the files of a message may not be found when it is quoted", "chat", chatID, "err", err)
	}
}

// fillQuote fills in a quote of which neither the event nor the account of the chat
// tells anything.
func (q *QQ) fillQuote(ctx context.Context, chatID string, quote *chat.Quote) {
	if quote == nil || quote.Mine || quote.Text != "" || len(quote.Attachments) > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	e, err := q.deps.Table.Get(ctx, quotedKey(chatID, quote.ID))
	if err != nil {
		if !errors.Is(err, kv.ErrNotFound) {
			q.deps.Log.Warn("a quoted message cannot be looked up", "chat", chatID, "err", err)
		}
		return
	}
	var l line
	if json.Unmarshal(e.Value, &l) == nil {
		quote.ID, quote.From, quote.Text, quote.Attachments = l.ID, l.From, l.Text, l.Files
	}
}
