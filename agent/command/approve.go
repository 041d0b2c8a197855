package command

import (
	"context"
	"fmt"
	"strings"

	"magpie/agent/approval"
	"magpie/chat"
)

// Approvals takes the answers to questions about tool calls.
type Approvals interface {
	Decide(ctx context.Context, channel string, by chat.Sender, id string, allow bool) (approval.Request, error)
	Open(ctx context.Context, a chat.Address) ([]approval.Request, error)
}

func runApprove(ctx context.Context, s *Set, r *request) (string, error) {
	return s.decide(ctx, r, true)
}

func runDeny(ctx context.Context, s *Set, r *request) (string, error) { return s.decide(ctx, r, false) }

// decide answers the question with the id given. Without one it answers the
// only open one of the chat, or lists them.
func (s *Set) decide(ctx context.Context, r *request, allow bool) (string, error) {
	id := r.args
	if id == "" {
		open, err := s.ports.Approvals.Open(ctx, r.d.Addr)
		if err != nil {
			return "", err
		}
		if len(open) != 1 {
			return listOpen(r, open), nil
		}
		id = open[0].ID
	}
	req, err := s.ports.Approvals.Decide(ctx, r.d.Addr.Channel, r.d.From, id, allow)
	text, known := approval.Outcome(err, allow, r.lang)
	if !known {
		return "", err
	}
	if req.Tool != "" {
		text += " (" + code(req.Tool) + ")"
	}
	return text, nil
}

func listOpen(r *request, open []approval.Request) string {
	if len(open) == 0 {
		return r.pick("Nothing waits for an approval in this chat.", "这个会话没有等待批准的请求。")
	}
	var b strings.Builder
	b.WriteString(r.pick("Several questions wait; name the one you mean:", "有多个请求在等待，请指明编号："))
	for _, q := range open {
		fmt.Fprintf(&b, "\n- `/approve %s` — %s: %s", q.ID, code(q.Tool), code(cut(strings.Join(strings.Fields(q.What), " "))))
	}
	return b.String()
}
