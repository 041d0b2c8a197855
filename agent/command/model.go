package command

import (
	"context"
	"fmt"
	"strings"

	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/settings"
)

func runModel(ctx context.Context, s *Set, r *request) (string, error) {
	all := s.ports.Models()
	if r.args == "" {
		return s.listModels(r, all), nil
	}
	if !r.d.Direct && !s.admin(r) {
		return r.pick("In a group only an admin of the bot may change the model.", "在群里只有机器人的管理员可以更换模型。"), nil
	}
	name, ok := "", isDefault(r.args)
	for _, m := range all {
		if !ok && strings.EqualFold(m.Name, r.args) {
			name, ok = m.Name, true
		}
	}
	if !ok {
		return fmt.Sprintf(r.pick("There is no model %s.\n\n", "没有 %s 这个模型。\n\n"), code(cut(r.args))) + s.listModels(r, all), nil
	}
	if err := s.ports.Settings.Change(ctx, r.d.Addr.Session(), func(set *settings.Settings) { set.Model = name }); err != nil {
		return "", err
	}
	if name == "" {
		return r.pick("This chat uses the default model again.", "此聊天恢复使用默认模型。"), nil
	}
	return fmt.Sprintf(r.pick("This chat uses %s from now on.", "此聊天现在使用 %s。"), code(name)), nil
}

func (s *Set) listModels(r *request, all []model.Info) string {
	var b strings.Builder
	b.WriteString(r.pick("The models, first choice first:\n", "可用模型，按顺序使用：\n"))
	chosen := s.modelOf(r, "")
	for _, m := range all {
		b.WriteString("\n- " + code(m.Name))
		if m.Name == chosen {
			b.WriteString(r.pick(" **(in use)**", " **（当前）**"))
		}
		if !m.Cooling.IsZero() {
			fmt.Fprintf(&b, r.pick(" – in trouble: %s", " – 故障：%s"), trouble(r, m.Trouble))
		}
	}
	b.WriteString(r.pick("\n\n`/model NAME` chooses one, `/model default` goes back.", "\n\n`/模型 名称` 选择，`/模型 默认` 恢复默认。"))
	return b.String()
}

func trouble(r *request, kind llm.Kind) string {
	switch kind {
	case llm.Unauthorized:
		return r.pick("key or balance", "密钥或余额")
	case llm.RateLimited:
		return r.pick("too many requests", "请求过多")
	}
	return r.pick("no answer", "无响应")
}

// isDefault says whether a person wants the configured value back.
func isDefault(args string) bool {
	switch strings.ToLower(args) {
	case "default", "auto", "reset", "默认", "自动":
		return true
	}
	return false
}

// maxEcho is how much of what a person wrote is shown to them again, in runes.
const maxEcho = 60

func cut(text string) string {
	n := 0
	for i := range text {
		if n == maxEcho {
			return text[:i] + "…"
		}
		n++
	}
	return text
}
