package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/agent/approval"
	"magpie/chat"
)

// Approvals takes the answers to questions about tool calls, and knows what is
// allowed without one.
type Approvals interface {
	Decide(ctx context.Context, channel string, by chat.Sender, id string, allow bool) (approval.Request, error)
	Always(ctx context.Context, channel string, by chat.Sender, id string) (approval.Request, error)
	Open(ctx context.Context, a chat.Address) ([]approval.Request, error)
	Whole(ctx context.Context, a chat.Address, id, lang string) (string, error)
	Permissions
}

// Permissions are what is allowed in chats without a question.
type Permissions interface {
	Rules(ctx context.Context, a chat.Address) ([]approval.Rule, error)
	Revoke(ctx context.Context, channel string, by chat.Sender, rule approval.Rule) error
}

func runApprove(ctx context.Context, s *Set, r *request) (string, error) {
	var rest []string
	always := false
	for _, word := range strings.Fields(r.args) {
		if slices.Contains([]string{"always", "始终", "总是", "一直", "以后都"}, strings.ToLower(word)) {
			always = true
			continue
		}
		rest = append(rest, word)
	}
	r.args = strings.Join(rest, " ")
	if always {
		return s.decide(ctx, r, true, s.ports.Approvals.Always)
	}
	return s.decide(ctx, r, true, s.verdict(true))
}

func runDeny(ctx context.Context, s *Set, r *request) (string, error) {
	return s.decide(ctx, r, false, s.verdict(false))
}

// verdict is an answer to a question by its id.
type verdict func(ctx context.Context, channel string, by chat.Sender, id string) (approval.Request, error)

func (s *Set) verdict(allow bool) verdict {
	return func(ctx context.Context, channel string, by chat.Sender, id string) (approval.Request, error) {
		return s.ports.Approvals.Decide(ctx, channel, by, id, allow)
	}
}

// decide answers the question with the id given. Without one it answers the
// only open one of the chat, or lists them.
func (s *Set) decide(ctx context.Context, r *request, allow bool, answer verdict) (string, error) {
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
	req, err := answer(ctx, r.d.Addr.Channel, r.d.From, id)
	text, known := approval.Outcome(err, allow, r.lang)
	if !known {
		return "", err
	}
	if req.Tool != "" {
		text += " (" + code(req.Tool) + ")"
	}
	return text, nil
}

func approvalVerbs() [][]string {
	return [][]string{
		{"remove", "rm", "delete", "del", "revoke", "forget", "删除", "删掉", "撤销", "取消"},
		{"list", "ls", "show", "all", "列表", "查看", "全部"},
	}
}

// runApprovals lists the open questions of the chat and what is allowed without
// one, shows a question whole, and takes a permission back.
func runApprovals(ctx context.Context, s *Set, r *request) (string, error) {
	verb, rest := verbIn(approvalVerbs(), r.args)
	if verb != "remove" && rest != "" {
		text, err := s.ports.Approvals.Whole(ctx, r.d.Addr, rest, r.lang)
		if said, known := approval.Outcome(err, false, r.lang); err != nil && known {
			return said, nil
		}
		return text, err
	}
	rules, err := s.ports.Approvals.Rules(ctx, r.d.Addr)
	if err != nil {
		return "", err
	}
	if verb == "remove" {
		return s.revoke(ctx, r, rules, rest)
	}
	open, err := s.ports.Approvals.Open(ctx, r.d.Addr)
	if err != nil {
		return "", err
	}
	text := listOpen(r, open)
	if len(open) == 1 {
		text = r.pick("One question waits:", "有一个请求在等待：") + openLines(open)
	}
	if len(rules) == 0 {
		return text + "\n\n" + r.pick("No call is always allowed here.", "这里没有始终允许的调用。"), nil
	}
	text += "\n\n" + r.pick("Always allowed in this chat:", "在本会话中始终允许：")
	for i, rule := range rules {
		at := rule.At.In(s.ports.Settings.Zone(r.set)).Format(time.DateOnly)
		text += fmt.Sprintf("\n%d. %s: %s (%s, %s)", i+1, code(rule.Tool), code(cut(rule.What)), rule.Name, at)
	}
	return text + "\n\n" + r.pick("`/approvals remove 1` takes one back.", "`/审批 删除 1` 可撤销。"), nil
}

// revoke takes back the permission with that number in the list.
func (s *Set) revoke(ctx context.Context, r *request, rules []approval.Rule, number string) (string, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(number), "#"))
	if err != nil || n < 1 || n > len(rules) {
		return fmt.Sprintf(r.pick("Which one? `/approvals` lists %d, for example `/approvals remove 1`.", "撤销哪一条？`/审批` 列出了 %d 条，例如 `/审批 删除 1`。"), len(rules)), nil
	}
	rule := rules[n-1]
	err = s.ports.Approvals.Revoke(ctx, r.d.Addr.Channel, r.d.From, rule)
	if errors.Is(err, approval.ErrForeign) {
		return r.pick("Only who gave this permission, or an admin, may take it back.", "只有给出许可的人或管理员可以撤销。"), nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(r.pick("Taken back; I ask again before this: %s: %s", "已撤销，以后会再次询问：%s：%s"), code(rule.Tool), code(cut(rule.What))), nil
}

func listOpen(r *request, open []approval.Request) string {
	if len(open) == 0 {
		return r.pick("Nothing waits for an approval in this chat.", "这个会话没有等待批准的请求。")
	}
	return r.pick("Several questions wait; name the one you mean:", "有多个请求在等待，请指明编号：") + openLines(open)
}

func openLines(open []approval.Request) string {
	var b strings.Builder
	for _, q := range open {
		fmt.Fprintf(&b, "\n- `/approve %s` — %s: %s", q.ID, code(q.Tool), code(cut(strings.Join(strings.Fields(q.What), " "))))
	}
	return b.String()
}
