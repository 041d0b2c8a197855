package feishu

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	// signEmoji is the reaction that says that the bot is at work
	// (im-v1/message-reaction/emojis-introduce, read November 2026).
	signEmoji = "Typing"
	// signLife is how long a sign stays that nobody renews.
	signLife = time.Minute
	// signKept is how long the note about a sign outlives a crash.
	signKept = 24 * time.Hour
	// signTimeout bounds taking one away; an answer waits for it.
	signTimeout = 5 * time.Second
	// scopePause is how long what the app has no permission for is left alone.
	scopePause = time.Hour
)

// signs are the reactions that say "at work". Each is noted in the table until
// it is gone, so that a crash leaves none for ever.
type signs struct {
	last recent[string] // newest message in a conversation

	mu   sync.Mutex
	open map[chat.Address]*sign
	off  time.Time // no permission before then
}

type sign struct {
	message  string
	reaction string // "" = not known yet
	renewed  time.Time
	over     bool // taken away while it was being made
}

func newSigns() *signs { return &signs{open: map[chat.Address]*sign{}} }

// saw remembers which message a sign would be put on.
func (s *signs) saw(in *chat.Inbound) {
	if in.MessageID != "" && in.Happening == "" {
		s.last.put(in.Addr.String(), in.MessageID)
	}
}

// claim says what to put a sign on, or "" when there is nothing or one already.
func (s *signs) claim(a chat.Address, now time.Time) *sign {
	message, ok := s.last.get(a.String())
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.open[a]; have != nil {
		have.renewed = now
		return nil
	}
	if !ok || now.Before(s.off) {
		return nil
	}
	made := &sign{message: message, renewed: now}
	s.open[a] = made
	return made
}

// take removes the sign of a conversation from the list.
func (s *signs) take(a chat.Address) (sign, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.open[a]
	if have == nil {
		return sign{}, false
	}
	delete(s.open, a)
	have.over = true
	return *have, true
}

// stale are the conversations whose sign nobody has renewed since.
func (s *signs) stale(since time.Time) (old []chat.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, have := range s.open {
		if have.renewed.Before(since) {
			old = append(old, a)
		}
	}
	return old
}

// Typing puts a reaction on the newest message of the conversation. It stays
// until the bot has answered.
func (f *Feishu) Typing(ctx context.Context, a chat.Address) error {
	made := f.signs.claim(a, f.deps.Now())
	if made == nil {
		return nil
	}
	reaction, err := f.react(ctx, made.message, signEmoji)
	f.signs.mu.Lock()
	made.reaction = reaction
	over := made.over
	if err != nil && channels.KindOf(err) == channels.Rejected {
		delete(f.signs.open, a)
		if refused(err, codeScope, codePermission, 231002) {
			f.signs.off = f.deps.Now().Add(scopePause)
		}
	}
	f.signs.mu.Unlock()
	switch {
	case err != nil:
		return err
	case over:
		return f.unreact(ctx, made.message, reaction)
	}
	if _, err := f.deps.Table.Update(ctx, "sign."+made.message, []byte(reaction), 0, signKept); err != nil {
		f.deps.Log.Debug("a sign was not noted", "err", err)
	}
	return nil
}

// answered takes the sign of a conversation away. Its failure is nobody's
// business: the sign is looked after again at the next start.
func (f *Feishu) answered(ctx context.Context, a chat.Address) {
	have, ok := f.signs.take(a)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signTimeout)
	defer cancel()
	if err := f.removeSign(ctx, have.message, have.reaction); err != nil {
		f.deps.Log.Debug("a sign was not taken away", "err", err)
	}
}

func (f *Feishu) removeSign(ctx context.Context, message, reaction string) error {
	if reaction == "" { // the call that made it has had no answer
		found, err := f.ownReaction(ctx, message, signEmoji)
		if err != nil || found == "" {
			return err
		}
		reaction = found
	}
	if err := f.unreact(ctx, message, reaction); err != nil {
		return err
	}
	return f.deps.Table.Delete(ctx, "sign."+message)
}

// keep looks after the signs until ctx ends; stop then takes all away.
func (s *signs) keep(ctx context.Context, f *Feishu) (stop func()) {
	var wg sync.WaitGroup
	wg.Go(func() {
		f.sweepSigns(ctx)
		tick := time.NewTicker(f.pace.sweep)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			for _, a := range s.stale(f.deps.Now().Add(-signLife)) {
				f.answered(ctx, a)
			}
		}
	})
	return func() {
		wg.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signTimeout)
		defer cancel()
		for _, a := range s.stale(f.deps.Now().Add(signLife)) {
			f.answered(ctx, a)
		}
	}
}

