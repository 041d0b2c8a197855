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
	// quotedLife is how long the files of a message, and the bot's own messages,
	// are known when they are quoted.
	quotedLife = 7 * 24 * time.Hour
)

// quotedKey is where a message of a chat stands, by its index.
func quotedKey(chatID, index string) string {
	sum := sha256.Sum256([]byte(chatID + "|" + index))
	return quotedPrefix + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15])
}

// keepLine remembers a message with files, or one of the bot, for longer than the
// account of its chat holds it: a quote of it may bring nothing but its index, and
// does not say in a group that it is the bot's.
func (q *QQ) keepLine(ctx context.Context, chatID string, l line) {
	if l.Index == "" || len(l.Files) == 0 && !l.Mine {
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
		q.deps.Log.Warn("a message may not be known when it is quoted", "chat", chatID, "err", err)
	}
}

// fillQuote fills in what neither the event nor the account of the chat tells of a
// quote.
func (q *QQ) fillQuote(ctx context.Context, chatID string, quote *chat.Quote) {
	if quote == nil || quote.Mine {
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
	if json.Unmarshal(e.Value, &l) != nil {
		return
	}
	quote.ID, quote.Mine = l.ID, l.Mine
	if quote.Text == "" && len(quote.Attachments) == 0 {
		quote.From, quote.Text, quote.Attachments = l.From, l.Text, l.Files
	}
}
