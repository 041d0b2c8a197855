package render

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// dialects are all that a message can be cut for.
var dialects = map[string]struct {
	render func(string) string
	size   func(string) int
}{
	"telegram": {TelegramHTML, TelegramSize},
	"plain":    {Plain, PlainSize},
	"discord":  {Discord, DiscordSize},
	"feishu":   {FeishuCard, FeishuCardSize},
	"post":     {FeishuPost, FeishuPostSize},
	"dingtalk": {DingTalk, DingTalkSize},
	"card":     {DingTalkCard, DingTalkCardSize},
	"qq":       {QQ, QQSize},
}

func TestGoldenDialects(t *testing.T) {
	in, err := os.ReadFile("testdata/rich.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range dialects {
		golden(t, "testdata/rich."+name+".golden", d.render(string(in))+"\n")
	}
}

func TestDialects(t *testing.T) {
	cases := []struct{ name, md, discord, feishu, dingtalk, qq string }{
		{"empty", "", "", "", "", ""},
		{"nothing visible", "[a]: http://x.y", "", "", "", ""},
		{"levels", "# a\n\n### b\n\n#### c", "# a\n\n### b\n\n**c**", "# a\n\n### b\n\n#### c", "# a\n\n### b\n\n#### c", "# a\n\n**b**\n\n**c**"},
		{"heading that ends with its sign", "# C\\#", "# C#" + gap, "# C#" + gap, "# C#" + gap, "# C#" + gap},
		{"heading in a list", "- # a", "- **a**", "- **a**", "- **a**", "- **a**"},
		{"literal signs", `\*a\* \_b\_ snake_case 2 * 3 ~5 a|b`, `\*a\* \_b\_ snake\_case 2 \* 3 \~5 a|b`, "&#42;a&#42; &#95;b&#95; snake_case 2 * 3 &#126;5 a|b", `\*a\* \_b\_ snake_case 2 * 3 \~5 a|b`, `\*a\* \_b\_ snake_case 2 * 3 \~5 a|b`},
		{"no new blocks", "a\n\\# b\n\\- c\n1\\. d\n\\> e", "a\n\\# b\n\\- c\n1\\. d\n\\> e", "a\n&#35; b\n&#45; c\n1&#46; d\n&#62; e", "a  \n\\# b  \n\\- c  \n1\\. d  \n\\> e", "a  \n\\# b  \n\\- c  \n1\\. d  \n\\> e"},
		{"Chinese emphasis", "**注意：**请看**“引号”**后", "**注意：**请看**“引号”**后", "**注意**：请看“**引号**”后", "**注意**：请看“**引号**”后", "**注意**：请看“**引号**”后"},
		{"marks side by side", "**a***b*", "**a**" + gap + "*b*", "**a**" + gap + "*b*", "**a**" + gap + "*b*", "**a**" + gap + "*b*"},
		{"bold over lines", "**a\nb**", "**a**\n**b**", "**a**\n**b**", "**a**  \n**b**", "**a**  \n**b**"},
		{"code in bold", "**a `b` c**", "**a** `b` **c**", "**a** `b` **c**", "**a** `b` **c**", "**a** `b` **c**"},
		{"backticks in code", "`` a`b ``", "``a`b``", "``a`b``", "``a`b``", "``a`b``"},
		{"spoiler and strike", "||a|| ~~b~~", "||a|| ~~b~~", "a ~~b~~", "a ~~b~~", "a ~~b~~"},
		{"link", "[a](https://b.cd/e_(f))", "[a](<https://b.cd/e_(f)>)", "[a](https://b.cd/e_%28f%29)", "[a](https://b.cd/e_%28f%29)", "[a](https://b.cd/e_%28f%29)"},
		{"bare link", "https://b.cd/e_f", "<https://b.cd/e_f>", "[https://b.cd/e_f](https://b.cd/e_f)", "[https://b.cd/e_f](https://b.cd/e_f)", "<https://b.cd/e_f>"},
		{"another host", "[bank.com](https://evil.io/)", "bank.com (<https://evil.io/>)", "bank.com ([https://evil.io/](https://evil.io/))", "bank.com ([https://evil.io/](https://evil.io/))", "bank.com (<https://evil.io/>)"},
		{"its own host", "[www.b.cd docs](https://b.cd/docs)", "[www.b.cd docs](<https://b.cd/docs>)", "[www.b.cd docs](https://b.cd/docs)", "[www.b.cd docs](https://b.cd/docs)", "[www.b.cd docs](https://b.cd/docs)"},
		{"script link", "[a](javascript:x)", "a (javascript:x)", "a (javascript:x)", "a (javascript:x)", "a (javascript:x)"},
		{"client command", "[go](mqqapi://aio/inlinecmd?command=x)", "go (mqqapi://aio/inlinecmd?command=x)", "go (mqqapi://aio/inlinecmd?command=x)", "go (mqqapi://aio/inlinecmd?command=x)", "go (mqqapi://aio/inlinecmd?command=x)"},
		{"mail and telephone", "<a@b.cd> [call](tel:+123)", "a@b.cd call (tel:+123)", "a@b.cd call (tel:+123)", "a@b.cd call (tel:+123)", "a@b.cd call (tel:+123)"},
		{"image", "![alt](https://a.b/c.png)", "[alt](<https://a.b/c.png>)", "[alt](https://a.b/c.png)", "[alt](https://a.b/c.png)", "[alt](https://a.b/c.png)"},
		{"no image", "!\\[a](b)", "!\\[a](b)", "&#33;&#91;a&#93;(b)", "\\!\\[a](b)", "\\!\\[a](b)"},
		{"HTML", "<font color=red>x</font> &amp;lt;", "\\<font color=red>x\\</font> &lt;", "&#60;font color=red>x&#60;/font> &#38;lt;", "&lt;font color=red>x&lt;/font> &amp;lt;", "&lt;font color=red>x&lt;/font> &amp;lt;"},
		{"footnote", "a[^1]\n\n[^1]: b c", "a\\[^1]\n\n\\[^1]: b c", "a&#91;^1&#93;\n\n&#91;^1&#93;: b c", "a\\[^1]\n\n\\[^1]: b c", "a\\[^1]\n\n\\[^1]: b c"},
		{"tasks", "- [ ] a\n- [x] b", "- ☐ a\n- ☑ b", "- ☐ a\n- ☑ b", "- ☐ a\n- ☑ b", "- ☐ a\n- ☑ b"},
		{"lists in lists", "1. a\n   - b\n     1. c", "1. a\n   - b\n     1. c", "1. a\n    - b\n        1. c", "1. a\n    - b\n        1. c", "1. a\n    - b\n        1. c"},
		{"code ends a list", "- a\n  ```\n  x\n  ```\n  b", "- a\n\n```\nx\n```\n\nb", "- a\n\n```\nx\n```\n\nb", "- a\n\n```\nx\n```\n\nb", "- a\n\n```\nx\n```\n\nb"},
		{"numbers are not joined", "1. a\n\n3) b", "1. a\n\n" + gap + "\n\n3. b", "1. a\n\n" + gap + "\n\n3. b", "1. a\n\n" + gap + "\n\n3. b", "1. a\n\n" + gap + "\n\n3. b"},
		{"fence in code", "````md\n```go\nx\n```\n````", "```md\n``" + gap + "`go\nx\n``" + gap + "`\n```", "````markdown\n```go\nx\n```\n````", "```md\n``" + gap + "`go\nx\n``" + gap + "`\n```", "```md\n``" + gap + "`go\nx\n``" + gap + "`\n```"},
		{"language", "```C++ x\ny\n```", "```c++\ny\n```", "```cpp\ny\n```", "```C++\ny\n```", "```C++\ny\n```"},
		{"quote in quote", "> a\n> > b", "> a\n> \n> b", "> a\n> \n> b", "> a\n> \n> b", "> a\n> \n> b"},
		{"written reference", `\&#42; \&copy;`, "&#42; &copy;", "&#38;#42; &#38;copy;", "&amp;#42; &amp;copy;", "&amp;#42; &amp;copy;"},
		{"two signs beside letters", "中**~~b~~**文", "中**~~b~~**文", "中~~b~~文", "中~~b~~文", "中~~b~~文"},
		{"brackets between marks", "**（a）**_（b）_", "**（a）**" + gap + "*（b）*", "**（a**）（*b）*", "**（a**）（*b）*", "**（a**）（*b）*"},
		{"number that cannot interrupt", "- a\n\n  3. b", "- a\n\n  3. b", "- a\n\n    3. b", "- a\n\n    3. b", "- a\n\n    3. b"},
		{"quote in a list", "1. a\n   > q\n2. b", "1. a\n\n> q\n\n2. b", "1. a\n\n> q\n\n2. b", "1. a\n\n> q\n\n2. b", "1. a\n\n> q\n\n2. b"},
		{"ranges", "3~5天，7~8天", `3\~5天，7\~8天`, "3&#126;5天，7&#126;8天", `3\~5天，7\~8天`, `3\~5天，7\~8天`},
		{"rule", "a\n\n---\n\nb", "a\n\n———\n\nb", "a\n\n---\n\nb", "a\n\n———\n\nb", "a\n\n***\n\nb"},
		{"emoji by name", ":OK: a:b: 12:30", ":OK: a:b: 12:30", "&#58;OK: a&#58;b: 12:30", ":OK: a:b: 12:30", ":OK: a:b: 12:30"},
		{"table", "|A|B|\n|-|:-:|\n|a\\|b|*c*|\n||d|", "```\nA   | B\n----+--\na|b | c\n    | d\n```", "| A | B |\n| --- | :-: |\n| a&#124;b | *c* |\n|  | d |", "- **a|b** · B: *c*\n- B: d", "- **a|b** · B: *c*\n- B: d"},
		{"head alone", "|A|B|\n|-|-|", "```\nA | B\n--+--\n```", "| A | B |\n| --- | --- |", "**A · B**", "**A · B**"},
	}
	for _, c := range cases {
		for name, want := range map[string]string{"discord": c.discord, "feishu": c.feishu, "dingtalk": c.dingtalk, "qq": c.qq} {
			if got := dialects[name].render(c.md); got != want {
				t.Errorf("%s: %s of %q\n got %q\nwant %q", c.name, name, c.md, got, want)
			}
		}
	}
}

