package approval

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"magpie/agent/buttons"
	"magpie/chat"
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
	case errors.Is(err, ErrOver):
		return pick(lang, "This question is over: its time has passed, the turn has ended, or I have asked again.", "这个请求已经结束：已过期、对话已停止，或我已重新提问。"), true
	case errors.Is(err, ErrDecided):
		return pick(lang, "This was decided already.", "这个请求已处理。"), true
	case errors.Is(err, ErrForeign):
		return pick(lang, "Only the person who asked for it, or an admin, may decide this.", "只有发起的人或管理员可以决定。"), true
	case errors.Is(err, ErrUnknown):
		return pick(lang, "There is no such question waiting.", "没有这个待批准的请求。"), true
	}
	return "", false
}

func choices(id, lang string) [][]buttons.Choice {
	return [][]buttons.Choice{
		{
			{Label: pick(lang, "✅ Allow", "✅ 允许"), Payload: yes + id},
			{Label: pick(lang, "🚫 Deny", "🚫 拒绝"), Payload: no + id},
		},
		{{Label: pick(lang, "Always allow this in this chat", "在本会话中始终允许"), Payload: always + id}},
	}
}

func showAll(id, lang string) buttons.Choice {
	return buttons.Choice{Label: pick(lang, "Show all", "显示全部"), Payload: all + id}
}

// question words a question; whole is false where something had to be left out.
func (d *Desk) question(r Request, sc tools.Scope, q *tools.Question) (text string, whole bool) {
	parts, whole, veiled := d.brief(q.Parts, r.Lang)
	notes := ""
	if q.Again {
		notes += pick(r.Lang, "\nWhat it would do has changed since it was allowed, so I ask again.", "\n获准之后要执行的内容有变化，所以再次征求同意。")
	}
	if sc.Leaves != "" {
		notes += "\n" + sc.Leaves
	}
	if sc.Depth > 0 {
		notes += pick(r.Lang, "\nA background task wants it.", "\n这是后台任务的请求。")
	}
	if sc.Tainted() {
		notes += "\n" + fmt.Sprintf(pick(r.Lang, "I have read text from outside (%s), so I ask first; /why says more.", "我读过外部内容（%s），所以先征求同意；发送 /为什么 查看详情。"), Named(sc.Sources[0], r.Lang))
	}
	if veiled {
		notes += pick(r.Lang, "\n`***` stands for a configured secret, which is never shown.", "\n`***` 代表配置中的密钥，不会显示。")
	}
	if !whole {
		notes += fmt.Sprintf(pick(r.Lang, "\n`/approvals %s` shows all of it.", "\n发送 `/审批 %s` 可查看全部内容。"), r.ID)
	}
	head := pick(r.Lang, "**May I?** The tool `%s` is about to do this:", "**需要批准**：工具 `%s` 将执行：")
	foot := pick(r.Lang,
		"Press a button, or write `/approve %[1]s` or `/deny %[1]s`, before %[2]s.",
		"请在 %[2]s 前点击按钮，或发送 `/批准 %[1]s`、`/拒绝 %[1]s`。")
	return fmt.Sprintf(head, r.Tool) + "\n\n" + parts + notes + "\n\n" + fmt.Sprintf(foot, r.ID, r.Until.Format("15:04")), whole
}

// ending words what stands under a question that is over.
func ending(r Request) string {
	at := r.At.In(r.Until.Location()).Format("15:04")
	text := ""
	switch r.Verdict {
	case Allowed:
		text = fmt.Sprintf(pick(r.Lang, "✅ Allowed by %s, %s", "✅ %s 已允许，%s"), r.Name, at)
		if r.Always {
			text += pick(r.Lang, ", from now on always in this chat (`/approvals` lists it)", "，今后在本会话中始终允许（`/审批` 可查看）")
		}
	case Denied:
		text = fmt.Sprintf(pick(r.Lang, "🚫 Denied by %s, %s", "🚫 %s 已拒绝，%s"), r.Name, at)
	case Stopped:
		text = fmt.Sprintf(pick(r.Lang, "⏹ Over, %s: the turn was stopped, this was not done", "⏹ 已结束，%s：对话已停止，未执行"), at)
	case Changed:
		text = fmt.Sprintf(pick(r.Lang, "↻ Over, %s: what it would do has changed, this was not done", "↻ 已结束，%s：要执行的内容有变化，未执行"), at)
	default:
		text = fmt.Sprintf(pick(r.Lang, "⌛ Over, %s: nobody answered, this was not done", "⌛ 已结束，%s：无人回答，未执行"), at)
	}
	return text + " (" + r.ID + ")"
}

// waiting answers a message that comes while a question stands.
func waiting(r Request, lang string) string {
	return fmt.Sprintf(pick(lang,
		"I am waiting for an answer to my question about `%[2]s`: press a button under it, or write `/approve %[1]s` or `/deny %[1]s`. Your message is kept until then.",
		"我正在等待对 `%[2]s` 请求的答复：请点击它下面的按钮，或发送 `/批准 %[1]s`、`/拒绝 %[1]s`。你的消息会保留到那之后处理。"), r.ID, r.Tool)
}

// called is a person's name in a line of text: no marks of CommonMark, one line.
func called(by chat.Sender) string {
	name := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsDigit(c) || strings.ContainsRune(" .'-’·", c) {
			return c
		}
		return -1
	}, cmp.Or(strings.TrimSpace(by.Name), by.Username, by.ID))
	const most = 40
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return cmp.Or(strings.TrimSpace(name), "?")
}
