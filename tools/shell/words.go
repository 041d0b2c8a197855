package shell

import (
	"fmt"
	"strings"

	"magpie/chat"
	"magpie/tools/fs/origin"
)

// shownFiles are named in a question; the others are counted.
const shownFiles = 5

func pick(lang, en, zh string) string {
	if lang == "zh" {
		return zh
	}
	return en
}

// unaccepted tells a person which files a command could run.
func unaccepted(files []origin.File, lang string) string {
	var b strings.Builder
	b.WriteString(pick(lang, "It could run what came from outside and nobody has allowed to run yet:", "它可能运行来自外部、尚未有人允许运行的内容："))
	for i, f := range files {
		if i == shownFiles {
			fmt.Fprintf(&b, pick(lang, "\n- and %d more", "\n- 另外 %d 个"), len(files)-i)
			break
		}
		name := []rune(f.Name)
		if len(name) > 120 {
			name = append(append(name[:60:60], '…'), name[len(name)-59:]...)
		}
		fmt.Fprintf(&b, "\n- %q", string(name))
		if len(f.From) > 0 {
			fmt.Fprintf(&b, pick(lang, " (after reading %s)", "（读过%s之后）"), source(f.From[0], lang))
		}
	}
	return b.String()
}

// source names where words came from.
func source(s chat.Source, lang string) string {
	kind := map[chat.SourceKind]string{
		chat.SourcePage: pick(lang, "the page", "网页"), chat.SourceServer: pick(lang, "the server", "服务器"), chat.SourceFile: pick(lang, "the file", "文件"),
		chat.SourceCommand: pick(lang, "the output of", "命令输出"), chat.SourceOthers: pick(lang, "words of", "他人的话"), chat.SourceTask: pick(lang, "a background task", "后台任务"),
	}[s.Kind]
	if kind == "" {
		kind = pick(lang, "something", "外部内容")
	}
	if s.Name == "" {
		return kind
	}
	name := []rune(s.Name)
	if len(name) > 100 {
		name = append(name[:100:100], '…')
	}
	return strings.TrimSpace(kind + " " + fmt.Sprintf("%q", string(name)))
}
