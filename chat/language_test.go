package chat

import "testing"

func TestTextLanguage(t *testing.T) {
	for text, want := range map[string]string{
		"hello": English, "привет": English, "你好": Chinese, "ok 好的": Chinese, "東京へ行く": English, "한국 漢字": English,
		"": "", " \n": "", "👋": "", "1+1=?": "", "？": "", "\xff": "", "/help": "", "／status": "", "/remind tea at 5": "", "/帮助": Chinese, "/remind 喝茶": Chinese,
	} {
		if got := TextLanguage(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLanguageOfASender(t *testing.T) {
	for tag, want := range map[string]string{
		"": "", "zh": Chinese, "zh-Hans": Chinese, "zh_TW": Chinese, " ZH-CN ": Chinese, "en": English, "en-GB": English, "ja": English, "zha": English,
	} {
		if got := (&Sender{Lang: tag}).Language(); got != want {
			t.Errorf("%q: %q, want %q", tag, got, want)
		}
	}
}

// Who writes Chinese reads it, whatever the language of the app.
func TestLanguageOfAMessage(t *testing.T) {
	for _, c := range []struct{ tag, text, want string }{
		{"", "", ""},
		{"", "/start", ""},
		{"", "hi", English},
		{"", "你好", Chinese},
		{"en", "", English},
		{"en", "/start", English},
		{"en", "你好", Chinese},
		{"zh-hans", "hi", Chinese},
		{"zh", "", Chinese},
	} {
		in := Inbound{Text: c.text, From: Sender{Lang: c.tag}}
		if got := in.Language(); got != c.want {
			t.Errorf("%q in an app in %q: %q, want %q", c.text, c.tag, got, c.want)
		}
	}
}
