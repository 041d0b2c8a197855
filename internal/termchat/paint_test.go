package termchat

import (
	"regexp"
	"strings"
	"testing"
)

func TestPaint(t *testing.T) {
	const text = "# Title\nplain **bold** and `code`, 2 * 3 ** 4\n```sh\nls **/*.go\n```\n#no title\n- `a` **未完\n" + dim + "· using x…" + normal + "\n"
	want := bold + "# Title" + normal + "\nplain " + bold + "**bold**" + normal + " and " + code + "`code`" + normal + ", 2 * 3 ** 4\n" +
		dim + "```sh" + normal + "\n" + code + "ls **/*.go" + normal + "\n" + dim + "```" + normal + "\n#no title\n- " + code + "`a`" + normal + " **未完\n" +
		dim + "· using x…" + normal + "\n"
	p := paint{}
	got := p.lines(text)
	if got != want {
		t.Errorf("painted\n%q, want\n%q", got, want)
	}
	colours := regexp.MustCompile("\x1b\\[[0-9]*m")
	if colours.ReplaceAllString(got, "") != colours.ReplaceAllString(text, "") || strings.Contains(p.lines("no break"), "\n") {
		t.Error("a character was changed")
	}
}
