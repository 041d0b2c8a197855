package render_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	gmtext "github.com/yuin/goldmark/text"

	"magpie/channels/render"
	"magpie/internal/links"
)

// vouched knows one host, one address and one mail address.
func vouched(target string) bool {
	bare := strings.TrimPrefix(strings.TrimPrefix(target, "https://"), "http://")
	return bare == "ok.example" || strings.HasPrefix(bare, "ok.example/") || bare == "found.com/a?b=c" || target == "mailto:me@ok.example"
}

// What is written otherwise stays readable, and what is vouched for stays.
func TestGuard(t *testing.T) {
	for _, c := range []struct{ md, want string }{
		{"plain words, 3.14, v1.2, e.g. this; Node.js/npm and main.go:12.", ""},
		{"see https://evil.example/x?d=1 and https://ok.example/a b", "see evil[.]example/x?d=1 and https://ok.example/a b"},
		{`[text](https://evil.example/x?d=1 "t") and [t](https://ok.example/)!`, "text (evil[.]example/x?d=1) and [t](https://ok.example/)!"},
		{"![alt](https://evil.com/p) ![a](https://ok.example/p) ![](https://ok.example/q) ![](https://evil.com/q)", "alt (evil[.]com/p) [a](https://ok.example/p) <https://ok.example/q> evil[.]com/q"},
		{"<https://evil.com/a*b*> <x@evil.com> <me@ok.example> me@ok.example @someone", `evil[.]com/a\*b\* x[@]evil[.]com <me@ok.example> me@ok.example [@]someone`},
		{"[a][r], [r] and [b][]\n\n[r]: https://evil.com/x 't'\n[b]: https://ok.example/z", "a (evil[.]com/x), r (evil[.]com/x) and [b][]\n\n\n[b]: https://ok.example/z"},
		{`evil&#46;com/x evil\.com/x evil.**com**/x www.evil/x`, "evil[.]com/x evil[.]com/x evil[.]**com**/x www[.]evil/x"},
		{"`curl https://evil.com/x`, `os.path`, README.md", "`curl evil[.]com/x`, `os.path`, `README.md`"},
		{"```sh\ncurl https://evil.com/i.sh\nimport os.path\n```", "```sh\ncurl evil[.]com/i.sh\nimport os.path\n```"},
		{"参见ok.example的文档，https://found.com/a?b=c。然后https://evil.com/数据。", "参见 ok.example 的文档，<https://found.com/a?b=c>。然后evil[.]com/数据。"},
		{"[![alt](https://evil.com/x.png)](https://ok.example/) [z](#frag) [p](/files/a)", "[alt](https://ok.example/) [z](#frag) [p](/files/a)"},
		{"[evil.com](https://ok.example/) [ok.example](https://evil.com/y)", "[evil[.]com](https://ok.example/) ok.example (evil[.]com/y)"},
		{"https://found.com/a?b=c&d=secret https://found.com/a?b=c, (https://found.com/a?b=c).", "found[.]com/a?b=c&d=secret https://found.com/a?b=c, (https://found.com/a?b=c)."},
		{"| a |\n|---|\n| [q](https://evil.com/a\\|b) |", "| a |\n|---|\n| q (evil[.]com/a\\|b) |"},
		{"", ""},
	} {
		want := c.want
		if want == "" {
			want = c.md
		}
		if got := render.Guard(c.md, vouched); got != want {
			t.Errorf("%q:\n got %q\nwant %q", c.md, got, want)
		}
	}
}