// Whatever way a mention is written, none comes out.
func TestNobodyIsMentioned(t *testing.T) {
	forms := []string{
		"@everyone", "@here", "@Everyone", "<@123>", "<@!123>", "<@&123>", "<#123>", "<:ok:123>", "<a:ok:123>", "<t:1700000000:R>", "</cmd:123>", "<id:home>",
		"<at id=all></at>", `<at user_id="all"></at>`, "<AT id=all>", "<person id = 'ou_1'></person>",
		`<qqbot-at-user id="1" />`, "<qqbot-at-everyone />", `<qqbot-cmd-input text="x" />`, "<emoji:4>", "<faceType=1>",
	}
	split := []string{"%s", "**%s**", "a%sb", "# %s", "> %s", "- %s", "| %s |\n|---|", "[%s](https://a.b)", "[%s](javascript:x)", "||%s||", "![%s](x)", "<b>%s</b>"}
	for _, form := range forms {
		half := len(form) / 2
		ways := []string{
			form, "&#64;" + form[1:], strings.ReplaceAll(form, "<", "&lt;"), "\\" + form, form[:1] + "\x00" + form[1:],
			form[:half] + "&#" + "0;" + form[half:], form[:1] + "||" + form[1:] + "||", "**" + form[:1] + "**" + form[1:], form[:half] + "~~" + form[half:] + "~~",
		}
		for _, way := range ways {
			for _, around := range split {
				md := strings.Replace(around, "%s", way, 1)
				for name, d := range dialects {
					inCode := name == "discord" && around[0] == '|' // where Discord mentions nobody
					if name != "telegram" && !inCode {
						checkSilent(t, name, md, d.render(md))
					}
				}
			}
		}
		for _, name := range []string{"feishu", "dingtalk", "card", "qq", "post", "plain"} {
			for _, md := range []string{"`" + form + "`", "```\n" + form + "\n```", "    " + form} {
				checkSilent(t, name, md, dialects[name].render(md))
			}
		}
	}
}

