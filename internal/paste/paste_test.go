package paste_test

import (
	"strings"
	"testing"

	"magpie/internal/paste"
)

func TestTrim(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"": "", "abc": "abc", `"abc"`: "abc", "'abc'": "abc", "“abc”": "abc", " “ abc ” ": "abc", "‘abc’": "abc", "「abc」": "abc", "`abc`": "abc", "＂abc＂": "abc",
		"\ufeffabc\r": "abc", "\u00a0abc\u3000": "abc", "\u200babc": "abc", "X=abc": "abc", "X='abc'": "abc", "'X=abc'": "abc", "export X=abc": "abc", "X＝abc": "abc",
		`"abc`: `"abc`, `a"b"c`: `a"b"c`, "Y=abc": "Y=abc", "a b": "a b", `""`: "", `"`: `"`, "X=X=abc": "abc", "abc=": "abc=",
	} {
		got, what := paste.Trim("X", value)
		if got != want || (what == "") != (got == value) {
			t.Errorf("%q: %q (%s), want %q", value, got, what, want)
		}
	}
}

// Keys of every shape are let through; what is not one is named, without it.
func TestFlaw(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"123456:fake-token-AbCdEf", "MTIzNDU2Nzg5MDEyMzQ1Njc4.FakeTk.fake-token-for-tests-0123456789", "cli_a1", "ding0123456789", "sk-ant-api03-aB_c-D", "sk-proj-Your0nKeyAA_BB-xxxx",
		"k", "a/b+c==", "AKIA:xyz", "0123456789abcdef", "made-up", "sk-test", "s3cret!", "p@ss$word", "yourself", "tok", "key", "secret",
	} {
		if flaw := paste.Flaw(key); flaw != "" {
			t.Errorf("%s %s", key, flaw)
		}
	}
	for key, want := range map[string]string{
		"123：abc": "full-width ：", "ａbc": "full-width ａ", "“abc": "typographic “", "a—b": "typographic —", "a\u200bb": "nobody sees (U+200B)", "a\u3000b": "full-width blank",
		"a\nb": "control character", "$(cat x)": "a command", "${TOKEN}": "a variable of a shell", "$TOKEN": "a variable of a shell", "`cat x`": "a command",
		"your-token-here": "example", "YOUR_API_KEY": "example", "<token>": "example", "[token]": "example", "sk-...": "example", "sk-xxxxxxxx": "example", "changeme": "example",
		"CHANGE_ME": "example", "123456:ABC-the-token-you-got": "example", "123456:ABC-def": "example", "你的密钥": "example", "请填写": "example", "todo": "example", "null": "example",
		"paste-it-here": "example", "000000": "example", "token-here": "example", "replace-me": "example",
		"TELEGRAM_BOT_TOKEN=1:a": "name of a variable", "API_KEY: abc": "name of a variable", "Bearer abc": `"Bearer "`, "Bot a.b.c": `"Bot "`, "Authorization: x": `"Authorization: "`,
		"a b": "blank", "密abc": "plain letters", `a"b`: "quote",
	} {
		flaw := paste.Flaw(key)
		if !strings.Contains(flaw, want) || strings.Contains(flaw, "abc") {
			t.Errorf("%q: %q, want %q in it", key, flaw, want)
		}
	}
}

// A passphrase may hold what its writing has. What is foreign to it is named,
// all signs of a kind at once, and no more of it.
func TestOddPhrase(t *testing.T) {
	t.Parallel()
	for _, phrase := range []string{
		"窗前（明月）光", "你好，世界！“真的”吗——是的……", "「東京」の空・三日月", "密码１２３ＡＢＣ", "床前明月光　疑是地上霜", "crème brûlée – c’est «bon»", "пароль «тайна» — да", "비밀（번호）",
		"correct blue ladder seven", "~!@#%^&*()_+{}|:<>?-=[];',./", "🐦 喜鹊（飞）", "🐦🌙🍚🏮", "价格＄（很贵）",
	} {
		if odd := paste.OddPhrase(phrase); odd != "" {
			t.Errorf("%s %s", phrase, odd)
		}
	}
	for phrase, want := range map[string]string{
		"blue（ladder）seven": "holds the full-width （ ）: write the plain ( )", "a，b，c！": "holds the full-width ， ！: write the plain , !",
		"０１２３abc": "holds the full-width ０: write the plain 0", "ａ（ｂ）": "holds the full-width ａ （ ）: write the plain a ( )",
		"the “quoted” one": "holds the typographic “ ”: ", "seven–eight": "holds the typographic –: ", "blue　ladder": "full-width blank",
		"窗前\u200b明月": "(U+200B)", "窗前\u00a0明月": "(U+00A0)", "blue\u2009ladder": "(U+2009)", "窗前\n明月": "control character", " blue ladder": "begins or ends with a blank", "明月\u3000": "begins or ends with a blank", "窗前\u0085明月": "control character", "窗前$(date)明月": "a command",
	} {
		if odd := paste.OddPhrase(phrase); !strings.Contains(odd, want) {
			t.Errorf("%q: %q, want %q in it", phrase, odd, want)
		}
	}
}

func TestTruth(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"true": true, "TRUE": true, "Yes": true, "on": true, "1": true, "是": true, "开": true, "启用": true, "ＯＮ": true, " true\r": true,
		"false": false, "No": false, "OFF": false, "0": false, "否": false, "关": false, "关闭": false,
	} {
		if on, ok := paste.Truth(said); !ok || on != want {
			t.Errorf("%q: %v, %v", said, on, ok)
		}
	}
	for _, said := range []string{"", "treu", "2", "maybe", "123:abc"} {
		if _, ok := paste.Truth(said); ok {
			t.Errorf("%q is taken", said)
		}
	}
}
