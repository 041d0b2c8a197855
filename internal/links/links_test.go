package links_test

import (
	"strings"
	"testing"

	"magpie/internal/links"
)

func TestDefang(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "no links. e.g. 3.14, 1.2.3, a.b, v1.2.x and so on...": "", "Node.js/npm, main.go:12, index.html#top, config.yaml: x": "",
		"https://evil.com/a?b=c": "evil[.]com/a?b=c", "see http://evil.com.": "see evil[.]com.", "evil.com": "evil[.]com", "EVIL.CoM/x": "EVIL[.]CoM/x", "a.b.evil.com:80": "a[.]b[.]evil[.]com:80",
		"x@evil.com": "x[@]evil[.]com", "a.com@b.com": "a[.]com[@]b[.]com", "ask @somebody now": "ask [@]somebody now", "a@b": "", "@me": "", "1.2.3.4": "1[.]2[.]3[.]4", "1.2.3.4567": "",
		"tg://resolve?domain=x": "tg[:]//resolve?domain=x", "mailto:x": "mailto[:]x", "note: this": "", "javascript:x": "javascript[:]x", "evil.whatever/x": "evil[.]whatever/x", "evil.whatever": "",
		"foo.https://evil.com": "foo[.]https[:]//evil[.]com", "evil.com://x": "evil[.]com[:]//x", "https://a.com/?u=https://b.com/": "a[.]com/?u=b[.]com/", "https://a.com/b.com": "a[.]com/b[.]com",
		"看evil.com吧": "看evil[.]com吧", "例子.中国": "例子[.]中国", "完。然后": "", "好.吧": "", "ｅｖｉｌ．ｃｏｍ": "ｅｖｉｌ[.]ｃｏｍ", "e\u200bvil.com": "e\u200bvil[.]com", "e。com": "e[。]com",
	} {
		if want == "" {
			want = text
		}
		if got := links.Defang(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What is still being written ends before a word that may become another link.
func TestFinished(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "see https://a.com/": "see ", "see https://a.com/ ": "see https://a.com/ ", "see ": "see ", "see": "", "a\nhttps:": "a\n", "我们看": "我们看", "我们看evil": "", "你好，看evil.c": "你好，", "[text](https://a": "", "end.\n": "end.\n", "a 例子.": "a ", "好。": "好。",
	} {
		if got := links.Finished(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAll(t *testing.T) {
	got := strings.Join(links.All("看example.com，还有https://a.org/x(1)。再见 me@b.net"), " ")
	for _, want := range []string{"example.com", "https://a.org/x(1)", "mailto:me@b.net"} {
		if !strings.Contains(" "+got+" ", " "+want+" ") {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func FuzzDefang(f *testing.F) {
	f.Add("https://evil.com/a.b@c.d")
	f.Fuzz(func(t *testing.T, text string) {
		once := links.Defang(text)
		folded, _ := links.Flat(once)
		for _, found := range links.Find(folded, false) {
			t.Errorf("%q: %q still has %q", text, once, found.Targets[0].Text)
		}
	})
}
