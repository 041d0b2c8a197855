package fs_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/fs"
	"magpie/tools/fs/fence"
	"magpie/tools/tooltest"
)

// bench is a workspace with the file tools on it.
type bench struct {
	t    *testing.T
	dir  string
	exec *tools.Executor
}

func newBench(t *testing.T, skill fs.SkillLoader, o *tools.Options) *bench {
	t.Helper()
	dir := t.TempDir()
	f := newFence(t, dir)
	files := fs.Editor{Fence: f, Undo: openUndo(t, filepath.Join(t.TempDir(), "undo"))}
	reg := &tools.Registry{}
	if err := reg.RegisterAll(fs.ReadFile(f, skill), files.WriteFile(), files.EditFile(), files.UndoEdit(), files.DeleteFile(), files.MoveFile(), fs.FileInfo(f), fs.FileSearch(f), fs.ListDir(f), fs.ListFiles(f)); err != nil {
		t.Fatal(err)
	}
	opt := tools.Options{}
	if o != nil {
		opt = *o
	}
	opt.Timeout = 3 * time.Minute // for large files and folders on a slow disk
	return &bench{t, dir, tools.NewExecutor(reg, &opt)}
}

func newFence(t testing.TB, dir string) *fence.Fence {
	t.Helper()
	f, err := fence.New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (b *bench) file(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) run(tool string, args map[string]any) tools.Result {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	sc := tools.Scope{Addr: chat.Address{Channel: "test", Chat: "1"}, Turn: "turn", CallID: "call", Zone: time.UTC}
	return b.exec.Run(b.t.Context(), sc, tool, string(raw))
}

func (b *bench) ok(tool string, args map[string]any) string {
	b.t.Helper()
	res := b.run(tool, args)
	if !res.OK {
		b.t.Fatalf("%s(%v): %s", tool, args, res.Text)
	}
	return res.Text
}

// fails wants a failure of that kind whose text holds all of the words.
func (b *bench) fails(kind tools.ErrorKind, tool string, args map[string]any, words ...string) {
	b.t.Helper()
	res := b.run(tool, args)
	if res.OK || res.Err != kind {
		b.t.Fatalf("%s(%v): want failure %s, got ok=%v %s: %s", tool, args, kind, res.OK, res.Err, res.Text)
	}
	contains(b.t, res.Text, words...)
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("want %q in:\n%s", w, text)
		}
	}
}

type m = map[string]any

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	f := newFence(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("# 喜鹊\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := []string{`{"path":"a.md"}`, `{"path":"a.md","offset":1,"limit":5}`, `{"path":".","startLine":1}`}
	list := []string{`{"path":".","recursive":true,"pattern":"*.md"}`, `{}`}
	tooltest.Run(t, fs.ReadFile(f, nil), &tooltest.Options{Good: read, Workspace: dir})
	tooltest.Run(t, fs.ListDir(f), &tooltest.Options{Good: list, Workspace: dir})
	tooltest.Run(t, fs.ListFiles(f), &tooltest.Options{Good: list, Workspace: dir})
	tooltest.Run(t, fs.Editor{Fence: f}.WriteFile(), &tooltest.Options{Good: []string{`{"path":"out/b.txt","content":"x","normalize":"true"}`}, Workspace: dir})
}

func TestReadFileShowsNumberedLines(t *testing.T) {
	b := newBench(t, nil, nil)
	var lines []string
	for i := range 12 {
		lines = append(lines, fmt.Sprintf("line %d 喜鹊", i+1))
	}
	b.file("src/a.go", strings.Join(lines, "\n")+"\n")
	want := "File: src/a.go\nLanguage: Go\nLines: 9-11 of 12\nTruncated: no\n\n" +
		" 9 | line 9 喜鹊\n10 | line 10 喜鹊\n11 | line 11 喜鹊\n"
	for _, args := range []m{
		{"path": "src/a.go", "start_line": 9, "end_line": 11},
		{"path": "src/a.go", "startLine": 9, "endLine": 11},
		{"path": "src/a.go", "offset": 9, "limit": 3},
		{"filePath": "src/a.go", "start_line": "9", "end_line": "11"},
	} {
		got := b.ok("read_file", args)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v (-want +got):\n%s", args, d)
		}
	}
}