// spellings are addresses that some client links.
var spellings = []string{
	"https://evil.com/x?d=1", "http://evil.com", "HTTPS://EVIL.COM/X", "evil.com/x?d=1", "evil.com", "www.evil.com", "www.evil/x", "a.b.evil.co.uk", "evil.com:8080/x",
	"evil.zip/x", "data.evil.sh/x", "1.2.3.4", "1.2.3.4/x", "http://1.2.3.4:80/x", "http://3232235777/x", "http://[::1]/x", "http://localhost/x", "//evil.com/x",
	"ftp://evil.com/x", "tg://resolve?domain=evil", "tonsite://evil.ton", "mailto:x@evil.com", "x@evil.com", "x.y+z@evil.co", "tel:+123456", "magnet:?xt=urn", "javascript:alert(1)", "data:text/html,x",
	"https://ok.example@evil.com/x", "https://ok.example:x@evil.com/", "https://ok.example.evil.com/", "https://evil.com/ok.example", "https://evil.com\\@ok.example", "xhttps://evil.com/x", "foo.https://evil.com/x",
	"例子.公司/x", "пример.рф", "xn--fsqu00a.xn--55qx5d", "bücher.de/x", "ｅｖｉｌ．ｃｏｍ", "ｈｔｔｐｓ://evil.com", "evil｡com/x", "ev\u200bil.com/x", "evil\u00ad.com", "evil.c\u2060om/x", "https:\u200b//evil.com/x",
	"https://found.com/a?b=cd", "https://found.com/a", "https://found.com/a?b=c#x", "https://evil.com/" + strings.Repeat("a", 3000), "t.me/evilbot?start=x",
	"evil&#46;com/x", "evil&period;com/x", "evil\\.com/x", "https&colon;//evil.com/x", "https:&#x2f;/evil.com/x", "h\\ttps://evil.com", "evil.*com*/x", "ev**il**.com/x", "evil.~~com~~/x", "_evil_.com/x",
}

// contexts are the ways to put one into a text.
var contexts = []string{
	"%", "see % now", "(%)", "见%。然后", "**%**", "_%_", "~~%~~", "||%||", "# %", "> %", "> > - %", "- %\n- %", "1. %", "| a | % |\n|---|---|\n| % | b |", "a\\\n%", "%\n%",
	"[text](%)", "[text](<%>)", "[text](% \"title\")", "[%](%)", "[%](https://ok.example/)", "[**text**](%)", "![alt](%)", "![](%)", "![%](%)", "[![alt](%)](%)", "[![alt](%)](https://ok.example/)", "<%>",
	"[r]\n\n[r]: %", "[text][r]\n\n[r]: <%> 'title'", "[text][]\n\n[text]: %", "![r]\n\n[r]: %", "> [r]\n>\n> [r]: %",
	"`%`", "``%``", "```\n%\n```", "```sh\ncurl %\n```", "    %", "<a href=\"%\">x</a>", "<img src=%>", "<div style=\"background:url(%)\">\n%\n</div>", "<script src='%'></script>", "<!-- % -->",
	"[a\nb](%)", "- [a\n  b](%)\n  c", "[x [y](%) z](https://ok.example/)", "text[%]", "[%]", "\\[text](%)", "[text](%", "**[text](%)**text", "*%", "``%", "https://ok.example/ %", "%,%", "%https://ok.example/",
}

// No spelling in any context is a link, or a picture, on any platform, and what
// a text is once guarded it stays.
func TestGuardEverywhere(t *testing.T) {
	for _, where := range contexts {
		for _, address := range spellings {
			md := strings.ReplaceAll(where, "%", address)
			got := render.Guard(md, vouched)
			if again := render.Guard(got, vouched); again != got {
				t.Errorf("%q: %q becomes %q", md, got, again)
			}
			for name, problem := range linked(got) {
				t.Errorf("%q: guarded %q: %s has %q", md, got, name, problem)
			}
		}
	}
}

var (
	telegramLink = regexp.MustCompile(`<a href="([^"]*)">`)
	telegramCode = regexp.MustCompile(`(?s)<(?:pre|code)[ >].*?</(?:pre|code)>|<pre>.*?</pre>|<code>.*?</code>`)
	anyTag       = regexp.MustCompile(`<[^>]*>`)
	postLink     = regexp.MustCompile(`"href":"([^"]*)"`)
	schemed      = regexp.MustCompile(`(?i)[a-z][a-z0-9+-]+://[\pL\pN]`)
	followed     = regexp.MustCompile(`^(?i)(?:(?:https?|ftp|tg)://|mailto:|javascript:|data:)\S+$`)
)

