package dingtalk

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

const (
	// maxTitle is the longest title of a message, in characters; it is what
	// the list of chats and the notification show.
	maxTitle = 40
	// bySession begins the ids of messages that went by a session webhook,
	// which tells no id.
	bySession = "session:"
)

// Send delivers one text: by the chat's session webhook while it is good, else
// by the robot API. DingTalk cannot recognise a repeat.
func (t *DingTalk) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	to, err := t.fits(msg)
	if err != nil {
		return chat.MessageRef{}, err
	}
	if t.cards != nil {
		ref, done, err := t.cards.send(ctx, to, msg)
		if done {
			return ref, err
		}
	}
	ref, err := t.sendText(ctx, to, msg)
	if err == nil && msg.Final {
		t.worked(ctx, to.chat, time.Time{})
	}
	return ref, err
}

// fits refuses what need not be tried.
func (t *DingTalk) fits(msg chat.Outbound) (target, error) {
	to, err := parseTarget(msg.Addr.Chat)
	if err != nil {
		return to, t.api.Fail("send", channels.Rejected, err)
	}
	if n := t.Limits().Size(msg.Text); n > maxText {
		return to, t.api.Fail("send", channels.TooLong, fmt.Errorf("%d characters, at most %d fit", n, maxText))
	}
	return to, nil
}

func (t *DingTalk) sendText(ctx context.Context, to target, msg chat.Outbound) (chat.MessageRef, error) {
	s, ok, err := t.sessions.get(ctx, to.chat)
	if err != nil {
		t.deps.Log.Warn("a session webhook cannot be looked up", "chat", msg.Addr.String(), "err", err)
	}
	now := t.deps.Now()
	switch {
	case ok && now.Before(s.Slowed) && !to.reachable():
		e := t.api.Fail("send", channels.RateLimited, errors.New("the session webhook takes nothing for a while"))
		e.RetryAfter = s.Slowed.Sub(now)
		return chat.MessageRef{}, e
	case ok && !now.Before(s.Slowed):
		key, err := t.viaSession(ctx, s, msg)
		if err == nil {
			t.sent.keep(ctx, to.chat, sentMessage{ID: bySession + msg.ID, Key: key, Start: start(markdown(msg.Text))})
			return t.ref(to.chat, bySession+msg.ID), nil
		}
		if !t.elsewhere(ctx, to, s, err) {
			return chat.MessageRef{}, err
		}
	}
	if !to.reachable() {
		return chat.MessageRef{}, t.api.Fail("send", channels.Rejected,
			errors.New("this person is outside the organisation and can be answered only for a while after a message of theirs"))
	}
	return t.viaRobot(ctx, to, msg)
}

// elsewhere reports whether a message that a webhook refused can go by the
// robot API, and forgets a webhook that is gone, or rests one that has had too
// much. What DingTalk finds wrong with the message itself stays.
func (t *DingTalk) elsewhere(ctx context.Context, to target, s session, err error) bool {
	var no *refusal
	if errors.As(err, &no) && no.slow() {
		t.deps.Log.Info("a session webhook takes nothing for a while", "chat", to.chat, "dur", slowedFor)
		if err := t.sessions.slow(ctx, to.chat, t.deps.Now().Add(slowedFor)); err != nil {
			t.deps.Log.Warn("that is known until the restart only", "chat", to.chat, "err", err)
		}
		return to.reachable()
	}
	if kind := channels.KindOf(err); kind != channels.Rejected && kind != channels.Unauthorized {
		return false
	}
	if _, errcode := codeOf(err); slices.Contains([]int{430101, 430102, 430103, 430104}, errcode) {
		return false // content that is not allowed
	}
	t.deps.Log.Info("a session webhook is gone", "chat", to.chat, "err", err)
	if err := t.sessions.drop(ctx, to.chat, s.URL); err != nil {
		t.deps.Log.Warn("a session webhook that is gone stays in the table", "chat", to.chat, "err", err)
	}
	return true
}

