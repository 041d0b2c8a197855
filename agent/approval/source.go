package approval

import (
	"strings"
	"unicode"

	"magpie/chat"
)

// Named says what a source of text from outside is. Its name stands in a code
// span, so that no platform makes a link of it.
func Named(s chat.Source, lang string) string {
	words := map[chat.SourceKind][2]string{
		chat.SourcePage:    {"the web", "网络"},
		chat.SourceServer:  {"an MCP server", "MCP 服务器"},
		chat.SourceFile:    {"a file", "文件"},
		chat.SourceCommand: {"a command that reaches the network", "联网的命令"},
		chat.SourceOthers:  {"words of others", "他人的话"},
		chat.SourceTask:    {"a background task", "后台任务"},
	}[s.Kind]
	text := pick(lang, words[0], words[1])
	if text == "" {
		text = pick(lang, "something of which it is not known where it came from", "来源不明的内容")
	}
	if name := oneLine(s.Name); name != "" {
		text += pick(lang, ": `", "：`") + name + "`"
	}
	return text
}

// maxName is how much of a source's name is shown, in runes.
const maxName = 100

// oneLine makes a name fit to stand in a code span.
func oneLine(name string) string {
	name = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '`'
	}), " ")
	if r := []rune(name); len(r) > maxName {
		return string(r[:maxName]) + "…"
	}
	return name
}
