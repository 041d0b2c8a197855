package main

import (
	"fmt"
	"slices"
	"strings"

	"magpie/config"
)

// finish shows what changes and writes it.
func (w *wizard) finish() error {
	if len(w.Added()) == 0 {
		w.say("\nNothing to add.", "\n没有要添加的内容。")
		return nil
	}
	cfg, err := w.Effective()
	if err != nil {
		return err
	}
	w.say("\n%s gets:", "\n%s 将增加：", w.Path)
	for _, added := range w.Added() {
		for line := range strings.Lines(added) {
			fmt.Fprint(w.out, "  + "+strings.TrimRight(line, "\r\n")+"\n")
		}
	}
	if names, file := w.Variables(); len(names) > 0 {
		w.say("%s gets:", "%s 将增加：", file)
		for _, name := range names {
			fmt.Fprintln(w.out, "  + "+name+"=***")
		}
	}
	if ok, err := w.yes(words{English: "Write it?", Chinese: "写入？"}); err != nil || !ok {
		w.say("Nothing was written.", "没有写入。")
		return err
	}
	if err := w.whole(w.Write); err != nil {
		return err
	}
	start := typed()
	if w.p.path != "" {
		start += " --config " + w.Path
	}
	w.say("\nWritten. To start it: %s   (a running bot takes a new channel after a restart)",
		"\n已写入。启动：%s（已在运行的机器人重启后才有新渠道）", start)
	w.next(cfg, start)
	return nil
}

// next says how to speak to the bot, and how to look at it.
func (w *wizard) next(cfg *config.Config, start string) {
	switch {
	case slices.ContainsFunc(cfg.Channels, func(c config.Channel) bool { return c.Enabled && c.Type != "web" }):
		w.say("Then write to your bot: it answers with a code, and /pair CODE on the chat page lets you in.",
			"然后给机器人发消息：它会回一个配对码，在聊天页输入 /pair 配对码 即可放行。")
	case hasPage(cfg):
		w.say("There is no platform yet: speak to it on the chat page, whose address it shows at its start, or by %s.",
			"还没有平台：在聊天页（启动时会显示地址）或用 %s 与它对话。", start+" chat")
	}
	w.say("%s looks at everything.", "%s 可检查一切。", start+" doctor")
}
