package offline

import (
	"regexp"
	"strings"

	"magpie/agent/llm"
)

// text is something that the assistant says, in both languages.
type text struct{ en, zh string }

func say(zh bool, t text) string {
	if zh {
		return t.zh
	}
	return t.en
}

const (
	connectEN = "To talk to a model, start me with `OPENAI_API_KEY=… bot`, or fill in `llm.models` in config.yaml."
	connectZH = "要与模型对话，请用 `OPENAI_API_KEY=… bot` 启动，或在 config.yaml 中填写 `llm.models`。"
)

var (
	greeting = text{"Hello! I am the offline assistant: no model is configured. Say \"help\" to see what I can do.", "你好！我是离线助手，还没有配置模型。说“帮助”看看我会做什么。"}
	welcome  = text{"You are welcome.", "不客气。"}
	farewell = text{"Goodbye!", "再见！"}
	fine     = text{"Fine, thank you. I am only a small script, though: no model is configured.", "挺好，谢谢。不过我只是一段小脚本，还没有配置模型。"}
	itself   = text{"I am Magpie's offline assistant, a small script and no language model. " + connectEN, "我是 Magpie 的离线助手，是一段小脚本，不是语言模型。" + connectZH}
	helpText = text{
		"No model is configured, so I understand only this:\n\n- what time is it · what time is it in Tokyo\n- remind me in 20 minutes to stretch · list reminders · cancel reminder 2\n- list files · read notes.txt · write hello to a.txt\n- remember that I like tea · what do you know about me\n- search for weather in Tokyo · open https://example.com\n- hello, thanks, goodbye\n\nCommands begin with a slash: /help lists them.\n\n" + connectEN,
		"还没有配置模型，所以我只懂这些：\n\n- 现在几点 · 东京现在几点\n- 20分钟后提醒我休息 · 每天早上9点提醒我吃药 · 我的提醒 · 取消提醒2\n- 看看文件 · 读 notes.txt · 把 hello 写入 a.txt\n- 记住我喜欢茶 · 你记得我什么\n- 搜索东京天气 · 打开 https://example.com\n- 你好、谢谢、再见\n\n以斜杠开头的是命令，/help 会列出它们。\n\n" + connectZH,
	}
	noModel = text{
		"I do not understand that: no model is configured, and the offline assistant knows only time, reminders, files, notes, the web and small talk. Say \"help\" for examples. " + connectEN,
		"这个我不懂：还没有配置模型，离线助手只会看时间、设提醒、读写文件、记事、上网查询和寒暄。说“帮助”看例子。" + connectZH,
	}
	noEyes  = text{"I cannot look at pictures: no model is configured. " + connectEN, "我看不了图片：还没有配置模型。" + connectZH}
	nothing = text{"I have nothing to answer. Say \"help\" to see what I can do.", "没有可以回答的内容。说“帮助”看看我会做什么。"}
	noTool  = text{"I cannot do that here: the tool %s is not available.", "这里做不到：没有可用的工具 %s。"}

	timeIs    = text{"It is ", "现在是 "}
	fileSays  = text{"Here it is:\n\n", "内容如下：\n\n"}
	filesAre  = text{"Here are the files:\n\n", "文件如下：\n\n"}
	written   = text{"Done. ", "好了。"}
	emptyText = text{"It is empty.", "是空的。"}
	noted     = text{"I will remember that.", "记住了。"}
	failed    = text{"That did not work: ", "没有成功："}
)

// report words the result of a call.
func report(m llm.Message, zh bool) string {
	out := strings.TrimSpace(outside.ReplaceAllString(m.Text, ""))
	switch {
	case m.Name == "cron":
		return reportCron(m, zh)
	case m.Failed:
		return say(zh, failed) + out
	case out == "":
		return say(zh, emptyText)
	}
	switch m.Name {
	case "current_time":
		return say(zh, timeIs) + out
	case "read_file":
		return say(zh, fileSays) + fenced(m.Text)
	case "list_dir":
		return say(zh, filesAre) + fenced(m.Text)
	case "memory_write":
		return say(zh, noted)
	case "write_file":
		return say(zh, written) + out
	default:
		return out
	}
}

// outside are the lines that fence what comes from outside, for models.
var outside = regexp.MustCompile(`(?m)^</?outside(?: [^>\n]*)?>\n?`)

var ticks = regexp.MustCompile("`{3,}")

// fenced shows text as it is, in a fence longer than any in it.
func fenced(text string) string {
	fence := "```"
	for _, run := range ticks.FindAllString(text, -1) {
		if len(run) >= len(fence) {
			fence = run + "`"
		}
	}
	return fence + "\n" + strings.Trim(text, "\n") + "\n" + fence
}
