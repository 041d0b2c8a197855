package qq

import (
	"context"
	"strings"
	"time"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	// openPrefix begins the keys under which the table holds the id of the stream
	// that is open in a chat, for the program that comes after this one.
	openPrefix = "stream."
	// recallable is how long a message can be taken back
	// (bot.q.qq.com/wiki/develop/api-v2/autogen/api/, recalling, July 2026, read
	// November 2026).
	recallable = 2 * time.Minute
)

// opened notes a stream that has begun. What cannot be noted is only left
// behind if the program dies.
func (q *QQ) opened(ctx context.Context, chatID, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	if _, err := q.deps.Table.Update(ctx, openPrefix+chatID, []byte(id), 0, recallable); err != nil {
		q.deps.Log.Debug("a stream is not noted", "chat", chatID, "err", err)
	}
}

// ended drops the note about a chat's stream. It comes before the last piece: a
// complete answer is never taken back.
func (q *QQ) ended(ctx context.Context, chatID string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	return q.deps.Table.Delete(ctx, openPrefix+chatID)
}

// clearLeft takes back the streams that an earlier program left open: their
// answers are sent anew, whole. What cannot be taken back any more the platform
// cuts back to its first piece.
func (q *QQ) clearLeft(ctx context.Context) {
	list, cancel := context.WithTimeout(ctx, tablePatience)
	left, err := kv.List(list, q.deps.Table, strings.TrimSuffix(openPrefix, "."))
	cancel()
	if err != nil {
		q.deps.Log.Warn("streams of an earlier run are not taken back", "err", err)
		return
	}
	ctx, cancel = context.WithTimeout(ctx, recallable)
	defer cancel()
	for _, e := range left {
		q.clear(ctx, strings.TrimPrefix(e.Key, openPrefix), string(e.Value))
	}
}

func (q *QQ) clear(ctx context.Context, chatID, id string) {
	if g := q.streams.get(chatID); g != nil {
		return // this program has begun another meanwhile
	}
	for wait := q.backoff(); ; wait.Pause(ctx, nil) {
		err := q.Delete(ctx, chat.MessageRef{Channel: q.name, Chat: chatID, ID: id})
		kind := channels.KindOf(err)
		if err != nil && kind != channels.Rejected && kind != channels.Unauthorized && ctx.Err() == nil {
			continue
		}
		if err != nil {
			q.deps.Log.Warn("the beginning of a streamed answer is left behind", "chat", chatID, "err", err)
		}
		if err := q.ended(ctx, chatID); err != nil {
			q.deps.Log.Debug("a stream stays noted", "chat", chatID, "err", err)
		}
		return
	}
}
