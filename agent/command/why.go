package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"magpie/agent/approval"
	"magpie/chat"
)

// Why is what a conversation holds of text from outside.
type Why struct {
	Sources    []chat.Source
	Summarised []chat.Source // those of which the summary may speak
}

// runWhy says from where the text from outside came that counts in this
// conversation, or, in a reply, that counted when the bot wrote that message.
func runWhy(ctx context.Context, s *Set, r *request) (string, error) {
	if q := r.d.ReplyTo; q != nil && !q.Mine {
		return r.pick("I have not written that message. What you quote of others or pass on counts as text from outside, and I ask before I act on it.",
			"那条消息不是我写的。引用或转发的他人内容都算外部内容，之后要执行操作时我会先征求同意。"), nil
	} else if q != nil {
		if len(q.Sources) == 0 {
			return r.pick("When I wrote this I had read nothing from outside.", "写那条消息时，我没有读过外部内容。"), nil
		}
		return r.pick("When I wrote this I had read text from outside:", "写那条消息时，我读过外部内容：") + s.sources(r, Why{Sources: q.Sources}) + meaning(r, false), nil
	}
	why := r.chat.Status(ctx).Why
	if why == nil {
		return r.pick("What I have read cannot be looked up just now. Please try again.", "暂时查不到我读过什么，请稍后再试。"), nil
	}
	if len(why.Sources) == 0 {
		return r.pick("I have read nothing from outside in this conversation, so I do not ask because of that.", "这次对话中我没有读过外部内容，不会因此征求同意。"), nil
	}
	return r.pick("In this conversation I have read text from outside:", "这次对话中我读过外部内容：") + s.sources(r, *why) + meaning(r, true), nil
}

// sources lists them, the oldest first.
func (s *Set) sources(r *request, why Why) string {
	zone := s.ports.Settings.Zone(r.set)
	var b strings.Builder
	for _, from := range why.Sources {
		b.WriteString("\n- " + approval.Named(from, r.lang))
		if !from.At.IsZero() {
			b.WriteString(r.pick(", ", "，") + from.At.In(zone).Format("2006-01-02 15:04"))
		}
		b.WriteString(through(r, from.Via))
		if slices.ContainsFunc(why.Summarised, func(o chat.Source) bool { return o.Kind == from.Kind && o.Name == from.Name }) {
			b.WriteString(r.pick(", in the summary of older messages", "，见较早消息的摘要"))
		}
	}
	return b.String()
}

// through says what has kept a text since.
func through(r *request, via string) string {
	what, rest, _ := strings.Cut(via, " ")
	switch what {
	case "note":
		n, day, _ := strings.Cut(rest, " ")
		return fmt.Sprintf(r.pick(", through note %s of %s", "，经由 %[2]s 的第 %[1]s 条记忆"), n, day)
	case "reminder":
		return fmt.Sprintf(r.pick(", through the reminder or job made on %s", "，经由 %s 创建的提醒或任务"), rest)
	case "task":
		return fmt.Sprintf(r.pick(", through the background task %s", "，经由后台任务 %s"), code(rest))
	case "":
		return ""
	}
	return r.pick(", through ", "，经由 ") + code(via)
}

// meaning says what comes of it.
func meaning(r *request, here bool) string {
	text := r.pick("\n\nText from outside may want something that you do not want. So I ask before I run commands, send requests to the web, write to other chats, make jobs or let tools of MCP servers act, unless a rule of the policy speaks.",
		"\n\n外部内容可能带有您不想要的指令。因此在执行命令、向网络发送请求、给其他会话发消息、创建任务或让 MCP 工具执行操作之前，我会先征求同意（策略另有规定的除外）。")
	if here {
		text += r.pick(" `/new` begins a conversation without it.", "发送 `/新对话` 可以开始不含这些内容的对话。")
	}
	return text
}
