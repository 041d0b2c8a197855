package chat_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"magpie/channels/render"
	"magpie/chat"
)

var literals = []string{
	"fix __init__.py, 2*3*4=24", "`go test ./...` and ``x``", "<b>bold</b> <br> <script>alert(1)</script>", "[text](https://example.org/a_b_c)", "![x](y)",
	"# heading", "#tag", "> quoted", ">no blank", "1. first", "12) twelfth", "1.5 litres", "- milk", "* milk", "+ milk", "---", "===", "***", "___", "-5 degrees",
	"~~gone~~", "3~5 days", "~~~", "```", "||secret||", "a | b", "$x$ and $$y$$", "  two blanks before", "    four", "\tsnake", "snake_case_name", "_x_", "中_文_字",
	"a\\b", "a\\*b", "\\", "C:\\dir\\", "&amp; &copy; &#35; & ; R&D;", "1 < 2 > 0", "https://example.org/_a_/b*c?x=1&y=_2_", "see https://example.org/a__b.", "mail a_b@example.org",
	"**bold** and *it*", "a * b * c", "[ ] task", "[x]: y", "<https://example.org>", ":smile: 10:30:45", "100% sure!", "line one\nline two", "a\n# b\n> c\n- d\n1. e",
	"| a | b |\n|---|---|\n| 1 | 2 |", "title\n===", "title\n---", "para one\n\npara two", "喜鹊 *飞* 了 __好__", "“quoted” 'x' (y)", "a\n    code\nb", "@all @here <@123>",
}

// What a person has written arrives as it was written.
func TestLiteral(t *testing.T) {
	shown := func(md string) string { return strings.ReplaceAll(render.Plain(md), "\u200b", "") } // which breaks up mentions
	for _, text := range literals {
		for _, around := range []string{"", "⏰ ", "1. ", "“"} {
			want := around + text
			if around == "" || around == "1. " { // blanks at the beginning of a message are nobody's
				want = around + strings.TrimLeft(text, " \t")
			}
			if around == "“" && strings.HasPrefix(text, "https://") {
				continue // no link begins there, and the signs of an address would mean something
			}
			if around == "1. " && strings.Contains(text, "\n") {
				continue // more lines of a list are set in
			}
			if got := shown(around + chat.Literal(text)); got != want {
				t.Errorf("%q behind %q: %q, by %q", text, around, got, chat.Literal(text))
			}
		}
		if got := chat.Unliteral(chat.Literal(text)); got != text {
			t.Errorf("%q taken back is %q", text, got)
		}
	}
	for _, text := range []string{"", "buy milk", "snake_case", "10:30 - 11:00, 5% (x)!", "R&D", "a-b", "3~5", "喜鹊，飞了。", "https://example.org/a_b?c=*"} {
		if got := chat.Literal(text); got != text && text != "https://example.org/a_b?c=*" {
			t.Errorf("%q is changed to %q", text, got)
		}
	}
}

func TestLiteralProperty(t *testing.T) {
	word := rapid.StringMatching("[a-b1-2中 \\*_`~|<>#&;:!\\[\\]()\\\\.=+-]{0,8}")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.TrimSpace(strings.Join(rapid.SliceOfN(word, 1, 4).Draw(t, "words"), ""))
		if got := strings.ReplaceAll(render.Plain(chat.Literal(text)), "\u200b", ""); got != text {
			t.Fatalf("%q arrives as %q, by %q", text, got, chat.Literal(text))
		}
		if got := chat.Unliteral(chat.Literal(text)); got != text {
			t.Fatalf("%q taken back is %q", text, got)
		}
	})
}
