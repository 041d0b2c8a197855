package discord

import (
	"regexp"
	"strings"
)

var (
	codeBlock  = regexp.MustCompile("(?s)```(?:[\\w+#.-]*\n)?(.*?)\n?```")
	codeSpan   = regexp.MustCompile("(?s)``(.+?)``|`([^`]+)`")
	escaped    = regexp.MustCompile(`\\([!-/:-@\[-` + "`" + `{-~])`)
	maskedLink = regexp.MustCompile(`\[([^\]]*)\]\(<?[^)>]*>?\)`)
	bareLink   = regexp.MustCompile(`<(https?://[^>]*)>`)
	lineMark   = regexp.MustCompile(`(?m)^(?:#{1,3} |-# |> )`)
	emphasis   = regexp.MustCompile(`\*\*\*|\*\*|\*|__|~~|\|\||\b_|_\b`)
)

// Read is what people read of a text in Discord's Markdown, without its marks.
func Read(text string) string {
	var kept []string
	hide := func(s string) string { // out of reach of what follows
		kept = append(kept, s)
		return "\x00" + string(rune(0xE000+len(kept)-1)) + "\x00"
	}
	text = codeBlock.ReplaceAllStringFunc(text, func(m string) string { return hide(codeBlock.FindStringSubmatch(m)[1]) })
	text = escaped.ReplaceAllStringFunc(text, func(m string) string { return hide(m[1:]) })
	text = codeSpan.ReplaceAllStringFunc(text, func(m string) string {
		parts := codeSpan.FindStringSubmatch(m)
		return hide(parts[1] + parts[2])
	})
	text = maskedLink.ReplaceAllString(text, "$1")
	text = bareLink.ReplaceAllStringFunc(text, func(m string) string { return hide(m[1 : len(m)-1]) })
	text = lineMark.ReplaceAllString(text, "")
	text = emphasis.ReplaceAllString(text, "")
	for i := len(kept) - 1; i >= 0; i-- { // what was hidden last may hold what was hidden first
		text = strings.Replace(text, "\x00"+string(rune(0xE000+i))+"\x00", kept[i], 1)
	}
	return strings.ReplaceAll(text, "\u200b", "")
}
