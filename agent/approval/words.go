package approval

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"magpie/agent/buttons"
	"magpie/tools"
)

func pick(lang, en, zh string) string {
	if lang == "zh" {
		return zh
	}
	return en
}

// Outcome words what became of a decision; false for errors that are none of
// this package's.
func Outcome(err error, allow bool, lang string) (string, bool) {
	switch {
	case err == nil && allow:
		return pick(lang, "Allowed.", "已允许。"), true
	case err == nil:
		return pick(lang, "Denied.", "已拒绝。"), true
	case errors.Is(err, ErrDecided):
		return pick(lang, "This was decided already, or its time is over.", "这个请求已处理或已过期。"), true
	case errors.Is(err, ErrForeign):
		return pick(lang, "Only the person who asked for it, or an admin, may decide this.", "只有发起的人或管理员可以决定。"), true
	case errors.Is(err, ErrUnknown):
		return pick(lang, "There is no such question waiting.", "没有这个待批准的请求。"), true
	}
	return "", false
}

func choices(id, lang string) []buttons.Choice {
	return []buttons.Choice{
		{Label: pick(lang, "✅ Allow", "✅ 允许"), Payload: yes + id},
		{Label: pick(lang, "🚫 Deny", "🚫 拒绝"), Payload: no + id},
	}
}

func question(r Request, sc tools.Scope) string {
	until := r.Until
	if sc.Zone != nil {
		until = until.In(sc.Zone)
	}
	why := ""
	if sc.Tainted() {
		why = "\n" + fmt.Sprintf(pick(sc.Lang, "I have read text from outside (%s), so I ask first; /why says more.", "我读过外部内容（%s），所以先征求同意；发送 /为什么 查看详情。"), Named(sc.Sources[0], sc.Lang))
	}
	if sc.Leaves != "" {
		why += "\n" + sc.Leaves
	}
	if sc.Depth > 0 {
		why = pick(sc.Lang, "\nA background task wants it.", "\n这是后台任务的请求。") + why
	}
	head := pick(sc.Lang, "**May I?** The tool `%s` is about to do this:", "**需要批准**：工具 `%s` 将执行：")
	foot := pick(sc.Lang,
		"Press a button, or write `/approve %[1]s` or `/deny %[1]s`, before %[2]s.",
		"请在 %[2]s 前点击按钮，或发送 `/批准 %[1]s`、`/拒绝 %[1]s`。")
	return fmt.Sprintf(head, r.Tool) + "\n\n" + fenced(r.What) + why + "\n\n" + fmt.Sprintf(foot, r.ID, until.Format("15:04"))
}

// fenced puts text into a code fence longer than any in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// maxShown bounds what is shown of a call, in runes.
const maxShown = 1200

// shown writes a call so that the one who decides is not deceived: characters
// that show nothing or turn others around are written by their numbers, and
// what is left out is counted.
func shown(text, lang string) string {
	var b strings.Builder
	for _, c := range text {
		if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) {
			fmt.Fprintf(&b, "<%U>", c)
			continue
		}
		b.WriteRune(c)
	}
	r := []rune(b.String())
	if len(r) <= maxShown {
		return string(r)
	}
	head, tail := maxShown*2/3, maxShown/3
	left := fmt.Sprintf(pick(lang, "[⚠ %d characters are not shown here]", "[⚠ 此处有 %d 个字符未显示]"), len(r)-head-tail)
	return string(r[:head]) + "\n" + left + "\n" + string(r[len(r)-tail:])
}
