package command

import (
	"context"

	"magpie/chat"
)

// press hands a press to the registry of buttons and words its outcome.
func (s *Set) press(ctx context.Context, r *request) (chat.Outbound, bool, error) {
	out := s.outbound(r.d)
	out.ReplyTo = ""
	if s.ports.Buttons == nil {
		out.Answer = &chat.Answer{Press: r.d.Press.ID, Message: r.d.Press.Message, Notice: r.pick("This button has expired.", "这个按钮已过期。")}
		return out, true, nil
	}
	done, err := s.ports.Buttons.Press(ctx, r.d.Inbound, r.lang, r.chat.Say)
	if err != nil {
		return chat.Outbound{}, false, err
	}
	if done.Err != nil {
		s.log.Warn("button failed", "session", r.d.Addr.Session(), "trace", r.d.Trace, "err", done.Err)
	}
	out.Answer, out.Text, out.Buttons, out.Sources = &done.Answer, done.Text, done.Buttons, done.Sources
	return out, true, nil
}
