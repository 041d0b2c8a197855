package prompt

import (
	"strings"

	"magpie/tools"
)

// title is a platform's name as people write it.
func title(platform string) string {
	switch platform {
	case "telegram":
		return "Telegram"
	case "discord":
		return "Discord"
	case "feishu":
		return "Feishu"
	case "dingtalk":
		return "DingTalk"
	case "qq":
		return "QQ"
	case "web":
		return "the web page of this bot"
	}
	return oneLine(platform, maxName)
}

// dialect says what of Markdown a platform can show; "" = nothing to say.
func dialect(platform string) string {
	switch platform {
	case "telegram":
		return "It shows bold, italic, code, quotes, lists and links; tables become plain text, so keep them narrow."
	case "discord":
		return "It shows bold, italic, code, quotes, lists and links, but no tables."
	case "feishu":
		return "It shows the usual Markdown; use few tables."
	case "dingtalk":
		return "It shows headings, bold, lists, quotes and links, but no tables and no code colours."
	case "qq":
		return "It shows plain text: write without Markdown and without links unless asked for."
	}
	return ""
}

// hints are what a description of a single tool cannot say: when to prefer it.
func hints() [][2]string {
	return [][2]string{
		{"message", "Your reply is sent here by itself; use message only for files, buttons or another chat."},
		{"memory_write", "What is worth knowing in a month, note with memory_write."},
		{"cron", "Whoever wants to be reminded gets a job with cron; you remember nothing by yourself."},
		{"spawn", "Work of many minutes goes to spawn, so that the chat stays free."},
	}
}

func toolRules(specs []tools.Spec) string {
	if len(specs) == 0 {
		return "# Tools\nYou have no tools here: say so when one would be needed."
	}
	var b strings.Builder
	b.WriteString(`# Tools
- Do it with a tool instead of describing how. Calls that only read may stand together in one reply.
- If a call fails, read why: correct it, try another way, or tell the person.`)
	for _, s := range specs {
		if s.Category == tools.File {
			b.WriteString("\n- Files stand in the workspace; paths are relative to it. What people send is under inbox/.")
			break
		}
	}
	for _, h := range hints() {
		if offers(specs, h[0]) {
			b.WriteString("\n- " + h[1])
		}
	}
	return b.String()
}
