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
)

// asks is an editor of a folder, whose tools are asked what they would do.
type asks struct {
	*testing.T
	dir string
	fs.Editor
}

func newAsks(t *testing.T) asks {
	t.Helper()
	a := asks{T: t, dir: t.TempDir()}
	f, err := fence.New(a.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	a.Editor = fs.Editor{Fence: f, Undo: openUndo(t, t.TempDir())}
	a.put("a.txt", "one\ntwo\nthree\n")
	return a
}

func (a asks) put(name, content string) {
	a.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o600); err != nil {
		a.Fatal(err)
	}
}

func (a asks) ask(tool tools.Tool, args string) *tools.Question {
	a.Helper()
	shown, err := tool.(tools.Shower).Show(a.Context(), tools.Scope{}, json.RawMessage(args))
	if err != nil {
		a.Fatalf("%s: %v", args, err)
	}
	return tools.Asking(tool.Spec(), json.RawMessage(args), shown)
}

func all(q *tools.Question) string {
	var b strings.Builder
	for _, p := range q.Parts {
		b.WriteString(p.Name + ": " + p.Text + "\n")
	}
	return b.String()
}

// A question about a file shows what will be another, and an answer is for the
// file as it stands.
func TestShown(t *testing.T) {
	e := newAsks(t)
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
		before := e.ask(k.tool, k.args)
		for _, want := range k.want {
			if !strings.Contains(all(before), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, all(before))
			}
		}
		if again := e.ask(k.tool, k.args); again.Digest != before.Digest {
			t.Errorf("%s: the same has another digest", name)
		}
		e.put("a.txt", "one\ntwo\nthree\nfour\n")
		e.put("n.txt", "there is one now")
		after := e.ask(k.tool, k.args)
		if after.Digest == before.Digest {
			t.Errorf("%s: the file has changed, the digest has not", name)
		}
		if after.Rule != before.Rule {
			t.Errorf("%s: a permission is for one content only", name)
		}
		e.put("a.txt", "one\ntwo\nthree\n")
		if err := os.Remove(filepath.Join(e.dir, "n.txt")); err != nil {
			t.Fatal(err)
		}
	}
}

// To look at what would be taken back takes nothing back.
func TestUndoIsShown(t *testing.T) {
	e := newAsks(t)
	if res, err := e.EditFile().Call(t.Context(), tools.Scope{}, json.RawMessage(`{"path":"a.txt","old_text":"two","new_text":"zwei"}`)); err != nil {
		t.Fatal(res, err)
	}
	for range 2 { // to look takes nothing back
		if got := all(e.ask(e.UndoEdit(), `{"path":"a.txt"}`)); !strings.Contains(got, "-zwei") || !strings.Contains(got, "+two") {
			t.Errorf("undo shows\n%s", got)
		}
	}
}

// What fails is no way to read a file before anybody has agreed.
func TestFailuresShowNothing(t *testing.T) {
	e := newAsks(t)
	if shown, err := e.EditFile().(tools.Shower).Show(t.Context(), tools.Scope{}, json.RawMessage(`{"path":"a.txt","old_text":"x","new_text":"y"}`)); err == nil || len(shown.Parts) > 0 {
		t.Errorf("%+v, %v", shown, err)
	}
}
