package dingtalk

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	// signLife is how long a sign of work is said to last; it is asked for
	// again while the work goes on.
	signLife = 30 * time.Second
	// signPatience bounds the putting and the taking away of a sign.
	signPatience = 5 * time.Second
	// signRefused is how long a robot that may put no signs tries none.
	signRefused = 24 * time.Hour
	// mostSigns is how many chats are remembered.
	mostSigns = 4096

	signPrefix = "sign."
	refusedKey = "signs-refused"
	// signName and signID are the one emotion that robots are known to put on
	// a message: "thinking".
	signName = "🤔思考中"
	signID   = "2659900"
)

// sign is the emotion on a message that says that the bot is at work. Only a
// message can wear one, so it is on the last one that wanted something.
type sign struct {
	Message string `json:"message"`
	Conv    string `json:"conversation"`

	touched time.Time
}

// signs knows the messages that may wear a sign, and those that do. DingTalk
// documents none of it; it is what its own connector does
// (dingtalk-openclaw-connector 0.8.21 of 2026-05-17, utils-legacy.ts).
type signs struct {
	mu      sync.Mutex
	last    map[string]sign // by chat
	shown   map[string]sign
	refused time.Time // until when none is tried
	asked   bool      // the table was, about that
}

func newSigns() signs { return signs{last: map[string]sign{}, shown: map[string]sign{}} }

// heard notes a message that the bot may be at work on.
func (s *signs) heard(chatID, message, conv string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) >= mostSigns {
		clear(s.last)
	}
	s.last[chatID] = sign{Message: message, Conv: conv}
}

// due returns the message of a chat that should wear the sign and does not.
func (s *signs) due(chatID string, now time.Time) (sign, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on, ok := s.shown[chatID]; ok {
		on.touched = now
		s.shown[chatID] = on
		return sign{}, false
	}
	next, ok := s.last[chatID]
	return next, ok && next.Conv != "" && !now.Before(s.refused)
}

func (s *signs) put(chatID string, on sign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown[chatID] = on
}

// take forgets the sign of a chat, if that was not touched since before; zero:
// whenever it was.
func (s *signs) take(chatID string, before time.Time) (sign, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	on, ok := s.shown[chatID]
	if ok = ok && (before.IsZero() || on.touched.Before(before)); ok {
		delete(s.shown, chatID)
	}
	return on, ok
}

// Typing puts the emotion "thinking" on the message that is being answered. A
// robot that may not do so is not asked again for a day.
func (t *DingTalk) Typing(ctx context.Context, a chat.Address) error {
	if t.cfg.WorkingSign == noSign || t.signsRefused(ctx) {
		return nil
	}
	on, ok := t.signs.due(a.Chat, t.deps.Now())
	if !ok {
		return nil
	}
	// What was begun is brought to its end: a sign that nobody knows of stays.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signPatience)
	defer cancel()
	on.touched = t.deps.Now()
	if err := t.keepSign(ctx, a.Chat, on); err != nil {
		return t.api.Fail("emotion", channels.Temporary, err)
	}
	t.signs.put(a.Chat, on)
	err := t.emotion(ctx, "reply", on)
	if kind := channels.KindOf(err); err != nil && kind != channels.Ambiguous {
		t.signs.take(a.Chat, time.Time{})
		t.dropSign(ctx, a.Chat)
		if channels.Final(err) {
			t.refuseSigns(ctx, err)
		}
	}
	return err
}

// worked takes the sign of a chat away.
func (t *DingTalk) worked(ctx context.Context, chatID string, before time.Time) {
	on, ok := t.signs.take(chatID, before)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signPatience)
	defer cancel()
	if err := t.emotion(ctx, "recall", on); err != nil && !channels.Final(err) {
		t.deps.Log.Info("a sign of work is taken away later", "chat", chatID, "err", err)
		on.touched = t.deps.Now()
		t.signs.put(chatID, on)
		return
	}
	t.dropSign(ctx, chatID)
}

func (t *DingTalk) emotion(ctx context.Context, op string, on sign) error {
	in := map[string]any{
		"robotCode": t.cfg.RobotCode, "openMsgId": on.Message, "openConversationId": on.Conv, "emotionType": 2, "emotionName": signName,
		"textEmotion": map[string]string{"emotionId": signID, "emotionName": signName, "text": signName, "backgroundId": "im_bg_1"},
	}
	return t.api.post(ctx, "emotion/"+op, "/v1.0/robot/emotion/"+op, in, nil)
}

// signsRefused reports whether the robot may put no signs, as far as is known.
func (t *DingTalk) signsRefused(ctx context.Context) bool {
	t.signs.mu.Lock()
	asked := t.signs.asked
	t.signs.asked = true
	until := t.signs.refused
	t.signs.mu.Unlock()
	now := t.deps.Now()
	if asked {
		return now.Before(until)
	}
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if _, err := t.deps.Table.Get(ctx, refusedKey); err != nil {
		return false
	}
	t.signs.mu.Lock()
	defer t.signs.mu.Unlock()
	t.signs.refused = now.Add(signRefused)
	return true
}

func (t *DingTalk) refuseSigns(ctx context.Context, why error) {
	t.deps.Log.Info("dingtalk refused the sign of work, none is shown for a day", "err", why)
	t.signs.mu.Lock()
	t.signs.refused = t.deps.Now().Add(signRefused)
	t.signs.mu.Unlock()
	if _, err := t.deps.Table.Update(ctx, refusedKey, []byte("1"), 0, signRefused); err != nil {
		t.deps.Log.Debug("that is known until the restart only", "err", err)
	}
}

// keepSign notes a sign in the table before it is put: one that a crash leaves
// is taken away later.
func (t *DingTalk) keepSign(ctx context.Context, chatID string, on sign) error {
	value, err := json.Marshal(on)
	if err == nil {
		_, err = t.deps.Table.Update(ctx, signPrefix+chatID, value, 0, memoryLife)
	}
	return err
}

func (t *DingTalk) dropSign(ctx context.Context, chatID string) {
	if err := t.deps.Table.Delete(ctx, signPrefix+chatID); err != nil {
		t.deps.Log.Debug("a sign of work that is gone stays in the table", "chat", chatID, "err", err)
	}
}

// watchSigns takes away the signs whose work ended without an answer, those of
// an earlier process too, until ctx ends.
func (t *DingTalk) watchSigns(ctx context.Context) {
	t.restoreSigns(ctx)
	tick := time.NewTicker(t.pace.sweep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			t.sweepSigns(ctx)
		}
	}
}

func (t *DingTalk) sweepSigns(ctx context.Context) {
	old := t.deps.Now().Add(-2 * signLife)
	t.signs.mu.Lock()
	var due []string
	for chatID, on := range t.signs.shown {
		if on.touched.Before(old) {
			due = append(due, chatID)
		}
	}
	t.signs.mu.Unlock()
	for _, chatID := range due {
		t.worked(ctx, chatID, old)
	}
}

func (t *DingTalk) restoreSigns(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	all, err := kv.List(ctx, t.deps.Table, strings.TrimSuffix(signPrefix, "."))
	if err != nil && !errors.Is(err, context.Canceled) {
		t.deps.Log.Warn("signs of work of an earlier run stay", "err", err)
	}
	t.signs.mu.Lock()
	defer t.signs.mu.Unlock()
	for _, e := range all {
		on := sign{}
		chatID := strings.TrimPrefix(e.Key, signPrefix)
		if _, known := t.signs.shown[chatID]; !known && json.Unmarshal(e.Value, &on) == nil {
			on.touched = t.deps.Now()
			t.signs.shown[chatID] = on
		}
	}
}
