package charset_test

import (
	"strings"
	"testing"

	"magpie/tools/fs/charset"
)

func in(t *testing.T, enc, text string) []byte {
	t.Helper()
	raw, err := charset.Named(enc).NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

const (
	simple      = "今天天气很好，我们去公园散步。编译错误：找不到文件"
	traditional = "今天天氣很好，我們去公園散步。編譯錯誤：找不到檔案"
)

func TestGuess(t *testing.T) {
	for _, c := range []struct {
		name string
		text []byte
		want string
		as   string
	}{
		{"nothing", nil, "", ""},
		{"plain", []byte("a\nb\n"), "a\nb\n", ""},
		{"utf-8", []byte(simple), simple, ""},
		{"gbk", in(t, "gbk", simple), simple, "gbk"},
		{"two characters", in(t, "gbk", "中文"), "中文", "gbk"},
		{"gb18030", in(t, "gb18030", simple+"𠮷"), simple + "𠮷", "gbk"},
		{"big5", in(t, "big5", traditional), traditional, "big5"},
		{"latin1", in(t, "latin1", "Müller trinkt Café à la crème\n"), "Müller trinkt Café à la crème\n", "latin1"},
		{"latin1, one letter", []byte("caf\xe9 au lait"), "café au lait", "latin1"},
		{"utf-16", in(t, "utf-16le", simple), simple, "utf-16"},
		{"mixed", append([]byte("编译 ok\n"), append(in(t, "gbk", simple+"\n"), "done 完\n"...)...), "编译 ok\n" + simple + "\ndone 完\n", "gbk"},
		{"cut in utf-8", []byte("编译 ok\n完成")[:len("编译 ok\n完成")-1], "编译 ok\n完\uFFFD", ""},
		{"cut in gbk", in(t, "gbk", simple)[:2*len([]rune(simple))-1], strings.TrimSuffix(simple, "件") + "\uFFFD", "gbk"},
		{"binary", []byte("\x89PNG\r\n\x1a\n\x00\xff"), "\uFFFDPNG\r\n\x1a\n\x00\uFFFD", "binary"},
	} {
		if got, as := charset.Guess(c.text); got != c.want || as != c.as {
			t.Errorf("%s: %q as %q, want %q as %q", c.name, got, as, c.want, c.as)
		}
	}
}

func FuzzGuess(f *testing.F) {
	f.Add([]byte("caf\xe9\n\xd6\xd0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, _ := charset.Guess(text); strings.ToValidUTF8(got, "") != got {
			t.Errorf("%q: %q is no UTF-8", text, got)
		}
	})
}
