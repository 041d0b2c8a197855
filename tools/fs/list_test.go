package fs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/tools"
	"magpie/tools/fs"
)

func TestListDir(t *testing.T) {
	b := newBench(t, nil, nil)
	b.file("b.txt", "12345")
	b.file("说明.md", strings.Repeat("x", 2048))
	b.file("z/deep/x.md", "1")
	b.file("z/y.txt", "1")
	b.file(".git/config", "1")
	if err := os.Symlink("/etc", filepath.Join(b.dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args m
		want string
	}{
		{m{}, ".: 2 folders, 3 files\n📁 .git/\n📁 z/\n📄 b.txt  5 B\n🔗 out (link)\n📄 说明.md  2.0 KiB\n"},
		{m{"path": "z"}, "z: 1 folders, 1 files\n📁 deep/\n📄 y.txt  1 B\n"},
		{m{"pattern": "*.md"}, ".: 0 folders, 1 files\n📄 说明.md  2.0 KiB\n"},
		{m{"pattern": "*.md", "recursive": true}, ".: 0 folders, 2 files\n📄 z/deep/x.md  1 B\n📄 说明.md  2.0 KiB\n"},
		{m{"pattern": "**/*.md"}, ".: 0 folders, 2 files\n📄 z/deep/x.md  1 B\n📄 说明.md  2.0 KiB\n"},
		{m{"pattern": "z/*.txt", "recursive": true}, ".: 0 folders, 1 files\n📄 z/y.txt  1 B\n"},
		{m{"dir": ".", "recursive": true, "pattern": "[.yz]*"}, ".: 2 folders, 1 files\n📁 .git/ (not opened)\n📁 z/\n📄 z/y.txt  1 B\n"},
	} {
		if d := cmp.Diff(c.want, b.ok("list_dir", c.args)); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.args, d)
		}
	}
	b.fails(tools.InvalidArgs, "list_dir", m{"path": "b.txt"}, "is a file", "read_file")
	b.fails(tools.NotFound, "list_dir", m{"path": "zz"}, "no \"zz\"")
	b.fails(tools.Security, "list_dir", m{"path": "out"}, "symbolic link")
	b.fails(tools.InvalidArgs, "list_dir", m{"pattern": "[a"}, "broken", "*.md")
}

func TestListHonoursItsLimit(t *testing.T) {
	b := newBench(t, nil, &tools.Options{MaxResultChars: 1 << 20})
	for i := range 501 {
		b.file(fmt.Sprintf("many/f%03d", i), "x")
	}
	text := b.ok("list_dir", m{"path": "many"})
	contains(t, text, "many: 0 folders, 501 files", "f499", "1 more entries are not shown")
	if strings.Contains(text, "f500") {
		t.Error("entry 501 is shown")
	}
}

func TestListFiles(t *testing.T) {
	b := newBench(t, nil, nil)
	b.file("a/b.txt", "12345")
	b.file("a/empty", "")
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, name := range []string{"a/b.txt", "a/empty", "a"} {
		if err := os.Chtimes(filepath.Join(b.dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	var got any
	if err := json.Unmarshal([]byte(b.ok("list_files", m{"recursive": true})), &got); err != nil {
		t.Fatal(err)
	}
	want := any(m{
		"path": ".", "total": 3.0, "truncated": false,
		"files": []any{
			m{"path": "a", "type": "dir", "size": 0.0, "modified": "2026-03-04T05:06:07Z"},
			m{"path": "a/b.txt", "type": "file", "size": 5.0, "modified": "2026-03-04T05:06:07Z"},
			m{"path": "a/empty", "type": "file", "size": 0.0, "modified": "2026-03-04T05:06:07Z"},
		},
	})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TOOL-15: a repeated read comes from the cache as long as the file is the same.
func TestRepeatedReadsAreStamped(t *testing.T) {
	dir := t.TempDir()
	f := newFence(t, dir)
	name := filepath.Join(dir, "a.txt")
	write := func(content string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	tool := fs.ReadFile(f, nil).(tools.Stamper)
	stamp := func() (string, bool) { return tool.Stamp(t.Context(), tools.Scope{}, []byte(`{"path":"a.txt"}`)) }
	if _, ok := stamp(); ok {
		t.Error("a missing file has a stamp")
	}
	write("one", 0)
	if _, ok := stamp(); ok {
		t.Error("a file that was just written has a stamp")
	}
	write("one", time.Hour)
	first, ok := stamp()
	again, _ := stamp()
	if !ok || first != again {
		t.Errorf("an old file: got %q, then %q, %v", first, again, ok)
	}
	write("two", 2*time.Hour)
	if other, _ := stamp(); other == first {
		t.Error("another time, the same stamp")
	}
}

// TOOL-14: what is cut stays readable under the name that the cut tells.
func TestKeepStoresAndPrunes(t *testing.T) {
	dir := t.TempDir()
	f := newFence(t, dir)
	keep := fs.Keep(f)
	var last string
	for i := range 205 {
		name, err := keep(t.Context(), tools.Scope{CallID: fmt.Sprint("call", i)}, "text")
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-1000) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
		last = name
	}
	again, err := keep(t.Context(), tools.Scope{CallID: "call204"}, "whole")
	if err != nil || again != last {
		t.Errorf("the same call: want %q, got %q, %v", last, again, err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, last)); string(raw) != "whole" {
		t.Errorf("got %q, %v", raw, err)
	}
	names, err := os.ReadDir(filepath.Join(dir, "tool_output"))
	if err != nil || len(names) != 200 {
		t.Errorf("want the newest 200, got %d, %v", len(names), err)
	}
}