// viaSession posts to a session webhook, plain when Markdown is refused. In a
// group the one whose message is answered is mentioned. The answer is
// documented without a key, and some have seen one.
func (t *DingTalk) viaSession(ctx context.Context, s session, msg chat.Outbound) (key string, err error) {
	const op = "sendBySession"
	body := map[string]any{"msgtype": "markdown"}
	staff := s.sender(msg.ReplyTo)
	if msg.Mention != (chat.Sender{}) {
		staff, _ = channels.Mentioned(msg)
	}
	if staff != "" {
		body["at"] = map[string]any{"atUserIds": []string{staff}}
	}
	body["markdown"] = map[string]string{"title": title(msg.Text), "text": mentioning(staff, named(staff, msg, markdown(msg.Text)))}
	var got struct {
		Key string `json:"processQueryKey"`
	}
	post := func() error {
		return t.api.do(ctx, call{op: op, url: s.URL, in: body, sends: true, bare: true}, &got)
	}
	err = post()
	if !badMarkup(err) {
		return got.Key, err
	}
	t.deps.Log.Warn("dingtalk refused the markdown, sending plain text", "err", err)
	delete(body, "markdown")
	body["msgtype"], body["text"] = "text", map[string]string{"content": mentioning(staff, named(staff, msg, plain(msg.Text)))}
	err = post()
	return got.Key, err
}

// startsBlock tells Markdown that is something else than a paragraph.
var startsBlock = regexp.MustCompile(`^(#{1,6} |>|- |\d+\. |` + "```" + `|\|)`)

// mentioning puts the one who is mentioned before a text; DingTalk shows the
// name in the place of the id. What has to begin a line goes on below.
func mentioning(staff, text string) string {
	switch {
	case staff == "":
		return text
	case startsBlock.MatchString(text):
		return "@" + staff + "\n\n" + text
	}
	return "@" + staff + " " + text
}

// named is a text with the name of whom it is for, if nobody is mentioned.
func named(staff string, msg chat.Outbound, text string) string {
	if staff != "" {
		return text
	}
	return channels.Named(msg, text)
}

// viaRobot sends by the robot API, which mentions nobody; plain when Markdown is refused.
func (t *DingTalk) viaRobot(ctx context.Context, to target, msg chat.Outbound) (chat.MessageRef, error) {
	id, err := t.robot(ctx, to, "sampleMarkdown", map[string]string{"title": title(msg.Text), "text": named("", msg, markdown(msg.Text))})
	if badMarkup(err) {
		t.deps.Log.Warn("dingtalk refused the markdown, sending plain text", "err", err)
		id, err = t.robot(ctx, to, "sampleText", map[string]string{"content": named("", msg, plain(msg.Text))})
	}
	if err != nil {
		return chat.MessageRef{}, err
	}
	t.sent.keep(ctx, to.chat, sentMessage{ID: id, Start: start(markdown(msg.Text))})
	return t.ref(to.chat, id), nil
}

// robot sends one message of a kind and returns its processQueryKey.
func (t *DingTalk) robot(ctx context.Context, to target, key string, param map[string]string) (string, error) {
	op, path := "oToMessages/batchSend", "/v1.0/robot/oToMessages/batchSend"
	in := map[string]any{"robotCode": t.cfg.RobotCode, "msgKey": key, "msgParam": jsonText(param)}
	if to.group != "" {
		op, path = "groupMessages/send", "/v1.0/robot/groupMessages/send"
		in["openConversationId"] = to.group
	} else {
		in["userIds"] = []string{to.staff}
	}
	var got struct {
		Key     string   `json:"processQueryKey"`
		Invalid []string `json:"invalidStaffIdList"`
		Slowed  []string `json:"flowControlledStaffIdList"`
	}
	if err := t.api.send(ctx, op, path, in, &got); err != nil {
		return "", err
	}
	switch {
	case len(got.Invalid) > 0:
		return "", t.api.Fail(op, channels.Rejected, fmt.Errorf("the robot cannot reach %q: no such staff id, or not in the robot's visible range", to.staff))
	case len(got.Slowed) > 0:
		e := t.api.Fail(op, channels.RateLimited, errors.New("too many messages to this person"))
		e.RetryAfter = perMinute
		return "", e
	case got.Key == "":
		return "", t.api.Fail(op, channels.Ambiguous, errors.New("answer without a processQueryKey"))
	}
	return got.Key, nil
}