func TestReadFileEdges(t *testing.T) {
	b := newBench(t, nil, nil)
	b.file("empty.txt", "")
	contains(t, b.ok("read_file", m{"path": "empty.txt"}), "Lines: 0 (the file is empty)", "Truncated: no")
	b.file("crlf.txt", "one\r\ntwo")
	contains(t, b.ok("read_file", m{"path": "crlf.txt"}), "Lines: 1-2 of 2", "1 | one\n2 | two\n")
	b.fails(tools.InvalidArgs, "read_file", m{"path": "crlf.txt", "start_line": 3}, "has 2 lines", "want start_line from 1 to 2")
	b.fails(tools.InvalidArgs, "read_file", m{"path": "crlf.txt", "start_line": 2, "end_line": 1}, "want end_line ≥ start_line")
	b.fails(tools.InvalidArgs, "read_file", m{"path": "crlf.txt", "start_line": 2, "offset": 1}, "start_line only")
	b.file("bmw.txt", "BMW is a car\n")
	contains(t, b.ok("read_file", m{"path": "bmw.txt"}), "1 | BMW is a car")
}

func TestReadFileLimits(t *testing.T) {
	b := newBench(t, nil, &tools.Options{MaxResultChars: 1 << 20})
	b.file("500.txt", strings.Repeat("x\n", 500))
	b.file("501.txt", strings.Repeat("x\n", 501))
	b.file("2000.txt", strings.Repeat("x\n", 2000))
	b.file("2001.txt", strings.Repeat("x\n", 2001))
	b.file("line.txt", strings.Repeat("字", 10_001)+"\nend\n")
	b.file("exact.txt", strings.Repeat("字", 10_000)+"\n")
	if text := b.ok("read_file", m{"path": "500.txt"}); strings.Contains(text, "is long") {
		t.Error("500 lines: ranges recommended")
	}
	contains(t, b.ok("read_file", m{"path": "501.txt"}), "is long", "start_line and end_line")
	contains(t, b.ok("read_file", m{"path": "2000.txt"}), "Lines: 1-2000 of 2000", "Truncated: no")
	contains(t, b.ok("read_file", m{"path": "2001.txt"}), "Lines: 1-2000 of 2001", "Truncated: yes", "Continue with start_line=2001")
	contains(t, b.ok("read_file", m{"path": "2001.txt", "start_line": 1, "end_line": 2001}), "Truncated: yes")
	contains(t, b.ok("read_file", m{"path": "line.txt"}), "the rest of this line is left out", "2 | end", "Truncated: yes")
	contains(t, b.ok("read_file", m{"path": "exact.txt"}), "Truncated: no")
}

func TestReadFileHugeByRange(t *testing.T) {
	b := newBench(t, nil, nil)
	var big bytes.Buffer
	for i := 1; big.Len() < 50<<20; i++ {
		fmt.Fprintf(&big, "%d %s\n", i, "the magpie sits on the roof and looks at everything that shines down there")
	}
	total := bytes.Count(big.Bytes(), []byte("\n"))
	b.file("big.log", big.String())
	b.file("oneline.json", strings.Repeat("x", 50<<20))
	big.Reset()
	text := b.ok("read_file", m{"path": "big.log", "start_line": total - 1, "end_line": total})
	contains(t, text, fmt.Sprintf("Lines: %d-%d of %d", total-1, total, total), fmt.Sprintf("%d | %d the magpie", total, total))

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ok("read_file", m{"path": "oneline.json"})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
		t.Errorf("a line of 50 MiB took %d bytes of memory", took)
	}
}

func TestReadFileEncodings(t *testing.T) {
	b := newBench(t, nil, nil)
	const text = "每天早上九点提醒我吃药，谢谢你的帮助\n"
	gbk, err := simplifiedchinese.GBK.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	b.file("gbk.txt", gbk)
	b.file("utf16.txt", utf16)
	b.file("bare.txt", bare)
	b.file("bom.txt", "\xef\xbb\xbf"+text)
	want := "1 | " + text
	contains(t, b.ok("read_file", m{"path": "gbk.txt"}), "Encoding: gbk (guessed", want)
	contains(t, b.ok("read_file", m{"path": "gbk.txt", "encoding": "GBK"}), want)
	contains(t, b.ok("read_file", m{"path": "utf16.txt"}), "Encoding: utf-16", want)
	contains(t, b.ok("read_file", m{"path": "bare.txt", "encoding": "utf-16be"}), want)
	contains(t, b.ok("read_file", m{"path": "bom.txt"}), want)
	b.fails(tools.InvalidArgs, "read_file", m{"path": "bom.txt", "encoding": "ebcdic"}, "want utf-8", "gbk")
	b.file("latin.txt", "caf\xe9\n")
	contains(t, b.ok("read_file", m{"path": "latin.txt", "encoding": "latin1"}), "café")
}

