package command

import (
	"context"
	"fmt"
	"strings"
	"time"
)

func runStatus(ctx context.Context, s *Set, r *request) (string, error) {
	st := r.chat.Status(ctx)
	var b strings.Builder
	took := max(s.now().Sub(st.Since).Round(time.Second), 0)
	switch {
	case !st.Running:
		b.WriteString(r.pick("**Idle.**", "**空闲。**"))
	case len(st.Asks) > 0:
		fmt.Fprintf(&b, r.pick(
			"**Waiting for approval** of %s; the turn began %s ago. /approve or /deny decides, /stop ends it.",
			"**等待批准** %s，本轮已用 %s。发送 /批准 或 /拒绝 来决定，/停止 可以结束。"),
			codes(r, st.Asks), took)
	default:
		fmt.Fprintf(&b, r.pick("**Working** for %s", "**正在处理**，已用 %s"), took)
		if st.Tool != "" {
			fmt.Fprintf(&b, r.pick(", using `%s` now", "，正在使用 `%s`"), plain(st.Tool))
		}
		b.WriteString(r.pick(". /stop ends it.", "。发送 /停止 可以结束。"))
	}
	if st.Queued > 0 {
		fmt.Fprintf(&b, r.pick("\n- Messages that wait: %d", "\n- 等待处理的消息：%d 条"), st.Queued)
	}
	b.WriteString(s.listTasks(ctx, r))
	fmt.Fprintf(&b, r.pick("\n- Conversation: %d messages, about %d tokens", "\n- 当前对话：%d 条消息，约 %d tokens"), st.Messages, st.Tokens)
	if name := s.modelOf(r, st.Model); name != "" {
		fmt.Fprintf(&b, r.pick("\n- Model: %s", "\n- 模型：%s"), code(name))
	}
	now := s.now().In(s.ports.Settings.Zone(r.set))
	fmt.Fprintf(&b, r.pick("\n- Time here: %s (%s)", "\n- 本地时间：%s（%s）"), now.Format("2006-01-02 15:04"), now.Location())
	return b.String(), nil
}

// codes writes names one after the other.
func codes(r *request, names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = code(name)
	}
	return strings.Join(all, r.pick(", ", "、"))
}

// modelOf is the model that answered last, else the one that will be asked.
func (s *Set) modelOf(r *request, last string) string {
	switch {
	case last != "":
		return last
	case r.set.Model != "":
		return r.set.Model
	case s.ports.Models != nil:
		if all := s.ports.Models(); len(all) > 0 {
			return all[0].Name
		}
	}
	return ""
}

// plain takes out of a name what would end its code span or line.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '`' || r < ' ' {
			return -1
		}
		return r
	}, name)
}

// code writes a name so that its characters mean nothing in Markdown.
func code(name string) string { return "`" + plain(name) + "`" }