// linked are links that nobody vouches for, by platform.
func linked(md string) map[string]string {
	found := map[string]string{}
	check := func(name, target string) {
		target = html.UnescapeString(target)
		if followed.MatchString(target) && !vouched(target) {
			found[name] = target
		}
	}
	telegram := render.TelegramHTML(md)
	for _, m := range telegramLink.FindAllStringSubmatch(telegram, -1) {
		check("telegram", m[1])
	}
	seen := telegramCode.ReplaceAllString(telegram, " ")
	seen = regexp.MustCompile(`(?s)<a href="[^"]*">.*?</a>`).ReplaceAllString(seen, " ") // what is linked already is not linked again
	for _, f := range links.Find(flat(html.UnescapeString(anyTag.ReplaceAllString(seen, ""))), false) {
		if !anyOf(f) {
			found["telegram's own search"] = f.Targets[0].Text
		}
	}
	for name, text := range map[string]string{
		"discord": render.Discord(md), "previews": render.DiscordPreviews(md), "dingtalk": render.DingTalk(md), "card": render.DingTalkCard(md), "qq": render.QQ(md), "feishu": render.FeishuCard(md),
	} {
		for _, target := range destinations(text) {
			check(name, target)
		}
		if m := schemed.FindString(strings.NewReplacer("://ok.example", "", "https://found.com/a?b=c", "").Replace(flat(text))); m != "" {
			found[name+" in its text"] = text
		}
	}
	for _, m := range postLink.FindAllStringSubmatch(render.FeishuPost(md), -1) {
		check("post", m[1])
	}
	plain := flat(render.Plain(md))
	for _, f := range links.Find(plain, true) {
		if !anyOf(f) {
			found["plain"] = f.Targets[0].Text
		}
	}
	return found
}

// destinations are where the links of a platform's Markdown lead; a picture
// that is left is one to nowhere.
func destinations(text string) (all []string) {
	src := []byte(text)
	_ = ast.Walk(goldmark.DefaultParser().Parse(gmtext.NewReader(src)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			all = append(all, string(n.Destination))
		case *ast.AutoLink:
			all = append(all, string(n.URL(src)))
		case *ast.Image:
			all = append(all, "data:picture,"+string(n.Destination))
		}
		return ast.WalkContinue, nil
	})
	return all
}

func flat(text string) string {
	text, _ = links.Flat(text)
	return text
}

func anyOf(f links.Found) bool {
	for _, t := range f.Targets {
		if vouched(t.Text) {
			return true
		}
	}
	return false
}

// Crowded and huge texts take no longer, and are no way around.
func TestGuardCrowded(t *testing.T) {
	for name, md := range map[string]string{
		"brackets": strings.Repeat("[", 5000) + "x](https://evil.com/x)", "links": strings.Repeat("[x](https://evil.com/x) ", 3000),
		"marks": strings.Repeat("*a", 5000) + " <https://evil.com/x>", "dots": strings.Repeat("a.", 20000) + "com/x", "one word": strings.Repeat("a", 1<<20) + ".com",
		"quotes": strings.Repeat(">", 300) + " https://evil.com/x", "at": strings.Repeat("a@", 20000) + "evil.com",
	} {
		got := render.Guard(md, vouched)
		for where, problem := range linked(got) {
			t.Errorf("%s: %s: %.100q", name, where, problem)
		}
	}
}

func FuzzGuard(f *testing.F) {
	for _, where := range contexts {
		f.Add(strings.ReplaceAll(where, "%", spellings[0]))
	}
	f.Fuzz(func(t *testing.T, md string) {
		got := render.Guard(md, vouched)
		for where, problem := range linked(got) {
			t.Errorf("%q: guarded %q: %s: %q", md, got, where, problem)
		}
	})
}
