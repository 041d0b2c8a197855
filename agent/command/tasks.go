package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"magpie/agent/tasks"
	"magpie/chat"
)

// Tasks knows the background tasks of a chat.
type Tasks interface {
	// List returns those that wait or run, the oldest first.
	List(ctx context.Context, origin chat.Address) ([]tasks.State, error)
	// StopAll ends them and returns those that it has ended.
	StopAll(ctx context.Context, origin chat.Address) ([]tasks.State, error)
}

// listTasks writes what the background tasks of the chat do, a line each.
func (s *Set) listTasks(ctx context.Context, r *request) string {
	if s.ports.Tasks == nil {
		return ""
	}
	all, err := s.ports.Tasks.List(ctx, r.d.Addr)
	if err != nil {
		s.log.Warn("background tasks are not known", "session", r.d.Addr.Session(), "err", err)
		return r.pick("\n- Background tasks: not known just now", "\n- 后台任务：暂时无法得知")
	}
	var b strings.Builder
	for _, t := range all {
		age := max(0, s.now().Sub(t.At)).Round(time.Second)
		fmt.Fprintf(&b, r.pick("\n- Background task %s (%s), for %s: %s", "\n- 后台任务 %s（%s），已 %s：%s"),
			code(t.Label), t.ID, age, doing(r, t))
	}
	return b.String()
}

// doing says what a task does just now.
func doing(r *request, t tasks.State) string {
	tool, asks := strings.CutSuffix(t.Doing, tasks.Approval)
	tool = strings.TrimSuffix(tool, ", ")
	switch {
	case t.Status == tasks.Waiting:
		return r.pick("waits for a free place", "正在排队")
	case asks:
		return fmt.Sprintf(r.pick("waits for your approval of %s", "等待您批准 %s"), code(tool))
	case tool != "":
		return fmt.Sprintf(r.pick("uses %s, tool calls so far: %d", "正在使用 %s，已调用工具 %d 次"), code(tool), t.Calls)
	}
	return fmt.Sprintf(r.pick("thinks, tool calls so far: %d", "正在思考，已调用工具 %d 次"), t.Calls)
}

// stopTasks ends the background tasks of the chat and names them.
func (s *Set) stopTasks(ctx context.Context, r *request) (string, error) {
	if s.ports.Tasks == nil {
		return "", nil
	}
	ended, err := s.ports.Tasks.StopAll(ctx, r.d.Addr)
	if err != nil {
		return "", err
	}
	var labels []string
	for _, t := range ended {
		labels = append(labels, code(t.Label))
	}
	switch len(ended) {
	case 0:
		return "", nil
	case 1:
		return fmt.Sprintf(r.pick("Ended the background task %s.", "已结束后台任务 %s。"), labels[0]), nil
	}
	return fmt.Sprintf(r.pick("Ended %d background tasks: %s.", "已结束 %d 个后台任务：%s。"), len(ended), strings.Join(labels, r.pick(", ", "、"))), nil
}
