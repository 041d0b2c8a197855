package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"magpie/agent/model"
)

func runUsage(ctx context.Context, s *Set, r *request) (string, error) {
	rep, err := s.ports.Usage.Report(ctx, r.d.Addr.Session(), Payer(r.d.Addr.Channel, r.d.From.ID))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, r.pick("Used today (%s):\n", "今天（%s）的用量：\n"), rep.Day)
	line := func(name string, sp model.Spend, limits ...string) {
		fmt.Fprintf(&b, r.pick("\n- %s: %d calls, %d tokens in, %d out", "\n- %s：%d 次调用，输入 %d tokens，输出 %d"), name, sp.Calls, sp.Input, sp.Output)
		if sp.Nano > 0 {
			fmt.Fprintf(&b, ", $%.4f", sp.USD())
		}
		for _, l := range limits {
			b.WriteString(l)
		}
	}
	line(r.pick("this chat", "此聊天"), rep.Session)
	line(r.pick("you", "您"), rep.Sender, r.limit(rep.Budget.PerSenderTokensPerDay))
	if !s.admin(r) {
		return b.String(), nil
	}
	money := ""
	if rep.Budget.USDPerDay > 0 {
		money = fmt.Sprintf(r.pick(" (limit $%.2f)", "（上限 $%.2f）"), rep.Budget.USDPerDay)
	}
	line(r.pick("in all", "总计"), rep.Total, r.limit(rep.Budget.TokensPerDay), money)
	for _, name := range slices.Sorted(maps.Keys(rep.Models)) {
		line(code(name), rep.Models[name])
	}
	return b.String(), nil
}

// limit words a limit of tokens, "" for none.
func (r *request) limit(tokens int) string {
	if tokens <= 0 {
		return ""
	}
	return fmt.Sprintf(r.pick(" (limit %d tokens)", "（上限 %d tokens）"), tokens)
}