// sweepSigns takes away what an earlier process has left.
func (f *Feishu) sweepSigns(ctx context.Context) {
	left, err := kv.List(ctx, f.deps.Table, "sign")
	if err != nil {
		f.deps.Log.Debug("signs of an earlier run not read", "err", err)
		return
	}
	for _, e := range left {
		if err := f.removeSign(ctx, e.Key[len("sign."):], string(e.Value)); err != nil {
			f.deps.Log.Debug("a sign of an earlier run was not taken away", "err", err)
		}
	}
}

func reactionPath(message string) string { return messagePath(message) + "/reactions" }

func (f *Feishu) react(ctx context.Context, message, emoji string) (id string, err error) {
	raw, err := f.api.call(ctx, request{
		op: "reaction/create", method: http.MethodPost, path: reactionPath(message),
		body: map[string]any{"reaction_type": map[string]string{"emoji_type": emoji}},
	})
	if err != nil {
		return "", err
	}
	var made struct {
		ID string `json:"reaction_id"`
	}
	if err := json.Unmarshal(raw, &made); err != nil || made.ID == "" {
		return "", f.api.Fail("reaction/create", channels.Temporary, fmt.Errorf("answer without an id: %w", err))
	}
	return made.ID, nil
}

// unreact removes a reaction; one that is gone is no error.
func (f *Feishu) unreact(ctx context.Context, message, reaction string) error {
	_, err := f.api.call(ctx, request{
		op: "reaction/delete", method: http.MethodDelete, path: reactionPath(message) + "/" + url.PathEscape(reaction),
	})
	if refused(err, codeNoReaction, codeForeign, codeReactionID, codeDeleted, codeRecalled) {
		return nil
	}
	return err
}

// ownReaction finds the app's reaction with this emoji; "" = there is none.
func (f *Feishu) ownReaction(ctx context.Context, message, emoji string) (string, error) {
	raw, err := f.api.call(ctx, request{
		op: "reaction/list", method: http.MethodGet, path: reactionPath(message),
		query: url.Values{"reaction_type": {emoji}, "page_size": {"50"}},
	})
	if refused(err, codeNoReaction, codeDeleted, codeRecalled) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var answer struct {
		Items []struct {
			ID       string `json:"reaction_id"`
			Operator struct {
				ID   string `json:"operator_id"`
				Type string `json:"operator_type"`
			} `json:"operator"`
		} `json:"items"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", f.api.Fail("reaction/list", channels.Temporary, err)
	}
	for _, i := range answer.Items {
		if i.Operator.Type == "app" && i.Operator.ID == f.cfg.AppID {
			return i.ID, nil
		}
	}
	return "", nil
}

// emojis are the platform's names of reactions that it has.
var emojis = map[string]string{
	"👍": "THUMBSUP", "👌": "OK", "🙏": "THANKS", "💪": "MUSCLE", "👏": "APPLAUSE", "🤝": "FISTBUMP", "✅": "DONE",
	"😄": "SMILE", "😊": "SMILE", "😂": "LAUGH", "🤔": "THINKING", "😢": "CRY", "😭": "SOB", "❌": "ERROR", "😮": "WOW",
	"👋": "WAVE", "😍": "LOVE", "❤": "HEART", "❤️": "HEART", "🎉": "PARTY", "👀": "GLANCE", "🔥": "Fire", "💯": "Hundred",
}

// React puts an emoji on a message, or with "" takes the bot's own away. The
// platform has a list of its own; what is not on it is Rejected.
func (f *Feishu) React(ctx context.Context, ref chat.MessageRef, emoji string) error {
	if emoji != "" {
		name, ok := emojis[emoji]
		if !ok {
			return f.api.Fail("reaction/create", channels.Rejected, fmt.Errorf("no reaction for %q", emoji))
		}
		_, err := f.react(ctx, ref.ID, name)
		return err
	}
	for _, name := range []string{"THUMBSUP", "OK", "DONE", "HEART", "GLANCE"} {
		id, err := f.ownReaction(ctx, ref.ID, name)
		if err == nil && id != "" {
			err = f.unreact(ctx, ref.ID, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