func TestReadFileBinaryFolderMissing(t *testing.T) {
	b := newBench(t, nil, nil)
	b.file("pic.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	contains(t, b.ok("read_file", m{"path": "pic.png"}), "binary file", "image/png", "16 bytes")
	b.file("docs/README.md", "x\n")
	contains(t, b.ok("read_file", m{"path": "docs"}), "📄 README.md")
	b.fails(tools.NotFound, "read_file", m{"path": "docs/readme.md"}, "did you mean docs/README.md?")
	b.fails(tools.NotFound, "read_file", m{"path": "docs/zzz"}, "list_dir shows what there is")
	b.fails(tools.NotFound, "read_file", m{"path": "docs/README.md/x"}, "is a file, not a folder")
	b.fails(tools.Security, "read_file", m{"path": "../x"}, "..")
}

func TestReadFileAsksTheSkillLoader(t *testing.T) {
	skill := func(_ context.Context, _ tools.Scope, name string) (string, error) {
		switch name {
		case "weather":
			return "the built-in weather skill", nil
		case "broken":
			return "", errors.New("no front matter")
		}
		return "", iofs.ErrNotExist
	}
	b := newBench(t, skill, nil)
	b.file("skills/mine/SKILL.md", "my own\n")
	contains(t, b.ok("read_file", m{"path": "skills/weather/SKILL.md"}), "the built-in weather skill")
	contains(t, b.ok("read_file", m{"path": filepath.Join(b.dir, "skills/weather/SKILL.md")}), "the built-in weather skill")
	contains(t, b.ok("read_file", m{"path": "skills/mine/SKILL.md"}), "1 | my own")
	b.fails(tools.Failed, "read_file", m{"path": "skills/broken/SKILL.md"}, "no front matter")
}

func TestWriteFile(t *testing.T) {
	b := newBench(t, nil, nil)
	for _, c := range []struct {
		args      m
		want, say string
	}{
		{m{"path": "a/b/c.txt", "content": "one\r\ntwo\rthree"}, "one\ntwo\nthree\n", "created a/b/c.txt: 14 bytes, 3 lines"},
		{m{"path": "a/b/c.txt", "content": "喜鹊"}, "喜鹊\n", "overwritten a/b/c.txt: 7 bytes, 1 lines"},
		{m{"path": "raw.txt", "content": "x\r\ny", "normalize": false}, "x\r\ny", "4 bytes, 2 lines"},
		{m{"path": "empty.txt", "content": ""}, "", "0 bytes, 0 lines"},
		{m{"path": "bin", "content": base64.StdEncoding.EncodeToString([]byte("\x00\r\n\xff")), "encoding": "base64"}, "\x00\r\n\xff", "4 bytes"},
	} {
		contains(t, b.ok("write_file", c.args), c.say)
		got, err := os.ReadFile(filepath.Join(b.dir, c.args["path"].(string)))
		if err != nil || string(got) != c.want {
			t.Errorf("%v: got %q, %v", c.args, got, err)
		}
	}
	b.fails(tools.InvalidArgs, "write_file", m{"path": "x", "content": "%%%", "encoding": "base64"}, "no base64", "input byte 0")
	b.fails(tools.InvalidArgs, "write_file", m{"path": "a", "content": "x"}, "is a folder")
	b.fails(tools.NotFound, "write_file", m{"path": "raw.txt/x", "content": "x"}, "is a file, not a folder")
	b.fails(tools.InvalidArgs, "write_file", m{"path": "x"}, "content: required")
}

func TestWriteFileLeavesNothingBehind(t *testing.T) {
	b := newBench(t, nil, nil)
	b.ok("write_file", m{"path": "a.txt", "content": strings.Repeat("x", 1<<20)})
	if err := os.Chmod(filepath.Join(b.dir, "a.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.ok("write_file", m{"path": "a.txt", "content": "y"})
	names, err := os.ReadDir(b.dir)
	if err != nil || len(names) != 1 {
		t.Errorf("want a.txt alone, got %v, %v", names, err)
	}
	if info, err := os.Stat(filepath.Join(b.dir, "a.txt")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("want mode 0600 kept, got %v, %v", info.Mode(), err)
	}
}
