package telegram

import (
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"magpie/channels"
	"magpie/chat"
)

const (
	draftMethod = "sendMessageDraft"
	// draftLife is how long Telegram shows a draft
	// (https://core.telegram.org/bots/api#sendmessagedraft, read November 2026).
	draftLife = 30 * time.Second
	// draftPace: Telegram does not say how many drafts it takes; people measured
	// that nine a second go on for ever (November 2026). Changes are animated.
	draftPace = 500 * time.Millisecond
	// editPace and groupEditPace: edits about once a second earn a pause of half
	// a minute to minutes, and in groups they count among the 20 messages a
	// minute (people's reports, November 2026).
	editPace      = 2 * time.Second
	groupEditPace = 4 * time.Second
)

var errNoDrafts = errors.New("only private chats show drafts")

// isGroup: groups, supergroups and channels have negative ids.
func isGroup(a chat.Address) bool { return strings.HasPrefix(a.Chat, "-") }

func editIn(a chat.Address) time.Duration {
	if isGroup(a) {
		return groupEditPace
	}
	return editPace
}

func draftIn(a chat.Address) time.Duration {
	if isGroup(a) {
		return 0
	}
	return draftPace
}

// Draft shows a text in a private chat as being written. An older Bot API server
// does not know the method, and some bots may not use it.
func (t *Telegram) Draft(ctx context.Context, a chat.Address, id, text string) error {
	if isGroup(a) {
		return t.api.Fail(draftMethod, channels.Rejected, errNoDrafts)
	}
	p := tgbotapi.Params{"chat_id": a.Chat, "draft_id": strconv.FormatUint(draftID(id), 10)}
	p.AddNonEmpty("message_thread_id", a.Thread)
	_, err := t.postText(ctx, draftMethod, p, chat.Outbound{Text: text})
	var r *refusal
	if errors.As(err, &r) && r.code == http.StatusNotFound { // with this token other methods are found
		return t.api.Fail(draftMethod, channels.Rejected, err)
	}
	return err
}

// draftID is a number for a reply, never 0.
func draftID(id string) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // it takes everything
	return uint64(h.Sum32()>>1) + 1
}
