package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"magpie/agent/command"
	"magpie/agent/settings"
	"magpie/bus"
	"magpie/chat"
)

// noticeEvery is how often a chat is told that its mailbox is full: one notice
// speaks for all that is refused meanwhile.
const noticeEvery = 10 * time.Second

// intake is the last step of the way in: it puts a message into its chat's
// mailbox. What the bus refuses for good is told to the person and counts as
// taken; what it cannot take now is an error, so that the platform brings it
// again.
type intake struct {
	bus  *bus.Bus
	talk *talk // of groups
	log  *slog.Logger
	now  func() time.Time
	// zone is told which time zone somebody writes from.
	zone func(ctx context.Context, session chat.SessionKey, zone string) error
}

func (i *intake) sink(ctx context.Context, in chat.Inbound) error {
	in.Text = strings.ToValidUTF8(in.Text, "\uFFFD")
	if empty(&in) {
		i.log.Debug("empty message skipped", "session", in.Addr.Session(), "trace", in.Trace, "id", in.ID)
		return nil
	}
	if in.V == 0 {
		in.V = chat.Version
	}
	if in.Origin == "" {
		in.Origin = chat.FromPerson
	}
	if in.From.Zone != "" && i.zone != nil {
		if err := i.zone(ctx, in.Addr.Session(), in.From.Zone); err != nil {
			i.log.Warn("the time zone of a device is not noted", "session", in.Addr.Session(), "err", err)
		}
	}
	err := i.publish(ctx, in)
	switch {
	case err == nil:
		i.log.Info("message received", "channel", in.Addr.Channel, "session", in.Addr.Session(), "trace", in.Trace, "id", in.ID)
	case errors.Is(err, bus.ErrMailboxFull):
		window := i.now().Truncate(noticeEvery).Unix()
		return i.tell(ctx, in, fmt.Sprintf("%s:%d", answerFull, window), fullNotice)
	case errors.Is(err, bus.ErrTooLarge):
		return i.tell(ctx, in, answerLarge+":"+in.ID, largeNotice)
	}
	return err
}

// empty reports whether a message says nothing at all, as news does. A bare
// mention in a group says something, and so does a reply without a text: it
// points at what it replies to.
func empty(in *chat.Inbound) bool {
	if in.Happening != "" {
		return true
	}
	return strings.TrimSpace(in.Text) == "" && len(in.Attachments) == 0 && in.Press == nil &&
		in.ReplyTo == nil && (in.Direct || !in.Mentioned || in.Edited)
}

// publish stores a message in its mailbox; one for the model takes along what
// was said in its group before.
func (i *intake) publish(ctx context.Context, in chat.Inbound) error {
	control := in.Press != nil || command.Is(in.Text)
	if control || in.Direct {
		return i.bus.PublishInbound(ctx, in, control)
	}
	return i.talk.with(ctx, in, func(ctx context.Context, in chat.Inbound) error {
		return i.bus.PublishInbound(ctx, in, false)
	})
}

var (
	fullNotice = map[string]string{
		settings.English: "There are 100 messages of this chat waiting already. I did not take this one, and take no more until some are answered: please send them again later, or /stop what I am doing.",
		settings.Chinese: "这个会话已有 100 条消息在排队。这一条我没有收下，在处理完一些之前也不再收新的：请稍后重发，或用 /stop 停止我正在做的事。",
	}
	largeNotice = map[string]string{
		settings.English: "This message is too long for me. Please send it as a file.",
		settings.Chinese: "这条消息太长了，请以文件形式发送。",
	}
)

// tell says in the chat why a message was not taken, once for each why.
func (i *intake) tell(ctx context.Context, in chat.Inbound, why string, notice map[string]string) error {
	i.log.Warn("message refused", "why", why, "channel", in.Addr.Channel, "session", in.Addr.Session(), "trace", in.Trace)
	return i.bus.PublishOutbound(ctx, chat.Outbound{
		Meta: chat.Meta{
			V: chat.Version, ID: fmt.Sprintf("out:%s:%s", in.Addr.Session(), why),
			Trace: in.Trace, At: i.now(), Addr: in.Addr,
		},
		Text: notice[settings.Lang(settings.Settings{}, in.From, in.Text)],
	})
}

// newTrace returns the id under which one message can be followed.
func newTrace() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