func checkSilent(t *testing.T, name, md, out string) {
	t.Helper()
	if name == "post" {
		var post any
		if err := json.Unmarshal([]byte(out), &post); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
	}
	// What a server would see, whether or not it resolves references first.
	for _, seen := range []string{out, strings.NewReplacer("&lt;", "<", "&#60;", "<", `\u003c`, "<", `\`, "").Replace(out)} {
		if found := summons.FindString(seen); found != "" {
			t.Errorf("%s: %q in %q of %q", name, found, out, md)
		}
	}
}

func TestDingTalkCallsNobody(t *testing.T) {
	for md, want := range map[string]string{
		"@13800000000 see": "@" + gap + "13800000000 see", "@所有人": "@" + gap + "所有人", "hi @all": "hi @" + gap + "all",
		"(@manager12)": "(@" + gap + "manager12)", "mail a@b.cd": "mail a@b.cd", "`@all`": "`@" + gap + "all`",
	} {
		if got := DingTalk(md); got != want {
			t.Errorf("DingTalk(%q) = %q, want %q", md, got, want)
		}
	}
}

// The variables of DingTalk's cards break a line at <br> alone, but in code.
func TestDingTalkCard(t *testing.T) {
	for md, want := range map[string]string{
		"a\nb\n\nc":                              "a<br>b\n\nc",
		"a\\\nb":                                 "a<br>b",
		"**a\nb**":                               "**a**<br>**b**",
		"- a\n  b\n- c":                          "- a<br>b\n- c",
		"1. a\n\n   b":                           "1. a\n\n    b",
		"# a\nb\nc":                              "# a\n\nb<br>c",
		"a\n```go\nx\ny\n```\nb":                 "a\n\n```go\nx\ny\n```\n\nb",
		"> a\n> b\n>\n> c\n\nd":                  "> a<br>b<br><br>c\n\nd",
		"> - a\n> - b":                           "> - a<br>- b",
		"> a\n> # b":                             "> a<br><br>**b**",
		"> a\n> ```\n> x\n> y\n> ```":            "> a\n> \n> ```\n> x\n> y\n> ```",
		"a\n\n|A|B|\n|-|:-:|\n|a\\|b|*c*|\n||d|": "a\n\n| A | B |\n| --- | :-: |\n| a\\|b | *c* |\n|  | d |",
		"> |A|\n> |-|\n> |b|":                    "> | A |\n> | --- |\n> | b |",
		"see<br>&lt;br&gt;":                      "see<br>&lt;br>",
		"@all `@all`":                            "@" + gap + "all `@" + gap + "all`",
	} {
		if got := DingTalkCard(md); got != want {
			t.Errorf("DingTalkCard(%q)\n got %q\nwant %q", md, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		md := rapid.OneOf(document(), soup(), rapid.String()).Draw(t, "md")
		once := func(s string) int {
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			return len(b) - 2
		}
		card, err := json.Marshal(FeishuCard(md))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name      string
			got, want int
		}{
			{"DiscordSize", DiscordSize(md), len(utf16.Encode([]rune(Discord(md))))},
			{"FeishuCardSize", FeishuCardSize(md), once(string(card[1 : len(card)-1]))},
			{"FeishuPostSize", FeishuPostSize(md), once(FeishuPost(md))},
			{"DingTalkSize", DingTalkSize(md), len(DingTalk(md))},
			{"DingTalkCardSize", DingTalkCardSize(md), len(DingTalkCard(md))},
			{"QQSize", QQSize(md), len([]rune(QQ(md)))},
			{"PlainSize", PlainSize(md), len([]rune(Plain(md)))},
		} {
			if c.got != c.want {
				t.Fatalf("%s(%q) = %d, want %d", c.name, md, c.got, c.want)
			}
		}
		for name, d := range dialects {
			if out := d.render(md); !utf8.ValidString(out) {
				t.Fatalf("%s(%q) is not UTF-8: %q", name, md, out)
			}
		}
	})
}

func TestTables(t *testing.T) {
	md := strings.Repeat("| a |\n|---|\n| b |\n\n> text\n\n", 6) + "- | c |\n  |---|\n"
	if got := Tables(md); got != 7 {
		t.Errorf("Tables = %d, want 7", got)
	}
	if got := strings.Count(FeishuCard(md), "| --- |"); got != 4 {
		t.Errorf("a card gets %d tables, Feishu takes 4", got)
	}
	if got := strings.Count(FeishuCard(md), "```"); got != 2*3 {
		t.Errorf("%d fences, want the other three tables as code", got)
	}
	size := func(md string) int { return max(FeishuCardSize(md), Tables(md)*1000) }
	for _, p := range Split(md, 2000, size) {
		if n := Tables(p); n > 2 {
			t.Errorf("%d tables in %q", n, p)
		}
	}
}