func (t *DingTalk) ref(chatID, id string) chat.MessageRef {
	return chat.MessageRef{Channel: t.name, Chat: chatID, ID: id}
}

// badMarkup reports that the form of a message was refused, not what it says.
// Links that DingTalk finds unsafe are links no more in plain text.
func badMarkup(err error) bool {
	switch code, errcode := codeOf(err); {
	case slices.Contains([]int{40035, 400105, 430101}, errcode):
		return true
	case slices.Contains([]string{
		"invalidParameter.msgKey.invalid", "invalidParameter.msgParam.invalid", "invalidParameter.msg.unsupport",
		"sendMessage.model.notMatch", "contain.unsafe.url",
	}, code):
		return true
	case strings.HasPrefix(code, "miss.param.markdown"):
		return true
	}
	return false
}

// recalled remembers what was recalled, since DingTalk does not tell "already
// recalled" from "cannot be recalled".
type recalled struct {
	mu  sync.Mutex
	ids []string
}

func (r *recalled) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids = append(r.ids, id); len(r.ids) > 256 {
		r.ids = slices.Clone(r.ids[128:])
	}
}

func (r *recalled) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.ids, id)
}

// Delete recalls a message of the robot API, and completes a card, which
// cannot be taken away. Messages that went by a session webhook stay.
func (t *DingTalk) Delete(ctx context.Context, ref chat.MessageRef) error {
	const op = "recall"
	if t.cards != nil && isCard(ref.ID) {
		return t.cards.giveUp(ctx, ref)
	}
	to, err := parseTarget(ref.Chat)
	if err == nil && (strings.HasPrefix(ref.ID, bySession) || !to.reachable()) {
		err = errors.New("messages that went by a session webhook cannot be recalled")
	}
	if err != nil {
		return t.api.Fail(op, channels.Rejected, err)
	}
	in := map[string]any{"robotCode": t.cfg.RobotCode, "processQueryKeys": []string{ref.ID}}
	path := "/v1.0/robot/otoMessages/batchRecall"
	if to.group != "" {
		path, in["openConversationId"] = "/v1.0/robot/groupMessages/recall", to.group
	}
	var got struct {
		Failed map[string]string `json:"failedResult"`
	}
	if err := t.api.post(ctx, op, path, in, &got); err != nil {
		return err
	}
	if why, failed := got.Failed[ref.ID]; failed {
		if t.recalled.has(ref.ID) {
			return nil
		}
		return t.api.Fail(op, channels.Rejected, errors.New(why))
	}
	t.recalled.add(ref.ID)
	return nil
}

// markdown is a text in DingTalk's dialect; it is never empty.
func markdown(text string) string {
	if s := render.DingTalk(text); s != "" {
		return s
	}
	return " "
}

// cardText is a text in the dialect of cards; it is never empty.
func cardText(text string) string {
	if s := render.DingTalkCard(text); s != "" {
		return s
	}
	return " "
}

func plain(text string) string {
	if s := render.Plain(text); s != "" {
		return s
	}
	return " "
}

// title is the start of a text, in one line.
func title(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(render.Plain(text)), "\n")
	if r := []rune(line); len(r) > maxTitle {
		line = string(r[:maxTitle-1]) + "…"
	}
	if strings.TrimSpace(line) == "" {
		return "…"
	}
	return line
}
