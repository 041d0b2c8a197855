package fs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/tools"
	"magpie/tools/fs"
	"magpie/tools/fs/fence"
	"magpie/tools/fs/undo"
)

// A question about a file shows what will be another, and an answer is for the
// file as it stands.
func TestShown(t *testing.T) {
	dir := t.TempDir()
	f, err := fence.New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	log, err := undo.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	e := fs.Editor{Fence: f, Undo: log}
	put := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(tool tools.Tool, args string) *tools.Question {
		t.Helper()
		shown, err := tool.(tools.Shower).Show(t.Context(), tools.Scope{}, json.RawMessage(args))
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		return tools.Asking(tool.Spec(), json.RawMessage(args), shown)
	}
	all := func(q *tools.Question) string {
		var b strings.Builder
		for _, p := range q.Parts {
			b.WriteString(p.Name + ": " + p.Text + "\n")
		}
		return b.String()
	}
	put("a.txt", "one\ntwo\nthree\n")
	for name, k := range map[string]struct {
		tool tools.Tool
		args string
		want []string
	}{
		"new":       {e.WriteFile(), `{"path":"./n.txt","content":"喜鹊"}`, []string{"path: n.txt", "--- /dev/null", "+喜鹊"}},
		"overwrite": {e.WriteFile(), `{"path":"a.txt","content":"one\nTWO\nthree"}`, []string{"-two", "+TWO"}},
		"same":      {e.WriteFile(), `{"path":"a.txt","content":"one\ntwo\nthree"}`, []string{tools.PartChange + ": ="}},
		"binary":    {e.WriteFile(), `{"path":"a.txt","encoding":"base64","content":"AAECAw=="}`, []string{tools.PartBytes + ": + 4 B, SHA-256 054edec1", "- 14 B"}},
		"edit":      {e.EditFile(), `{"path":"a.txt","old_text":"two","new_text":"zwei"}`, []string{"-two", "+zwei"}},
		"patch":     {e.EditFile(), `{"path":"a.txt","diff":"@@ -1,3 +1,3 @@\n one\n-two\n+dos\n three\n"}`, []string{"-two", "+dos"}},
		"delete":    {e.DeleteFile(), `{"path":"a.txt"}`, []string{tools.PartRemoved + ": a.txt (14 B)", "-two"}},
		"move":      {e.MoveFile(), `{"from":"a.txt","to":"b.txt"}`, []string{"a.txt (14 B)\n→ b.txt"}},
	} {
		before := ask(k.tool, k.args)
		for _, want := range k.want {
			if !strings.Contains(all(before), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, all(before))
			}
		}
		if again := ask(k.tool, k.args); again.Digest != before.Digest {
			t.Errorf("%s: the same has another digest", name)
		}
		put("a.txt", "one\ntwo\nthree\nfour\n")
		put("n.txt", "there is one now")
		after := ask(k.tool, k.args)
		if after.Digest == before.Digest {
			t.Errorf("%s: the file has changed, the digest has not", name)
		}
		if after.Rule != before.Rule {
			t.Errorf("%s: a permission is for one content only", name)
		}
		put("a.txt", "one\ntwo\nthree\n")
		if err := os.Remove(filepath.Join(dir, "n.txt")); err != nil {
			t.Fatal(err)
		}
	}
	if res, err := e.EditFile().Call(t.Context(), tools.Scope{}, json.RawMessage(`{"path":"a.txt","old_text":"two","new_text":"zwei"}`)); err != nil {
		t.Fatal(res, err)
	}
	for range 2 { // to look takes nothing back
		if got := all(ask(e.UndoEdit(), `{"path":"a.txt"}`)); !strings.Contains(got, "-zwei") || !strings.Contains(got, "+two") {
			t.Errorf("undo shows\n%s", got)
		}
	}
	// What fails is no way to read a file before anybody has agreed.
	if shown, err := e.EditFile().(tools.Shower).Show(t.Context(), tools.Scope{}, json.RawMessage(`{"path":"a.txt","old_text":"x","new_text":"y"}`)); err == nil || len(shown.Parts) > 0 {
		t.Errorf("%+v, %v", shown, err)
	}
}
