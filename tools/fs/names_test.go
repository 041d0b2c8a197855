package fs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"magpie/tools"
	"magpie/tools/fs/charset"
)

// A name cannot look like another entry, and what is shown of it is a path that
// every tool takes.
func TestOddNames(t *testing.T) {
	for i, name := range []string{
		"a\n📄 forged.txt  3 B", "a\r\x1b[2K📄 forged.txt", "\x1b]0;title\x07", "tab\there", "bidi \u202etxt.exe", "line\u2028forged.txt  3 B", "para\u2029x",
		"zero\u200bwidth", "mark\ufeff", "c1\u009b2J", " leading", "trailing ", `back\slash`, `a\nb`, `"quoted"`, "soft\u00adhyphen", "tag\U000e0041",
	} {
		b := newBench(t, nil, nil)
		b.file("dir/"+name, fmt.Sprint("content ", i))
		listed := b.ok("list_dir", m{"path": "dir"})
		lines := strings.Split(strings.TrimSuffix(listed, "\n"), "\n")
		if len(lines) != 2 || strings.ContainsAny(listed, "\r\x1b\u202e\u2028\u2029\u009b") {
			t.Errorf("%q is listed as\n%q", name, listed)
			continue
		}
		shown := strings.TrimPrefix(lines[1], "📄 ")
		shown = "dir/" + shown[:strings.LastIndex(shown, "  ")]
		contains(t, b.ok("list_dir", m{"recursive": true}), shown)
		contains(t, b.ok("file_search", m{"content": "content"}), "\n"+shown+"\n")
		contains(t, b.ok("read_file", m{"path": shown}), fmt.Sprint("content ", i))
		contains(t, b.ok("read_file", m{"path": "dir/" + name}), fmt.Sprint("content ", i))
		var info struct {
			Files []struct{ Path string }
			Path  string
		}
		if err := json.Unmarshal([]byte(b.ok("list_files", m{"path": "dir"})), &info); err != nil || len(info.Files) != 1 {
			t.Fatalf("%v: %+v", err, info)
		}
		contains(t, b.ok("read_file", m{"path": "dir/" + info.Files[0].Path}), fmt.Sprint("content ", i))
		text := b.ok("edit_file", m{"path": shown, "old_text": "content", "new_text": "new"})
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "edited dir/") && !strings.ContainsAny(line[:1], `-+@\`) {
				t.Errorf("%q: the diff is\n%s", name, text)
			}
		}
		b.ok("undo_edit", m{"path": shown})
		b.ok("move_file", m{"from": shown, "to": "dir/moved"})
		b.ok("move_file", m{"from": "dir/moved", "to": shown})
		b.ok("delete_file", m{"path": "dir/" + name})
	}
}

// Names that look like what Shown writes, and are something else.
func TestNamesThatLookEscaped(t *testing.T) {
	b := newBench(t, nil, nil)
	b.file(`"plain"`, "with quotes")
	b.file("plain", "without")
	b.file(`a\nb`, "a backslash")
	b.file("a\nb", "a line feed")
	for path, want := range map[string]string{`"plain"`: "with quotes", "plain": "without", `a\nb`: "a backslash", `"a\nb"`: "a line feed", "a\nb": "a line feed", `"a\\nb"`: "a backslash"} {
		contains(t, b.ok("read_file", m{"path": path}), want)
	}
	b.fails(tools.NotFound, "read_file", m{"path": `".\u002e"/secret`}, "secret")
	b.fails(tools.Security, "read_file", m{"path": `"..\n/../../etc/passwd"`}, "passwd")
}

// macOS writes é as two letters, people and models as one.
func TestNamesInBothForms(t *testing.T) {
	const one, two = "caf\u00e9", "cafe\u0301"
	for made, asked := range map[string]string{one: two, two: one} {
		b := newBench(t, nil, nil)
		b.file(made+"/r\u00e9sum\u00e9 한글.txt", "bonjour")
		path := asked + "/re\u0301sume\u0301 \u1112\u1161\u11ab\u1100\u1173\u11af.txt"
		contains(t, b.ok("read_file", m{"path": path}), "bonjour")
		contains(t, b.ok("get_file_info", m{"path": path}), `"exists":true`)
		contains(t, b.ok("edit_file", m{"path": path, "old_text": "bonjour", "new_text": "salut"}), "edited "+made+"/r\u00e9sum\u00e9 한글.txt")
		contains(t, b.ok("undo_edit", m{"path": path}), "back")
		contains(t, b.ok("list_dir", m{"path": asked}), "1 files")
		contains(t, b.ok("file_search", m{"pattern": asked, "type": "dir"}), "1 found", made)
		contains(t, b.ok("file_search", m{"pattern": "cafe/resume*"}), "1 found")
		contains(t, b.ok("list_dir", m{"pattern": "**/resume*"}), "1 files")
		// A new file keeps the spelling that was given, in the folder that is there.
		b.ok("write_file", m{"path": asked + "/n\u0303.txt", "content": "x"})
		contains(t, b.ok("list_dir", m{"recursive": true}), "1 folders, 2 files", made+"/n\u0303.txt")
		b.ok("write_file", m{"path": asked + "/\u00f1.txt", "content": "y"})
		contains(t, b.ok("list_dir", m{"recursive": true}), "1 folders, 2 files")
		b.ok("move_file", m{"from": path, "to": "moved"})
		b.ok("delete_file", m{"path": made + "/\u00f1.txt"})
	}
	// Who has both means the one that was written.
	b := newBench(t, nil, nil)
	b.file(one, "one letter")
	b.file(two, "two letters")
	contains(t, b.ok("read_file", m{"path": one}), "one letter")
	contains(t, b.ok("read_file", m{"path": two}), "two letters")
	b.fails(tools.NotFound, "read_file", m{"path": "cafe"}, "did you mean")
}

// What one looks for is found whichever way it is written, and a narrower word
// finds less.
func TestSearchFoldsAccents(t *testing.T) {
	b := newBench(t, nil, nil)
	b.file("a.txt", "Le Café\n")
	b.file("b.txt", "le cafe\u0301 "+strings.Repeat("é", 400)+" Straße ＡＢＣ\n")
	b.file("c.txt", "cafe\n台北 が\n")
	for content, want := range map[string]string{
		"cafe": "3 found", "café": "2 found", "cafe\u0301": "2 found", "Café": "1 found", "CAFE": "nothing found", "abc": "1 found", "ａｂｃ": "1 found",
		"straße": "1 found", "臺北": "nothing found", "台北": "1 found", "か": "nothing found", "が": "1 found",
	} {
		contains(t, b.ok("file_search", m{"content": content}), want)
	}
	contains(t, b.ok("file_search", m{"content": "abc"}), "Straße ＡＢＣ")
}

// A file that read_file can read, file_search can find words in.
func TestSearchInOtherEncodings(t *testing.T) {
	in := func(enc, text string) string {
		raw, err := charset.Named(enc).NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	const prose = "今天天气很好，我们去公园散步。\n中文的第二行：价格 100 元\n"
	for name, c := range map[string]struct{ content, find, line string }{
		"gbk.txt":        {in("gbk", prose), "中文", "2: 中文的第二行：价格 100 元"},
		"gb18030.txt":    {in("gb18030", prose+"𠮷野家\n"), "𠮷野", "3: 𠮷野家"},
		"big5.txt":       {in("big5", "今天天氣很好，我們去公園散步。\n臺灣的第二行\n"), "臺灣", "2: 臺灣的第二行"},
		"utf16le.txt":    {in("utf-16le", prose), "中文", "2: 中文的第二行：价格 100 元"},
		"utf16be.txt":    {in("utf-16be", prose), "中文", "2: 中文的第二行：价格 100 元"},
		"bom.txt":        {"\ufeff" + prose, "今天", "1: 今天天气很好，我们去公园散步。"},
		"latin1.txt":     {in("latin1", "Müller trinkt\nCafé à la crème\n"), "Café", "2: Café à la crème"},
		"latin1fold.txt": {in("latin1", "Müller trinkt\nCafé à la crème\n"), "muller", "1: Müller trinkt"},
		"mixed.txt":      {"编译 ok\n" + in("gbk", "错误：找不到文件\n"), "找不到", "2: 错误：找不到文件"},
		"late.txt":       {strings.Repeat("plain\n", 20_000) + in("gbk", "错误：找不到文件\n"), "找不到", "20001: 错误：找不到文件"},
		"short.txt":      {in("gbk", "中文"), "中文", "1: 中文"},
	} {
		b := newBench(t, nil, nil)
		b.file(name, c.content)
		contains(t, b.ok("file_search", m{"content": c.find}), "1 found", name, c.line)
		contains(t, b.ok("file_search", m{"content": "nirgends"}), "nothing found")
		if name != "late.txt" && name != "mixed.txt" {
			contains(t, b.ok("read_file", m{"path": name}), strings.SplitN(c.line, ": ", 2)[1])
		}
	}
	b := newBench(t, nil, nil)
	b.file("picture.png", "\x89PNG\r\n\x1a\n\x00\xd6\xd0\xce\xc4")
	contains(t, b.ok("file_search", m{"content": "中文"}), "nothing found")
}

func TestReplaceAllIsCounted(t *testing.T) {
	b := newBench(t, nil, nil)
	b.file("a.txt", "x y x\nx\n")
	contains(t, b.ok("edit_file", m{"path": "a.txt", "old_text": "x", "new_text": "z", "replace_all": true}), "edited a.txt: replaced 3 times\n")
	contains(t, b.ok("edit_file", m{"path": "a.txt", "old_text": "y", "new_text": "x", "replace_all": true}), "edited a.txt: replaced once\n")
	contains(t, b.ok("edit_file", m{"path": "a.txt", "old_text": "x", "new_text": "y"}), "edited a.txt\n")
}
