package shell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/tools/fs/charset"
	"magpie/tools/shell"
)

// What programs write in another encoding is read, and said to be a guess; what
// is text beside it stays as it is.
func TestOutputInOtherEncodings(t *testing.T) {
	r := build(t, shell.Config{}, shell.Deps{})
	in := func(enc, text string) string {
		raw, err := charset.Named(enc).NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for name, c := range map[string]struct{ out, want string }{
		"utf-8":             {"编译 ok 完\n", "stdout:\n编译 ok 完"},
		"gbk":               {in("gbk", "错误：找不到文件\n第二行\n"), "stdout (not UTF-8: read as gbk, a guess):\n错误：找不到文件\n第二行"},
		"gbk, one word":     {in("gbk", "中文"), "stdout (not UTF-8: read as gbk, a guess):\n中文"},
		"big5":              {in("big5", "錯誤：找不到檔案，請檢查路徑\n"), "stdout (not UTF-8: read as big5, a guess):\n錯誤：找不到檔案"},
		"latin1":            {in("latin1", "Fichier non trouvé : déjà\n"), "stdout (not UTF-8: read as latin1, a guess):\nFichier non trouvé : déjà"},
		"mixed":             {"编译 ok\n" + in("gbk", "错误：找不到文件\n") + "完\n", "stdout (not UTF-8: read as gbk, a guess):\n编译 ok\n错误：找不到文件\n完"},
		"utf-16":            {in("utf-16le", "进程已结束\n"), "stdout (not UTF-8: read as utf-16, a guess):\n进程已结束"},
		"a character cut":   {"完成了"[:8], "stdout:\n完成\uFFFD"},
		"binary":            {"\x7fELF\x02\x00\xff\xfe text", "stdout (not UTF-8: bytes that are no text are shown as \uFFFD):\n\x7fELF\x02\x00\uFFFD\uFFFD text"},
		"nothing but bytes": {"\xfd\xfc\x01\x02", "bytes that are no text are shown as"},
	} {
		if err := os.WriteFile(filepath.Join(r.dir, "out"), []byte(c.out), 0o600); err != nil {
			t.Fatal(err)
		}
		if res := r.command("cat out"); !res.OK || !strings.Contains(res.Text, c.want) {
			t.Errorf("%s: want %q in %q", name, c.want, res.Text)
		}
		if res := r.command("cat out >&2; exit 3"); !strings.Contains(res.Text, strings.Replace(c.want, "stdout", "stderr", 1)) {
			t.Errorf("%s: want %q in %q", name, strings.Replace(c.want, "stdout", "stderr", 1), res.Text)
		}
	}
}

// A long output is kept at both ends; the cuts may fall into characters.
func TestLongOutputIsCutBetweenCharacters(t *testing.T) {
	for shift := range 3 {
		r := build(t, shell.Config{}, shell.Deps{})
		const kept = 4 << 20
		text := strings.Repeat("a", shift) + strings.Repeat("喜", (3*kept)/3)
		if err := os.WriteFile(filepath.Join(r.dir, "out"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		res := r.command("cat out")
		if !res.OK || strings.Contains(res.Text, "UTF-8") || strings.Contains(res.Text, "\uFFFD") {
			t.Errorf("shift %d: %.200q", shift, res.Text)
		}
		whole, err := os.ReadFile(keptFile(t, r.dir))
		if err != nil || strings.Contains(string(whole), "\uFFFD") || !strings.Contains(string(whole), fmt.Sprintf("of %d bytes were not kept", len(text))) {
			t.Errorf("shift %d: the kept output is damaged: %v", shift, err)
		}
	}
}

func keptFile(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "tool_output", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	return found[0]
}
